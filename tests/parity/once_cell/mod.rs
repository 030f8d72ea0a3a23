//! Of once_cell.

/// The cases, with `once_cell` being what it is in the enclosing module.
macro_rules! cases {
    () => {
        mod cases {
            include!("cases.rs");
        }
    };
}

mod against_the_crate {
    use ::once_cell;
    cases!();
}

mod against_the_mirror {
    use aerodrome::once_cell;
    cases!();
}

#[cfg(not(feature = "check"))]
#[test]
fn without_checking_the_types_are_the_same_types() {
    let cell: aerodrome::once_cell::sync::OnceCell<i32> = once_cell::sync::OnceCell::with_value(1);
    let lazy: once_cell::sync::Lazy<i32> = aerodrome::once_cell::sync::Lazy::new(|| 1);
    assert_eq!(cell.get(), Some(&*lazy));
}
