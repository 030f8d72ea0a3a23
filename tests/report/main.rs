//! Reports: what they say, and in which form.
#![cfg(feature = "json")]

mod cases;
#[cfg(feature = "cli")]
mod cli;
mod html;
mod json;
#[path = "../process/mod.rs"]
mod process;
mod sarif;
mod tale;
mod text;
mod window;
