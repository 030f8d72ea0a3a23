//! The marks: what is meant to be atomic.
//!
//! A mark costs nothing without the feature `check`: it is the block that it stands on. With
//! `check` it begins a transaction, and ends it when control leaves the block, in whatever way.

#[cfg(feature = "check")]
mod block;
#[cfg(feature = "check")]
pub use block::{Block, Transaction, begin, depth, outermost};
#[cfg(feature = "check")]
pub(crate) use block::{untracked_blocks, used_blocks};

#[cfg(feature = "check")]
use std::panic::Location;
pub use std::process::ExitCode;
#[cfg(not(feature = "check"))]
use std::process::Termination;

/// Marks a function, or every method of an `impl` block, as atomic: its steps must look as if they
/// happened at once.
///
/// Where an execution shows that they do not, the report names the function and the accesses that
/// came in between.
///
/// ```
/// use aerodrome::atomic;
/// use std::sync::Mutex;
///
/// struct Account {
///     balance: Mutex<u64>,
/// }
///
/// #[atomic]
/// impl Account {
///     fn withdraw(&self, amount: u64) -> Result<u64, &'static str> {
///         let mut balance = self.balance.lock().unwrap();
///         *balance = balance.checked_sub(amount).ok_or("too little money")?;
///         Ok(*balance)
///     }
///
///     #[not_atomic]
///     fn show(&self) -> String {
///         format!("{} left", self.balance.lock().unwrap())
///     }
/// }
///
/// #[atomic(name = "move money")]
/// fn transfer(from: &Account, to: &Account, amount: u64) -> Result<(), &'static str> {
///     from.withdraw(amount)?;
///     *to.balance.lock().unwrap() += amount;
///     Ok(())
/// }
///
/// let (a, b) = (Account { balance: Mutex::new(10) }, Account { balance: Mutex::new(0) });
/// assert_eq!(transfer(&a, &b, 7), Ok(()));
/// assert_eq!(transfer(&a, &b, 7), Err("too little money"));
/// assert_eq!(a.show(), "3 left");
/// ```
///
/// # What can be marked
///
/// Every function with a body, also methods with any `self`, generic, `unsafe` and `extern`
/// functions, methods of trait impls and default methods of traits. On an `impl` block it marks
/// every method in it, except those that are marked
/// [`#[not_atomic]`](macro@crate::not_atomic) or have an `#[atomic]` of their own, and except a
/// `const fn`, which can perform no tracked operation.
///
/// A `const fn` cannot be marked itself (a transaction begins at run time), nor an `async fn`
/// (other tasks run between its steps): that is a compile error. For a part of a function there is
/// [`atomic_block!`](crate::atomic_block).
///
/// # Arguments
///
/// - `name = ".."`: what reports call the block. Otherwise it is the function's name with its
///   type's: `Account::withdraw`.
/// - `pub`, on an `impl` block: marks its public methods only. Those of a trait count as public.
/// - `crate = path`: where aerodrome is found, if not at `::aerodrome`.
///
/// # When the transaction ends
///
/// With the body: at its end, at a `return`, a `?` or a panic. Everything the body holds is dropped
/// before, the temporaries of its last expression included, such as the guard in
/// `self.balance.lock().unwrap().clone()`, in every edition. Parameters are dropped after it,
/// because the caller made them.
///
/// A marked function that another one calls is part of that one's transaction: only the outermost
/// counts.
pub use aerodrome_macros::atomic;

/// Takes a method out of an `impl` block that is marked [`#[atomic]`](macro@crate::atomic).
///
/// ```
/// use aerodrome::atomic;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// struct Counter(AtomicU64);
///
/// #[atomic]
/// impl Counter {
///     const fn new() -> Self {
///         Counter(AtomicU64::new(0))
///     }
///
///     fn next(&self) -> u64 {
///         self.0.fetch_add(1, Ordering::Relaxed)
///     }
///
///     // An `async fn` cannot be atomic, so it has to be exempt.
///     #[not_atomic]
///     async fn later(&self) -> u64 {
///         self.next()
///     }
/// }
///
/// static COUNTER: Counter = Counter::new();
/// assert_eq!((COUNTER.next(), COUNTER.next()), (0, 1));
/// ```
///
/// It needs no import: the attribute on the `impl` block reads it. Anywhere else it is a compile
/// error.
pub use aerodrome_macros::not_atomic;

/// A `#[test]` whose transactions are judged at its end, also those of threads that it has not
/// joined.
///
/// ```
/// # use std::num::ParseIntError;
/// #[aerodrome::test]
/// fn balances_add_up() {
///     assert_eq!(1 + 2, 3);
/// }
///
/// // A schedule that shows a bug may be rare: try it often. The first run that fails ends the test.
/// #[aerodrome::test(runs = 20)]
/// fn numbers_are_read() -> Result<(), ParseIntError> {
///     let n: u32 = "20".parse()?;
///     assert_eq!(n, 20);
///     Ok(())
/// }
/// ```
///
/// `#[should_panic]`, `#[ignore]` and all other attributes work as on a `#[test]`, and so does
/// every return type that `#[test]` allows. Without the feature `check` nothing is judged, and the
/// test runs just as often.
///
/// # Arguments
///
/// - `runs = 20`: how often the test runs, at least once. Without it: once.
/// - `schedules = 200`: the test is explored (`aerodrome::explore`): it runs on so many schedules at
///   most. With `plan = "pos"`, `seed = 7` and `time = "5s"` to say which, and for how long. A test
///   with `#[should_panic]` is not explored.
/// - `crate = path`: where aerodrome is found, if not at `::aerodrome`.
pub use aerodrome_macros::test;

/// Runs `f` without recording what this thread does in it: an exempt part of an atomic block.
///
/// It is for what nobody relies on and yet is done inside of a block: statistics, logs, the
/// housekeeping of a cache. Others may come in between there, and between there and the rest.
///
/// ```
/// use aerodrome::sync::Mutex;
/// use aerodrome::{atomic, untracked};
/// use std::collections::HashMap;
///
/// struct Cache {
///     values: Mutex<HashMap<u32, String>>,
///     /// When each was used; only eviction looks, and a little off is good enough.
///     used: Mutex<Vec<u32>>,
/// }
///
/// #[atomic]
/// impl Cache {
///     fn get(&self, key: u32) -> Option<String> {
///         untracked(|| self.used.lock().unwrap().push(key));
///         let value = self.values.lock().unwrap().get(&key).cloned();
///         untracked(|| self.used.lock().unwrap().truncate(100));
///         value
///     }
/// }
///
/// let cache = Cache { values: Mutex::new(HashMap::new()), used: Mutex::new(Vec::new()) };
/// assert_eq!(cache.get(1), None);
/// assert_eq!(*cache.used.lock().unwrap(), [1]);
/// ```
///
/// What is not recorded orders nothing either: neither a join nor a message that `f` receives. A
/// block that begins in `f` is not judged, and a violation is not told before `f` has ended.
/// Threads that `f` starts are recorded, as those of a library that is not tracked are. A lock that
/// was taken before may be released in `f`; a `parking_lot` lock that is shared is best released on
/// the side on which it was taken.
///
/// Without the feature `check` it calls `f`.
#[inline]
pub fn untracked<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(feature = "check")]
    let _suspended = crate::record::Suspended::new();
    f()
}

/// Runs `f`, which may wait for what aerodrome does not see: another process, say. While it does,
/// the other threads of an explored test (`aerodrome::explore`) go on.
///
/// A thread that waits in such a way is noticed after a while all the same; this says it at once.
/// Where nothing is explored, and without the feature `check`, it calls `f`.
///
/// ```
/// use std::io::Read;
/// use std::os::unix::net::UnixStream;
///
/// let (mut ours, theirs) = UnixStream::pair()?;
/// drop(theirs);
/// let mut answer = Vec::new();
/// aerodrome::outside(|| ours.read_to_end(&mut answer))?;
/// assert!(answer.is_empty());
/// # Ok::<_, std::io::Error>(())
/// ```
#[inline]
pub fn outside<R>(f: impl FnOnce() -> R) -> R {
    #[cfg(feature = "check")]
    return crate::record::outside(f);
    #[cfg(not(feature = "check"))]
    f()
}

/// Marks a part of a function as atomic. It is an expression, with the control flow of a plain
/// block.
///
/// ```
/// use aerodrome::atomic_block;
/// use std::collections::HashMap;
/// use std::sync::Mutex;
///
/// fn first_free(ids: &Mutex<HashMap<u32, String>>, name: &str) -> Option<u32> {
///     for id in 0..10 {
///         let taken = atomic_block! {
///             let mut ids = ids.lock().unwrap();
///             if ids.values().any(|other| other == name) {
///                 return None;
///             }
///             ids.insert(id, name.to_owned()).is_some()
///         };
///         if !taken {
///             return Some(id);
///         }
///     }
///     None
/// }
///
/// let ids = Mutex::new(HashMap::new());
/// assert_eq!(first_free(&ids, "a"), Some(0));
/// assert_eq!(first_free(&ids, "a"), None);
///
/// let count = atomic_block!(name = "count", { ids.lock().unwrap().len() });
/// assert_eq!(count, 1);
/// ```
///
/// `return`, `?`, `break` and `continue` leave it, and end the transaction as the end of the block
/// and a panic do. In reports it has the name of the function around it, unless it is given one.
///
/// Temporaries of its last expression die inside it, in every edition, as in a block of edition
/// 2024. Do not `.await` in it: other tasks would run in the middle of the transaction.
#[macro_export]
macro_rules! atomic_block {
    (name = $name:tt, { $($body:tt)* } $(,)?) => {{
        $crate::__transaction! { name: $name, at: here() }
        { $($body)* }
    }};
    ($($body:tt)*) => {{
        $crate::__transaction! { at: here() }
        { $($body)* }
    }};
}

/// Begins the transaction of the block that it stands in. What the marks expand to; not for use by
/// hand.
#[cfg(feature = "check")]
#[doc(hidden)]
#[macro_export]
macro_rules! __transaction {
    (at: $($here:tt)*) => {
        $crate::__transaction! { @ ::core::option::Option::None, $($here)* }
    };
    (name: $name:tt, at: $($here:tt)*) => {
        $crate::__transaction! { @ ::core::option::Option::Some($name), $($here)* }
    };
    (@ $name:expr, $($here:tt)*) => {
        // The items stand in the initialiser, where the author's code does not see them.
        let _transaction = {
            enum Here {}
            static BLOCK: $crate::__private::Block =
                $crate::__private::Block::new::<Here>(
                    $name,
                    ::core::module_path!(),
                    $crate::__private::Place.$($here)*,
                );
            $crate::__private::begin(&BLOCK)
        };
    };
}

/// Nothing: without `check` a marked block is a block. A name that is none is an error all the
/// same.
#[cfg(not(feature = "check"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __transaction {
    (at: $($here:tt)*) => {};
    (name: $name:tt, at: $($here:tt)*) => {
        const _: &::core::primitive::str = $name;
    };
}

/// Has the method that tells macros where something stands.
#[cfg(feature = "check")]
#[derive(Clone, Copy, Debug)]
pub struct Place;

#[cfg(feature = "check")]
impl Place {
    /// The place of the word `here` in the call. A method, because its call is located at the
    /// method's name, which may be the author's token behind a path that is the macro's.
    #[inline(always)]
    #[track_caller]
    pub const fn here(self) -> &'static Location<'static> {
        Location::caller()
    }
}

/// How a test runs: what the arguments of [`#[aerodrome::test]`](macro@crate::test) say.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    pub(crate) runs: u32,
    #[cfg(feature = "check")]
    pub(crate) explore: crate::plan::Wanted,
}

impl Test {
    /// A test that runs so often.
    pub const fn new(runs: u32) -> Self {
        Test {
            runs,
            #[cfg(feature = "check")]
            explore: crate::plan::Wanted::nothing(),
        }
    }
}

/// What without `check` says nothing.
#[cfg(not(feature = "check"))]
#[allow(missing_docs, reason = "as those of a checked build")]
impl Test {
    pub const fn schedules(self, _: u64) -> Self {
        self
    }

    pub const fn plan(self, _: &'static str) -> Self {
        self
    }

    pub const fn seed(self, _: u64) -> Self {
        self
    }

    pub const fn time(self, _: &'static str) -> Self {
        self
    }

    pub const fn panics(self) -> Self {
        self
    }
}

/// Runs a test's body, up to the first run that fails.
#[cfg(not(feature = "check"))]
pub fn run_test<T: Termination>(test: Test, body: fn() -> T) -> ExitCode {
    for _ in 0..test.runs {
        let code = body().report();
        if code != ExitCode::SUCCESS {
            return code;
        }
    }
    ExitCode::SUCCESS
}
