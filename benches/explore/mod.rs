//! The programs on which schedule exploration is measured: those of SCTBench, ConVul, CHESS and
//! Inspect that are in reach of tracked types, written anew, at the published sizes.
//!
//! Each is one function with three variants ([`Is`]). A plain variable of the original is a
//! [`Var`], because the published tools stop at each access of shared memory, too.

mod classic;
mod convul;
mod inspect;
mod stealing;

use aerodrome::sync::atomic::{AtomicI32, Ordering};
use aerodrome::thread;

/// Which variant of a program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    /// Wrong, and an assertion or a deadlock shows it.
    Bug,
    /// As wrong. It asserts nothing; what was meant to be atomic is marked.
    Marked,
    /// Right, with the assertions and the marks.
    Fixed,
}

/// A program and what was published of it.
#[derive(Debug)]
pub(crate) struct Program {
    /// The published name, by which the table is ordered.
    pub name: &'static str,
    /// What runs it.
    pub run: fn(Is),
    /// Whether it says what was meant to be atomic.
    pub is_marked: bool,
    /// The median number of schedules to the first bug: of RFF, and of SURW.
    pub published: [Published; 2],
}

/// A published median.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Published {
    /// So many schedules.
    After(u32),
    /// It was not found.
    Never,
    /// There is no figure.
    Unknown,
}

/// All programs, by name.
pub(crate) fn all() -> Vec<Program> {
    let rooms = [
        classic::PROGRAMS,
        convul::PROGRAMS,
        inspect::PROGRAMS,
        stealing::PROGRAMS,
    ];
    let programs = rooms.into_iter().flatten();
    let mut programs: Vec<_> = programs.map(Program::of).collect();
    programs.sort_by_key(|program| program.name);
    programs
}

/// A row of a room's table: name, program, whether it is marked, and RFF's and SURW's medians,
/// which are 0 where the bug was not found and -1 where there is no figure.
type Row = (&'static str, fn(Is), bool, [i32; 2]);

impl Program {
    fn of(&(name, run, is_marked, published): &Row) -> Program {
        let published = published.map(|median| match median {
            0 => Published::Never,
            _ => u32::try_from(median).map_or(Published::Unknown, Published::After),
        });
        Program {
            name,
            run,
            is_marked,
            published,
        }
    }
}

impl Is {
    /// Whether this is the right variant.
    fn fixed(self) -> bool {
        self == Is::Fixed
    }

    /// Asserts that `right` holds, where the variant asserts anything.
    #[track_caller]
    fn sure(self, right: bool) {
        assert!(right || self == Is::Marked, "the program is wrong");
    }

    /// Runs `f` as one transaction, where the variant has marks.
    fn atomic<R>(self, f: impl FnOnce() -> R) -> R {
        if self == Is::Marked {
            return aerodrome::atomic_block! { f() };
        }
        f()
    }
}

/// A plain variable of the original. Each access is a step.
#[derive(Debug, Default)]
struct Var(AtomicI32);

impl Var {
    const fn new(value: i32) -> Self {
        Self(AtomicI32::new(value))
    }

    #[track_caller]
    fn get(&self) -> i32 {
        self.0.load(Ordering::SeqCst)
    }

    #[track_caller]
    fn set(&self, value: i32) {
        self.0.store(value, Ordering::SeqCst);
    }

    /// Reads, then writes: `x += n` of the original. Returns the new value.
    #[track_caller]
    fn add(&self, n: i32) -> i32 {
        let sum = self.get() + n;
        self.set(sum);
        sum
    }

    /// Adds in one step. Returns the new value.
    #[track_caller]
    fn add_at_once(&self, n: i32) -> i32 {
        self.0.fetch_add(n, Ordering::SeqCst) + n
    }

    /// Replaces in one step. Returns the old value.
    #[track_caller]
    fn swap(&self, value: i32) -> i32 {
        self.0.swap(value, Ordering::SeqCst)
    }

    /// Replaces `old` in one step; whether it was there.
    #[track_caller]
    fn replace(&self, old: i32, new: i32) -> bool {
        let exchanged = self
            .0
            .compare_exchange(old, new, Ordering::SeqCst, Ordering::SeqCst);
        exchanged.is_ok()
    }
}

/// Runs the threads of a program, and waits for them.
fn run(threads: &[&(dyn Fn() + Sync)]) {
    thread::scope(|s| {
        for thread in threads {
            s.spawn(thread);
        }
    });
}
