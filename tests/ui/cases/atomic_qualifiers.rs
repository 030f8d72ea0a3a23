use aerodrome::atomic;

#[atomic]
const fn constant() -> u8 {
    1
}

#[atomic]
pub(crate) async unsafe fn waits() {}

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
