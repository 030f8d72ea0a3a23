//! Reports: what they say, and in which form.
#![cfg(feature = "trace")]

mod cases;
mod json;
mod tale;
mod text;
mod window;
