//! Of parking_lot.

/// The cases, with `parking_lot` being what it is in the enclosing module.
macro_rules! cases {
    () => {
        mod cases {
            include!("cases.rs");
        }
        #[cfg(feature = "parking_lot-arc_lock")]
        mod arc {
            include!("arc.rs");
        }
    };
}

mod against_the_crate {
    use ::parking_lot;
    cases!();
}

mod against_the_mirror {
    use aerodrome::parking_lot;
    cases!();
}

#[cfg(not(feature = "check"))]
#[test]
fn without_checking_the_types_are_the_same_types() {
    let mutex: aerodrome::parking_lot::Mutex<i32> = parking_lot::Mutex::new(1);
    let rwlock: parking_lot::RwLock<i32> = aerodrome::parking_lot::RwLock::new(1);
    let once: parking_lot::Once = aerodrome::parking_lot::Once::new();
    let condvar: aerodrome::parking_lot::Condvar = parking_lot::Condvar::new();
    assert_eq!(*mutex.lock(), *rwlock.read());
    assert!(!once.state().done() && !condvar.notify_one());
}
