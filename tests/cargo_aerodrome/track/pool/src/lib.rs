//! No member of the workspace: a dependency with a method that is not atomic.

use std::sync::Mutex;

#[derive(Default)]
pub struct Pool {
    taken: Mutex<u32>,
}

impl Pool {
    pub fn take(&self, between: impl FnOnce()) {
        let taken = *self.taken.lock().unwrap();
        between();
        *self.taken.lock().unwrap() = taken + 1;
    }

    pub fn taken(&self) -> &Mutex<u32> {
        &self.taken
    }
}
