//! Block-based analysis: violations of any number of transactions and variables, from one run.
//!
//! After Wang and Stoller, "Run-Time Analysis for Atomicity" (RV 2003) and "Runtime Analysis of
//! Atomicity for Multithreaded Programs" (TSE 2006). A *block* is a pair of accesses of one
//! transaction with the locks held at the one, at the other and throughout. Another strand's access
//! can come between the two if no lock that is held throughout excludes one that is held at that
//! access, and if fork, join, signals and messages do not forbid it (theorem 5.1 of RV 2003).
//! Whoever compares blocks compares all schedules at once, and equal blocks are stored once, so
//! that memory follows what the program does differently and not how often.
//!
//! **One variable** (theorem 3). Two neighbouring accesses of a transaction, with an access of
//! another strand between them that conflicts with both: [`Minimal`](super::Minimal) finds these,
//! so that they are not looked for here.
//!
//! **Two transactions** (theorem 4) **and any number** (theorem 5). Call accesses of one
//! transaction and variable a class if they conflict with the same: plain reads, writes, updates of
//! one kind. If nothing comes between a transaction's accesses of one variable, then in any
//! schedule all conflicts between two classes of two transactions point in one direction (take `e1
//! < f1` and `f2 < e2`: either an `f` lies between two `e`, or an `e` between two `f`), so that one
//! access of each class says which: the first read, the final write, the last update of each kind.
//! A read after an own plain write needs no keeping, because whatever conflicts with it conflicts
//! with that write and does not come between them; these are the papers' initial reads and final
//! writes. A transaction is kept as the sequence of its representatives and of the lock regions
//! around and between them: locks held throughout and `heldmid` follow from it. A cycle is a
//! sequence of conflicts `a1 -> b1`, `a2 -> b2`, ..., where the transaction of `b1` is that of `a2`
//! or comes before it on every schedule (same strand, fork, join, signal, message), and so on
//! round. At least one transaction is left by an access and entered again by a later one; the
//! search starts there, takes short cycles first, and visits no strand twice: a cycle that does can
//! be cut short by that strand's own order. Independent transactions share no variable and no order
//! and never meet in this search, which is the papers' partition into disjoint sets.
//!
//! **Schedules.** The papers' tests are exact only where no deadlock is possible. So for every
//! cycle a schedule is looked for in the skeleton of lock and order events; the cycle is
//! *predicted* if one was found and replayed, *potential* if the search hit its bound, and dropped
//! if there is none.
//!
//! **Generalisations.** Shared locks: two shared holds do not exclude each other; a lock that is
//! downgraded on the way was held shared throughout. Updates: see above. Messages, signals, forks
//! and joins may stand inside a transaction, and order one access, not the whole transaction.
//! *Escape*: an object is unescaped until a second strand touches it, and what it went through
//! before is not forgotten then (the second strand's run may be parallel to it, as in every serial
//! run of two tests) but compared like all else; fork and join order exclude what was
//! initialisation.
//!
//! The papers' own question is view serializability, which calls writes that nobody sees atomic.
//! `tests/predict/papers` has their algorithms to the letter.

mod search;
mod summary;

use super::{Analysis, Context, Outcome, doubt};
use crate::trace::Event;
use search::{Cycles, Findings};
use summary::Summaries;

/// Where the searches stop. What was cut short is said in the outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// Conflicts in a cycle: with this many transactions or more, as some may follow each other by
    /// order alone.
    pub conflicts: usize,
    /// Transactions in a cycle, those included.
    pub transactions: usize,
    /// Pairs of accesses looked at.
    pub comparisons: u64,
    /// Cycles for which a schedule is looked for.
    pub schedules: u64,
    /// Interleavings tried for one schedule.
    pub states: usize,
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            conflicts: 4,
            transactions: usize::MAX,
            comparisons: 50_000_000,
            schedules: 2_000,
            states: 20_000,
        }
    }
}

impl Bounds {
    /// For a test, which tells no cycle of more than three transactions: see
    /// [`Options::brief`](super::Options::brief).
    pub fn brief() -> Bounds {
        Bounds {
            conflicts: 3,
            transactions: 3,
            comparisons: 1 << 16,
            schedules: 200,
            ..Bounds::default()
        }
    }

    fn is_brief(&self) -> bool {
        self.transactions < usize::MAX
    }
}

/// The block-based analysis; see [the module](self).
///
/// ```
/// use aerodrome::predict::{Analysis, Context, Tier, blocks::Blocks};
/// use aerodrome::trace::{Event, Op, SiteId, StrandId};
///
/// // A transaction reads two variables; then, in this run, another strand's writes both.
/// let run = [(0, Op::Begin, 0), (0, Op::Read, 1), (0, Op::Read, 2), (0, Op::End, 0),
///            (1, Op::Begin, 1), (1, Op::Write, 1), (1, Op::Write, 2), (1, Op::End, 1)];
/// let mut blocks = Blocks::new();
/// let mut now = Context::default();
/// for ((strand, op, target), position) in run.into_iter().zip(1..) {
///     let event = Event { strand: StrandId(strand), target, site: SiteId::NONE, op };
///     now.step(event, position);
///     blocks.step(event, position, &mut now);
/// }
/// let outcome = blocks.finish(&mut now);
/// assert_eq!(outcome.predictions[0].pattern, "a cycle of 2 transactions");
/// assert_eq!(outcome.predictions[0].tier, Tier::Predicted);
/// ```
#[derive(Debug, Default)]
pub struct Blocks {
    kept: Summaries,
    bounds: Bounds,
}

impl Blocks {
    /// Within the usual bounds.
    pub fn new() -> Blocks {
        Blocks::default()
    }

    /// Within other bounds.
    pub fn with(bounds: Bounds) -> Blocks {
        Blocks {
            bounds,
            ..Blocks::default()
        }
    }

    /// How many different transactions are kept.
    pub fn kept(&self) -> usize {
        self.kept.summaries.len()
    }
}

impl Analysis for Blocks {
    fn fetch(&mut self, events: &[(Event, u64)]) {
        events.iter().for_each(|(event, _)| self.kept.fetch(event));
    }

    fn accesses(&mut self, run: &[(Event, u64)], now: &mut Context) {
        self.kept.accesses(run, now);
    }

    fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        self.kept.step(event, position, now);
    }

    fn finish(&mut self, now: &mut Context) -> Outcome {
        self.kept.finish(now);
        let mut findings = Findings::new(now, self.bounds);
        Cycles::new(&self.kept, now, &mut findings).search();
        let mut outcome = Outcome::default();
        if findings.cut_short {
            outcome.notes.push(format!(
                "blocks: the search was cut short after {} comparisons: may be incomplete",
                findings.bounds.comparisons
            ));
        }
        if findings.realiser.is_exhausted() {
            outcome.notes.push(format!(
                "blocks: no more than {} schedules were looked for: what has none may be possible",
                self.bounds.schedules
            ));
        }
        if !self.bounds.is_brief() && self.kept.strands_that_pass_on(now) > self.bounds.conflicts {
            outcome.notes.push(format!(
                "blocks: cycles of more than {} conflicts were not looked for: may be incomplete",
                self.bounds.conflicts
            ));
        }
        outcome.predictions = findings.predictions;
        outcome.notes.extend(doubt(&outcome.predictions, now));
        outcome
    }
}
