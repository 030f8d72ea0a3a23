//! A procedural macro, which the compiler loads: nothing in it is tracked.

use std::sync::Mutex;

static CALLS: Mutex<u32> = Mutex::new(0);

/// Gives a type its name.
#[proc_macro_derive(Named)]
pub fn named(item: proc_macro::TokenStream) -> proc_macro::TokenStream {
    *CALLS.lock().unwrap() += 1;
    let words: Vec<String> = item.into_iter().map(|token| token.to_string()).collect();
    let at = words.iter().position(|word| word == "struct").expect("a struct");
    let name = &words[at + 1];
    format!("impl {name} {{ pub const NAME: &'static str = {name:?}; }}").parse().unwrap()
}
