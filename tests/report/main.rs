//! Reports: what they say, and in which form.
#![cfg(feature = "json")]

mod cases;
#[cfg(feature = "cli")]
mod cli;
mod html;
mod json;
mod sarif;
mod tale;
mod text;
mod window;
