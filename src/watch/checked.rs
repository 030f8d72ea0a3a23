//! Every write is recorded with its value.
//!
//! The first tracked operation records the variable's birth: its name, and its value so far as a write, which the lattice takes
//! for the initial value. No other record of the variable comes before it, because whoever comes second waits.

use std::panic::Location;
use std::sync::atomic::{AtomicU8, Ordering};

use crate::record::clock::Clock;
use crate::record::{self, Object, Pen, What, names};

/// What an operation did.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Did {
    Read,
    Write,
    ReadWrite,
    Add,
    Sub,
    And,
    Or,
    Xor,
    Max,
    Min,
}

impl Did {
    fn what(self) -> What {
        match self {
            Did::Read => What::Read,
            Did::Write => What::Write,
            Did::ReadWrite => What::ReadWrite,
            Did::Add => What::UpdateAdd,
            Did::Sub => What::UpdateSub,
            Did::And => What::UpdateAnd,
            Did::Or => What::UpdateOr,
            Did::Xor => What::UpdateXor,
            Did::Max => What::UpdateMax,
            Did::Min => What::UpdateMin,
        }
    }
}

const UNBORN: u8 = 0;
const BEING_BORN: u8 = 1;
const BORN: u8 = 2;

/// The variable's record.
pub(super) struct Track {
    object: Object<Clock>,
    name: &'static str,
    created: &'static Location<'static>,
    state: AtomicU8,
}

impl Track {
    #[track_caller]
    pub(super) const fn new(name: &'static str, type_name: fn() -> &'static str) -> Track {
        Track {
            object: Object::atomic(type_name),
            name,
            created: Location::caller(),
            state: AtomicU8::new(UNBORN),
        }
    }

    #[inline]
    #[track_caller]
    pub(super) fn read<R>(
        &self,
        load: impl Fn() -> R,
        recorded: impl Fn() -> Result<i64, String>,
    ) -> R {
        match self.pen(&recorded) {
            Some(pen) => pen.load(&self.object, Location::caller(), load),
            None => load(),
        }
    }

    /// Runs an operation and records what it did, and the value it left behind.
    #[inline]
    #[track_caller]
    pub(super) fn write<R>(
        &self,
        recorded: impl Fn() -> Result<i64, String>,
        operate: impl FnOnce() -> (R, Did),
    ) -> R {
        let Some(pen) = self.pen(&recorded) else {
            return operate().0;
        };
        let mut value = None;
        let result = pen.watched(&self.object, Location::caller(), || {
            let (result, did) = operate();
            value = (did != Did::Read).then(&recorded);
            (
                result,
                did.what(),
                value
                    .as_ref()
                    .and_then(|value| value.as_ref().ok().copied()),
            )
        });
        self.fits(value);
        result
    }

    /// The strand's pen, for a variable that has been born.
    #[inline]
    #[track_caller]
    fn pen(&self, recorded: &impl Fn() -> Result<i64, String>) -> Option<Pen> {
        let pen = record::pen()?;
        if self.state.load(Ordering::Acquire) == BORN {
            return Some(pen);
        }
        self.birth(pen, recorded);
        // The birth has used the room that the pen came with.
        record::pen()
    }

    #[cold]
    #[inline(never)]
    #[track_caller]
    fn birth(&self, pen: Pen, recorded: &impl Fn() -> Result<i64, String>) {
        let mine =
            self.state
                .compare_exchange(UNBORN, BEING_BORN, Ordering::Acquire, Ordering::Acquire);
        if mine.is_err() {
            // What is held back must not wait with us.
            pen.flush_held();
            while self.state.load(Ordering::Acquire) != BORN {
                std::thread::yield_now();
            }
            return;
        }
        pen.name(&self.object, record::untracked(|| names::number(self.name)));
        let mut value = None;
        if let Some(pen) = record::quiet_pen() {
            pen.watched(&self.object, self.created, || {
                let first = recorded();
                let number = first.as_ref().ok().copied();
                value = Some(first);
                ((), What::Write, number)
            });
        }
        self.state.store(BORN, Ordering::Release);
        self.fits(value);
    }

    #[track_caller]
    fn fits(&self, value: Option<Result<i64, String>>) {
        if let Some(Err(value)) = value {
            panic!(
                "`{}` became {value}: expected a value of i64, which is at most {}",
                self.name,
                i64::MAX
            );
        }
    }
}
