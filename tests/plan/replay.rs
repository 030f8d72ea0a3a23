//! The same seed gives the same schedules, and a schedule gives the same run.

use crate::random::programs;
use crate::sim::{Program, Run, run};
use aerodrome::plan::{Name, Plan, Recorder, Replay, Schedule, Walk};
use proptest::prelude::*;

const LIMIT: usize = 1000;

fn plans(seed: u64) -> Vec<(Name, Box<dyn Plan + Send>)> {
    Name::ALL.map(|name| (name, name.plan(seed, 20))).into()
}

fn same(one: &Run, other: &Run) -> Result<(), TestCaseError> {
    prop_assert_eq!(&one.actions, &other.actions);
    prop_assert_eq!(&one.events, &other.events);
    prop_assert_eq!(&one.state, &other.state);
    prop_assert_eq!(one.end, other.end);
    Ok(())
}

fn repeats(program: &Program, seed: u64) -> Result<(), TestCaseError> {
    for ((name, mut one), (_, mut other)) in plans(seed).into_iter().zip(plans(seed)) {
        for _ in 0..5 {
            let first = run(program, &mut one, LIMIT);
            let second = run(program, &mut other, LIMIT);
            let (Some(first), Some(second)) = (first, second) else {
                continue;
            };
            same(&first, &second)
                .map_err(|error| TestCaseError::fail(format!("{name}: {error}")))?;
        }
    }
    Ok(())
}

fn replays(program: &Program, seed: u64) -> Result<(), TestCaseError> {
    for (name, plan) in plans(seed) {
        let mut plan = Recorder::new(plan, name, seed);
        for number in 0..5 {
            let Some(first) = run(program, &mut plan, LIMIT) else {
                break;
            };
            let schedule = plan.schedule();
            prop_assert_eq!((schedule.plan, schedule.run), (name, number));
            let text = schedule.to_string();
            let parsed: Schedule = text
                .parse()
                .map_err(|error| TestCaseError::fail(format!("{text}: {error}")))?;
            prop_assert_eq!(&parsed, &schedule);
            let expected = plan.actions().to_vec();
            prop_assert_eq!(&expected, &first.actions);
            for mut replay in [Replay::new(parsed), Replay::expecting(schedule, expected)] {
                let again = run(program, &mut replay, first.events.len().max(1));
                prop_assert_eq!(replay.divergence(), None);
                let again = again.expect("a replay always runs");
                prop_assert_eq!(&again.events, &first.events);
                prop_assert_eq!(&again.state, &first.state);
            }
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_same_seed_gives_the_same_schedules(program in programs(), seed in any::<u64>()) {
        repeats(&program, seed)?;
    }

    #[test]
    fn a_schedule_gives_the_same_run(program in programs(), seed in any::<u64>()) {
        replays(&program, seed)?;
    }

    #[test]
    fn a_replay_of_another_program_says_where_it_diverges(
        program in programs(),
        other in programs(),
        seed in any::<u64>(),
    ) {
        let mut plan = Recorder::new(Walk::new(seed), Name::Walk, seed);
        let first = run(&program, &mut plan, LIMIT).expect("a walk always runs");
        let expected = plan.actions().to_vec();
        let mut replay = Replay::expecting(plan.schedule(), expected.clone());
        let again = run(&other, &mut replay, LIMIT).expect("a replay always runs");
        // What a step is, without what this program's other operations have made of it.
        let differ = |index: usize| again.actions.get(index) != first.actions.get(index);
        let steps = first.actions.len().max(again.actions.len());
        match (0..steps).find(|&index| differ(index)) {
            // They are the same programs as far as this schedule goes, or differ in blocks alone.
            None => prop_assert_eq!(again.actions, first.actions),
            Some(index) => {
                let divergence = replay.divergence().expect("the actions differ");
                // Earlier only if the action is the same, but not what is chosen in it.
                prop_assert!(divergence.step <= index + 1);
                let action = |run: &Run| run.actions.get(divergence.step - 1).copied();
                prop_assert_eq!(divergence.expected, action(&first));
                prop_assert_eq!(divergence.found, action(&again));
            }
        }
    }

    #[test]
    fn no_text_makes_the_parser_panic_and_errors_say_where(
        text in "aero1\\.[wcpsram]\\.(0|[1-9][0-9]{0,2})\\.[0-9]\\.[A-Za-z0-9_-]{0,40}",
        cut in 0..60_usize,
    ) {
        let text: String = text.chars().take(cut).collect();
        match text.parse::<Schedule>() {
            Ok(schedule) => prop_assert_eq!(schedule.to_string(), text),
            Err(error) => {
                prop_assert!(error.column <= text.len() + 1);
                let found = error.found.trim_matches('`');
                if error.found != "the end" {
                    prop_assert!(text[error.column - 1..].starts_with(found), "{}", error);
                }
            }
        }
    }
}

#[test]
fn errors_of_the_parser_say_what_was_expected_and_found() {
    let message = |text: &str| text.parse::<Schedule>().unwrap_err().to_string();
    for (text, expected) in [
        ("", "column 1: expected `aero1`, found the end"),
        (
            "aero2.p.1.2.AA",
            "column 1: expected `aero1`, found `aero2`",
        ),
        ("aero1", "column 6: expected `.`, found the end"),
        (
            "aero1.pp.1.2.AA",
            "column 7: expected a plan (w, c, p, s, r, a or m), found `pp`",
        ),
        ("aero1.p.-1.2.AA", "column 9: expected a seed, found `-1`"),
        (
            "aero1.p.1.x.AA",
            "column 11: expected the number of a run, found `x`",
        ),
        (
            "aero1.p.1.2.",
            "column 13: expected a number of switches, found the end",
        ),
        (
            "aero1.p.1.2.A?",
            "column 14: expected a digit of base64, found `?`",
        ),
        (
            "aero1.p.1.2.AAAAAAA",
            "column 20: expected four bytes of hash, found the end",
        ),
        (
            "aero1.p.1.2.AAAAAAAAAA",
            "column 21: expected the end of the text, found `AA`",
        ),
        (
            "aero1.p.1.2.gICAgIAA",
            "column 13: expected a number of switches, found `gICAgIAA`",
        ),
    ] {
        assert_eq!(message(text), expected, "{text}");
    }
}
