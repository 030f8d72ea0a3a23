//! How many schedules the plans need for the published programs.

use crate::published::{programs, reorder, twostage};
use crate::sim::{Program, run};
use aerodrome::plan::Name;

const STEPS: usize = 2_000;
const COLUMNS: [u64; 5] = [1, 5, 10, 30, 100];

/// The schedule that finds the bug, counted from 1.
fn first(program: &Program, name: Name, seed: u64, most: u64) -> Option<u64> {
    let mut plan = name.plan(seed, most);
    (1..=most).find(|_| run(program, &mut plan, STEPS).is_some_and(|run| run.failed()))
}

/// For each seed.
fn firsts(program: &Program, name: Name, seeds: u64, most: u64) -> Vec<Option<u64>> {
    (0..seeds)
        .map(|seed| first(program, name, seed, most))
        .collect()
}

fn within(firsts: &[Option<u64>], most: u64) -> f64 {
    let found = firsts
        .iter()
        .flatten()
        .filter(|&&first| first <= most)
        .count();
    found as f64 / firsts.len() as f64
}

fn median(firsts: &[Option<u64>]) -> u64 {
    let mut all: Vec<u64> = firsts
        .iter()
        .map(|first| first.unwrap_or(u64::MAX))
        .collect();
    all.sort_unstable();
    all[all.len() / 2]
}

#[test]
#[ignore = "prints a table, and takes a minute"]
fn the_table_of_all_plans() {
    let mut rows: Vec<(Name, [f64; 5])> = Name::ALL.map(|name| (name, [0.0; 5])).into();
    for (program_name, program) in programs() {
        print!("{program_name:16}");
        for (name, row) in &mut rows {
            let firsts = firsts(&program, *name, 20, 100);
            for (sum, most) in row.iter_mut().zip(COLUMNS) {
                *sum += within(&firsts, most);
            }
            match median(&firsts) {
                u64::MAX => print!("    -"),
                median => print!("{median:5}"),
            }
        }
        println!();
    }
    println!("of {}        {COLUMNS:?}", programs().len());
    for (name, row) in rows {
        println!(
            "{name:5} {:5.1} {:5.1} {:5.1} {:5.1} {:5.1}",
            row[0], row[1], row[2], row[3], row[4]
        );
    }
}

#[test]
fn how_many_strands_there_are_does_not_matter_to_mix() {
    for strands in [3, 10, 30] {
        for program in [reorder(strands), twostage(strands)] {
            let median = median(&firsts(&program, Name::Mix, 7, 20));
            assert!(median <= 20, "{strands} strands: {median}");
        }
    }
}
