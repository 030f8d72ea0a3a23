//! How many schedules the plans need for the published programs.

use crate::published::{programs, reorder, stringbuffer, twostage};
use crate::sim::{Program, run};
use aerodrome::plan::{Between, Mix, Name, Point};

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
fn mix_finds_as_many_programs_as_the_best_published_plan() {
    let programs = programs();
    // RFF, of 31 programs within 5, 10, 30 and 100 schedules; these are not all the same programs.
    for (most, published) in [(5, 14.7), (10, 20.2), (30, 25.7), (100, 28.9)] {
        let share = |program: &Program| within(&firsts(program, Name::Mix, 5, most), most);
        let found: f64 = programs.iter().map(|(_, program)| share(program)).sum();
        let share = found / programs.len() as f64;
        assert!(
            share >= published / 31.0,
            "{found} of {} within {most}",
            programs.len()
        );
    }
}

#[test]
fn a_prediction_happens_in_the_run_after_the_first() {
    // The length is asked for, the other strand erases, and the length is used.
    let prediction = Between {
        first: Point::Site(1001),
        other: Point::Site(2000),
        last: Point::Site(1004),
    };
    for seed in 0..20 {
        let mut plan = Mix::new(seed, 100);
        plan.predict(prediction);
        run(&stringbuffer(), &mut plan, STEPS).expect("the first run");
        let second = run(&stringbuffer(), &mut plan, STEPS).expect("the second run");
        let sites = second.actions.iter().map(|action| action.intent.site);
        let sites: Vec<u32> = sites
            .filter(|site| [1001, 1004, 2000].contains(site))
            .collect();
        assert_eq!(sites, [1001, 2000, 1004], "seed {seed}");
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
