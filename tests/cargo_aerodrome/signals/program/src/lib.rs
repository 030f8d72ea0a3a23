//! Hands a flag that it has from a crate that is not tracked to one that is.

#[test]
fn the_flag_is_set() {
    assert!(stop::is_set(&foreign::flag()));
}
