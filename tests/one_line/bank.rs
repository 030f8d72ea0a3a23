//! An account as anybody writes it, and a withdrawal that is not atomic.

use std::fmt::{self, Display};
use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount(pub u64);

impl Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:02}", self.0 / 100, self.0 % 100)
    }
}

#[derive(Clone, Debug, Default)]
pub struct Account {
    balance: Arc<Mutex<Amount>>,
}

#[std::atomic(crate = ::std)]
impl Account {
    #[not_atomic]
    pub fn new(balance: Amount) -> Account {
        Account {
            balance: Arc::new(Mutex::new(balance)),
        }
    }

    pub fn balance(&self) -> Amount {
        self.balance.lock().unwrap().clone()
    }

    /// Looks and takes in two critical sections; `between` runs between them.
    pub fn withdraw(&self, amount: &Amount, between: &dyn Fn()) -> Result<Amount, String> {
        if self.balance() < *amount {
            return Err(format!("less than {}", amount));
        }
        between();
        let mut balance = self.balance.lock().unwrap();
        balance.0 -= amount.0;
        Ok(balance.clone())
    }
}

pub fn total(accounts: &BTreeMap<&str, Account>) -> Amount {
    Amount(accounts.values().map(|account| account.balance().0).sum())
}
