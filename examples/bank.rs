//! Check-then-act on a balance: a withdrawal looks in one critical section and takes in the next.
//!
//! ```text
//! cargo run --example bank --features check            # shows the report
//! cargo run --example bank --features check -- fixed   # one critical section: silent
//! ```

use std::sync::Barrier; // std's, because the program under test has none

use aerodrome::sync::Mutex;
use aerodrome::thread;

struct Account {
    balance: Mutex<i64>,
}

impl Account {
    /// Looks, asks, and takes what it saw.
    #[aerodrome::atomic]
    fn withdraw(&self, amount: i64, approve: impl FnOnce() -> bool) -> bool {
        let enough = *self.balance.lock().unwrap() >= amount;
        if enough && approve() {
            *self.balance.lock().unwrap() -= amount;
            return true;
        }
        false
    }

    /// Asks first; looks and takes in one critical section.
    #[aerodrome::atomic]
    fn withdraw_fixed(&self, amount: i64, approve: impl FnOnce() -> bool) -> bool {
        if !approve() {
            return false;
        }
        let mut balance = self.balance.lock().unwrap();
        let enough = *balance >= amount;
        if enough {
            *balance -= amount;
        }
        enough
    }
}

fn main() {
    let fixed = std::env::args().nth(1).as_deref() == Some("fixed");
    let account = Account {
        balance: Mutex::new(100),
    };
    aerodrome::name(&account.balance, "balance");
    let withdraw = |approve: &dyn Fn() -> bool| match fixed {
        true => account.withdraw_fixed(60, approve),
        false => account.withdraw(60, approve),
    };

    // Alice is approved when Bob is through.
    let (asked, through) = (Barrier::new(2), Barrier::new(2));
    let alice = || {
        withdraw(&|| {
            asked.wait();
            through.wait();
            true
        });
    };
    let bob = || {
        asked.wait();
        withdraw(&|| true);
        through.wait();
    };
    thread::scope(|s| {
        let named = |name: &str| thread::Builder::new().name(name.into());
        named("alice").spawn_scoped(s, alice).unwrap();
        named("bob").spawn_scoped(s, bob).unwrap();
    });
    println!("{} left", account.balance.lock().unwrap());
}
