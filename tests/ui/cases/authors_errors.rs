//! What the author got wrong inside a marked function is shown where it is.

use aerodrome::{atomic, atomic_block};

#[atomic]
fn no_tail() -> u8 {
    let _one = 1;
}

#[atomic]
fn wrong_tail() -> u8 {
    "one"
}

#[atomic]
fn wrong_inside(text: &str) -> usize {
    text.length()
}

#[atomic]
fn dangling<'a>() -> &'a str {
    let text = String::from("text");
    text.as_str()
}

fn wrong_block() -> u8 {
    atomic_block! { "one" }
}

fn main() {}
