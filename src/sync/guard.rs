//! What the guards of locks share.

/// `guard, access`: the traits of a guard that has a section of a lock in `section` and std's guard
/// in `inner`.
macro_rules! guard_traits {
    ($($Guard:ident, $access:ident;)*) => {$(
        impl<T: ?Sized> std::ops::Deref for $Guard<'_, T> {
            type Target = T;

            #[inline]
            #[track_caller]
            fn deref(&self) -> &T {
                self.section.read(Location::caller());
                &self.inner
            }
        }

        guard_traits!(@$access $Guard);

        impl<T: ?Sized + fmt::Debug> fmt::Debug for $Guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.inner.fmt(f)
            }
        }

        impl<T: ?Sized + fmt::Display> fmt::Display for $Guard<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                (**self).fmt(f)
            }
        }
    )*};
    (@reads $Guard:ident) => {};
    (@writes $Guard:ident) => {
        impl<T: ?Sized> std::ops::DerefMut for $Guard<'_, T> {
            #[inline]
            #[track_caller]
            fn deref_mut(&mut self) -> &mut T {
                self.section.write(Location::caller());
                &mut self.inner
            }
        }
    };
}

pub(super) use guard_traits;
