//! What the documents say of the sources, the tests and the programs holds.

mod architecture;
mod guide;
mod papers;
