use aerodrome::atomic;

struct Account(u64);

#[atomic(name = "account")]
impl Account {
    const fn new() -> Self {
        Account(0)
    }

    const fn id(&self) -> u64 {
        self.0
    }

    fn load(&self) -> impl Future<Output = u64> {
        async { self.0 }
    }

    #[not_atomic]
    async fn exempt(&self) -> u64 {
        self.0
    }
}

fn main() {
    let _ = Account::new().exempt();
}
