use std::sync::Mutex;

#[derive(Default)]
pub struct Cache {
    price: Mutex<Option<u32>>,
}

impl Cache {
    pub fn price(&self, between: impl FnOnce() -> u32) -> u32 {
        if let Some(price) = *self.price.lock().unwrap() {
            return price;
        }
        let price = between();
        *self.price.lock().unwrap() = Some(price);
        price
    }

    pub fn clear(&self) {
        *self.price.lock().unwrap() = None;
    }
}
