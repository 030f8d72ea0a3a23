//! Shrunk schedules against the fewest switches with which a program can fail.

use crate::published::{programs as published, stringbuffer};
use crate::random::programs;
use crate::sim::{Program, Sim, State, is_stuck, run};
use aerodrome::plan::{Choice, Coverage, Name, Pos, Recorder, Shrunk, shrink, trace_hash};
use proptest::prelude::*;
use std::collections::{HashSet, VecDeque};

const STEPS: usize = 1_000;

/// The fewest switches of a run that fails, by trying everything; none if there is too much.
fn fewest(program: &Program, limit: usize) -> Option<usize> {
    let mut seen: HashSet<(State, Option<usize>)> = HashSet::new();
    let mut queue = VecDeque::from([(0, None, Sim::new(program))]);
    while let Some((switches, last, mut sim)) = queue.pop_front() {
        if seen.len() > limit {
            return None;
        }
        if !seen.insert((sim.state.clone(), last)) {
            continue;
        }
        let (ready, blocked) = sim.actions();
        let over = is_stuck(&ready);
        if over && (sim.state.failed || ready.len() + blocked.len() > 0) {
            return Some(switches);
        }
        // Runs under the plans in question are not woken once they are stuck.
        for action in ready.iter().filter(|_| !over) {
            for choice in 0..3 {
                let mut next = sim.clone();
                next.perform(action, &mut |_: Choice, n| choice.min(n - 1));
                let strand = next.event.strand;
                let switch = last.is_some_and(|last| last != strand);
                let entry = (switches + usize::from(switch), Some(strand), next);
                match switch {
                    true => queue.push_back(entry),
                    false => queue.push_front(entry),
                }
            }
        }
    }
    None
}

/// The first failing schedule of partial order sampling, shrunk.
fn shrunk(program: &Program, seed: u64) -> Option<Shrunk> {
    let mut plan = Recorder::new(Pos::new(seed), Name::Pos, seed);
    let failing = (0..200).find_map(|_| {
        let run = run(program, &mut plan, STEPS)?;
        run.failed().then(|| plan.recording())
    })?;
    let schedule = failing.schedule.clone();
    let before = failing.switches();
    let shrunk = shrink(failing, 1_000, |plan| {
        run(program, plan, STEPS).is_some_and(|run| run.failed())
    });
    assert!(shrunk.recording.switches() <= before);
    assert_eq!(shrunk.recording.schedule.run, schedule.run);
    Some(shrunk)
}

/// A shrunk schedule is the schedule of a run that fails, and its text brings it back.
fn comes_back(program: &Program, shrunk: &Shrunk) {
    let text = shrunk.recording.schedule.to_string();
    let mut replay = aerodrome::plan::Replay::new(text.parse().expect("it was written"));
    let run = run(program, &mut replay, STEPS).expect("a replay always runs");
    assert_eq!(replay.divergence(), None);
    assert!(run.failed());
    assert_eq!(run.actions, shrunk.recording.actions);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn shrunk_schedules_come_back_and_have_at_most_one_switch_too_many(
        program in programs(),
        seed in any::<u64>(),
    ) {
        let Some(shrunk) = shrunk(&program, seed) else {
            return Ok(());
        };
        comes_back(&program, &shrunk);
        if let Some(fewest) = fewest(&program, 20_000) {
            let switches = shrunk.recording.switches();
            prop_assert!(switches <= fewest + 1, "{} switches, not {}", switches, fewest);
        }
    }
}

#[test]
fn published_programs_shrink_to_few_switches() {
    for (name, program) in published() {
        let Some(shrunk) = shrunk(&program, 7) else {
            continue;
        };
        comes_back(&program, &shrunk);
        if let Some(fewest) = fewest(&program, 20_000) {
            let switches = shrunk.recording.switches();
            assert!(
                switches <= fewest + 1,
                "{name}: {switches} switches, not {fewest}"
            );
        }
    }
}

#[test]
fn coverage_counts_what_differs_and_which_gaps_were_never_interrupted() {
    let program = stringbuffer();
    let (mut coverage, mut hashes) = (Coverage::default(), HashSet::new());
    let mut plan = Name::Pos.plan(7, 100);
    let mut failed = false;
    for number in 1..=100 {
        let run = run(&program, &mut plan, STEPS).expect("it always runs");
        failed |= run.failed();
        let new = hashes.insert(trace_hash(&run.actions));
        assert_eq!(coverage.add(&run.actions), new);
        assert_eq!(coverage.last_new() == number, new);
    }
    // Two and two critical sections can follow each other in six ways.
    assert_eq!((coverage.runs(), coverage.different()), (100, 6));
    // The only block has one gap, and who came into it broke it.
    let gaps: Vec<_> = coverage.gaps().collect();
    assert_eq!(gaps.len(), 1);
    assert_eq!(gaps[0].1.passed, 100);
    assert_eq!(gaps[0].1.interrupted > 0, failed);
}
