//! The lattice against the enumeration of all runs.

use crate::oracle::{Order, first_violation};
use crate::traces::{VARIABLES, XYZ, actions, build, explore};
use aerodrome::lattice::property::{Atom, Comparison, Expression, Formula};
use aerodrome::lattice::{Limits, Property};
use proptest::prelude::*;
use std::collections::BTreeSet;

fn numbers() -> impl Strategy<Value = Expression> {
    let leaf = prop_oneof![
        (-3..4_i64).prop_map(Expression::Number),
        (0..3_usize).prop_map(Expression::Variable),
    ];
    leaf.prop_recursive(2, 4, 2, |inner| {
        let two = (inner.clone(), inner.clone());
        prop_oneof![
            inner.prop_map(|a| Expression::Negative(Box::new(a))),
            two.clone()
                .prop_map(|(a, b)| Expression::Sum(Box::new(a), Box::new(b))),
            two.clone()
                .prop_map(|(a, b)| Expression::Difference(Box::new(a), Box::new(b))),
            two.prop_map(|(a, b)| Expression::Product(Box::new(a), Box::new(b))),
        ]
    })
}

fn formulas() -> impl Strategy<Value = Formula> {
    use Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    let comparisons = prop::sample::select(vec![
        Equal,
        NotEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
    ]);
    let compare = (comparisons, numbers(), numbers()).prop_map(|(comparison, a, b)| {
        Formula::Atom(Atom::Compare(comparison, a, b, Default::default()))
    });
    let leaf = prop_oneof![
        1 => any::<bool>().prop_map(Formula::Constant),
        3 => (0..3_usize).prop_map(|variable| Formula::Atom(Atom::True(variable))),
        6 => compare,
    ];
    leaf.prop_recursive(4, 12, 2, |inner| {
        let one = inner.clone().prop_map(Box::new);
        let two = (one.clone(), one.clone());
        prop_oneof![
            one.clone().prop_map(Formula::Not),
            two.clone().prop_map(|(a, b)| Formula::And(a, b)),
            two.clone().prop_map(|(a, b)| Formula::Or(a, b)),
            two.clone().prop_map(|(a, b)| Formula::Implies(a, b)),
            // Two bare variables would be compared as numbers.
            two.clone()
                .prop_map(|(a, b)| Formula::Same(Box::new(Formula::Not(a)), b)),
            two.clone()
                .prop_map(|(a, b)| Formula::Differ(a, Box::new(Formula::Once(b)))),
            one.clone().prop_map(Formula::Previously),
            one.clone().prop_map(Formula::Once),
            one.clone().prop_map(Formula::Historically),
            two.clone().prop_map(|(a, b)| Formula::Since(a, b)),
            two.prop_map(|(a, b)| Formula::Interval(a, b)),
            one.clone().prop_map(Formula::Start),
            one.prop_map(Formula::End),
        ]
    })
}

fn names() -> Vec<String> {
    XYZ.map(str::to_string).to_vec()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn a_printed_formula_parses_to_itself(formula in formulas()) {
        let text = formula.display(&names()).to_string();
        let property: Property = text.parse().map_err(|error| TestCaseError::fail(format!("{error}")))?;
        prop_assert_eq!(property.to_string(), text);
    }

    #[test]
    fn the_lattice_agrees_with_the_enumeration_of_all_runs(actions in actions(30), formula in formulas()) {
        let text = formula.display(&names()).to_string();
        let property: Property = text.parse().unwrap();
        // The variables that are named, in the oracle's order and in the property's.
        let relevant: Vec<bool> = names().iter().map(|name| property.variables().contains(name)).collect();
        let places: Vec<usize> =
            property.variables().iter().map(|name| names().iter().position(|other| other == name).unwrap()).collect();
        let project = |state: &[i64]| -> Vec<i64> { places.iter().map(|place| state[*place]).collect() };

        let trace = build(&actions, 7);
        let order = Order::new(&trace, &relevant);
        let limits = Limits { graph: usize::MAX, counterexamples: usize::MAX, ..Limits::default() };
        let outcome = explore(&text, limits, &VARIABLES, &trace).unwrap();

        // The same number of runs, and the same verdict on them.
        let runs = order.runs();
        let verdicts: Vec<Option<usize>> =
            runs.iter().map(|run| first_violation(&formula, &order.states(run, 3))).collect();
        prop_assert!(outcome.complete());
        prop_assert_eq!(outcome.runs, runs.len() as u128);
        prop_assert_eq!(outcome.violating, verdicts.iter().flatten().count() as u128, "{}", text);
        prop_assert_eq!(outcome.events, order.writes.len() as u64);
        let observed: Vec<usize> = (0..order.writes.len()).collect();
        prop_assert_eq!(outcome.observed_broken, first_violation(&formula, &order.states(&observed, 3)).is_some());
        prop_assert_eq!(outcome.holds(), outcome.violating == 0);

        // The same states.
        let graph = outcome.graph.as_ref().unwrap();
        let mut expected: Vec<(u64, Vec<i64>)> =
            order.global_states(3).iter().map(|(events, state)| (events.len() as u64, project(state))).collect();
        let mut found: Vec<(u64, Vec<i64>)> =
            graph.states.iter().map(|state| (state.level, state.values.clone())).collect();
        expected.sort();
        found.sort();
        prop_assert_eq!(outcome.states, expected.len() as u64);
        prop_assert_eq!(found, expected);

        // Exactly the shortest violating prefixes are written down, up to what comes before the
        // observed run is left.
        let violating: BTreeSet<Vec<usize>> = runs
            .iter()
            .zip(&verdicts)
            .filter_map(|(run, verdict)| Some(run[..(*verdict)?].to_vec()))
            .collect();
        prop_assert_eq!(outcome.counterexamples.is_empty(), violating.is_empty());
        for counterexample in &outcome.counterexamples {
            prop_assert!(counterexample.as_observed);
            let shown = counterexample.steps.iter();
            let shown = shown.map(|step| order.writes.iter().position(|write| write.position == step.event.position).unwrap());
            let run: Vec<usize> = (0..counterexample.before as usize).chain(shown).collect();
            prop_assert!(violating.contains(&run), "{:?} of {:?}", run, violating);
            let states = order.states(&run, 3);
            prop_assert_eq!(&*counterexample.start, project(&states[counterexample.before as usize]));
            for (step, state) in counterexample.steps.iter().zip(&states[counterexample.before as usize + 1..]) {
                prop_assert_eq!(&*step.state, project(state));
            }
            // The observed run, until it has done all of this.
            let length = run.iter().map(|write| write + 1).max().unwrap_or(0) - counterexample.before as usize;
            let positions: Vec<u64> = counterexample.observed.iter().map(|step| step.event.position).collect();
            let observed: Vec<u64> =
                order.writes.iter().skip(counterexample.before as usize).take(length).map(|write| write.position).collect();
            prop_assert_eq!(positions, observed);
        }

        // A step of the drawing is marked where it is part of a violating run.
        let doomed: BTreeSet<(Vec<usize>, usize)> = runs
            .iter()
            .zip(&verdicts)
            .filter(|(_, verdict)| verdict.is_some())
            .flat_map(|(run, _)| (0..run.len()).map(|length| {
                let mut happened = run[..length].to_vec();
                happened.sort_unstable();
                (happened, run[length])
            }))
            .collect();
        prop_assert_eq!(graph.edges.iter().filter(|edge| edge.violating).count(), doomed.len());
        prop_assert_eq!(graph.edges.iter().filter(|edge| edge.observed).count(), order.writes.len());
        prop_assert_eq!(graph.states.iter().filter(|state| state.observed).count(), order.writes.len() + 1);
    }
}
