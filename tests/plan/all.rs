//! `all` against the enumeration of all interleavings.

use crate::random::programs;
use crate::sim::{Event, Object, Program, Sim, State, is_stuck, run};
use aerodrome::plan::{All, Choice, End};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

/// What distinguishes runs: for each object the groups of events that commute.
type Order = BTreeMap<Object, Vec<BTreeSet<Event>>>;

fn extend(order: &mut Order, event: &Event) {
    if event.object == Object::Nothing {
        return;
    }
    let groups = order.entry(event.object).or_default();
    match groups.last_mut() {
        Some(group) if event.reads && group.iter().all(|other| other.reads) => {
            group.insert(event.clone());
        }
        _ => groups.push(BTreeSet::from([event.clone()])),
    }
}

fn order(events: &[Event]) -> Order {
    let mut order = Order::new();
    for event in events {
        extend(&mut order, event);
    }
    order
}

/// A run's outcome: whether it is a deadlock, its order, and its last state.
type Outcome = (bool, Order, State);

/// Everything that can happen, by trying everything. What has led to the same state in the same
/// order is tried once.
struct Enumeration {
    seen: HashMap<(State, Order), u64>,
    outcomes: HashSet<Outcome>,
    limit: usize,
}

impl Enumeration {
    /// None if there is too much.
    fn of(program: &Program, limit: usize) -> Option<(HashSet<Outcome>, u64)> {
        let mut enumeration = Enumeration {
            seen: HashMap::new(),
            outcomes: HashSet::new(),
            limit,
        };
        let interleavings = enumeration.visit(Sim::new(program), &Order::new())?;
        Some((enumeration.outcomes, interleavings))
    }

    /// The number of interleavings from here.
    fn visit(&mut self, mut sim: Sim<'_>, order: &Order) -> Option<u64> {
        let key = (sim.state.clone(), order.clone());
        if let Some(&count) = self.seen.get(&key) {
            return Some(count);
        }
        let (ready, blocked) = sim.actions();
        let mut count = 0;
        if is_stuck(&ready) {
            let (state, order) = key.clone();
            self.outcomes
                .insert((!ready.is_empty() || !blocked.is_empty(), order, state));
            count = 1;
        }
        for action in &ready {
            let mut script: Vec<(usize, usize)> = Vec::new();
            loop {
                let mut next = sim.clone();
                let mut at = 0;
                let mut pick = |_: Choice, n: usize| {
                    if at == script.len() {
                        script.push((0, n));
                    }
                    at += 1;
                    script[at - 1].0
                };
                next.perform(action, &mut pick);
                let mut order = order.clone();
                extend(&mut order, &next.event);
                count += self.visit(next, &order)?;
                while script.last().is_some_and(|&(index, n)| index + 1 == n) {
                    script.pop();
                }
                match script.last_mut() {
                    Some((index, _)) => *index += 1,
                    None => break,
                }
            }
        }
        self.seen.insert(key, count);
        (self.seen.len() <= self.limit).then_some(count)
    }
}

/// What `all` finds, and in how many runs.
fn explored(program: &Program, mut plan: All, most: usize) -> (HashSet<Outcome>, usize, All) {
    let (mut outcomes, mut runs) = (HashSet::new(), 0);
    while let Some(run) = run(program, &mut plan, 1000) {
        runs += 1;
        assert!(runs <= most, "more than {most} runs");
        if run.end != End::Abandoned {
            let deadlock = run.end == End::Deadlock;
            outcomes.insert((deadlock, order(&run.events), run.state));
        }
    }
    (outcomes, runs, plan)
}

/// What the random programs had in sum.
#[derive(Debug, Default)]
struct Sum {
    programs: usize,
    runs: usize,
    different: usize,
    interleavings: u64,
}

/// 100, which take seconds. 10,000 were run once, as `AERODROME_CASES=10000` does.
fn config() -> ProptestConfig {
    let cases = std::env::var("AERODROME_CASES");
    ProptestConfig {
        cases: cases.map_or(100, |cases| cases.parse().expect("a number of cases")),
        max_global_rejects: u32::MAX,
        ..ProptestConfig::default()
    }
}

/// Calls `check` with random programs and all that they can do.
fn for_each_program(
    states: usize,
    check: impl Fn(&Program, &HashSet<Outcome>, u64) -> Result<(), TestCaseError>,
) {
    let mut runner = TestRunner::new(config());
    let result = runner.run(&programs(), |program| {
        match Enumeration::of(&program, states) {
            Some((expected, interleavings)) => check(&program, &expected, interleavings),
            None => Err(TestCaseError::reject("too much can happen")),
        }
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn all_finds_what_is_possible_and_little_of_it_twice() {
    let sum = RefCell::new(Sum::default());
    for_each_program(20_000, |program, expected, interleavings| {
        let most = 20 * expected.len() + 100;
        let (found, runs, plan) = explored(program, All::new().surprises(None), most);
        prop_assert!(plan.is_exhausted() && !plan.is_limited() && plan.left() == 0.0);
        let missing = expected.difference(&found).count();
        prop_assert_eq!(missing, 0, "of {} in {} runs", expected.len(), runs);
        prop_assert_eq!(found.len(), expected.len(), "what cannot happen was found");
        let mut sum = sum.borrow_mut();
        sum.programs += 1;
        sum.runs += runs;
        sum.different += found.len();
        sum.interleavings += interleavings;
        Ok(())
    });
    let sum = sum.into_inner();
    eprintln!("{sum:?}");
    assert!(sum.runs <= 3 * sum.different, "{sum:?}");
}

#[test]
fn a_bound_on_surprises_leaves_only_runs_with_more_of_them_out() {
    for_each_program(2_000, |program, expected, _| {
        let most = 20 * expected.len() + 100;
        let (found, _, plan) = explored(program, All::new(), most);
        prop_assert!(plan.is_exhausted());
        prop_assert!(found.is_subset(expected));
        prop_assert!(plan.is_limited() || found.len() == expected.len());
        for (_, order, state) in expected.difference(&found) {
            let events: Vec<&Event> = order.values().flatten().flatten().collect();
            let surprises = |strand: usize| {
                let own = events.iter().filter(|event| event.strand == strand);
                own.filter(|event| event.surprise).count()
            };
            let most = (0..program.strands.len()).map(surprises).max();
            prop_assert!(most >= Some(2), "{order:?} {state:?}");
        }
        Ok(())
    });
}

#[test]
fn a_bound_on_preemptions_that_none_exceeds_leaves_nothing_out() {
    for_each_program(2_000, |program, expected, interleavings| {
        if interleavings > 2_000 {
            return Err(TestCaseError::reject("too many interleavings"));
        }
        let plan = All::new().surprises(None).preemptions(Some(100));
        // Which wait is woken is decided ahead, and may make no difference.
        let (found, _, plan) = explored(program, plan, 1_000_000);
        prop_assert!(plan.is_exhausted() && !plan.is_limited());
        prop_assert!(found == *expected);
        Ok(())
    });
}
