//! The programs of the benchmark `explore`.

use aerodrome::Problem;

use super::programs::{Is, Program, all};
use super::{assert_silent, find};

/// What takes thousands of schedules, or a second for a few: the benchmark has those.
const SLOW: [&str; 7] = [
    "CS/din_phil7",
    "CS/reorder_100",
    "CS/reorder_50",
    "CS/twostage_100",
    "CS/twostage_50",
    "Inspect/qsort_mt",
    "SafeStack",
];

fn programs() -> impl Iterator<Item = Program> {
    let programs = all().into_iter();
    programs.filter(|program| !SLOW.contains(&program.name))
}

#[test]
fn each_bug_is_found() {
    for program in programs() {
        println!("{}", program.name);
        let found = find(300, 1, || (program.run)(Is::Bug));
        assert_ne!(found.problem, Problem::Violation, "it has no marks");
        assert_eq!(found.replays, (2, 2), "{}", program.name);
    }
}

#[test]
fn each_mark_is_broken() {
    for program in programs().filter(|program| program.is_marked) {
        println!("{}", program.name);
        let found = find(300, 1, || (program.run)(Is::Marked));
        assert_eq!(found.problem, Problem::Violation, "{}", program.name);
        assert_eq!(found.replays, (2, 2), "{}", program.name);
    }
}

#[test]
fn what_is_fixed_is_silent() {
    for program in programs() {
        println!("{}", program.name);
        assert_silent(100, || (program.run)(Is::Fixed));
    }
}
