//! Check-then-act on a balance: two cashiers, one account, and a withdrawal that looks first and takes later.
//!
//! ```text
//! cargo run --example bank --features check            # shows the report
//! cargo run --example bank --features check -- fixed   # one critical section: silent
//! ```

use aerodrome::sync::{Arc, Mutex};
use aerodrome::thread;

struct Account {
    balance: Mutex<u64>,
}

impl Account {
    /// Looks in one critical section, takes in the next.
    #[aerodrome::atomic]
    fn withdraw(&self, amount: u64, meanwhile: impl FnOnce()) -> bool {
        let enough = *self.balance.lock().unwrap() >= amount;
        meanwhile();
        if enough {
            *self.balance.lock().unwrap() -= amount;
        }
        enough
    }

    /// Looks and takes in one critical section.
    #[aerodrome::atomic]
    fn withdraw_fixed(&self, amount: u64, meanwhile: impl FnOnce()) -> bool {
        meanwhile();
        let mut balance = self.balance.lock().unwrap();
        let enough = *balance >= amount;
        if enough {
            *balance -= amount;
        }
        enough
    }
}

fn main() {
    let fixed = std::env::args()
        .nth(1)
        .is_some_and(|argument| argument == "fixed");
    let account = Arc::new(Account {
        balance: Mutex::new(100),
    });
    aerodrome::name(&account.balance, "balance");

    // Both cashiers look before either takes. std's barrier, because the program under test has none.
    let both_looked = Arc::new(std::sync::Barrier::new(2));
    let cashiers = ["alice", "bob"].map(|name| {
        let (account, both_looked) = (account.clone(), both_looked.clone());
        let withdraw = move || {
            let meet = || drop(both_looked.wait());
            if fixed {
                account.withdraw_fixed(40, meet)
            } else {
                account.withdraw(40, meet)
            }
        };
        thread::Builder::new()
            .name(name.into())
            .spawn(withdraw)
            .unwrap()
    });
    for cashier in cashiers {
        assert!(cashier.join().unwrap());
    }
    println!("{} left", account.balance.lock().unwrap());
}
