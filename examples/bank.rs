//! Check-then-act on a balance: a withdrawal looks in one critical section and takes in the next.
//!
//! ```text
//! cargo run --example bank --features check            # shows the report
//! cargo run --example bank --features check -- fixed   # one critical section: silent
//! ```

use aerodrome::sync::Mutex;
use aerodrome::{Explore, thread};

struct Account {
    balance: Mutex<i64>,
}

impl Account {
    #[aerodrome::atomic]
    fn withdraw(&self, amount: i64) -> bool {
        let enough = *self.balance.lock().unwrap() >= amount;
        if enough {
            *self.balance.lock().unwrap() -= amount;
        }
        enough
    }

    /// Looks and takes in one critical section.
    #[aerodrome::atomic]
    fn withdraw_fixed(&self, amount: i64) -> bool {
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
    // No sleeps, and no order forced.
    let exploration = aerodrome::explore(Explore::new(), || {
        let account = Account {
            balance: Mutex::new(100),
        };
        aerodrome::name(&account.balance, "balance");
        let withdraw = || match fixed {
            true => account.withdraw_fixed(60),
            false => account.withdraw(60),
        };
        thread::scope(|s| {
            for name in ["alice", "bob"] {
                let thread = thread::Builder::new().name(name.into());
                thread.spawn_scoped(s, withdraw).unwrap();
            }
        });
    });
    println!("{}", exploration.summary());
    exploration.tell();
}
