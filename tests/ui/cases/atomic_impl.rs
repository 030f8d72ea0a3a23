use aerodrome::atomic;

struct Account(u64);

#[atomic(name = "account")]
impl Account {
    const fn new() -> Self {
        Account(0)
    }

    async fn load(&self) -> u64 {
        self.0
    }

    #[not_atomic]
    const fn exempt(&self) -> u64 {
        self.0
    }
}

fn main() {
    Account::new().exempt();
}
