//! A trace as it was recorded, with the looks that led to nothing but looking again.

use super::look::{Place, accesses, is_read};
use crate::dense::Dense;
use crate::trace::{BlockId, Event, ObjectId, Op, SiteId, StrandId};
use rustc_hash::{FxHashMap, FxHashSet};

/// By place: what came next, or nothing where that differed.
#[derive(Debug, Default)]
pub(super) struct Nexts(FxHashMap<Place, Option<(Op, SiteId)>>);

impl Nexts {
    pub(super) fn enter(&mut self, place: Place, next: (Op, SiteId)) {
        let known = self.0.entry(place).or_insert(Some(next));
        *known = known.filter(|&known| known == next);
    }

    pub(super) fn differ(&self, place: Place) -> bool {
        self.0.get(&place) == Some(&None)
    }
}

/// What a strand has last looked at.
#[derive(Clone, Copy, Debug)]
struct Glance {
    event: Event,
    place: Place,
    /// It was the block's first look.
    is_first: bool,
}

/// A strand that does nothing but look may be waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Idle {
    /// It does something else.
    #[default]
    No,
    /// It holds a lock whose content it has not looked at.
    Locked(ObjectId),
    /// Its last look was at this object at this place, or, where it has given the lock back
    /// without a look, at no place that is known: a wait on a `Condvar` takes its look back.
    Looked(ObjectId, Option<Place>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Strand {
    /// The open block.
    block: Option<BlockId>,
    /// The block has not looked at anything.
    is_at_begin: bool,
    /// Its last event, if that was a look.
    look: Option<Glance>,
    /// Where a look of the block has found nothing, which is a pause of its own.
    vain: Option<Place>,
    idle: Idle,
    /// What it looked at before it took the lock that it holds.
    before: Idle,
}

/// What looks have led to.
#[derive(Debug, Default)]
pub(super) struct Recorded {
    strands: Dense<StrandId, Strand>,
    /// By the place of a block's first look.
    pub(super) branches: Nexts,
    /// Where a block has looked before it paused, or has failed to exchange.
    pub(super) retried: FxHashSet<Place>,
    /// Where a block has looked before it exchanged something else.
    pub(super) answered: FxHashSet<Place>,
    /// Where a strand has looked again and again, inside of blocks or not: which value it waits for
    /// may depend on the strand.
    pub(super) awaited: FxHashSet<Place>,
    /// Which blocks have started anew.
    pub(super) restarted: FxHashSet<BlockId>,
}

impl Recorded {
    /// Takes the next event.
    pub(super) fn note(&mut self, event: Event) {
        self.note_idle(event);
        let strand = self.strands.entry(event.strand);
        if let (Some(glance), Some(_)) = (strand.look.take(), strand.block) {
            let is_exchange = matches!(event.op, Op::CompareExchange | Op::CompareExchangeFailed);
            if event.op == Op::Pause && event.site == glance.event.site {
                // A vain `try_recv` is a look and a pause. Who looks there again has waited.
                strand.vain = Some(glance.place);
                strand.look = Some(glance);
                return;
            } else if event.op == Op::Pause {
                self.retried.insert(glance.place);
            } else if is_exchange && event.target != glance.event.target {
                self.answered.insert(glance.place);
            } else if glance.is_first {
                self.branches.enter(glance.place, (event.op, event.site));
            }
        }
        let place = (strand.block, event.site);
        match event.op {
            Op::Begin | Op::End => {
                strand.block = (event.op == Op::Begin).then(|| event.block());
                strand.is_at_begin = event.op == Op::Begin;
                strand.vain = None;
            }
            Op::Restart => self.restarted.extend(strand.block),
            op if is_read(op) => {
                if op == Op::CompareExchangeFailed || strand.vain == Some(place) {
                    self.retried.insert(place);
                }
                strand.look = Some(Glance {
                    event,
                    place,
                    is_first: std::mem::take(&mut strand.is_at_begin),
                });
            }
            op if accesses(op) => strand.is_at_begin = false,
            _ => {}
        }
    }

    /// Finds out who waits.
    fn note_idle(&mut self, event: Event) {
        use Op::{Acquire, AcquireShared, Begin, End, Pause, Release, ReleaseShared, Split};
        let strand = self.strands.entry(event.strand);
        let place = (strand.block, event.site);
        strand.idle = match (event.op, strand.idle) {
            (Begin | End | Pause | Split, idle) => idle,
            (Acquire | AcquireShared, idle) => {
                strand.before = idle;
                Idle::Locked(event.object())
            }
            (Release | ReleaseShared, Idle::Locked(lock)) if lock == event.object() => {
                Idle::Looked(lock, None)
            }
            (Release | ReleaseShared, Idle::Looked(looked, at)) if looked == event.object() => {
                Idle::Looked(looked, at)
            }
            (op, idle) if is_read(op) && op != Op::CompareExchangeFailed => {
                let before = match idle {
                    Idle::Locked(_) => std::mem::take(&mut strand.before),
                    other => other,
                };
                if let Idle::Looked(object, at) = before {
                    if object == event.object() && at.is_none_or(|at| at == place) {
                        self.awaited.insert(place);
                    }
                }
                Idle::Looked(event.object(), Some(place))
            }
            _ => Idle::No,
        };
    }
}
