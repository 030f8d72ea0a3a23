use aerodrome::not_atomic;

#[not_atomic]
fn free() {}

struct Account;

impl Account {
    #[not_atomic]
    fn method(&self) {}
}

fn main() {
    free();
    Account.method();
}
