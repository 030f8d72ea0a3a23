//! Of crossbeam-channel.

mod against_crossbeam {
    use crossbeam_channel as channel;
    include!("ends.rs");
    include!("select.rs");
    include!("select_macro.rs");
}

mod against_the_mirror {
    use aerodrome::crossbeam_channel as channel;
    include!("ends.rs");
    include!("select.rs");
    include!("select_macro.rs");
}

/// Without `check` the types are crossbeam's own; with it the errors still are.
#[test]
fn what_is_not_tracked_is_crossbeams_own() {
    let _: fn(crossbeam_channel::SendError<u8>) -> aerodrome::crossbeam_channel::SendError<u8> =
        |error| error;
    #[cfg(not(feature = "check"))]
    {
        let ends: (
            crossbeam_channel::Sender<u8>,
            crossbeam_channel::Receiver<u8>,
        ) = aerodrome::crossbeam_channel::bounded(1);
        let mut select: crossbeam_channel::Select<'_> = aerodrome::crossbeam_channel::Select::new();
        assert_eq!((select.send(&ends.0), select.recv(&ends.1)), (0, 1));
    }
}
