//! Plans: which strand goes next.
//!
//! An explored run is a sequence of *actions*. Each is a strand's next operation together with
//! everything that the strand does before the operation after it. A plan is asked before every
//! action. It knows the pending operations, not the threads, so the same plans schedule threads
//! and tasks, and the tests of this module schedule programs that exist only as data.
//!
//! # Contract
//!
//! For each run the explorer calls [`begin`](Plan::begin); then, until no strand is left,
//! [`choose`](Plan::choose), performs the chosen action, and calls [`pick`](Plan::pick) and
//! [`released`](Plan::released) as the action comes to them; then [`end`](Plan::end). Where
//! nobody can go on it calls [`stuck`](Plan::stuck) instead of `choose`. Two runs in
//! which a plan answers alike are the same run, unless the program depends on something else. A
//! plan notices that ([`Plan::begin`] of `all` and of a replay say what they expect).

pub mod all;
pub mod coverage;
mod known;
pub mod mix;
mod name;
pub mod obligation;
pub mod pct;
pub mod pos;
mod priority;
mod random;
pub mod replay;
pub mod rf;
pub mod schedule;
pub mod shrink;
pub mod surw;
pub mod walk;
#[cfg(feature = "check")]
mod wanted;

pub use all::All;
pub use coverage::{Count, Coverage, Gap, trace_hash};
pub use mix::Mix;
pub use name::Name;
pub use obligation::{Between, Point};
pub use pct::Pct;
pub use pos::Pos;
pub use replay::{Divergence, Recorder, Replay};
pub use rf::Rf;
pub use schedule::{Schedule, ScheduleError};
pub use shrink::{Recording, Shrunk, shrink};
pub use surw::Surw;
pub use walk::Walk;
#[cfg(feature = "check")]
pub(crate) use wanted::{Time, Wanted};

use schedule::Turn;

/// What a strand is about to do, as far as a plan has to know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Intent {
    /// The operation.
    pub kind: Kind,
    /// What it is done to. Numbers are dense and given in the order in which the run first meets
    /// the objects, so they agree between runs as long as these are the same.
    pub object: u32,
    /// Where in the program: the same number in every run of a process.
    pub site: u32,
}

/// The operations that a plan tells apart.
///
/// Two operations on one object *conflict* unless both only read
/// ([`Intent::conflicts`]). A strand is an object, too: `Fork`, `Start`, `Exit` and `Join` of it
/// carry its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Reads: an atomic's load, a cell's `get`, a channel's `len`, `is_finished`.
    Read,
    /// Writes: a store.
    Write,
    /// Reads and writes in one step: a read-modify-write, a cell's initialisation.
    Update,
    /// Takes a lock exclusively; blocked while another holds it.
    Lock,
    /// Takes a lock shared; blocked while another holds it exclusively.
    LockShared,
    /// Tries to take a lock, and goes on either way.
    TryLock,
    /// Tries to take a lock shared, and goes on either way.
    TryLockShared,
    /// Gives a lock back. A step only for locks that somebody tries; see [`Plan::released`].
    Unlock,
    /// Puts a message into a channel; blocked while it is full.
    Send,
    /// Takes a message from a channel; blocked while it is empty and has senders.
    Receive,
    /// Drops a channel's end.
    Close,
    /// Enters the queue of a condition variable (the object). While it is there the strand is
    /// blocked with this intent, and may be offered as [`How::Expire`] or [`How::Wake`]. What
    /// follows is a `Lock`.
    Wait,
    /// Wakes one or all of those who wait.
    Notify,
    /// Parks; blocked until the strand's token is there.
    Park,
    /// Gives a strand its token.
    Unpark,
    /// Starts a strand (the object).
    Fork,
    /// A strand's first step. Not possible before its `Fork`.
    Start,
    /// A strand's last step.
    Exit,
    /// Waits for a strand's end; blocked before its `Exit`.
    Join,
    /// Sleeps; offered as [`How::Expire`].
    Sleep,
    /// Leaves the processor to others: `yield_now`, `spin_loop`.
    Yield,
}

/// The way in which an action happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum How {
    /// The operation goes through.
    Proceed,
    /// Its time is up: a time-out, or the end of a sleep.
    Expire,
    /// It wakes up without a reason, as `Condvar::wait` and `park` may.
    Wake,
}

/// Something that can happen next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Action {
    /// The strand, by a number in this run.
    pub seat: u32,
    /// The strand, by a number that is the same in every run: a hash of its path (the second child
    /// of the first child of ..).
    pub path: u64,
    /// How many actions the strand has performed. With `path` it names a step across runs.
    pub nth: u32,
    /// The strand's marked block, counted from 1 in the order in which it enters them; 0 outside.
    pub block: u32,
    /// The operation.
    pub intent: Intent,
    /// The way in which it would happen.
    pub how: How,
}

/// What is chosen inside an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Choice {
    /// Which of those who wait is woken.
    Waiter,
    /// Whether a weak exchange fails: 0 goes through, 1 fails.
    Weak,
    /// Which of the ready arms of a `select!` is taken.
    Arm,
}

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// By itself.
    Complete,
    /// Nobody could go on.
    Deadlock,
    /// It was let go: at a limit, or because the plan cut it short.
    Abandoned,
}

/// A plan. See the [module](self).
pub trait Plan {
    /// A run begins. False if there is nothing left to explore; then no run is made.
    fn begin(&mut self) -> bool;

    /// Which of the `ready` actions is next, as an index. They are never empty, and never spurious
    /// wake-ups alone ([`stuck`](Plan::stuck)). They are ordered by seat. A seat may be there twice,
    /// with different `how`. `blocked` has the seats that cannot go on, each with what it waits for.
    /// `None` gives the run up: what would follow is known.
    fn choose(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize>;

    /// One of `n` ways to go on inside the current action; 0 is the usual one.
    fn pick(&mut self, choice: Choice, n: usize) -> usize;

    /// The current action gives a lock back. That is not an action of its own.
    fn released(&mut self, object: u32) {
        let _ = object;
    }

    /// Nobody can go on, unless one of the strands in `waking` wakes up without a reason. Which one
    /// does, as an index; `None` if the run ends here, in a deadlock.
    fn stuck(&mut self, waking: &[Action], blocked: &[Action]) -> Option<usize> {
        let _ = (waking, blocked);
        None
    }

    /// The run is over.
    fn end(&mut self, end: End);
}

impl Intent {
    /// Whether the order of the two matters.
    pub fn conflicts(&self, other: &Intent) -> bool {
        self.object == other.object
            && !(self.kind.only_reads() && other.kind.only_reads())
            && !(self.kind.is_pause() || other.kind.is_pause())
    }
}

impl Kind {
    /// Whether it commutes with its like: reads of one object, and shared acquisitions of one lock.
    pub fn only_reads(self) -> bool {
        matches!(self, Kind::Read | Kind::LockShared | Kind::TryLockShared)
    }

    /// Whether it is done to no object.
    pub fn is_pause(self) -> bool {
        matches!(self, Kind::Sleep | Kind::Yield)
    }
}

impl<P: Plan + ?Sized> Plan for Box<P> {
    fn begin(&mut self) -> bool {
        (**self).begin()
    }

    fn choose(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize> {
        (**self).choose(ready, blocked)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        (**self).pick(choice, n)
    }

    fn released(&mut self, object: u32) {
        (**self).released(object);
    }

    fn stuck(&mut self, waking: &[Action], blocked: &[Action]) -> Option<usize> {
        (**self).stuck(waking, blocked)
    }

    fn end(&mut self, end: End) {
        (**self).end(end);
    }
}
