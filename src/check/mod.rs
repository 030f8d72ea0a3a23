//! Checking: is there a serial order of the transactions that explains the trace?
//!
//! Four engines behind one trait, which takes events one by one and may answer with a violation.

/// A pattern: the operations that are nothing to an engine. Some [`Checker`] has turned into
/// others, and some speak to others than engines.
macro_rules! no_step {
    () => {
        Op::Split
            | Op::Restart
            | Op::Pause
            | Op::Notify
            | Op::Busy
            | Op::CompareExchange
            | Op::CompareExchangeFailed
            | Op::Value
            | Op::Born
    };
}

pub mod aerodrome;
pub mod aerodrome_basic;
mod checker;
mod cycle;
pub mod exact;
#[cfg(test)]
mod figures;
mod groups;
mod kind;
mod retries;
mod semantics;
pub mod velodrome;

pub use aerodrome::Aerodrome;
pub use aerodrome_basic::AerodromeBasic;
pub use checker::Checker;
#[cfg(feature = "check")]
pub(crate) use checker::Whose;
pub use exact::Exact;
pub use kind::{EngineKind, UnknownEngine};
pub use retries::Retries;
pub use semantics::Lowering;
pub use velodrome::Velodrome;

use crate::dense;
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId};

/// A strand's knowledge of the others' transactions.
type Clock = dense::Clock<u64>;

/// Decides conflict serializability of the events it is fed.
///
/// An engine takes a trace that is well formed (`trace::WellFormed` sees to that: no nested begin,
/// no re-entrant acquire) and already read under a [`Semantics`](crate::trace::Semantics)
/// (`check::Checker` does that, with [`Retries`] and [`Lowering`]: no [`Op::Split`], no
/// [`Op::Pause`], no exchange, no acquire of a lock that does not order).
pub trait Engine {
    /// Takes the next event. `position` counts the trace's events from 1 and only grows.
    ///
    /// After a violation the engine may be fed on: the edge that closed the cycle is not taken, so
    /// that the graph stays acyclic and every later violation is a real cycle again.
    fn step(&mut self, event: Event, position: u64) -> Option<Box<Violation>>;

    /// Takes events that follow one another, the first of them at `position`, until one closes a
    /// cycle; says how many were taken.
    ///
    /// The same as [`step`](Engine::step) on each, but faster: where there are many variables the
    /// cost is in waiting for them.
    fn run(&mut self, events: &[Event], position: u64) -> (usize, Option<Box<Violation>>) {
        for (at, event) in events.iter().enumerate() {
            let found = self.step(*event, position + at as u64);
            if found.is_some() {
                return (at + 1, found);
            }
        }
        (events.len(), None)
    }

    /// The event will be taken soon: an engine may fetch from memory what it is going to look at.
    /// Changes nothing.
    #[inline]
    fn foresee(&self, event: &Event) {
        let _ = event;
    }
}

/// How many events ahead it is worth to [foresee](Engine::foresee) one.
pub const FORESIGHT: usize = 16;

/// A cycle of transactions: no serial order explains the trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The position of the event that closed the cycle.
    pub event: u64,
    /// The transaction to blame: an index into `transactions`.
    pub blame: usize,
    /// The transactions of the cycle, in its order.
    pub transactions: Vec<Transaction>,
    /// `edges[i]` leads from `transactions[i]` to the next, the last one back to the first. Empty
    /// where the engine keeps no edges.
    pub edges: Vec<Edge>,
}

/// A transaction in a [`Violation`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transaction {
    /// Whose.
    pub strand: StrandId,
    /// Nothing for an event outside any block.
    pub block: Option<BlockId>,
    /// The position at which it began, where known.
    pub begin: Option<u64>,
    /// Where it began.
    pub site: SiteId,
}

/// Why one transaction comes before another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The earlier event, in the earlier transaction.
    pub from: Access,
    /// The later event, in the later transaction.
    pub to: Access,
}

/// An event in a [`Violation`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The event's position.
    pub position: u64,
    /// Who.
    pub strand: StrandId,
    /// What.
    pub op: Op,
    /// On what, where the operation is on an object.
    pub object: Option<ObjectId>,
    /// Where.
    pub site: SiteId,
}
