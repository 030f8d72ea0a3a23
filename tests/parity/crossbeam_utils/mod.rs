//! Of crossbeam-utils.

/// The cases, with `crossbeam_utils` being what it is in the enclosing module.
macro_rules! cases {
    () => {
        mod cases {
            include!("cases.rs");
        }
    };
}

mod against_the_crate {
    use ::crossbeam_utils;
    cases!();
}

mod against_the_mirror {
    use aerodrome::crossbeam_utils;
    cases!();
}

#[cfg(not(feature = "check"))]
#[test]
fn without_checking_the_types_are_the_same_types() {
    let backoff: aerodrome::crossbeam_utils::Backoff = crossbeam_utils::Backoff::new();
    let group: crossbeam_utils::sync::WaitGroup =
        aerodrome::crossbeam_utils::sync::WaitGroup::new();
    assert!(!backoff.is_completed());
    group.wait();
}
