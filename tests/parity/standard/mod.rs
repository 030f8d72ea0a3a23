//! Of std.

#![allow(deprecated, reason = "what std has deprecated is mirrored too")]

/// The cases, with `hint`, `sync` and `thread` being what they are in the enclosing module.
macro_rules! cases {
    () => {
        include!("locks.rs");
        include!("atomics.rs");
        include!("once.rs");
        include!("channels.rs");
        include!("threads.rs");
    };
}

mod against_std {
    use std::{hint, sync, thread};
    cases!();
}

mod against_the_mirror {
    use aerodrome::{hint, sync, thread};
    cases!();
}

mod auto_traits;
mod names;
