//! What becomes of the program when something of ours fails.

use std::panic::Location;
use std::process::Command;

use super::with;
use crate::record::clock::Clock;
use crate::record::{Object, What, pen, pool};
use crate::sync::Mutex;
use crate::thread;

#[test]
fn an_internal_failure_switches_checking_off_with_one_message_and_the_program_goes_on() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .env("TEST_CHILD", "1")
        .arg("collect::tests::child_fails_inside")
        .env("AERODROME", "panic")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let message = "aerodrome: internal failure: injected; checking is off from here on";
    assert_eq!(said.matches(message).count(), 1, "{said}");
    assert_eq!(said.matches("aerodrome: ").count(), 1, "{said}");
}

#[test]
fn child_fails_inside() {
    if std::env::var_os("TEST_CHILD").is_none() {
        return;
    }
    let mutex = Mutex::new(0);
    thread::scope(|scope| {
        for strand in 0..4 {
            let mutex = &mutex;
            scope.spawn(move || {
                for n in 0..100_000 {
                    *mutex.lock().unwrap() += 1;
                    if (strand, n) == (0, 1_000) {
                        assert_eq!(with(|_| panic!("injected")), None::<()>);
                    }
                }
            });
        }
    });
    assert_eq!(*mutex.lock().unwrap(), 400_000);
    assert!(pool::is_off());
    let outcome = crate::check(|| *mutex.lock().unwrap() += 1);
    assert!(!outcome.is_complete() && outcome.violations.is_empty());
}

#[test]
fn a_verdict_that_cannot_be_reached_is_incomplete() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .env("TEST_CHILD", "1")
        .arg("collect::tests::child_loses_a_record")
        .env("AERODROME", "panic")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr) + String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(101), "{said}");
    let logged = "aerodrome: verdict incomplete: another thread has begun an operation on";
    assert_eq!(said.matches(logged).count(), 1, "{said}");
    assert!(said.contains("panicked at"), "{said}");
    assert_eq!(said.matches("verdict incomplete: ").count(), 2, "{said}");
}

#[test]
fn child_loses_a_record() {
    if std::env::var_os("TEST_CHILD").is_none() {
        return;
    }
    let lost: Object<Clock> = Object::atomic(std::any::type_name::<u64>);
    let site = Location::caller();
    let write = || pen().unwrap().atomic(&lost, site, || ((), What::Write));
    write();
    // As a thread that is stopped between drawing a ticket and publishing the record.
    lost.lose_ticket();
    let outcome = crate::check(write);
    assert!(!outcome.is_complete() && !outcome.is_serializable());
    assert!(outcome.violations.is_empty());
    crate::explore::run_test(crate::mark::Test::new(1), || {
        Mutex::new(0).lock().map(drop).unwrap();
    });
}
