use std::sync::Mutex;

#[derive(Default)]
pub struct Stock {
    pieces: Mutex<u32>,
}

impl Stock {
    pub fn add(&self, between: impl FnOnce()) {
        let pieces = *self.pieces.lock().unwrap();
        between();
        *self.pieces.lock().unwrap() = pieces + 1;
    }
}
