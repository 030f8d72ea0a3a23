//! The races of a run: pairs of actions whose order could have been the other one.

use super::trace::{Effect, Part, Trace, effect, meet};
use crate::plan::{Action, How, Kind};
use rustc_hash::FxHashMap;

/// For each seat, how many of its actions happened before.
type Clock = Vec<u32>;

fn at(clock: &Clock, seat: u32) -> u32 {
    clock.get(seat as usize).copied().unwrap_or(0)
}

fn join(clock: &mut Clock, other: &Clock) {
    if clock.len() < other.len() {
        clock.resize(other.len(), 0);
    }
    for (one, other) in clock.iter_mut().zip(other) {
        *one = (*one).max(*other);
    }
}

/// A demand of a race: some action of one of these seats is to be explored at the step.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Demand {
    pub(super) step: usize,
    /// Each of them could come first; the best one is first.
    pub(super) seats: Vec<u32>,
}

/// What can race with what came before it: a step, or what a strand could not do any more.
struct Late<'r> {
    action: &'r Action,
    parts: &'r [Part],
    /// Which steps came before it.
    end: usize,
    /// What happened before its strand was there.
    before: Clock,
    /// What happened before it.
    clock: Clock,
}

pub(super) struct Races<'t> {
    trace: &'t Trace,
    /// The number of each step among its strand's, from 1.
    numbers: Vec<u32>,
    clocks: Vec<Clock>,
    /// What happened before each strand's next action.
    strands: Vec<Clock>,
    /// The steps that touched an object, in order.
    touched: FxHashMap<u32, Vec<usize>>,
    /// The step of the last write to an object: it is after all that came before it.
    written: FxHashMap<u32, usize>,
}

impl<'t> Races<'t> {
    /// The demands of all races whose later action is the step `from` or comes after it.
    pub(super) fn of(trace: &'t Trace, from: usize) -> Vec<Demand> {
        let mut races = Races {
            trace,
            numbers: Vec::new(),
            clocks: Vec::new(),
            strands: Vec::new(),
            touched: FxHashMap::default(),
            written: FxHashMap::default(),
        };
        let mut demands = Vec::new();
        for index in 0..trace.steps.len() {
            races.step(index, index >= from, &mut demands);
        }
        for action in &trace.stuck {
            let part = Part {
                object: action.intent.object,
                effect: effect(action.intent.kind),
            };
            let late = races.late(action, std::slice::from_ref(&part), trace.steps.len());
            races.races_of(&late, &mut demands);
        }
        demands
    }

    fn step(&mut self, index: usize, new: bool, demands: &mut Vec<Demand>) {
        let step = &self.trace.steps[index];
        self.note_changes(index);
        let seat = step.action.seat;
        let late = self.late(&step.action, &step.footprint.parts, index);
        if new {
            self.races_of(&late, demands);
            let stopped = step.footprint.stopped.iter();
            demands.extend(stopped.map(|&seat| Demand {
                step: index,
                seats: vec![seat],
            }));
        }
        let mut clock = late.clock;
        let number = at(&clock, seat) + 1;
        clock.resize(clock.len().max(seat as usize + 1), 0);
        clock[seat as usize] = number;
        self.strands[seat as usize] = clock.clone();
        self.clocks.push(clock);
        self.numbers.push(number);
        for part in &step.footprint.parts {
            let touched = self.touched.entry(part.object).or_default();
            if touched.last() != Some(&index) {
                touched.push(index);
            }
            if part.effect == Effect::Write {
                self.written.insert(part.object, index);
            }
        }
    }

    /// A strand whose pending operation is another one, though it was not its turn, was moved by
    /// the last step: it was notified, or forked.
    fn note_changes(&mut self, index: usize) {
        let step = &self.trace.steps[index];
        for action in step.pending() {
            let seat = action.seat as usize;
            let new = self.strands.len() <= seat;
            if new {
                self.strands.resize(seat + 1, Clock::new());
            }
            let Some(last) = index.checked_sub(1) else {
                continue;
            };
            if self.trace.steps[last].action.seat != action.seat
                && (new || !self.was_pending(last, action))
            {
                join(&mut self.strands[seat], &self.clocks[last]);
            }
        }
    }

    fn was_pending(&self, index: usize, action: &Action) -> bool {
        let same = |other: &Action| {
            (other.seat, other.nth, other.intent) == (action.seat, action.nth, action.intent)
        };
        self.trace.steps[index].pending().any(same)
    }

    fn late<'r>(&self, action: &'r Action, parts: &'r [Part], end: usize) -> Late<'r> {
        let before = self
            .strands
            .get(action.seat as usize)
            .cloned()
            .unwrap_or_default();
        let mut clock = before.clone();
        for part in parts {
            let last = self.written.get(&part.object).copied().unwrap_or(0);
            let touched = self.touched.get(&part.object).into_iter().flatten().rev();
            for &other in touched.take_while(|&&other| other >= last) {
                if meet(
                    &self.trace.steps[other].footprint.parts,
                    std::slice::from_ref(part),
                ) {
                    join(&mut clock, &self.clocks[other]);
                }
            }
        }
        Late {
            action,
            parts,
            end,
            before,
            clock,
        }
    }

    /// Demands for each step that could have come after the late action instead of before it, with
    /// nothing between them that would have had to be there.
    fn races_of(&self, late: &Late<'_>, demands: &mut Vec<Demand>) {
        let mut others: Vec<usize> = Vec::new();
        for part in late.parts {
            let touched = self.touched.get(&part.object).into_iter().flatten();
            others.extend(touched.filter(|&&other| self.conflicts(other, late)));
        }
        others.sort_unstable();
        others.dedup();
        let mut covered = late.before.clone();
        for other in others.into_iter().rev() {
            let seat = self.trace.steps[other].action.seat;
            if self.numbers[other] <= at(&covered, seat) {
                continue;
            }
            let Some(certain) = self.is_possible(other, late) else {
                continue;
            };
            let Some(demand) = self.demand(other, late) else {
                continue;
            };
            demands.push(demand);
            if certain {
                join(&mut covered, &self.clocks[other]);
            }
        }
    }

    fn conflicts(&self, other: usize, late: &Late<'_>) -> bool {
        let step = &self.trace.steps[other];
        step.action.seat != late.action.seat && meet(&step.footprint.parts, late.parts)
    }

    /// Whether the late action would have been possible without the other: surely, perhaps, or not.
    fn is_possible(&self, other: usize, late: &Late<'_>) -> Option<bool> {
        let step = &self.trace.steps[other];
        let pairs = late.parts.iter().enumerate().flat_map(|(index, late)| {
            let others = step.footprint.parts.iter();
            others
                .filter(|other| other.conflicts(late))
                .map(move |other| (index, other))
        });
        let operates = !late.action.intent.kind.is_pause();
        let verdicts = pairs.map(|(index, part)| match index {
            0 if operates => self.is_pending(other, part, late.action),
            // What is given back in the action in which it was taken tells no more than that.
            _ if operates && late.parts[index].object == late.parts[0].object => None,
            // A release is always possible.
            _ => Some(true),
        });
        verdicts.max().flatten()
    }

    /// Whether the late action itself would have been possible without the other's part.
    fn is_pending(&self, other: usize, part: &Part, late: &Action) -> Option<bool> {
        if late.how != How::Proceed {
            return Some(true);
        }
        let attempt = self.trace.steps[other].action.how == How::Proceed;
        match (late.intent.kind, part.effect) {
            // They have waited for just that.
            (Kind::Start | Kind::Join, _) => None,
            (Kind::Lock | Kind::LockShared, Effect::Free | Effect::FreeShared) => None,
            // Whoever holds what an attempt finds taken gives it back after the attempt.
            (Kind::Lock, Effect::Probe) if attempt => None,
            (Kind::Lock | Kind::LockShared, Effect::Probe) => self.was_ready(other, late),
            (Kind::Send | Kind::Receive | Kind::Park, _) => self.was_ready(other, late),
            // A strand that spins is held back at its read.
            (Kind::Read, _) => self.was_ready(other, late).map(|_| true),
            _ => Some(true),
        }
    }

    /// Whether the action could have been performed in place of the step. Perhaps, if its strand
    /// was not there yet.
    fn was_ready(&self, other: usize, action: &Action) -> Option<bool> {
        let step = &self.trace.steps[other];
        let same = |other: &&Action| (other.seat, other.nth) == (action.seat, action.nth);
        if step.ready.iter().any(|other| same(&other)) {
            return Some(true);
        }
        match step.blocked.iter().any(|other| same(&other)) {
            true => None,
            false => Some(false),
        }
    }

    /// What could be first if the late action were to come before the other: nothing that happened
    /// after that one, and nothing that has to be preceded by what is left.
    fn demand(&self, other: usize, late: &Late<'_>) -> Option<Demand> {
        let step = &self.trace.steps[other];
        let (seat, number) = (step.action.seat, self.numbers[other]);
        let mut firsts: Vec<usize> = Vec::new();
        let seat_of = |index: usize| self.trace.steps[index].action.seat;
        for index in other + 1..late.end {
            let independent = at(&self.clocks[index], seat) < number;
            if independent && !firsts.iter().any(|&first| seat_of(first) == seat_of(index)) {
                firsts.push(index);
            }
        }
        let free = |clock: &Clock, own: u32| {
            let before = |&first: &usize| self.numbers[first] <= at(clock, seat_of(first));
            !firsts
                .iter()
                .any(|first| seat_of(*first) != own && before(first))
        };
        let mut seats = Vec::new();
        let own = late.action.seat;
        if !firsts.iter().any(|&first| seat_of(first) == own) && free(&late.clock, own) {
            seats.push(own);
        }
        for &first in &firsts {
            if free(&self.clocks[first], seat_of(first)) {
                seats.push(seat_of(first));
            }
        }
        seats.retain(|&seat| step.ready.iter().any(|action| action.seat == seat));
        (!seats.is_empty()).then_some(Demand { step: other, seats })
    }
}
