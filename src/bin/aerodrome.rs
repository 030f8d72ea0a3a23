//! The `aerodrome` command.

fn main() {}
