//! One source against tokio and against the mirror.

mod original {
    use ::tokio;
    include!("cases.rs");
}

mod mirror {
    use aerodrome::tokio;
    include!("cases.rs");
}
