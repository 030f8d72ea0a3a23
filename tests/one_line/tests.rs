//! Types, macros, preludes, derives and marks where `std` and `core` are aerodrome.

use std::any::TypeId;
use std::collections::BTreeMap;
use std::real;
use std::sync::mpsc;
use std::thread;

use crate::bank::{Account, Amount, total};
use crate::items::sync::atomic::{AtomicU32, Ordering};

/// Whether a type is the one of that name in the real library.
fn is_real<T: 'static, Real: 'static>() -> bool {
    TypeId::of::<T>() == TypeId::of::<Real>()
}

#[test]
fn tracked_types_are_real_ones_without_check() {
    let checks = cfg!(feature = "check");
    let real_ones = [
        is_real::<std::sync::Mutex<u8>, real::sync::Mutex<u8>>(),
        is_real::<core::sync::atomic::AtomicU8, real::sync::atomic::AtomicU8>(),
        is_real::<std::thread::JoinHandle<u8>, real::thread::JoinHandle<u8>>(),
    ];
    assert_eq!(real_ones, [!checks; 3]);
}

#[test]
fn everything_else_is_real_in_either_build() {
    assert!(is_real::<std::sync::Arc<u8>, real::sync::Arc<u8>>());
    assert!(is_real::<
        std::cell::UnsafeCell<u8>,
        real::cell::UnsafeCell<u8>,
    >());
    assert!(is_real::<std::vec::Vec<u8>, real::vec::Vec<u8>>());
    assert!(is_real::<core::option::Option<u8>, real::option::Option<u8>>());
    assert!(is_real::<
        std::sync::PoisonError<u8>,
        real::sync::PoisonError<u8>,
    >());
}

thread_local! {
    static CALLS: std::cell::Cell<u32> = const { std::cell::Cell::new(0) };
}

#[test]
fn macros_work_with_and_without_a_path() {
    CALLS.with(|calls| calls.set(calls.get() + 1));
    std::assert_eq!(CALLS.with(std::cell::Cell::get), 1);
    let words = std::vec!["one", core::concat!("t", "wo")];
    assert_eq!(std::format!("{:?}", words), "[\"one\", \"two\"]");
    core::assert!(core::matches!(words.first(), Some(&"one")));
}

#[test]
fn accounts_add_up() {
    let mut accounts = BTreeMap::new();
    accounts.insert("ada", Account::new(Amount(250)));
    accounts.insert("bob", Account::default());
    assert_eq!(total(&accounts).to_string(), "2.50");
    let taken = accounts["bob"].withdraw(&Amount(1), &|| ());
    assert_eq!(taken, Err("less than 0.01".to_owned()));
}

#[test]
fn threads_and_channels_work() {
    static SENT: AtomicU32 = AtomicU32::new(0);
    let (sender, receiver) = mpsc::channel();
    let worker = thread::spawn(move || {
        for number in 0..10 {
            SENT.fetch_add(1, Ordering::SeqCst);
            sender.send(number).unwrap();
        }
    });
    assert_eq!(receiver.iter().sum::<i32>(), 45);
    worker.join().unwrap();
    assert_eq!(SENT.load(Ordering::SeqCst), 10);
}

#[test]
fn other_crates_mirrors_have_their_own_names() {
    static NAMES: ::once_cell::sync::Lazy<::parking_lot::Mutex<Vec<u8>>> =
        ::once_cell::sync::Lazy::new(Default::default);
    let (sender, receiver) = ::crossbeam_channel::bounded(1);
    thread::scope(|s| {
        s.spawn(|| NAMES.lock().push(receiver.recv().unwrap()));
        ::crossbeam_channel::select! {
            send(sender, 7) -> sent => sent.unwrap(),
        }
    });
    assert_eq!(*NAMES.lock(), [7]);
}

#[std::test(crate = ::std)]
fn aerodromes_own_test_is_a_test() {
    let left = std::atomic_block!(Account::new(Amount(3)).withdraw(&Amount(1), &|| ()));
    assert_eq!(left, Ok(Amount(2)));
}

#[cfg(feature = "check")]
#[test]
fn the_withdrawal_is_reported_with_its_lines() {
    let account = Account::new(Amount(100));
    let (asked, through) = (real::sync::Barrier::new(2), real::sync::Barrier::new(2));
    let outcome = std::check(|| {
        thread::scope(|s| {
            s.spawn(|| {
                account.withdraw(&Amount(60), &|| {
                    asked.wait();
                    through.wait();
                })
            });
            s.spawn(|| {
                asked.wait();
                account.withdraw(&Amount(30), &|| ()).unwrap();
                through.wait();
            });
        });
    });
    assert_eq!(outcome.violations.len(), 1);
    let text = outcome.violations[0].to_string();
    let source = include_str!("bank.rs");
    let line = |what: &str| 1 + source.lines().position(|line| line.contains(what)).unwrap();
    for (what, column) in [
        ("fn withdraw", 12),
        ("self.balance.lock().unwrap().clone()", 9),
    ]
    .iter()
    {
        let place = format!("bank.rs:{}:{}", line(what), column);
        assert!(text.contains(&place), "no {} in\n{}", place, text);
    }
    assert!(
        text.contains("`Account::withdraw` is not atomic"),
        "{}",
        text
    );
}
