//! A type as one object: what aerodrome does not see into takes part in checking by its operations.

#[cfg(feature = "check")]
mod checked;
#[cfg(feature = "check")]
pub use self::checked::{Access, Operation, operate};

use std::fmt;
use std::marker::PhantomData;

/// Makes a method one access of the [`Object`] in its type: a `read`, a `write`, or an `update`,
/// which is both.
///
/// It is for a type that aerodrome does not see into, and for one whose inside says nothing: a
/// foreign cache or map, a lock-free queue of one's own, whose steps conflict hundreds of times
/// while each operation is atomic all the same. Nothing inside of the method is recorded.
///
/// ```
/// use aerodrome::{Object, atomic, operation};
/// use std::collections::VecDeque;
///
/// struct Jobs {
///     queue: std::sync::Mutex<VecDeque<u32>>, // stands for a queue from elsewhere
///     object: Object<Jobs>,
/// }
///
/// impl Jobs {
///     #[operation(update)]
///     fn push(&self, job: u32) {
///         self.queue.lock().unwrap().push_back(job);
///     }
///
///     #[operation(update)]
///     fn pop(&self) -> Option<u32> {
///         self.queue.lock().unwrap().pop_front()
///     }
///
///     #[operation(read)]
///     fn len(&self) -> usize {
///         self.queue.lock().unwrap().len()
///     }
///
///     /// Reported as soon as somebody comes in between.
///     #[atomic]
///     fn take_last(&self) -> Option<u32> {
///         if self.len() == 1 { self.pop() } else { None }
///     }
/// }
///
/// let jobs = Jobs { queue: Default::default(), object: Object::new() };
/// jobs.push(7);
/// assert_eq!(jobs.take_last(), Some(7));
/// ```
///
/// Reports show the line from which the method was called, because the attribute makes it
/// `#[track_caller]`.
///
/// With `check` the operations of one object exclude each other, so that the order in which they
/// are recorded is the order in which they happened. So an operation must not wait for another
/// thread, as a queue's blocking `recv` does: mark its `try_recv`. An operation that is called
/// inside of an operation is part of that one.
///
/// # Arguments
///
/// - `read`, `write` or `update`: what the method does.
/// - `of = self.field`: where the object is, if not at `self.object`.
/// - `crate = path`: where aerodrome is found, if not at `::aerodrome`.
pub use aerodrome_macros::operation;

/// Stands for a value in reports: the object of its [operations](macro@operation).
///
/// `T` is the type that reports name, most often the one that the object is a field of. In a build
/// without checking it has no size.
pub struct Object<T: ?Sized> {
    #[cfg(feature = "check")]
    inner: checked::Inner,
    of: PhantomData<fn() -> *const T>,
}

impl<T: ?Sized> Object<T> {
    /// An object; remembers where it was made.
    #[track_caller]
    pub const fn new() -> Self {
        Object {
            #[cfg(feature = "check")]
            inner: checked::Inner::new(std::any::type_name::<T>),
            of: PhantomData,
        }
    }
}

impl<T: ?Sized> Default for Object<T> {
    #[track_caller]
    fn default() -> Self {
        Self::new()
    }
}

/// Another object: a copy of a value is another value.
impl<T: ?Sized> Clone for Object<T> {
    #[track_caller]
    fn clone(&self) -> Self {
        Self::new()
    }
}

impl<T: ?Sized> fmt::Debug for Object<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Object")
    }
}

/// Records the operation that the function is, until its end. What [`operation`](macro@operation)
/// expands to; not for use by hand.
#[cfg(feature = "check")]
#[doc(hidden)]
#[macro_export]
macro_rules! __operation {
    ($access:ident, $object:expr) => {
        let _operation = $crate::__private::operate(
            &$object,
            $crate::__private::Access::$access,
            $crate::__private::Location::caller(),
        );
    };
}

/// Nothing: without `check` an operation is a function. What is no object is an error all the same.
#[cfg(not(feature = "check"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __operation {
    ($access:ident, $object:expr) => {
        let _: &$crate::Object<_> = &$object;
    };
}

#[cfg(not(feature = "check"))]
const _: () = assert!(size_of::<Object<u64>>() == 0);
