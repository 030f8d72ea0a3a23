use aerodrome::atomic;

#[atomic]
const fn constant() -> u8 {
    1
}

#[atomic]
pub(crate) const unsafe fn unchecked() {}

struct Account;

impl Account {
    #[atomic]
    const fn new() -> Self {
        Account
    }
}

fn main() {
    constant();
    Account::new();
}
