//! Multithreaded vector clocks: the causal order of the relevant events of a trace.
//!
//! Algorithm A of Rosu and Sen. A strand `i` has a clock `V_i`, an object `x` an access clock
//! `V_x^a` and a write clock `V_x^w`; on an event of strand `i`
//!
//! 1. if it is relevant, `V_i[i] += 1`;
//! 2. if it reads `x`, `V_i = max(V_i, V_x^w)` and `V_x^a = max(V_x^a, V_i)`;
//! 3. if it writes `x`, `V_x^w = V_x^a = V_i = max(V_x^a, V_i)`;
//! 4. if it is relevant, `(event, i, V_i)` is sent to the observer.
//!
//! *Synchronization* is reads and writes of the object's own clocks. Acquiring and releasing a lock
//! are writes of it, so blocks under one lock are never reordered; acquiring and releasing it
//! shared are reads, so readers may be. An update is a read and a write at once, whatever it
//! commutes with: the value it left behind is part of the state. Fork, join and messages order as a
//! variable would that one strand writes and the other reads. A signal comes before every later
//! await of the same object, and nothing else is ordered by them.
//!
//! *Wait and notify* are writes of a dummy variable in the paper, by the notifying strand before
//! and by the notified one after it. In Java both hold the condition's lock then, and the writes of
//! the lock order as much: the notified strand has acquired it, and so knows all that was known
//! when it was last released. So they are not counted here. Who notifies without the lock, which
//! Rust allows, is ordered by what it did under the lock before.
//!
//! *Chains instead of strands.* A component of a clock belongs to a chain: relevant events that are
//! ordered among themselves. A strand gets a chain with its first relevant event, and leaves it
//! when it exits or is joined, or its number is forked again; a strand that knows all events of a
//! chain that was left continues it. So clocks are as wide as strands with relevant events are
//! concurrent, and strands that come and go cost nothing. The proof of the paper's theorem 3 asks
//! no more of the `i` of a message than that: `e` comes before `e'` iff `V[i] <= V'[i]` iff `V <
//! V'`.

pub use crate::dense::Clock;

use crate::dense::Dense;
use crate::trace::{Event, ObjectId, Op, StrandId};

#[derive(Clone, Debug, Default)]
struct Strand {
    clock: Clock,
    chain: Option<usize>,
}

#[derive(Clone, Debug, Default)]
struct Object {
    access: Clock,
    write: Clock,
}

#[derive(Clone, Debug)]
struct Chain {
    length: u32,
    /// Whether a strand's next relevant event will continue it.
    taken: bool,
}

/// Algorithm A: takes the events of a trace and gives the relevant ones their clocks.
///
/// ```
/// use aerodrome::lattice::Causality;
/// use aerodrome::trace::{Event, Op, SiteId, StrandId};
///
/// let event = |strand, op, target| Event::new(StrandId(strand), op, target, SiteId::NONE);
/// let mut causality = Causality::default();
/// let (first, write) = causality.step(&event(0, Op::Write, 7), true).unwrap();
/// assert!(causality.step(&event(1, Op::Read, 7), false).is_none());
/// let (second, later) = causality.step(&event(1, Op::Write, 8), true).unwrap();
/// assert_ne!(first, second);
/// assert!(write < later);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Causality {
    strands: Dense<StrandId, Strand>,
    objects: Dense<ObjectId, Object>,
    chains: Vec<Chain>,
}

impl Causality {
    /// Takes the next event; of a relevant one, returns the chain and the clock.
    ///
    /// Events that order nothing (blocks, values) are taken and ignored.
    pub fn step(&mut self, event: &Event, relevant: bool) -> Option<(usize, Clock)> {
        let strand = event.strand;
        let chain = relevant.then(|| self.advance(strand));
        match event.op {
            Op::Fork => {
                let child = event.other();
                self.leave(child);
                let clock = self.strands.entry(strand).clock.clone();
                self.strands.entry(child).clock = clock;
            }
            Op::Join => {
                let child = event.other();
                self.leave(child);
                let clock = self.strands.entry(child).clock.clone();
                self.strands.entry(strand).clock.join(&clock);
            }
            Op::Exit => self.leave(strand),
            op if op.is_on_object() => self.touch(event),
            _ => {}
        }
        Some((chain?, self.strands.entry(strand).clock.clone()))
    }

    /// An event on an object: orders its strand and the object's other events.
    fn touch(&mut self, event: &Event) {
        let strand = self.strands.entry(event.strand);
        let object = self.objects.entry(event.object());
        match event.op {
            Op::Read
            | Op::Vain(_)
            | Op::CompareExchangeFailed
            | Op::AcquireShared
            | Op::ReleaseShared => {
                strand.clock.join(&object.write);
                object.access.join(&strand.clock);
            }
            Op::Write
            | Op::ReadWrite
            | Op::Update(_)
            | Op::CompareExchange
            | Op::Born
            | Op::Acquire
            | Op::Release
            | Op::Upgrade
            | Op::Downgrade => {
                strand.clock.join(&object.access);
                object.access.assign(&strand.clock);
                object.write.assign(&strand.clock);
            }
            Op::Signal => object.write.join(&strand.clock),
            Op::Await => strand.clock.join(&object.write),
            Op::Send => object.write.assign(&strand.clock),
            Op::Recv => {
                strand.clock.join(&object.write);
                *object = Object::default();
            }
            Op::Retire => *object = Object::default(),
            // The update beside it orders.
            Op::Reach | Op::Leave | Op::Busy => {}
            op => unreachable!("{op:?} is not on an object"),
        }
    }

    /// What has been done to an object, for another to [follow](Self::follow).
    pub(super) fn past(&self, object: ObjectId) -> Clock {
        self.objects
            .get(object)
            .map_or_else(Clock::default, |object| object.access.clone())
    }

    /// What is done to the object from here on comes after this.
    pub(super) fn follow(&mut self, object: ObjectId, past: &Clock) {
        self.objects.entry(object).access.join(past);
    }

    /// Counts a relevant event of the strand; returns its chain.
    fn advance(&mut self, strand: StrandId) -> usize {
        let strand = self.strands.entry(strand);
        let chain = strand.chain.unwrap_or_else(|| {
            let left = |(number, chain): &(usize, &Chain)| {
                !chain.taken && strand.clock.get(*number) == chain.length
            };
            let found = self
                .chains
                .iter()
                .enumerate()
                .find(left)
                .map(|(number, _)| number);
            found.unwrap_or_else(|| {
                self.chains.push(Chain {
                    length: 0,
                    taken: true,
                });
                self.chains.len() - 1
            })
        });
        strand.chain = Some(chain);
        strand.clock.set(chain, strand.clock.get(chain) + 1);
        self.chains[chain] = Chain {
            length: self.chains[chain].length + 1,
            taken: true,
        };
        chain
    }

    fn leave(&mut self, strand: StrandId) {
        if let Some(chain) = self.strands.entry(strand).chain.take() {
            self.chains[chain].taken = false;
        }
    }
}
