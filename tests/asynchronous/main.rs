//! Async programs: tasks, branches and transactions that await are strands.
#![cfg(all(feature = "check", feature = "tokio"))]

mod kernels;
mod parity;
mod script;
mod strands;
mod sync;
mod tasks;

use std::future::Future;

use aerodrome::Outcome;
use aerodrome::report::Report;
use aerodrome::tokio::runtime::{Builder, Runtime};
use aerodrome::tokio::task::LocalSet;

/// What runs a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flavor {
    CurrentThread,
    TwoWorkers,
    Local,
}

const FLAVORS: [Flavor; 3] = [Flavor::CurrentThread, Flavor::TwoWorkers, Flavor::Local];

impl Flavor {
    fn runtime(self) -> Runtime {
        let mut builder = match self {
            Flavor::TwoWorkers => Builder::new_multi_thread(),
            _ => Builder::new_current_thread(),
        };
        builder.worker_threads(2).enable_time().build().unwrap()
    }

    /// Runs a program to its end.
    fn run<T>(self, program: impl Future<Output = T>) -> T {
        let runtime = self.runtime();
        match self {
            Flavor::Local => LocalSet::new().block_on(&runtime, program),
            _ => runtime.block_on(program),
        }
    }

    /// Judges a program.
    fn judge<T, F: Future<Output = T>>(self, program: impl FnOnce() -> F) -> Outcome<T> {
        let outcome = aerodrome::check(|| self.run(program()));
        assert_eq!(outcome.incomplete, None);
        outcome
    }
}

/// The blocks that reports blame, each once.
fn blamed(violations: &[Report]) -> Vec<String> {
    let blocks = violations
        .iter()
        .filter_map(|report| report.transactions[report.blame].block.as_ref());
    let mut names: Vec<String> = blocks.map(|block| block.name.clone()).collect();
    names.dedup();
    names
}
