//! What the recorder needs of whoever takes the records: a small interface, which `collect`
//! installs when the process starts. The recorder does not know the collector.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::OnceLock;

use super::strand::untracked;

/// Whoever takes the records.
pub(crate) trait Host: Sync {
    /// Whether anything is to be recorded.
    fn start(&self) -> Started;

    /// The reports of the family are due, at a safe point of its first strand.
    ///
    /// # Panics
    ///
    /// With the reports, as the settings demand.
    #[track_caller]
    fn deliver(&self, family: u32);

    /// The first strand of a family ends, on its own thread.
    fn first_strand_ends(&self);

    /// The name of a variable, if an open property of the family speaks of it.
    fn speaks_of(&self, family: u32, name: &dyn Fn() -> String) -> Option<String>;

    /// Something of ours has panicked: checking ends.
    fn failed(&self, payload: Box<dyn std::any::Any + Send>);

    /// Somebody has waited in vain: checking ends, without a verdict, and the program goes on.
    fn give_up(&self, what: &'static str);
}

/// Whether anything is to be recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Started {
    Yes,
    /// Not yet: what the thread does later may be.
    NotYet,
    /// Checking is off.
    Off,
}

static HOST: OnceLock<&'static dyn Host> = OnceLock::new();

/// From here on records are taken.
pub(crate) fn install(host: &'static dyn Host) {
    let _ = HOST.set(host);
}

pub(super) fn host() -> Option<&'static dyn Host> {
    HOST.get().copied()
}

/// Runs what is ours alone: if it panics, checking ends, and the program goes on.
pub(crate) fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(payload) => {
            if let Some(host) = host() {
                host.failed(payload);
            }
            None
        }
    }
}

/// What somebody waits for does not come. Checking ends, without a verdict, and the program goes
/// on.
#[cold]
#[inline(never)]
pub(super) fn give_up(what: &'static str) {
    if let Some(host) = host() {
        untracked(|| host.give_up(what));
    }
}
