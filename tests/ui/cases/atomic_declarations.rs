use aerodrome::atomic;

trait Store {
    #[atomic]
    fn put(&self, item: u8) -> bool;
}

unsafe extern "C" {
    #[atomic]
    fn abs(number: i32) -> i32;
}

fn main() {}
