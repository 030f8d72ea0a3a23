//! Atomicity by its definition (TSE 2006, section 2), by brute force.
//!
//! The *view* of a trace says of every read which write it sees, and of every variable which write
//! is the last. A set of transactions is atomic if every trace of it has the view of a serial one.
//! The judge plays all traces and all serial traces, and compares the views. It knows events, locks,
//! forks and joins, and nothing of movers, blocks, locksets or periods.

use aerodrome::trace::{Event, Op};
use std::collections::{BTreeMap, BTreeSet, HashSet};

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

/// The events of a strand, each with its index in the trace.
type Lane = Vec<(usize, Event)>;

/// Of each read the write that it sees, and of each variable the last write; nothing stands for the
/// state before the trace.
type View = (BTreeMap<usize, Option<usize>>, BTreeMap<u32, usize>);

/// How far a trace has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct State {
    done: Vec<usize>,
    /// The strand inside whose transaction a serial trace is.
    inside: Option<usize>,
    owners: BTreeMap<u32, usize>,
    reads: BTreeMap<usize, Option<usize>>,
    writes: BTreeMap<u32, usize>,
}

/// Plays every trace of some lanes; the serial ones only, where the lanes have begins and ends.
struct Player {
    lanes: Vec<Lane>,
    known: HashSet<State>,
    views: BTreeSet<View>,
    deadlocks: bool,
}

impl Player {
    fn new(trace: &[Event], is_serial: bool) -> Player {
        let count = trace.iter().map(|event| event.strand.0 as usize + 1).max();
        let mut lanes = vec![Lane::new(); count.unwrap_or(0)];
        for (at, &event) in trace.iter().enumerate() {
            // Where a transaction begins and ends counts for serial traces only.
            if is_serial || !matches!(event.op, Op::Begin | Op::End) {
                lanes[event.strand.0 as usize].push((at, event));
            }
        }
        Player {
            lanes,
            known: HashSet::new(),
            views: BTreeSet::new(),
            deadlocks: false,
        }
    }

    /// The views of all traces, and whether one deadlocks; nothing where there are too many.
    fn play(mut self) -> Option<(BTreeSet<View>, bool)> {
        let done = vec![0; self.lanes.len()];
        let mut open = vec![State {
            done,
            ..State::default()
        }];
        while let Some(state) = open.pop() {
            if !self.known.insert(state.clone()) {
                continue;
            }
            if self.known.len() > ROOM {
                return None;
            }
            let next: Vec<State> = (0..self.lanes.len())
                .filter(|&strand| self.is_possible(&state, strand))
                .map(|strand| self.step(&state, strand))
                .collect();
            let is_done = |strand: usize| state.done[strand] == self.lanes[strand].len();
            if (0..self.lanes.len()).all(is_done) {
                self.views.insert((state.reads, state.writes));
            } else {
                self.deadlocks |= next.is_empty();
            }
            open.extend(next);
        }
        Some((self.views, self.deadlocks))
    }

    fn is_possible(&self, state: &State, strand: usize) -> bool {
        let Some(&(_, event)) = self.lanes[strand].get(state.done[strand]) else {
            return false;
        };
        let is_forked = self.lanes.iter().enumerate().all(|(parent, lane)| {
            let fork = |(_, it): &(usize, Event)| it.op == Op::Fork && it.target as usize == strand;
            let at = lane.iter().position(fork);
            at.is_none_or(|at| at < state.done[parent])
        });
        let is_its_turn = state.inside.is_none_or(|inside| inside == strand);
        let other = event.target as usize;
        is_forked
            && is_its_turn
            && match event.op {
                Op::Acquire => !state.owners.contains_key(&event.target),
                Op::Join => state.done[other] == self.lanes[other].len(),
                _ => true,
            }
    }

    fn step(&self, state: &State, strand: usize) -> State {
        let mut state = state.clone();
        let (at, event) = self.lanes[strand][state.done[strand]];
        state.done[strand] += 1;
        match event.op {
            Op::Begin => state.inside = Some(strand),
            Op::End => state.inside = None,
            Op::Acquire => drop(state.owners.insert(event.target, strand)),
            Op::Release => drop(state.owners.remove(&event.target)),
            Op::Read => {
                let seen = state.writes.get(&event.target).copied();
                state.reads.insert(at, seen);
            }
            Op::Write => drop(state.writes.insert(event.target, at)),
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
