//! What becomes of the program when something of ours fails.

use std::process::Command;

use super::with;
use crate::record::pool;
use crate::sync::Mutex;
use crate::thread;

#[test]
fn an_internal_failure_switches_checking_off_with_one_message_and_the_program_goes_on() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "--nocapture"])
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
#[ignore = "a child"]
fn child_fails_inside() {
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
    assert!(crate::check(|| *mutex.lock().unwrap() += 1).is_serializable());
}
