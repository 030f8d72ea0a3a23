//! The marks: what is meant to be atomic.
//!
//! A mark costs nothing without the feature `check`: it is the block that it stands on. With
//! `check` it begins a transaction, and ends it when control leaves the block, in whatever way.

#[cfg(feature = "check")]
mod block;
#[cfg(feature = "check")]
pub use block::{Block, Transaction, begin, depth, outermost};
#[cfg(feature = "check")]
pub(crate) use block::{end, untracked_blocks};

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
/// A `const fn` cannot be marked itself: a transaction begins at run time. For a part of a function
/// there is [`atomic_block!`](crate::atomic_block).
///
/// # Async functions
///
/// A marked `async fn` is a transaction from its first poll to its completion, whatever other tasks
/// do at its `.await`s, and on whatever threads it is polled. Dropped before that, it ends where it
/// was. What it polls is part of it, and so are tasks that it spawns, until it ends.
///
/// ```
/// use aerodrome::atomic;
/// use aerodrome::sync::Mutex;
///
/// struct Cache(Mutex<Option<String>>);
///
/// # async fn load() -> String { "value".to_owned() }
/// impl Cache {
///     #[atomic]
///     async fn get(&self) -> String {
///         let known = self.0.lock().unwrap().clone();
///         match known {
///             Some(value) => value,
///             None => {
///                 let value = load().await;
///                 *self.0.lock().unwrap() = Some(value.clone());
///                 value
///             }
///         }
///     }
/// }
/// # let cache = Cache(Mutex::new(None));
/// # let mut get = std::pin::pin!(cache.get());
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # assert!(std::future::Future::poll(get.as_mut(), &mut context).is_ready());
/// ```
///
/// For a part of one there is [`atomic_async!`](crate::atomic_async). A function that returns a
/// future is marked `#[atomic(future)]`: the future that its last expression makes is atomic. So is
/// a method under `#[async_trait]`, which makes a function of that kind of an `async fn`; or
/// `#[atomic]` stands above `#[async_trait]`.
///
/// # Arguments
///
/// - `name = ".."`: what reports call the block. Otherwise it is the function's name with its
///   type's: `Account::withdraw`.
/// - `future`: the function returns a future, `impl Future` or `Pin<Box<dyn Future>>`, and what
///   that does is atomic.
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
///     // For the log, where a number that is a little off is good enough.
///     #[not_atomic]
///     fn show(&self) -> String {
///         format!("next: {}", self.0.load(Ordering::Relaxed))
///     }
/// }
///
/// static COUNTER: Counter = Counter::new();
/// assert_eq!((COUNTER.next(), COUNTER.next()), (0, 1));
/// assert_eq!(COUNTER.show(), "next: 2");
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
/// 2024. Do not `.await` in it: for that there is [`atomic_async!`](crate::atomic_async).
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

/// Marks a part of an async function as atomic. It is an expression, and may `.await`.
///
/// ```
/// use aerodrome::atomic_async;
/// use aerodrome::sync::Mutex;
/// # async fn connect() -> Result<u32, String> { Ok(1) }
///
/// async fn grow(open: &Mutex<Vec<u32>>) -> Result<usize, String> {
///     let count = atomic_async! {
///         let connection = connect().await?;
///         let mut open = open.lock().unwrap();
///         open.push(connection);
///         Ok::<usize, String>(open.len())
///     }?;
///     Ok(count)
/// }
/// # let open = Mutex::new(vec![]);
/// # let mut grow = std::pin::pin!(grow(&open));
/// # let mut context = std::task::Context::from_waker(std::task::Waker::noop());
/// # let grown = std::future::Future::poll(grow.as_mut(), &mut context);
/// # assert_eq!(grown, std::task::Poll::Ready(Ok(1)));
/// ```
///
/// As in an `async` block, `return` and `?` leave only this part, the value of which they give. In
/// reports it has the name of the function around it, or one that it is given:
/// `atomic_async!(name = "grow", { .. })`.
#[macro_export]
macro_rules! atomic_async {
    (name = $name:tt, { $($body:tt)* } $(,)?) => {
        $crate::__atomic_part! { (name: $name, at: here()) { $($body)* } }
    };
    ($($body:tt)*) => {
        $crate::__atomic_part! { (at: here()) { $($body)* } }
    };
}

/// The future of a part of an async function, awaited.
#[cfg(feature = "check")]
#[doc(hidden)]
#[macro_export]
macro_rules! __atomic_part {
    (($($mark:tt)*) $body:tt) => {
        $crate::__private::atomic_future($crate::__block!($($mark)*), async $body).await
    };
}

/// The future of a part of an async function, awaited.
#[cfg(not(feature = "check"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __atomic_part {
    (($($mark:tt)*) $body:tt) => {{
        $crate::__transaction! { $($mark)* }
        async $body.await
    }};
}

/// The body of an async function, which returns what comes first: nothing where that has no name.
#[cfg(feature = "check")]
#[doc(hidden)]
#[macro_export]
macro_rules! __atomic_async {
    (() ($($mark:tt)*) $body:tt) => {
        $crate::__private::atomic_future($crate::__block!($($mark)*), async move $body).await
    };
    (($($returned:tt)*) ($($mark:tt)*) $body:tt) => {
        $crate::__private::atomic_future($crate::__block!($($mark)*), async move {
            // The body is checked against the type that the function returns.
            #[allow(
                unreachable_code,
                clippy::diverging_sub_expression,
                clippy::empty_loop,
                clippy::let_unit_value,
                clippy::needless_return
            )]
            if false {
                let returned: $($returned)* = loop {};
                return returned;
            }
            $body
        })
        .await
    };
}

/// Without `check` the body of an async function is its body.
#[cfg(not(feature = "check"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __atomic_async {
    ($returned:tt ($($mark:tt)*) $body:tt) => {
        $crate::__transaction! { $($mark)* }
        $body
    };
}

/// The future that a function returns, which is `boxed` or not.
#[cfg(feature = "check")]
#[doc(hidden)]
#[macro_export]
macro_rules! __atomic_future {
    (() ($($mark:tt)*) $body:tt) => {
        $crate::__private::atomic_future($crate::__block!($($mark)*), $body)
    };
    ((boxed) $mark:tt $body:tt) => {
        $crate::real::boxed::Box::pin($crate::__atomic_future!(() $mark $body))
    };
}

/// Without `check` it is the future.
#[cfg(not(feature = "check"))]
#[doc(hidden)]
#[macro_export]
macro_rules! __atomic_future {
    ($boxed:tt ($($mark:tt)*) $body:tt) => {
        $crate::__transaction! { $($mark)* }
        $body
    };
}

/// Begins the transaction of the block that it stands in. What the marks expand to; not for use by
/// hand.
#[cfg(feature = "check")]
#[doc(hidden)]
#[macro_export]
macro_rules! __transaction {
    ($($mark:tt)*) => {
        let _transaction = $crate::__private::begin($crate::__block!($($mark)*));
    };
}

/// The block of a mark.
#[cfg(feature = "check")]
#[doc(hidden)]
#[macro_export]
macro_rules! __block {
    (at: $($here:tt)*) => {
        $crate::__block!(@ ::core::option::Option::None, $($here)*)
    };
    (name: $name:tt, at: $($here:tt)*) => {
        $crate::__block!(@ ::core::option::Option::Some($name), $($here)*)
    };
    // The items stand in a block, where the author's code does not see them.
    (@ $name:expr, $($here:tt)*) => {{
        enum Here {}
        static BLOCK: $crate::__private::Block =
            $crate::__private::Block::new::<Here>(
                $name,
                ::core::module_path!(),
                $crate::__private::Place.$($here)*,
            );
        &BLOCK
    }};
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

/// Runs a test's body `runs` times, up to the first run that fails.
#[cfg(not(feature = "check"))]
pub fn run_test<T: Termination>(runs: u32, body: fn() -> T) -> ExitCode {
    for _ in 0..runs {
        let code = body().report();
        if code != ExitCode::SUCCESS {
            return code;
        }
    }
    ExitCode::SUCCESS
}
