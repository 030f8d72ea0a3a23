//! Reduction-based analysis: transactions whose events cannot all be moved together, and races.
//!
//! After Wang and Stoller (RV 2003, section 4; TSE 2006, section 5), who follow Lipton's theorem: a
//! transaction is atomic if its events are right movers, then at most one event that moves neither
//! way, then left movers, because everything before that point can be moved right to it and
//! everything after it left. The test looks at each transaction by itself and never says which
//! other transaction is in the way, so that what it finds is a hint: [`Tier::Hint`](super::Tier).
//!
//! *Movers.* An acquire moves right, a release left: the neighbour cannot be an operation on the
//! same lock. The same holds for what waits (join, await, receive) and what is waited for (fork,
//! signal, send), which the papers take for boundaries of transactions. Accesses of a variable
//! without races move both ways, with races neither: two accesses race that conflict, are parallel
//! and have no lock in common (RV 2003, theorem 4.3, with periods). A lock that one strand alone
//! uses, or that is held only while another lock is held exclusively (a protected lock), moves both
//! ways; re-entrant acquires are not in a lowered trace.
//!
//! *`AcqA*Rel`* (theorem 2). A region with nothing in it but accesses that commute with everything
//! (thread-local, read-only, updated by one kind only) and other such regions has no effect but a
//! possible deadlock, and is left out.
//!
//! Theorem 2 and the locks that move both ways came with the second paper. [`Rules::Rv2003`] does
//! without: every acquire moves right, every release left, and all of them count, so that more
//! transactions are not reducible, among them the first paper's example (8).
//!
//! Variables and locks are judged by the whole run, and transactions only then, unless
//! [`Rules::Online`] wants each event judged when it comes. What is kept of a
//! transaction is its sequence of lock and order events with, between two of them, the sorts of
//! accesses made once and those made more often: the papers' tree, written in a row, so that locks
//! need not be nested. Equal sequences are kept once. A critical section that is the same as the
//! two before it is not kept: the automaton has three states in a row and only goes forward, so
//! that a third passage leads where the second led.
//!
//! Theorems 1 and 2 assume that no deadlock is possible.

mod escape;
mod movers;
mod races;

use super::{
    Analysis, AnalysisKind, Context, Hold, LockState, Outcome, Prediction, Step, Tier, access,
    is_access, names, word,
};
use crate::check::Transaction;
use crate::dense::{Dense, Sparse};
use crate::trace::{BlockId, Event, ObjectId, Op, StrandId};
use escape::Escapes;
use movers::{LockUse, Mover, Phase};
use races::Races;
use rustc_hash::FxHashMap;

/// Whose rules say which events move both ways, and what is left out.
///
/// ```
/// use aerodrome::predict::{AnalysisKind, Predictor, reduction::Rules};
///
/// let predictor = Predictor::with_rules(&[AnalysisKind::Reduction], Rules::Rv2003);
/// # let _ = predictor;
/// assert_eq!("rv2003".parse(), Ok(Rules::Rv2003));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Rules {
    /// RV 2003, theorems 4.1 and 4.2: every acquire moves right, every release left, and nothing is
    /// left out.
    Rv2003,
    /// TSE 2006, theorem 2 and section 5.5: thread-local and protected locks move both ways, and
    /// regions whose accesses commute with everything are left out. Fewer false alarms, and nothing
    /// is missed where no deadlock is possible.
    #[default]
    Tse2006,
    /// The same with dynamic escape analysis (TSE 2006, section 3): what a strand does with an
    /// object before any other can know of it does not count. Right where objects are made by the
    /// strand that uses them first, as statics need not be.
    Escape,
    /// The rules of TSE 2006, online: which way an event moves is decided when it comes, by the run
    /// so far. What makes a variable racy or a lock contended later is missed.
    Online,
}

names!(Rules, 4:
    Rv2003 = "rv2003", Tse2006 = "tse2006", Escape = "escape", Online = "online");

/// The reduction-based analysis; see [the module](self).
///
/// ```
/// use aerodrome::predict::{Analysis, Context, Tier, reduction::Reduction};
/// use aerodrome::trace::{Event, Op, SiteId, StrandId};
///
/// // Two critical sections in one transaction; another strand uses the same lock and variable.
/// let run = [(0, Op::Begin, 0), (0, Op::Acquire, 1), (0, Op::Read, 2), (0, Op::Release, 1),
///            (0, Op::Acquire, 1), (0, Op::Write, 2), (0, Op::Release, 1), (0, Op::End, 0),
///            (1, Op::Acquire, 1), (1, Op::Write, 2), (1, Op::Release, 1)];
/// let mut reduction = Box::new(Reduction::new());
/// let mut now = Context::default();
/// for ((strand, op, target), position) in run.into_iter().zip(1..) {
///     let event = Event { strand: StrandId(strand), target, site: SiteId::NONE, op };
///     now.step(event, position);
///     reduction.step(event, position, &mut now);
/// }
/// let outcome = reduction.finish(&mut now);
/// assert_eq!(outcome.predictions[0].pattern, "not reducible: RBLRBL");
/// assert_eq!(outcome.predictions[0].tier, Tier::Hint);
/// assert!(outcome.races.is_empty());
/// ```
#[derive(Debug, Default)]
pub struct Reduction {
    races: Races,
    locks: LockUse,
    rules: Rules,
    /// By [`Rules::Escape`].
    escapes: Escapes,
    open: Dense<StrandId, Option<Open>>,
    words: FxHashMap<(Option<BlockId>, Box<[Token]>), Kept>,
}

/// One event of a transaction, as far as it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Token {
    act: Act,
    /// By [`Rules::Online`]: which way it moves.
    mover: Option<Mover>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Act {
    Take(ObjectId),
    Give(ObjectId),
    /// Waits for another strand.
    Wait,
    /// Is waited for.
    Pass,
    /// Accesses of one sort between two of the above; more than once or not.
    Touch(ObjectId, u32, bool),
}

/// Where a token came from.
type Place = (Event, u64, LockState);

/// Transactions with the same tokens.
#[derive(Debug)]
struct Kept {
    transaction: Transaction,
    places: Box<[Place]>,
    count: u64,
}

/// A transaction under way.
#[derive(Debug)]
struct Open {
    transaction: Transaction,
    tokens: Vec<Token>,
    places: Vec<Place>,
    /// Where the tokens since the last lock or order event begin.
    segment: usize,
    segment_at: Sparse,
    depth: usize,
    /// Where the last critical sections begin, outermost ones only.
    sections: Vec<usize>,
}

impl Reduction {
    /// By the rules of the later paper.
    pub fn new() -> Reduction {
        Reduction::default()
    }

    /// By these rules.
    pub fn by(rules: Rules) -> Reduction {
        Reduction {
            rules,
            ..Reduction::default()
        }
    }

    /// How many events are kept of all the different transactions.
    pub fn kept(&self) -> usize {
        self.words.keys().map(|(_, tokens)| tokens.len()).sum()
    }

    fn close(&mut self, strand: StrandId) {
        let Some(mut open) = self.open.take(strand) else {
            return;
        };
        open.end_segment();
        let key = (open.transaction.block, open.tokens.into_boxed_slice());
        let kept = self.words.entry(key).or_insert_with(|| Kept {
            transaction: open.transaction,
            places: open.places.into(),
            count: 0,
        });
        kept.count += 1;
    }

    fn lock_use(&mut self, event: Event, now: &Context) {
        let lock = event.object();
        let is_other = |hold: &&Hold| hold.lock != lock;
        let held = |state| now.locks.held(state).iter().filter(is_other);
        match event.op {
            Op::Acquire | Op::AcquireShared => {
                let exclusive = held(now.before).filter(|hold| !hold.shared);
                let exclusive: Vec<ObjectId> = exclusive.map(|hold| hold.lock).collect();
                self.locks.take(lock, event.strand, &exclusive);
            }
            Op::Release | Op::ReleaseShared | Op::Downgrade => {
                let held = held(now.locks.state(event.strand));
                self.locks.give(lock, held.map(|hold| hold.lock));
            }
            _ => {}
        }
    }
}

/// What an event does that is no access.
fn act(event: Event) -> Option<Act> {
    match event.op {
        Op::Acquire | Op::AcquireShared => Some(Act::Take(event.object())),
        Op::Release | Op::ReleaseShared => Some(Act::Give(event.object())),
        // Waits for the other readers to leave, and lets nobody in: a right mover that nothing
        // gives back.
        Op::Upgrade | Op::Join | Op::Await | Op::Recv => Some(Act::Wait),
        Op::Downgrade | Op::Fork | Op::Signal | Op::Send => Some(Act::Pass),
        _ => None,
    }
}

impl Analysis for Reduction {
    fn step(&mut self, event: Event, position: u64, now: &mut Context) {
        let place = (event, position, now.locks.state(event.strand));
        if self.rules == Rules::Escape && self.escapes.step(event) {
            return;
        }
        match event.op {
            Op::Begin => {
                if let Some(transaction) = now.transaction(event.strand).cloned() {
                    *self.open.entry(event.strand) = Some(Open::new(transaction));
                }
            }
            Op::End => self.close(event.strand),
            Op::Retire => self.races.retire(event.object(), now),
            op if is_access(op) => {
                let sort = self.races.access(event, position, now);
                let is_online = self.is_online_in(event.strand);
                let mover = is_online.then(|| self.access(event.object(), sort, now));
                if mover == Some(None) {
                    return;
                }
                if let Some(open) = self.open.entry(event.strand) {
                    open.touch(place, sort, mover.flatten());
                }
            }
            _ => {
                self.lock_use(now.skeleton.lock_event(event), now);
                let Some(act) = act(event) else { return };
                let is_online = self.is_online_in(event.strand);
                let mover = is_online.then(|| self.mover(act));
                if let Some(open) = self.open.entry(event.strand) {
                    open.push(Token { act, mover }, place);
                }
            }
        }
    }

    fn finish(&mut self, now: &mut Context) -> Outcome {
        for strand in 0..self.open.len() {
            self.close(StrandId(strand as u32));
        }
        let mut words: Vec<_> = std::mem::take(&mut self.words).into_iter().collect();
        words.sort_unstable_by_key(|(_, kept)| kept.transaction.begin);
        let found = words.iter().filter_map(|((_, tokens), kept)| {
            let form = self.reduce(tokens, now);
            Some(kept.prediction(form.broken?, &form.movers, now))
        });
        Outcome {
            predictions: found.collect(),
            races: self.races.report(now),
            notes: Vec::from_iter(self.races.note()),
            ..Outcome::default()
        }
    }
}

/// How a transaction's events move.
#[derive(Debug)]
struct Form {
    /// The movers, without what theorem 2 leaves out.
    movers: String,
    /// Where they do not fit, the tokens with which the first part ended and which does not fit.
    broken: Option<(usize, usize)>,
}

impl Reduction {
    /// Nobody can be at the lock at the same time, and the rules look at that.
    fn quiet(&self, lock: ObjectId) -> bool {
        self.rules != Rules::Rv2003 && self.locks.quiet(lock)
    }

    /// Which way an access of this sort moves; nothing where it does not even count.
    fn access(&mut self, object: ObjectId, sort: u32, now: &Context) -> Option<Mover> {
        let usage = match self.rules {
            Rules::Escape => self.escapes.usage(object),
            Rules::Rv2003 | Rules::Tse2006 | Rules::Online => now.usage(object),
        };
        if usage.is_harmless() {
            return (self.rules == Rules::Rv2003).then_some(Mover::Both);
        }
        let is_racy = self.races.racy(object, sort, now);
        Some(if is_racy { Mover::None } else { Mover::Both })
    }

    /// Which way an event moves that is no access.
    fn mover(&self, act: Act) -> Mover {
        match act {
            Act::Take(lock) | Act::Give(lock) if self.quiet(lock) => Mover::Both,
            Act::Give(_) | Act::Pass => Mover::Left,
            Act::Take(_) | Act::Wait | Act::Touch(..) => Mover::Right,
        }
    }

    /// Whether the strand is in a transaction whose events are judged as they come.
    fn is_online_in(&self, strand: StrandId) -> bool {
        self.rules == Rules::Online && self.open.get(strand).is_some_and(Option::is_some)
    }

    fn reduce(&mut self, tokens: &[Token], now: &Context) -> Form {
        let rules = self.rules;
        let is_just_taken = |left: &[(Mover, usize)], lock| {
            let last = left.last().map(|&(_, last)| tokens[last].act);
            last == Some(Act::Take(lock))
        };
        // What is left, and the index of its token.
        let mut left: Vec<(Mover, usize)> = Vec::new();
        for (at, token) in tokens.iter().enumerate() {
            let mover = match token.act {
                Act::Touch(object, sort, many) => {
                    let mover = token.mover.or_else(|| self.access(object, sort, now));
                    let Some(mover) = mover else {
                        continue;
                    };
                    left.extend(many.then_some((mover, at)));
                    mover
                }
                Act::Give(lock) if rules != Rules::Rv2003 && is_just_taken(&left, lock) => {
                    left.pop();
                    continue;
                }
                act => token.mover.unwrap_or_else(|| self.mover(act)),
            };
            left.push((mover, at));
        }
        let mut phase = Phase::Before;
        let mut commit = 0;
        let mut broken = None;
        for &(mover, at) in &left {
            let next = phase.step(mover);
            if phase == Phase::Before && next == Phase::After {
                commit = at;
            }
            if next == Phase::Broken && phase != Phase::Broken {
                broken = Some((commit, at));
            }
            phase = next;
        }
        Form {
            movers: left.iter().map(|(mover, _)| mover.letter()).collect(),
            broken,
        }
    }
}

impl Open {
    fn new(transaction: Transaction) -> Open {
        Open {
            transaction,
            tokens: Vec::new(),
            places: Vec::new(),
            segment: 0,
            segment_at: Sparse::default(),
            depth: 0,
            sections: vec![0],
        }
    }

    fn touch(&mut self, place: Place, sort: u32, mover: Option<Mover>) {
        let object = place.0.object();
        let touch = |many| Token {
            act: Act::Touch(object, sort, many),
            mover,
        };
        let movers = mover.map_or(0, |mover| 1 + mover as u64);
        let key = u64::from(object.0) << 32 | u64::from(sort) << 3 | movers;
        match self.segment_at.get(key) {
            Some(at) => self.tokens[at as usize] = touch(true),
            None => {
                self.segment_at.insert(key, self.tokens.len() as u32);
                self.tokens.push(touch(false));
                self.places.push(place);
            }
        }
    }

    /// The order of the accesses between two lock events does not matter.
    fn end_segment(&mut self) {
        if self.tokens.len() > self.segment + 1 {
            let tokens = self.tokens.drain(self.segment..);
            let places = self.places.drain(self.segment..);
            let mut pairs: Vec<(Token, Place)> = tokens.zip(places).collect();
            pairs.sort_unstable_by_key(|(token, _)| *token);
            for (token, place) in pairs {
                self.tokens.push(token);
                self.places.push(place);
            }
        }
        self.segment = self.tokens.len();
        self.segment_at.clear();
    }

    fn push(&mut self, token: Token, place: Place) {
        self.end_segment();
        self.tokens.push(token);
        self.places.push(place);
        self.segment = self.tokens.len();
        match token.act {
            Act::Take(_) => self.depth += 1,
            Act::Give(_) => {
                self.depth = self.depth.saturating_sub(1);
                if self.depth == 0 {
                    self.section();
                }
            }
            _ => {}
        }
    }

    /// An outermost critical section is over: if it is the same as the two before it, it is
    /// dropped.
    fn section(&mut self) {
        let &[.., a, b, c] = self.sections.as_slice() else {
            self.sections.push(self.tokens.len());
            return;
        };
        let (first, second, third) = (&self.tokens[a..b], &self.tokens[b..c], &self.tokens[c..]);
        if first == second && second == third {
            self.tokens.truncate(c);
            self.places.truncate(c);
            self.segment = c;
        } else {
            self.sections = vec![b, c, self.tokens.len()];
        }
    }
}

impl Kept {
    /// The hint, given the tokens with which the first part ended and which does not fit.
    fn prediction(&self, broken: (usize, usize), movers: &str, now: &Context) -> Prediction {
        let (commit, broken) = (self.places[broken.0], self.places[broken.1]);
        let step = |(event, position, state): Place| Step {
            access: access(event, position),
            transaction: Some(self.transaction.clone()),
            held: now.locks.held(state).to_vec(),
        };
        let mut accesses = vec![step(commit)];
        accesses.extend((commit.1 != broken.1).then(|| step(broken)));
        let note = format!(
            "after its {} others may come between, before its {}; \
             which others, if any, this analysis does not say",
            word(commit.0.op),
            word(broken.0.op),
        );
        Prediction {
            analysis: AnalysisKind::Reduction,
            tier: Tier::Hint,
            pattern: format!("not reducible: {}", shorten(movers)),
            accesses,
            schedule: Vec::new(),
            depends: None,
            directions: None,
            notes: vec![note],
            count: self.count,
        }
    }
}

/// The beginning of a long word.
fn shorten(movers: &str) -> String {
    match movers.char_indices().nth(40) {
        Some((at, _)) => format!("{}...", &movers[..at]),
        None => movers.to_string(),
    }
}
