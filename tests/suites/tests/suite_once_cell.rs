//! once_cell's own tests on the mirror.

/// What once_cell's unit tests use of its private parts, in terms of the mirror's public ones.
mod private {
    pub(crate) struct OnceCell<T>(aerodrome::once_cell::sync::OnceCell<T>);

    impl<T> OnceCell<T> {
        pub(crate) const fn new() -> OnceCell<T> {
            OnceCell(aerodrome::once_cell::sync::OnceCell::new())
        }

        pub(crate) fn initialize<E>(&self, f: impl FnOnce() -> Result<T, E>) -> Result<(), E> {
            self.0.get_or_try_init(f).map(drop)
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/once_cell.rs"));
