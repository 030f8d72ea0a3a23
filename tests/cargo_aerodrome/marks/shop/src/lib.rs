//! A shop with two files of methods that are not atomic, one declared inside a macro.

macro_rules! items {
    ($($item:item)*) => { $($item)* };
}

pub mod cache;

items! {
    pub mod stock;
}

/// Where customers leave their cars.
pub static LOT: parking_lot::Lot = parking_lot::Lot::new();
