//! What a misplaced or misspelt mark says: the messages are in `cases/*.stderr`.
//!
//! They are the same in both builds. After a change on purpose, `TRYBUILD=overwrite cargo test -p
//! aerodrome-ui` writes them anew.

#[test]
fn misuse_is_an_error_that_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("cases/*.rs");
}
