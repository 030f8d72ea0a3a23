//! Reports: what they say, and in which form.
#![cfg(feature = "trace")]

mod cases;
mod html;
mod json;
mod sarif;
mod tale;
mod text;
mod window;
