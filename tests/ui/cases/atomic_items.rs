use aerodrome::atomic;

#[atomic]
pub struct Account {
    balance: u64,
}

#[atomic]
enum Empty {}

#[atomic]
trait Store {
    fn put(&self) {}
}

#[atomic]
unsafe trait Danger {}

#[atomic]
mod bank {}

#[atomic]
const LIMIT: fn(u64) -> bool = |amount| amount < 10;

#[atomic]
static TOTAL: u64 = 0;

#[atomic]
type Money = u64;

#[atomic]
pub use std::sync::Mutex;

#[atomic]
unsafe extern "C" {}

#[atomic]
extern crate std as standard;

macro_rules! nothing {
    () => {};
}

#[atomic]
nothing! {}

fn main() {}
