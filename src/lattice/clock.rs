//! Multithreaded vector clocks: the causal order of the relevant events of a trace.
//!
//! Algorithm A of Rosu and Sen. A strand `i` has a clock `V_i`, an object `x` an access clock `V_x^a` and a write clock
//! `V_x^w`; on an event of strand `i`
//!
//! 1. if it is relevant, `V_i[i] += 1`;
//! 2. if it reads `x`, `V_i = max(V_i, V_x^w)` and `V_x^a = max(V_x^a, V_i)`;
//! 3. if it writes `x`, `V_x^w = V_x^a = V_i = max(V_x^a, V_i)`;
//! 4. if it is relevant, `(event, i, V_i)` is sent to the observer.
//!
//! *Synchronization* is reads and writes of the object's own clocks. Acquiring and releasing a lock are writes of it, so
//! blocks under one lock are never reordered; acquiring and releasing it shared are reads, so readers may be. An update is a
//! read and a write at once, whatever it commutes with: the value it left behind is part of the state. Fork, join and
//! messages order as a variable would that one strand writes and the other reads. A signal comes before every later
//! await of the same object, and nothing else is ordered by them.
//!
//! *Chains instead of strands.* A component of a clock belongs to a chain: relevant events that are ordered among themselves.
//! A strand gets a chain with its first relevant event, and leaves it when it exits or is joined, or its number is forked again; a
//! strand that knows all events of a chain that was left continues it. So clocks are as wide as strands with relevant events
//! are concurrent, and strands that come and go cost nothing. The proof of the paper's theorem 3 asks no more of the `i` of a
//! message than that: `e` comes before `e'` iff `V[i] <= V'[i]` iff `V < V'`.

use crate::trace::{Event, ObjectId, Op, StrandId};

/// A vector of counts, one for each chain; what is beyond its end is 0.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock(Vec<u32>);

impl Clock {
    /// The count of one chain.
    #[inline]
    pub fn get(&self, chain: usize) -> u32 {
        self.0.get(chain).copied().unwrap_or(0)
    }

    /// The counts; what is beyond the end is 0.
    #[inline]
    pub fn counts(&self) -> &[u32] {
        &self.0
    }

    /// How many relevant events are in the past that this clock describes.
    pub fn total(&self) -> u64 {
        self.0.iter().map(|&count| u64::from(count)).sum()
    }

    fn increment(&mut self, chain: usize) {
        if self.0.len() <= chain {
            self.0.resize(chain + 1, 0);
        }
        self.0[chain] += 1;
    }

    fn join(&mut self, other: &Clock) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (mine, theirs) in self.0.iter_mut().zip(&other.0) {
            *mine = (*mine).max(*theirs);
        }
    }

    fn assign(&mut self, other: &Clock) {
        self.0.clear();
        self.0.extend_from_slice(&other.0);
    }
}

impl PartialOrd for Clock {
    /// The order by components.
    fn partial_cmp(&self, other: &Clock) -> Option<std::cmp::Ordering> {
        let width = self.0.len().max(other.0.len());
        let mut order = std::cmp::Ordering::Equal;
        for chain in 0..width {
            match self.get(chain).cmp(&other.get(chain)) {
                std::cmp::Ordering::Equal => {}
                component if order.is_eq() || order == component => order = component,
                _ => return None,
            }
        }
        Some(order)
    }
}

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
/// let event = |strand, op, target| Event { strand: StrandId(strand), op, target, site: SiteId::NONE };
/// let mut causality = Causality::default();
/// let (first, write) = causality.step(&event(0, Op::Write, 7), true).unwrap();
/// assert!(causality.step(&event(1, Op::Read, 7), false).is_none());
/// let (second, later) = causality.step(&event(1, Op::Write, 8), true).unwrap();
/// assert_ne!(first, second);
/// assert!(write < later);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Causality {
    strands: Vec<Strand>,
    objects: Vec<Object>,
    chains: Vec<Chain>,
}

impl Causality {
    /// Takes the next event; of a relevant one, returns the chain and the clock.
    ///
    /// Events that order nothing (blocks, values) are taken and ignored.
    pub fn step(&mut self, event: &Event, relevant: bool) -> Option<(usize, Clock)> {
        let index = self.know(event.strand);
        let chain = relevant.then(|| self.advance(index));
        match event.op {
            Op::Read
            | Op::Vain(_)
            | Op::CompareExchangeFailed
            | Op::AcquireShared
            | Op::ReleaseShared => {
                let (strand, object) = self.pair(index, event.object());
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
                let (strand, object) = self.pair(index, event.object());
                strand.clock.join(&object.access);
                object.access.assign(&strand.clock);
                object.write.assign(&strand.clock);
            }
            Op::Signal => {
                let (strand, object) = self.pair(index, event.object());
                object.write.join(&strand.clock);
            }
            Op::Await => {
                let (strand, object) = self.pair(index, event.object());
                strand.clock.join(&object.write);
            }
            Op::Send => {
                let (strand, object) = self.pair(index, event.object());
                object.write.assign(&strand.clock);
            }
            Op::Recv => {
                let (strand, object) = self.pair(index, event.object());
                strand.clock.join(&object.write);
                *object = Object::default();
            }
            Op::Retire => {
                let (_, object) = self.pair(index, event.object());
                *object = Object::default();
            }
            Op::Fork => {
                let child = self.know(event.other());
                self.leave(child);
                let clock = self.strands[index].clock.clone();
                self.strands[child].clock = clock;
            }
            Op::Join => {
                let child = self.know(event.other());
                self.leave(child);
                let clock = self.strands[child].clock.clone();
                self.strands[index].clock.join(&clock);
            }
            Op::Exit => self.leave(index),
            Op::Begin
            | Op::End
            | Op::Split
            | Op::Restart
            | Op::Pause
            | Op::Notify
            | Op::Busy
            | Op::Value => {}
        }
        Some((chain?, self.strands[index].clock.clone()))
    }

    /// What has been done to an object, for another to [follow](Self::follow).
    pub(super) fn past(&self, object: ObjectId) -> Clock {
        self.objects
            .get(object.0 as usize)
            .map_or_else(Clock::default, |object| object.access.clone())
    }

    /// What is done to the object from here on comes after this.
    pub(super) fn follow(&mut self, object: ObjectId, past: &Clock) {
        let index = self.object(object);
        self.objects[index].access.join(past);
    }

    fn know(&mut self, strand: StrandId) -> usize {
        let index = strand.0 as usize;
        if self.strands.len() <= index {
            self.strands.resize_with(index + 1, Strand::default);
        }
        index
    }

    fn object(&mut self, object: ObjectId) -> usize {
        let index = object.0 as usize;
        if self.objects.len() <= index {
            self.objects.resize_with(index + 1, Object::default);
        }
        index
    }

    fn pair(&mut self, strand: usize, object: ObjectId) -> (&mut Strand, &mut Object) {
        let index = self.object(object);
        (&mut self.strands[strand], &mut self.objects[index])
    }

    /// Counts a relevant event of the strand; returns its chain.
    fn advance(&mut self, index: usize) -> usize {
        let strand = &mut self.strands[index];
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
        strand.clock.increment(chain);
        self.chains[chain] = Chain {
            length: self.chains[chain].length + 1,
            taken: true,
        };
        chain
    }

    fn leave(&mut self, index: usize) {
        if let Some(chain) = self.strands[index].chain.take() {
            self.chains[chain].taken = false;
        }
    }
}
