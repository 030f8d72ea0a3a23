use locks::RwLock;
use std::sync::{Arc, Mutex};

#[derive(derive::Named, Debug)]
pub struct Account {
    balance: Arc<Mutex<u32>>,
    owner: RwLock<String>,
}

impl Account {
    pub fn around(balance: Arc<Mutex<u32>>) -> Account {
        Account {
            balance,
            owner: RwLock::default(),
        }
    }

    pub fn balance(&self) -> u32 {
        *self.balance.lock().unwrap()
    }

    // Looks and takes in two critical sections.
    /// Takes out an amount.
    pub fn withdraw(&self, amount: u32, between: impl FnOnce()) -> bool {
        let enough = self.balance() >= amount;
        between();
        if enough {
            *self.balance.lock().unwrap() -= amount;
        }
        enough
    }

    /// One after the other, in one critical section.
    /// Loses what others pay in meanwhile.
    pub fn deposit(&self, amount: u32, between: impl FnOnce()) {
        let before = self.balance();
        between();
        *self.balance.lock().unwrap() = before + amount;
    }

    pub fn rename(&self, owner: &str) -> usize {
        let mut name = self.owner.write();
        owner.clone_into(&mut name);
        *self.balance.lock().unwrap() as usize + name.len() + bare::LENGTH
    }
}
