use bank::Account;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Barrier, Mutex};
use std::thread;

#[test]
fn two_withdrawals_overlap() {
    assert_eq!((Account::NAME, bank::YEAR, bank::NOTES), ("Account", "2026", "notes\n"));
    let account = Account::around(Arc::new(Mutex::new(100)));
    // Sockets arrange the schedule, because they are not tracked.
    let (mut first, mut second) = UnixStream::pair().unwrap();
    thread::scope(|s| {
        let account = &account;
        s.spawn(move || {
            account.withdraw(60, || {
                first.write_all(&[1]).unwrap();
                first.read_exact(&mut [0]).unwrap();
            })
        });
        s.spawn(move || {
            second.read_exact(&mut [0]).unwrap();
            account.withdraw(30, || ());
            second.write_all(&[1]).unwrap();
        });
    });
    assert_eq!(account.balance(), 10);
    assert_eq!(account.rename("ada"), 17);
}

#[test]
fn two_deposits_meet_at_barriers() {
    let account = Account::around(Arc::new(Mutex::new(0)));
    let (looked, added) = (Barrier::new(2), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            account.deposit(60, || {
                looked.wait();
                added.wait();
            })
        });
        s.spawn(|| {
            looked.wait();
            account.deposit(30, || ());
            added.wait();
        });
    });
    assert_eq!(account.balance(), 60);
}
