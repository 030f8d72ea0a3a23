//! The same program in edition 2015. Its manifest has the dependency under the name `std`.

// As ever in that edition.
extern crate crossbeam_channel;
extern crate once_cell;
extern crate parking_lot;
extern crate std as core;

pub mod bank;
pub mod items;
#[cfg(test)]
mod tests;
