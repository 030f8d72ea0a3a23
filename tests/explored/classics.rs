//! The programs of the benchmark `explore`.

use aerodrome::Problem;

use super::programs::{Is, Program, all};
use super::{assert_silent, find};

/// Those that no run of a few hundred finds: the published tools take thousands, or never do.
const HARD: [&str; 1] = ["SafeStack"];

/// A run of a hundred threads takes as long as dozens of others.
fn has_many_threads(program: &Program) -> bool {
    ["_50", "_100"]
        .iter()
        .any(|end| program.name.ends_with(end))
}

#[test]
fn each_bug_is_found() {
    for program in all() {
        if !HARD.contains(&program.name) {
            println!("{}", program.name);
            let found = find(1_000, 1, || (program.run)(Is::Bug));
            assert_ne!(found.problem, Problem::Violation, "it has no marks");
            assert_eq!(found.replays, (2, 2), "{}", program.name);
        }
    }
}

#[test]
fn each_mark_is_broken() {
    for program in all().iter().filter(|program| program.is_marked) {
        println!("{}", program.name);
        let found = find(1_000, 1, || (program.run)(Is::Marked));
        assert_eq!(found.problem, Problem::Violation, "{}", program.name);
        assert_eq!(found.replays, (2, 2), "{}", program.name);
    }
}

#[test]
fn what_is_fixed_is_silent() {
    for program in all() {
        println!("{}", program.name);
        let schedules = if has_many_threads(&program) { 5 } else { 200 };
        assert_silent(schedules, || (program.run)(Is::Fixed));
    }
}
