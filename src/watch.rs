//! Variables that properties speak of.
