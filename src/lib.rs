//! aerodrome finds atomicity bugs in Rust programs while their ordinary tests run.
//!
//! # The problem
//!
//! Safe Rust has no data races, and has this bug all the same. Every access is under its lock, but
//! the withdrawal looks in one critical section and takes in the next, and somebody else can come
//! in between:
//!
#![cfg_attr(feature = "check", doc = "```should_panic")]
#![cfg_attr(not(feature = "check"), doc = "```")]
//! use aerodrome::sync::Mutex;
//! use aerodrome::thread;
//!
//! struct Account {
//!     balance: Mutex<i64>,
//! }
//!
//! impl Account {
//!     #[aerodrome::atomic]
//!     fn withdraw(&self, amount: i64) -> bool {
//!         let enough = *self.balance.lock().unwrap() >= amount;
//!         if enough {
//!             *self.balance.lock().unwrap() -= amount;
//!         }
//!         enough
//!     }
//! }
//!
//! # #[cfg(feature = "check")]
//! // No sleeps, and no order forced.
//! aerodrome::explore(aerodrome::Explore::new(), || {
//!     let account = Account { balance: Mutex::new(100) };
//!     thread::scope(|s| {
//!         s.spawn(|| account.withdraw(60));
//!         s.spawn(|| account.withdraw(60));
//!     });
//! })
//! .tell();
//! ```
//!
//! A test that asserts on the balance fails only where the amounts make it come out wrong: had one
//! thread taken 40, all would look well. aerodrome does not look at values. It records which transaction
//! touched what in which order, and asks whether *any* order of the transactions, one after the
//! other, explains that. If there is none, the block that is marked [`#[atomic]`](macro@atomic) was
//! not.
//!
//! What it says is this; it is the output of `cargo run --example bank --features check`:
//!
//! ```text
#![doc = include_str!("../docs/bank.txt")]
//! ```
//!
//! # Adding it to a project
//!
//! ```toml
//! [dependencies]
//! aerodrome = "0.1"
//!
//! [dev-dependencies]
//! aerodrome = { version = "0.1", features = ["check"] }
//! ```
//!
//! Then one line in `lib.rs` or `main.rs` tracks the whole crate:
//!
//! ```
//! extern crate aerodrome as std;
//!
//! use std::collections::HashMap; // std's own
//! use std::sync::Mutex; // tracked with `check`, std's own without
//!
//! static NAMES: Mutex<Option<HashMap<u32, String>>> = Mutex::new(None);
//!
//! #[std::atomic]
//! fn names() -> usize {
//!     NAMES.lock().unwrap().as_ref().map_or(0, HashMap::len)
//! }
//! # fn main() { assert_eq!(names(), 0); }
//! ```
//!
//! `std::real` (or `aerodrome::real`) always means the real std, for a type that is handed to a
//! crate that knows nothing of this. In edition 2015 the dependency has to be called `std`: `std =
//! { package = "aerodrome", version = "0.1" }`, and marks are `#[std::atomic(crate = ::std)]`. For
//! no line at all there is [`cargo aerodrome test`](#the-command).
//!
//! Import by import works as well:
//!
//! | instead of | write | feature |
//! |---|---|---|
//! | `std::sync` (with `atomic` and `mpsc`), `std::thread`, `std::hint` | `aerodrome::sync`, `aerodrome::thread`, `aerodrome::hint` | |
//! | `parking_lot` | `aerodrome::parking_lot` | `parking_lot` |
//! | `parking_lot_core` | `aerodrome::parking_lot_core` | `parking_lot` |
//! | `crossbeam_channel` | `aerodrome::crossbeam_channel` | `crossbeam-channel` |
//! | `crossbeam_utils` | `aerodrome::crossbeam_utils` | `crossbeam-utils` |
//! | `once_cell` | `aerodrome::once_cell` | `once_cell` |
//!
//! All but `parking_lot_core` are also packages that can stand in the place of the originals without
//! a change in the sources: `parking_lot = { package = "aerodrome-parking_lot", version = "0.1" }`,
//! and likewise `aerodrome-crossbeam-channel`, `aerodrome-crossbeam-utils` and
//! `aerodrome-once_cell`, each with the feature `check`.
//!
//! Without the feature `check` these names *are* the ones on the left: re-exports, no wrapper,
//! nothing at run time, and no crate is compiled but aerodrome and its macros, which use none. With
//! it they are types of the same interface that record what is done with them. Because of the
//! second entry above, Cargo turns `check` on for `cargo test` and leaves it off for `cargo build`.
//! A program is checked as it runs, not as it is tested, with a feature of its own:
//!
//! ```toml
//! [features]
//! check = ["aerodrome/check"]
//! ```
//!
//! What is left with its `std` import is not seen. That is right for statistics, logs and metrics,
//! and for the barriers with which a test arranges a schedule; for all else a [fragment of
//! `clippy.toml`](ci#keeping-stdsync-out) keeps `std::sync` from creeping back. [Continuous
//! integration](ci) has a page of its own: nextest, reports as files, annotations on pull requests.
//!
//! # Marking blocks
//!
//! A run of a marked block is a *transaction*. A mark says: this must look as if it happened at
//! once.
//!
//! ```
//! use aerodrome::sync::Mutex;
//! use aerodrome::{atomic, atomic_block};
//!
//! struct Stock {
//!     shelf: Mutex<u32>,
//!     sold: Mutex<u32>,
//! }
//!
//! #[atomic] // every method, ...
//! impl Stock {
//!     fn sell(&self) -> Option<u32> {
//!         let mut shelf = self.shelf.lock().unwrap();
//!         *shelf = shelf.checked_sub(1)?;
//!         *self.sold.lock().unwrap() += 1;
//!         Some(*shelf)
//!     }
//!
//!     #[not_atomic] // ... except this one
//!     fn report(&self) -> String {
//!         format!("{} sold", self.sold.lock().unwrap())
//!     }
//! }
//!
//! let stock = Stock { shelf: Mutex::new(2), sold: Mutex::new(0) };
//! assert_eq!(stock.sell(), Some(1));
//!
//! // A part of a function.
//! let total = atomic_block!(name = "total", {
//!     let shelf = stock.shelf.lock().unwrap();
//!     *shelf + *stock.sold.lock().unwrap()
//! });
//! assert_eq!((total, stock.report()), (2, "1 sold".to_owned()));
//! ```
//!
//! Mark what callers rely on: the public methods of a type that has locks inside. Blocks nest, and
//! the outermost counts. What happens outside of any block is a transaction by itself, access by
//! access.
//!
//! Any `#[test]` is checked: a violation panics on the test's own thread, when that thread next
//! joins another one, ends a scope, or begins an outermost block; if it does none of these any
//! more, the process fails. Threads that a library spawned count to the test whose objects they
//! touch. With [`#[aerodrome::test]`](macro@test) everything is judged at the test's end, the
//! threads too that it does not join, and `#[aerodrome::test(runs = 20)]` tries several schedules.
//! [`check`][check-fn] gives the violations back as values. Tests that run side by side do not mix:
//! a violation fails the test that it belongs to.
//!
//! # Reading a report
//!
//! - The **headline** names the block to blame: the one that was entered and left in the middle.
//!   Its line follows, and in one sentence what went wrong.
//! - Then the **accesses** that prove it, numbered in the order in which they happened, each with
//!   its line, its thread, and the object: the name that [`name`](fn@name) gave it, or else its
//!   type. In the example, (1) must come before (2), because Bob's write changed what Alice had
//!   read; and (2) before (3). So Bob's withdrawal would have to come after the beginning of
//!   Alice's and before its end: in no serial order it does.
//! - The cycle is as short as its proof. It can pass through three and more transactions, none of
//!   which is wrong with any other alone; it is then told as a chain.
//! - **help** is what fits this shape. Mostly: hold one guard from the first numbered access of the
//!   block to its last. **also** lists other ways, and what to write where the behaviour is
//!   intended.
//!
//! A report is no guess: what it shows has happened on this run. The same one again is not told
//! again; the last line of the run counts such repeats.
//!
//! # What counts as what
//!
#![doc = include_str!("../docs/rules.md")]
//!
//! # What it cannot see
//!
//! - **Other schedules**, unless [asked to explore](#exploring-schedules) or
//!   [to predict](#other-schedules): a bug that this run did not
//!   show is not reported. What it needs is the *order*, not the wrong result, so it sees far more
//!   than an assertion does; but two threads that never overlap show nothing.
//! - **What is not tracked**: other imports, other crates' locks, fields that are plain data (their
//!   lock's guard stands for all of them: two keys of one map are one object). A marked block in
//!   which nothing was recorded is named when the process ends.
//! - **Weak memory.** Tracked atomics are sequentially consistent, whatever their `Ordering` says.
//!   That is what [loom](https://docs.rs/loom) and Miri are for; data races in unsafe code are
//!   ThreadSanitizer's and Miri's.
//! - **Time between processes, and async tasks.** A thread is what runs; tasks that share a thread
//!   are one thread. An `async fn` cannot be marked.
//! - **Blocks that nobody marked.**
//!
//! # Exploring schedules
//!
//! What a test shows depends on its schedule. `#[aerodrome::test(schedules = 200)]` runs it on up to
//! 200, with its real threads and the real locks: one thread runs at a time, and before each tracked
//! operation a plan decides who goes on. It needs no sleeps and no forced order. The first run that
//! breaks a block, panics, deadlocks, or only spins ends the test, with a line that repeats exactly
//! that schedule:
//!
//! ```text
//! found in schedule 3 (mix, seed 2517950169); came back in 2 of 2 replays; 4 switches
//! again: AERODROME_REPLAY=aero1.m.2517950169.2.AgEBCwEAQAXjlk0i cargo test two_withdrawals
//! ```
//!
//! `AERODROME_SCHEDULES=200` does so for every `#[aerodrome::test]`, `cargo aerodrome test
//! --schedules 200` for every `#[test]` of an unchanged workspace, and [`explore`][explore-fn] for a
//! closure. [Its page][explore-page] says what is controlled, and what is not.
//!
//! # Other schedules
//!
//! `AERODROME_PREDICT=warn` (or `deny`) asks, at the end of each test, what other schedules of the
//! same run would have shown. A predicted violation comes with a schedule that was replayed against
//! the locks, forks, joins and messages of the run; it assumes that each thread does there what it
//! did here. What a thread reads of atomics has to fit; of what a lock guards it need not, because
//! to check in one critical section and to act in the next is the bug that is looked for. So where
//! threads find locks in what other locks guard, a list's nodes or a map's entries, a predicted
//! schedule may use one before it was put there.
//!
//! ```
//! # #[cfg(feature = "check")]
//! # {
//! use aerodrome::sync::Mutex;
//! use aerodrome::{Config, Predict, atomic, thread};
//!
//! #[atomic]
//! fn withdraw(balance: &Mutex<i64>, amount: i64) {
//!     if *balance.lock().unwrap() >= amount {
//!         *balance.lock().unwrap() -= amount;
//!     }
//! }
//!
//! Config::from_env().unwrap().predict(Predict::Warn).install().unwrap();
//! let balance = Mutex::new(100);
//! // On this run, one happens to come after the other.
//! let turn = std::sync::Barrier::new(2);
//! let outcome = aerodrome::check(|| {
//!     thread::scope(|s| {
//!         s.spawn(|| { withdraw(&balance, 60); turn.wait(); });
//!         s.spawn(|| { turn.wait(); withdraw(&balance, 30); });
//!     });
//! });
//! assert!(outcome.is_serializable());
//! assert!(outcome.forecast.unwrap().fails());
//! # }
//! ```
//!
//! Beside violations, locks that are taken in a circle are told, and, as hints that fail nothing,
//! transactions that are not reducible and races.
//!
//! [`property!`] states what must hold in every state of a run, over [`Watched`](watch::Watched)
//! variables and [named atomics](watch#named-atomics), and is decided on every run that is
//! consistent with the observed one: `cargo run --example landing --features check`.
//!
//! # Settings
//!
#![doc = include_str!("../docs/settings.md")]
//!
//! In code they are the methods of [`Config`]. [`on_violation`] takes reports where the mode is
//! `log`.
//!
//! # The command
//!
//! `cargo install aerodrome --features cli` installs `aerodrome`, which works on files: on reports
//! (`AERODROME_REPORT`) and on traces (`AERODROME_TRACE`, or those of other tools in the formats
//! STD and CSV).
//!
//! ```text
//! aerodrome check FILE       says whether a serial order of the transactions explains the trace
//! aerodrome predict FILE     says what other schedules of the same run would show
//! aerodrome lattice FILE     checks a property on every run that is consistent with the trace
//! aerodrome observe          judges what other processes do while they run, in one report
//! aerodrome stats FILE       counts what is in the trace
//! aerodrome convert IN OUT   writes the trace in another format
//! aerodrome report FILE      shows reports as text, as a page that draws the interleaving, or as SARIF
//! ```
//!
//! It also installs `cargo aerodrome`, which runs an unchanged workspace: `cargo aerodrome test`,
//! `run` and `nextest run` take Cargo's arguments, and `--atomic PATTERN`, `--predict` and
//! `--report html`; `cargo aerodrome suggest` says what can be marked, `cargo aerodrome init` adds
//! the lines above.
//!
//! The same is there as a library, with the feature `trace`: [`trace`][trace-module],
//! [`check`][check-module], [`predict`][predict-module], [`lattice`][lattice-module],
//! [`report`][report-module].
//!
//! # Cost
//!
//! Without `check`: nothing. With it, a tracked operation writes a record of 16 bytes into its
//! thread's own buffer: it allocates nothing, takes no lock of aerodrome's, and draws its place in
//! the order from the lock or atomic that it holds anyway. A critical section in which nothing else
//! happens is one record. One more thread puts the records into order and checks them, tens of
//! millions a second; threads that are faster than that wait for it, so memory stays bounded, and
//! no record is ever dropped. What is kept follows the objects and threads that are alive, not the
//! length of the run. `benches/README.md` has figures, and says how they are read.
//!
//! # How it works
//!
//! Every tracked object counts its own events. The count that an operation drew, its *ticket*, is
//! its place among the object's events; program order is its place among its thread's. Both orders
//! together are acyclic, and every order that keeps both keeps the order of every two operations
//! that conflict, so the collector may merge the threads' buffers by tickets alone: no clock, no
//! global counter.
//!
//! The merged events go to an engine, which knows for each *open* transaction what it reaches. An
//! event that lets a transaction be reached by what it reaches itself closes a cycle: no serial
//! order puts each of its transactions before the next. `exact`, the default, says so at the very
//! event that closes the cycle. The others are the published ones: `aerodrome`, after which this
//! crate is named, `aerodrome-basic`, the same without reductions, and `velodrome`. All are held
//! against a brute-force oracle on random traces. `ARCHITECTURE.md` is the whole story.
//!
//! # References
//!
//! - Umang Mathur, Mahesh Viswanathan: *Atomicity Checking in Linear Time using Vector Clocks*.
//!   ASPLOS 2020. The engines `aerodrome` and `aerodrome-basic`.
//! - Cormac Flanagan, Stephen N. Freund, Jaeheon Yi: *Velodrome: A Sound and Complete Dynamic
//!   Atomicity Checker for Multithreaded Programs*. PLDI 2008. The engine `velodrome`, and blame.
//! - Azadeh Farzan, P. Madhusudan, Francesco Sorrentino: *Meta-analysis for Atomicity Violations
//!   under Nested Locking*. CAV 2009. Prediction: `minimal`.
//! - Liqiang Wang, Scott D. Stoller: *Run-Time Analysis for Atomicity*. RV 2003; *Runtime Analysis
//!   of Atomicity for Multithreaded Programs*. IEEE TSE 2006. Prediction: `blocks` and `reduction`.
//! - Grigore Roșu, Koushik Sen: *An Instrumentation Technique for Online Analysis of Multithreaded
//!   Programs*. Properties.
//!
#![cfg_attr(
    feature = "check",
    doc = "[`Config`]: Config\n[`on_violation`]: on_violation\n[check-fn]: fn@check\n[explore-fn]: fn@explore\n[explore-page]: mod@explore"
)]
#![cfg_attr(
    not(feature = "check"),
    doc = "[`Config`]: https://docs.rs/aerodrome/latest/aerodrome/struct.Config.html\n[explore-fn]: https://docs.rs/aerodrome/latest/aerodrome/fn.explore.html\n[explore-page]: https://docs.rs/aerodrome/latest/aerodrome/explore/index.html\n[`on_violation`]: https://docs.rs/aerodrome/latest/aerodrome/fn.on_violation.html\n[check-fn]: https://docs.rs/aerodrome/latest/aerodrome/fn.check.html"
)]
#![cfg_attr(
    feature = "trace",
    doc = "[check-module]: mod@check\n[predict-module]: mod@predict\n[lattice-module]: mod@lattice\n[report-module]: mod@report\n[trace-module]: mod@trace"
)]
#![cfg_attr(
    not(feature = "trace"),
    doc = "[check-module]: https://docs.rs/aerodrome/latest/aerodrome/check/index.html\n[predict-module]: https://docs.rs/aerodrome/latest/aerodrome/predict/index.html\n[lattice-module]: https://docs.rs/aerodrome/latest/aerodrome/lattice/index.html\n[report-module]: https://docs.rs/aerodrome/latest/aerodrome/report/index.html\n[trace-module]: https://docs.rs/aerodrome/latest/aerodrome/trace/index.html"
)]

pub mod cell;
#[cfg(feature = "trace")]
pub mod check;
// A page, not a module: there is nothing in it to use.
#[cfg(doc)]
pub mod ci {
    #![doc = "[fragment]: #keeping-stdsync-out\n\n"]
    #![doc = include_str!("../docs/ci.md")]
    //! ```toml
    #![doc = include_str!("../docs/clippy.toml")]
    //! ```
}
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cargo;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(all(feature = "check", not(target_pointer_width = "64")))]
compile_error!(
    "the feature `check` needs a 64-bit target: a record has room for 32 bits of an address, and \
     relies on statics that are aligned to eight bytes. Without it aerodrome is std, on any target"
);

#[cfg(feature = "check")]
mod collect;
#[cfg(feature = "crossbeam-channel")]
pub mod crossbeam_channel;
#[cfg(feature = "crossbeam-utils")]
pub mod crossbeam_utils;
#[cfg(feature = "trace")]
mod dense;
#[cfg(feature = "check")]
pub mod explore;
#[cfg(feature = "trace")]
mod forecast;
pub mod hint;
#[cfg(feature = "trace")]
mod json;
#[cfg(feature = "trace")]
pub mod lattice;
mod mark;
mod name;
#[cfg(any(feature = "check", feature = "cli"))]
pub mod observe;
#[cfg(feature = "once_cell")]
pub mod once_cell;
mod operation;
#[cfg(feature = "parking_lot")]
pub mod parking_lot;
#[cfg(feature = "parking_lot")]
pub mod parking_lot_core;
#[cfg(feature = "trace")]
pub mod plan;
#[cfg(feature = "trace")]
pub mod predict;
#[cfg(feature = "check")]
mod record;
#[cfg(feature = "trace")]
pub mod report;
pub mod sync;
pub mod thread;
#[cfg(feature = "trace")]
pub mod trace;
pub mod watch;

/// The real std, also where `std` is another name of this crate.
pub use ::std as real;
// With these, `extern crate aerodrome as std;` is possible. What is declared here comes first.
#[doc(hidden)]
pub use ::std::*;

#[cfg(feature = "check")]
pub use self::collect::{Config, ConfigError, Mode, Outcome, Predict, check, on_violation};
#[cfg(feature = "check")]
pub use self::explore::{Exploration, Explore, Found, Problem, explore};
pub use self::hint::restart;
pub use self::mark::{atomic, not_atomic, outside, test, untracked};
#[cfg(feature = "check")]
pub use self::name::Tracked;
pub use self::name::name;
pub use self::operation::{Object, operation};

/// What the macros expand to: no part of the interface.
#[doc(hidden)]
pub mod __private {
    #[cfg(all(feature = "check", feature = "crossbeam-channel"))]
    pub use aerodrome_macros::place;

    #[cfg(feature = "check")]
    pub use crate::explore::{run_plain_test, run_test};
    #[cfg(not(feature = "check"))]
    pub use crate::mark::run_test;
    #[cfg(feature = "check")]
    pub use crate::mark::{Block, Place, Transaction, begin, depth, outermost};
    pub use crate::mark::{ExitCode, Test};
    #[cfg(feature = "check")]
    pub use crate::operation::{Access, Operation, operate};
    pub use ::std::prelude::v1::test as std_test;
    #[cfg(feature = "check")]
    pub use aerodrome_macros::plain_test;
    #[cfg(feature = "check")]
    pub use std::panic::Location;
}
