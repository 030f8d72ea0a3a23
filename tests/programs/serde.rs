//! A struct with locks and atomics that derives serde's traits compiles with the tracked types, and
//! its serialized form is that of std's.

mod with_std {
    use std::sync::atomic::{AtomicBool, AtomicI16, AtomicU64, Ordering};
    use std::sync::{Mutex, RwLock};
    include!("serde/cases.rs");
}

mod with_the_mirror {
    use aerodrome::sync::atomic::{AtomicBool, AtomicI16, AtomicU64, Ordering};
    use aerodrome::sync::{Mutex, RwLock};
    include!("serde/cases.rs");
}

#[cfg(feature = "check")]
#[test]
fn to_serialize_is_a_read() {
    use aerodrome::trace::Op;

    let value = aerodrome::sync::Mutex::new(1);
    let barrier = std::sync::Barrier::new(2);
    let outcome = aerodrome::check(|| {
        aerodrome::thread::scope(|s| {
            s.spawn(|| {
                aerodrome::atomic_block! {
                    let before = serde_json::to_string(&value).unwrap();
                    barrier.wait();
                    barrier.wait();
                    assert_ne!(before, serde_json::to_string(&value).unwrap());
                }
            });
            barrier.wait();
            *value.lock().unwrap() = 2;
            barrier.wait();
        });
    });
    assert_eq!(outcome.violations.len(), 1);
    assert_eq!(outcome.violations[0].accesses[0].op, Op::Read);
}
