//! Atomicity by its definition (TSE 2006, section 2), by brute force.
//!
//! The *view* of a trace says of every read which write it sees, and of every variable which write
//! is the last. A set of transactions is atomic if every trace of it has the view of a serial one.
//! The judge plays all traces and all serial traces, and compares the views. It knows events, locks,
//! forks and joins, and nothing of movers, blocks, locksets or periods.

use aerodrome::trace::{Event, Op};
use rustc_hash::FxHashSet;

/// What a set of transactions is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    Atomic,
    NotAtomic,
    /// Some trace ends before all events are done: the theorems say nothing.
    Deadlocks,
    /// There is more to play than the judge has room for.
    TooLarge,
}

/// So many states are kept: some 20 MB.
const ROOM: usize = 30_000;

/// Judges the transactions of a trace of reads, writes, exclusive locks, forks and joins.
pub(crate) fn judge(trace: &[Event]) -> Judgement {
    let Some((all, deadlocks)) = Player::new(trace, false).play() else {
        return Judgement::TooLarge;
    };
    if deadlocks {
        return Judgement::Deadlocks;
    }
    let Some((serial, _)) = Player::new(trace, true).play() else {
        return Judgement::TooLarge;
    };
    match all.is_subset(&serial) {
        true => Judgement::Atomic,
        false => Judgement::NotAtomic,
    }
}

/// The events of a strand, each with its index in the trace. Objects are numbered from 0.
type Lane = Vec<(usize, Event)>;

/// A write: its index in the trace, from 2. 1 is the state before the trace, 0 nothing at all.
type Write = u8;

const BEFORE: Write = 1;

/// Of each event of the trace the write that it sees, where it is a read, and of each variable the
/// last write. Bytes, because hashing them is most of the work.
type View = (Vec<Write>, Vec<Write>);

/// How far a trace has come.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct State {
    /// Of each strand: how many of its events.
    done: Vec<u8>,
    /// The strand inside whose transaction a serial trace is.
    inside: Option<usize>,
    /// Of each object: 1 if it is a lock that is held.
    held: Vec<u8>,
    view: View,
}

/// Plays every trace of some lanes; the serial ones only, where the lanes have begins and ends.
struct Player {
    lanes: Vec<Lane>,
    /// Of each strand: its parents, and how many of their events come before its fork is done.
    forks: Vec<Vec<(usize, u8)>>,
    start: State,
    known: FxHashSet<State>,
    views: FxHashSet<View>,
    deadlocks: bool,
}

impl Player {
    fn new(trace: &[Event], is_serial: bool) -> Player {
        let is_object = |event: &&Event| {
            let op = event.op;
            !matches!(op, Op::Begin | Op::End | Op::Fork | Op::Join)
        };
        let mut objects: Vec<u32> = trace.iter().filter(is_object).map(|it| it.target).collect();
        objects.sort_unstable();
        objects.dedup();
        let count = trace.iter().map(|event| event.strand.0 as usize + 1).max();
        let mut lanes = vec![Lane::new(); count.unwrap_or(0)];
        for (at, &event) in trace.iter().enumerate() {
            // Where a transaction begins and ends counts for serial traces only.
            if !is_serial && matches!(event.op, Op::Begin | Op::End) {
                continue;
            }
            let mut event = event;
            if is_object(&&event) {
                let number = objects.binary_search(&event.target).expect("listed");
                event.target = number as u32;
            }
            lanes[event.strand.0 as usize].push((at, event));
        }
        let mut forks = vec![Vec::new(); lanes.len()];
        for (parent, lane) in lanes.iter().enumerate() {
            for ((_, event), done) in lane.iter().zip(1..) {
                if event.op == Op::Fork {
                    forks[event.target as usize].push((parent, done));
                }
            }
        }
        let start = State {
            done: vec![0; lanes.len()],
            inside: None,
            held: vec![0; objects.len()],
            view: (vec![0; trace.len()], vec![BEFORE; objects.len()]),
        };
        Player {
            lanes,
            forks,
            start,
            known: FxHashSet::default(),
            views: FxHashSet::default(),
            deadlocks: false,
        }
    }

    /// The views of all traces, and whether one deadlocks; nothing where there are too many.
    fn play(mut self) -> Option<(FxHashSet<View>, bool)> {
        let mut open = vec![self.start.clone()];
        while let Some(state) = open.pop() {
            if self.known.contains(&state) {
                continue;
            }
            if self.known.len() == ROOM {
                return None;
            }
            let before = open.len();
            for strand in 0..self.lanes.len() {
                if self.is_possible(&state, strand) {
                    open.push(self.step(&state, strand));
                }
            }
            let is_done = |strand: usize| self.next(&state, strand).is_none();
            if (0..self.lanes.len()).all(is_done) {
                self.views.insert(state.view.clone());
            } else {
                self.deadlocks |= open.len() == before;
            }
            self.known.insert(state);
        }
        Some((self.views, self.deadlocks))
    }

    /// A strand's next event.
    fn next(&self, state: &State, strand: usize) -> Option<(usize, Event)> {
        self.lanes[strand]
            .get(usize::from(state.done[strand]))
            .copied()
    }

    fn is_possible(&self, state: &State, strand: usize) -> bool {
        let Some((_, event)) = self.next(state, strand) else {
            return false;
        };
        let mut forks = self.forks[strand].iter();
        let is_its_turn = state.inside.is_none_or(|inside| inside == strand);
        let other = event.target as usize;
        forks.all(|&(parent, done)| state.done[parent] >= done)
            && is_its_turn
            && match event.op {
                Op::Acquire => state.held[other] == 0,
                Op::Join => self.next(state, other).is_none(),
                _ => true,
            }
    }

    fn step(&self, state: &State, strand: usize) -> State {
        let mut state = state.clone();
        let (at, event) = self.next(&state, strand).expect("it is possible");
        let object = event.target as usize;
        let (reads, writes) = &mut state.view;
        state.done[strand] += 1;
        match event.op {
            Op::Begin => state.inside = Some(strand),
            Op::End => state.inside = None,
            Op::Acquire => state.held[object] = 1,
            Op::Release => state.held[object] = 0,
            Op::Read => reads[at] = writes[object],
            Op::Write => writes[object] = Write::try_from(at + 2).expect("a short trace"),
            Op::Fork | Op::Join => {}
            op => panic!("the judge does not know {op:?}"),
        }
        state
    }
}

#[cfg(test)]
mod tests {
    use super::super::notation::trace;
    use super::{Judgement, judge};

    #[test]
    fn the_judge_knows_the_papers_verdicts() {
        for (text, expected) in [
            ("1: [ Rx Wx ]; 2: [ Rx ]", Judgement::Atomic),
            ("1: [ Rx Wx ]; 2: [ Wx ]", Judgement::NotAtomic),
            ("1: [ Wx Wx ]; 2: [ Wx ]", Judgement::Atomic),
            (
                "1: [ +l Rx -l +l Wx -l ]; 2: [ +l Wx -l ]",
                Judgement::NotAtomic,
            ),
            (
                "1: [ Wx Wy ]; 2: [ Rx Wz ]; 3: [ Rz Ry ]",
                Judgement::NotAtomic,
            ),
            (
                "1: [ +k +l -l -k ]; 2: [ +l +k -k -l ]",
                Judgement::Deadlocks,
            ),
            ("0: fork1; 1: [ Rx Wx ]; 0: join1 Wx", Judgement::Atomic),
            ("0: fork1 Wx; 1: [ Rx Wx ]; 0: join1", Judgement::NotAtomic),
        ] {
            assert_eq!(judge(&trace(text)), expected, "{text}");
        }
    }
}
