//! Which sequences of events are traces.

use std::fmt;

use super::{BlockId, Event, Names, ObjectId, Op, StrandId, Target};
use crate::dense::Dense;

/// A rule that an event breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Only a strand that has not been joined has events.
    AfterJoin,
    /// An event of a strand after its exit.
    AfterExit,
    /// A strand is forked once, before its first event; its number may be forked again after its
    /// join.
    ForkOfLive,
    /// The number of a joined strand is forked again while a block of its former owner is open.
    ForkOfOpen,
    /// A strand cannot wait for its own end.
    JoinOfSelf,
    /// An end needs its begin.
    EndWithoutBegin,
    /// Only the exclusive holder releases or downgrades.
    NotHeld,
    /// Only a shared holder releases or upgrades.
    NotShared,
    /// The lock is held exclusively, by this strand.
    Held(StrandId),
    /// The lock is held shared, by this strand at least.
    HeldShared(StrandId),
    /// A message is received once, after it was sent.
    RecvWithoutSend,
    /// A message is sent once.
    SentTwice,
}

/// An event that does not fit the trace before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed {
    /// The event.
    pub event: Event,
    /// The rule that it breaks.
    pub rule: Rule,
}

impl Malformed {
    /// What was expected, and what was found.
    pub fn explain(&self, names: &dyn Names) -> (String, String) {
        let Malformed { event, rule } = self;
        let strand = names.strand(event.strand).name;
        let object = || object_name(names, event.object());
        let other = || names.strand(event.other()).name;
        let expected = match rule {
            Rule::AfterJoin => format!("no event of {strand} after its join"),
            Rule::AfterExit => format!("no event of {strand} after its exit"),
            Rule::ForkOfLive if event.strand == event.other() => {
                format!("another strand to fork {strand}")
            }
            Rule::ForkOfLive => format!("the fork of {0} before any event or fork of {0}", other()),
            Rule::ForkOfOpen => format!(
                "the former {} to have ended its block before it was joined",
                other()
            ),
            Rule::JoinOfSelf => "the join of another strand".to_owned(),
            Rule::EndWithoutBegin => format!("a begin of {strand} before its end"),
            Rule::NotHeld => format!("{strand} to hold {}", object()),
            Rule::NotShared => format!("{strand} to hold {} shared", object()),
            Rule::Held(holder) if *holder == event.strand => {
                format!("{strand} not to hold {} exclusively", object())
            }
            Rule::Held(holder) => format!(
                "{} to be free, but {} holds it",
                object(),
                names.strand(*holder).name
            ),
            Rule::HeldShared(holder) => {
                format!(
                    "{} to be free, but {} holds it shared",
                    object(),
                    names.strand(*holder).name
                )
            }
            Rule::RecvWithoutSend => format!("a send of {} before its receipt", object()),
            Rule::SentTwice => format!("{} to be sent once", object()),
        };
        (expected, describe(event, names))
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (expected, found) = self.explain(&super::Tables::new());
        write!(f, "expected {expected}, found {found}")
    }
}

impl std::error::Error for Malformed {}

/// How far [`WellFormed::admit_all`] came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// How many events count.
    pub count: usize,
    /// The event after those was taken as well: it does not count, or it breaks a rule. Nothing
    /// where there is none.
    pub next: Option<Result<(), Malformed>>,
}

impl Admitted {
    /// Takes events as long as they count.
    #[inline(always)]
    pub(crate) fn of(
        events: &[Event],
        mut counts: impl FnMut(&Event) -> Result<bool, Rule>,
    ) -> Self {
        for (count, event) in events.iter().enumerate() {
            let next = match counts(event) {
                Ok(true) => continue,
                Ok(false) => Ok(()),
                Err(rule) => Err(Malformed {
                    event: *event,
                    rule,
                }),
            };
            let next = Some(next);
            return Admitted { count, next };
        }
        let count = events.len();
        Admitted { count, next: None }
    }
}

/// An object as it is named in a message.
pub fn object_name(names: &dyn Names, id: ObjectId) -> String {
    let info = names.object(id);
    info.name
        .or(info.type_name)
        .unwrap_or_else(|| format!("object {}", id.0))
}

/// An event in the words of the STD format: `rel(L1) by T0`.
pub fn describe(event: &Event, names: &dyn Names) -> String {
    let strand = names.strand(event.strand).name;
    let operation = super::op_name(event.op);
    let target = match event.op.row().target {
        Target::Block => names.block(BlockId(event.target)).name,
        Target::Strand => names.strand(event.other()).name,
        Target::Nothing => String::new(),
        Target::Value => event.value().to_string(),
        Target::Object(_) => object_name(names, event.object()),
    };
    if target.is_empty() {
        format!("{operation} by {strand}")
    } else {
        format!("{operation}({target}) by {strand}")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Life {
    #[default]
    Unseen,
    Live,
    Exited,
    Joined,
}

#[derive(Clone, Copy, Debug, Default)]
struct Strand {
    life: Life,
    /// How many blocks are open.
    depth: u32,
}

/// How an object stands as a lock or a message.
#[derive(Clone, Copy, Debug, Default)]
enum State {
    #[default]
    Free,
    Held {
        holder: StrandId,
        depth: u32,
    },
    Shared {
        holder: StrandId,
        depth: u32,
    },
    /// Several hold it shared: an index into the crowds.
    Crowd(u32),
    Sent,
}

/// Checks that a trace is well formed, and drops what does not count: nested blocks and
/// re-entrant acquires.
///
/// A strand's first event makes it live, forked or not. Joins may be repeated, as several strands
/// may wait for one. Blocks need not end by the name they began with. Locks held and blocks open at
/// the end of the trace are fine: it was cut off.
///
/// A number may be given to a new object after its retirement, so a use of an object that is gone
/// looks like a use of a new one: what can be told is that a lock is not held and a message was not
/// sent.
///
/// Memory follows the numbers, which are dense, and the holders of shared locks.
///
/// ```
/// use aerodrome::trace::{Event, Op, Rule, SiteId, StrandId, WellFormed};
///
/// let event = |op| Event { strand: StrandId(0), target: 7, site: SiteId::NONE, op };
/// let mut check = WellFormed::new();
/// assert_eq!(check.admit(&event(Op::Acquire)), Ok(Some(event(Op::Acquire))));
/// assert_eq!(check.admit(&event(Op::Acquire)), Ok(None));
/// assert_eq!(check.admit(&event(Op::Release)), Ok(None));
/// assert_eq!(check.admit(&event(Op::Release)), Ok(Some(event(Op::Release))));
/// assert_eq!(check.admit(&event(Op::Release)).unwrap_err().rule, Rule::NotHeld);
/// ```
#[derive(Debug, Default)]
pub struct WellFormed {
    strands: Dense<StrandId, Strand>,
    objects: Dense<ObjectId, State>,
    crowds: Vec<Vec<(StrandId, u32)>>,
    free_crowds: Vec<u32>,
    /// Whether a lock may be given back by another strand than the one that took it.
    guards_move: bool,
}

impl WellFormed {
    /// Nothing has happened yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`new`](Self::new), for traces of programs that send guards from strand to strand:
    /// whoever gives a lock back that is held, gives it back for its holder. What nobody holds can
    /// still not be given back.
    ///
    /// ```
    /// use aerodrome::trace::{Event, Op, Rule, SiteId, StrandId, WellFormed};
    ///
    /// let event = |strand, op| Event { strand: StrandId(strand), target: 7, site: SiteId::NONE, op };
    /// let mut check = WellFormed::with_moving_guards();
    /// assert!(check.admit(&event(0, Op::Acquire)).is_ok());
    /// assert_eq!(check.admit(&event(1, Op::Release)), Ok(Some(event(1, Op::Release))));
    /// assert_eq!(check.admit(&event(0, Op::Release)).unwrap_err().rule, Rule::NotHeld);
    /// ```
    pub fn with_moving_guards() -> Self {
        Self {
            guards_move: true,
            ..Self::default()
        }
    }

    /// Takes the trace's next event: gives it back, or nothing where it does not count, or says
    /// which rule it breaks. After an error the trace is no trace, and there is no use in going on.
    #[inline]
    pub fn admit(&mut self, event: &Event) -> Result<Option<Event>, Malformed> {
        match self.take(event) {
            Ok(counts) => Ok(counts.then_some(*event)),
            Err(rule) => Err(Malformed {
                event: *event,
                rule,
            }),
        }
    }

    /// Takes the trace's next events up to the first that does not count or breaks a rule. The same
    /// as [`admit`](Self::admit) on each, in less time.
    ///
    /// ```
    /// use aerodrome::trace::{Admitted, Event, Op, SiteId, StrandId, WellFormed};
    ///
    /// let event = |op| Event { strand: StrandId(0), target: 7, site: SiteId::NONE, op };
    /// let trace = [event(Op::Begin), event(Op::Begin), event(Op::Write)];
    /// let mut check = WellFormed::new();
    /// assert_eq!(check.admit_all(&trace), Admitted { count: 1, next: Some(Ok(())) });
    /// assert_eq!(check.admit_all(&trace[2..]), Admitted { count: 1, next: None });
    /// ```
    pub fn admit_all(&mut self, events: &[Event]) -> Admitted {
        Admitted::of(events, |event| self.take(event))
    }

    /// Whether the trace's next event counts. Most events are accesses, of which no more is asked
    /// than that their strand lives.
    #[inline(always)]
    pub(crate) fn take(&mut self, event: &Event) -> Result<bool, Rule> {
        let strand = match self.strands.get_mut(event.strand) {
            Some(strand) if strand.life == Life::Live => strand,
            _ => {
                self.appear(event.strand)?;
                &mut self.strands[event.strand]
            }
        };
        // Before all else and without a branch among them: which of the four comes next is as good
        // as random, and they are most events.
        if matches!(event.op, Op::Read | Op::Write | Op::Begin | Op::End) {
            let (begins, ends) = (event.op == Op::Begin, event.op == Op::End);
            if ends & (strand.depth == 0) {
                return Err(Rule::EndWithoutBegin);
            }
            let outermost = strand.depth == u32::from(ends);
            strand.depth = strand.depth + u32::from(begins) - u32::from(ends);
            return Ok(outermost | !(begins | ends));
        }
        match event.op {
            Op::Acquire => self.acquire(event),
            Op::Release => self.release(event),
            _ => self.take_rarer(event),
        }
    }

    #[cold]
    fn appear(&mut self, id: StrandId) -> Result<(), Rule> {
        let strand = self.strand(id);
        match strand.life {
            Life::Joined => return Err(Rule::AfterJoin),
            Life::Exited => return Err(Rule::AfterExit),
            Life::Unseen | Life::Live => strand.life = Life::Live,
        }
        Ok(())
    }

    fn strand(&mut self, id: StrandId) -> &mut Strand {
        self.strands.entry(id)
    }

    #[inline(never)]
    fn take_rarer(&mut self, event: &Event) -> Result<bool, Rule> {
        match event.op {
            Op::ReadWrite
            | Op::Update(_)
            | Op::Vain(_)
            | Op::CompareExchange
            | Op::CompareExchangeFailed
            | Op::Busy
            | Op::Split
            | Op::Restart
            | Op::Pause
            | Op::Notify
            | Op::Signal
            | Op::Await
            | Op::Reach
            | Op::Leave
            | Op::Value
            | Op::Born => Ok(true),
            Op::Fork => self.fork(event.other()),
            Op::Join if event.strand == event.other() => Err(Rule::JoinOfSelf),
            Op::Join => {
                self.strand(event.other()).life = Life::Joined;
                Ok(true)
            }
            Op::Exit => {
                *self.strand(event.strand) = Strand {
                    life: Life::Exited,
                    depth: 0,
                };
                Ok(true)
            }
            Op::AcquireShared => self.acquire_shared(event),
            Op::ReleaseShared => self.release_shared(event),
            Op::Upgrade => self.upgrade(event),
            Op::Downgrade => self.downgrade(event),
            Op::Send => match self.object(event.object()) {
                State::Sent => Err(Rule::SentTwice),
                state => {
                    *state = State::Sent;
                    Ok(true)
                }
            },
            Op::Recv => match self.object(event.object()) {
                state @ State::Sent => {
                    *state = State::Free;
                    Ok(true)
                }
                _ => Err(Rule::RecvWithoutSend),
            },
            Op::Retire => {
                let state = self.objects.get_mut(event.object());
                if let Some(State::Crowd(crowd)) = state.map(std::mem::take) {
                    self.disperse(crowd);
                }
                Ok(true)
            }
            Op::Read | Op::Write | Op::Begin | Op::End | Op::Acquire | Op::Release => {
                unreachable!("handled by the caller")
            }
        }
    }

    fn fork(&mut self, child: StrandId) -> Result<bool, Rule> {
        let child = self.strand(child);
        if child.life == Life::Live {
            return Err(Rule::ForkOfLive);
        }
        if child.depth > 0 {
            return Err(Rule::ForkOfOpen);
        }
        child.life = Life::Live;
        Ok(true)
    }

    #[inline]
    fn object(&mut self, id: ObjectId) -> &mut State {
        self.objects.entry(id)
    }

    #[inline(always)]
    fn acquire(&mut self, event: &Event) -> Result<bool, Rule> {
        let state = self.object(event.object());
        match state {
            State::Free => {
                *state = State::Held {
                    holder: event.strand,
                    depth: 1,
                };
                Ok(true)
            }
            State::Held { holder, depth } if *holder == event.strand => {
                *depth += 1;
                Ok(false)
            }
            _ => Err(self.holder(event.object())),
        }
    }

    #[inline(always)]
    fn release(&mut self, event: &Event) -> Result<bool, Rule> {
        let guards_move = self.guards_move;
        let state = self.object(event.object());
        match state {
            State::Held { holder, depth } if *holder == event.strand || guards_move => {
                *depth -= 1;
                let last = *depth == 0;
                if last {
                    *state = State::Free;
                }
                Ok(last)
            }
            _ => Err(Rule::NotHeld),
        }
    }

    /// Why the object cannot be acquired.
    #[cold]
    fn holder(&self, id: ObjectId) -> Rule {
        match self.objects[id] {
            State::Held { holder, .. } => Rule::Held(holder),
            State::Shared { holder, .. } => Rule::HeldShared(holder),
            State::Crowd(crowd) => Rule::HeldShared(self.crowds[crowd as usize][0].0),
            State::Free | State::Sent => Rule::SentTwice,
        }
    }

    fn acquire_shared(&mut self, event: &Event) -> Result<bool, Rule> {
        let id = event.object();
        match *self.object(id) {
            State::Free => {
                *self.object(id) = State::Shared {
                    holder: event.strand,
                    depth: 1,
                };
                Ok(true)
            }
            State::Shared { holder, depth } if holder == event.strand => {
                *self.object(id) = State::Shared {
                    holder,
                    depth: depth + 1,
                };
                Ok(false)
            }
            State::Shared { holder, depth } => {
                let members = [(holder, depth), (event.strand, 1)];
                let crowd = self.free_crowds.pop().unwrap_or_else(|| {
                    self.crowds.push(Vec::new());
                    self.crowds.len() as u32 - 1
                });
                self.crowds[crowd as usize].extend(members);
                *self.object(id) = State::Crowd(crowd);
                Ok(true)
            }
            State::Crowd(crowd) => {
                let crowd = &mut self.crowds[crowd as usize];
                match crowd.iter_mut().find(|(member, _)| *member == event.strand) {
                    Some((_, depth)) => {
                        *depth += 1;
                        Ok(false)
                    }
                    None => {
                        crowd.push((event.strand, 1));
                        Ok(true)
                    }
                }
            }
            State::Held { .. } | State::Sent => Err(self.holder(id)),
        }
    }

    fn release_shared(&mut self, event: &Event) -> Result<bool, Rule> {
        let (id, guards_move) = (event.object(), self.guards_move);
        match *self.object(id) {
            State::Shared { holder, depth } if holder == event.strand || guards_move => {
                let rest = State::Shared {
                    holder,
                    depth: depth - 1,
                };
                *self.object(id) = if depth == 1 { State::Free } else { rest };
                Ok(depth == 1)
            }
            State::Crowd(number) => {
                let crowd = &mut self.crowds[number as usize];
                let own = crowd.iter().position(|(member, _)| *member == event.strand);
                // Nobody knows whose guard it was, nor needs to: what counts is how many are left.
                let Some(at) = own.or(guards_move.then_some(0)) else {
                    return Err(Rule::NotShared);
                };
                crowd[at].1 -= 1;
                if crowd[at].1 > 0 {
                    return Ok(false);
                }
                crowd.swap_remove(at);
                if let [(holder, depth)] = crowd[..] {
                    self.disperse(number);
                    *self.object(id) = State::Shared { holder, depth };
                }
                Ok(true)
            }
            _ => Err(Rule::NotShared),
        }
    }

    fn upgrade(&mut self, event: &Event) -> Result<bool, Rule> {
        let (id, guards_move) = (event.object(), self.guards_move);
        match *self.object(id) {
            State::Shared { holder, depth } if holder == event.strand || guards_move => {
                let holder = event.strand;
                *self.object(id) = State::Held { holder, depth };
                Ok(true)
            }
            State::Crowd(crowd) => {
                let crowd = &self.crowds[crowd as usize];
                let other = crowd.iter().find(|(member, _)| *member != event.strand);
                match other {
                    Some((other, _)) if crowd.iter().any(|(member, _)| *member == event.strand) => {
                        Err(Rule::HeldShared(*other))
                    }
                    _ => Err(Rule::NotShared),
                }
            }
            _ => Err(Rule::NotShared),
        }
    }

    fn downgrade(&mut self, event: &Event) -> Result<bool, Rule> {
        let guards_move = self.guards_move;
        let state = self.object(event.object());
        match *state {
            State::Held { holder, depth } if holder == event.strand || guards_move => {
                let holder = event.strand;
                *state = State::Shared { holder, depth };
                Ok(true)
            }
            _ => Err(Rule::NotHeld),
        }
    }

    fn disperse(&mut self, crowd: u32) {
        self.crowds[crowd as usize].clear();
        self.free_crowds.push(crowd);
    }
}
