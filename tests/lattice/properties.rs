//! Properties that cannot be understood or decided: what is said, and where.

use crate::traces::{VARIABLES, born, event, explore, name_object, names, write};
use aerodrome::lattice::{Error, Lattice, Limits, Property};
use aerodrome::trace::{Event, ObjectId, Op, Tables};

#[track_caller]
fn malformed(source: &str, expected: &str) {
    assert_eq!(
        source.parse::<Property>().unwrap_err().to_string(),
        expected
    );
}

#[test]
fn malformed_properties_are_pointed_at() {
    malformed(
        "",
        "expected a formula, found the end of the property\n  |\n  | \n  | ^",
    );
    malformed(
        "x > ",
        "expected a formula, found the end of the property\n  |\n  | x > \n  |    ^",
    );
    malformed(
        "x = 1",
        "expected an operator, a name or a number, found `=`; equality is `==`\n  |\n  | x = 1\n  |   ^",
    );
    malformed(
        "p & q",
        "expected an operator, a name or a number, found `&`; \"and\" is `&&`\n  |\n  | p & q\n  |   ^",
    );
    malformed(
        "(p || q",
        "expected `)`, found the end of the property\n  |\n  | (p || q\n  |        ^",
    );
    malformed(
        "p q",
        "expected an operator or the end of the property, found the name `q`\n  |\n  | p q\n  |   ^",
    );
    malformed(
        "[p, q]",
        "expected `)` at the end of the interval, found `]`: intervals are half open\n  |\n  | [p, q]\n  |      ^",
    );
    malformed("[p)", "expected `,`, found `)`\n  |\n  | [p)\n  |   ^");
    malformed(
        "1 < x < 3",
        "comparisons do not chain; put `&&` between two, or parentheses around one\n  |\n  | 1 < x < 3\n  |       ^",
    );
    malformed(
        "x + 1",
        "expected a truth value, found a number; compare it with another\n  |\n  | x + 1\n  | ^^^^^",
    );
    malformed(
        "(x > 0) + 1 == 2",
        "expected a number, found a truth value\n  |\n  | (x > 0) + 1 == 2\n  | ^^^^^^^",
    );
    malformed(
        "!x == 0",
        "expected two numbers or two truth values, found one of each\n  |\n  | !x == 0\n  | ^^^^^^^",
    );
    malformed(
        "(p && q) < true",
        "expected numbers beside `<`, found truth values\n  |\n  | (p && q) < true\n  |          ^",
    );
    malformed(
        "x > 2y",
        "expected an operator after the number, found `y`\n  |\n  | x > 2y\n  |      ^",
    );
    malformed(
        "über ~ 1",
        "expected an operator, a name or a number, found `~`\n  |\n  | über ~ 1\n  |      ^",
    );
    malformed(
        "'x > 0",
        "expected `'` at the end of the name, found the end of the property\n  |\n  | 'x > 0\n  | ^^^^^^",
    );
    malformed(
        "p &&\nq ||",
        "expected a formula, found the end of the property\n  |\n  | q ||\n  |     ^",
    );
}

#[test]
fn numbers_outside_i64_are_pointed_at() {
    malformed(
        "x < 9223372036854775808",
        "expected a number from -9223372036854775808 to 9223372036854775807, found 9223372036854775808\n  |\n  \
         | x < 9223372036854775808\n  |     ^^^^^^^^^^^^^^^^^^^",
    );
    malformed(
        "x > -9223372036854775809",
        "expected a number from -9223372036854775808 to 9223372036854775807, found -9223372036854775809\n  |\n  \
         | x > -9223372036854775809\n  |     ^^^^^^^^^^^^^^^^^^^^",
    );
    assert!(
        "-9223372036854775808 <= x && x <= 9223372036854775807"
            .parse::<Property>()
            .is_ok()
    );
}

#[test]
fn deep_long_and_large_properties_are_refused() {
    let error = |source: String| source.parse::<Property>().unwrap_err().message;
    assert_eq!(
        error("(".repeat(100_000)),
        "expected at most 2000 names, numbers and operators, found more"
    );
    assert_eq!(
        error("(".repeat(500)),
        "expected at most 100 levels of nesting, found more"
    );
    assert_eq!(
        error("!".repeat(500)),
        "expected at most 100 levels of nesting, found more"
    );
    assert_eq!(
        error("x -> ".repeat(500) + "x"),
        "expected at most 100 levels of nesting, found more"
    );
    assert!(("x && ".repeat(900) + "x").parse::<Property>().is_ok());
    assert_eq!(
        error("once x && ".repeat(200) + "x"),
        "expected at most 128 temporal operators, found more"
    );
    let atoms: Vec<String> = (0..200).map(|number| format!("x > {number}")).collect();
    assert_eq!(
        error(atoms.join(" && ")),
        "expected at most 128 different comparisons, found more"
    );
}

#[test]
fn operators_bind_as_the_grammar_says() {
    let same = |source: &str, explicit: &str| {
        let [source, explicit]: [Property; 2] =
            [source, explicit].map(|text| text.parse().unwrap());
        assert_eq!(source.formula(), explicit.formula());
    };
    same("a -> b -> c", "a -> (b -> c)");
    same("a || b && c -> d", "(a || (b && c)) -> d");
    same("a && b since c", "a && (b since c)");
    same("a since b since c", "(a since b) since c");
    same("once x > 0 && y", "(once (x > 0)) && y");
    same("!once x > 0", "!(once (x > 0))");
    same("!a since b", "(!a) since b");
    same("x + 2 * y - 1 > -z", "((x + (2 * y)) - 1) > (-z)");
    same("always p", "historically p");
    same("start(p) && start", "(start(p)) && 'start'");
    same("radio == true -> p", "(radio == true) -> p");
}

#[test]
fn names_may_be_paths_fields_or_anything_in_quotes() {
    let property: Property = "bank::total >= self.limit && 'a b' && end && 'once' -> état"
        .parse()
        .unwrap();
    assert_eq!(
        property.variables(),
        ["bank::total", "self.limit", "a b", "end", "once", "état"]
    );
    assert_eq!(
        property.to_string(),
        "bank::total >= self.limit && 'a b' && 'end' && 'once' -> état"
    );
}

#[track_caller]
fn undecided(source: &str, trace: &[Event], expected: &str) {
    assert_eq!(
        explore(source, Limits::default(), &VARIABLES, trace)
            .unwrap_err()
            .to_string(),
        expected
    );
}

#[test]
fn an_unknown_name_is_pointed_at_and_the_known_ones_are_listed() {
    let trace = [write(0, 0, 1), write(0, 1, 1)].concat();
    undecided(
        "x > 0 -> w == 1",
        &trace,
        "expected the name of a variable whose values are known, found `w`\n  |\n  | x > 0 -> w == 1\n  |          ^\n  \
         = names that have values: x, y",
    );
    undecided(
        "w == 1",
        &[],
        "expected the name of a variable whose values are known, found `w`\n  |\n  | w == 1\n  | ^\n  \
         = the trace has no other names with values",
    );
}

#[test]
fn a_write_without_a_value_is_an_error() {
    let trace = [write(0, 0, 1).as_slice(), &[event(1, Op::Write, 0)]].concat();
    undecided(
        "x > 0",
        &trace,
        "event 3 writes `x`: expected its value before it, found none\n  = only integers of i64 and truth values are recorded",
    );
}

#[test]
fn arithmetic_outside_i64_is_an_error_with_the_state() {
    let trace = [write(0, 0, 0), write(0, 1, 2), write(1, 0, i64::MAX)].concat();
    undecided(
        "y > 5 || x + y > 0",
        &trace,
        "the result is outside i64\n  |\n  | y > 5 || x + y > 0\n  |          ^^^^^^^^^\n  \
         = in the state y = 2, x = 9223372036854775807",
    );
}

#[test]
fn two_living_variables_of_one_name_are_an_error() {
    let names = names(&["x", "x"]);
    let trace = [write(0, 0, 1), write(0, 1, 1)].concat();
    let error = explore("x > 0", Limits::default(), &names, &trace).unwrap_err();
    assert_eq!(
        error.to_string(),
        "expected one variable named `x`, found two that live at the same time\n  |\n  | x > 0\n  | ^"
    );
}

#[test]
fn a_variable_that_is_made_again_continues_the_former_one() {
    let names = names(&["x", "x"]);
    let retire = [event(0, Op::Retire, 0)];
    let trace = [
        &write(0, 0, 1),
        retire.as_slice(),
        &write(0, 1, 5),
        &write(0, 1, 6),
    ]
    .concat();
    let outcome = explore(
        "previously x != 5 || x == 6",
        Limits::default(),
        &names,
        &trace,
    )
    .unwrap();
    assert_eq!((outcome.events, outcome.holds()), (2, true));
    assert_eq!(outcome.initial, [1]);
}

#[test]
fn a_property_that_is_false_from_the_start_is_broken_in_every_run() {
    let trace = [
        write(0, 0, 0),
        write(0, 1, 0),
        write(1, 0, 1),
        write(2, 1, 1),
    ]
    .concat();
    let outcome = explore("x + y > 0", Limits::default(), &VARIABLES, &trace).unwrap();
    assert_eq!(
        (outcome.runs, outcome.violating, outcome.observed_broken),
        (2, 2, true)
    );
    assert_eq!(outcome.counterexamples.len(), 1);
    assert!(outcome.counterexamples[0].steps.is_empty());
    let expected = "\
property: x + y > 0
verdict:  violated in 2 of 2 consistent runs; the observed run is one of them
explored: 2 events and 4 states, 2 runs

violating run 1 of 2
  event  strand  write                 at  x  y
                 in the initial state      0  0  <- broken

The other violating runs are not shown.
";
    assert_eq!(outcome.text(&*VARIABLES), expected);
}

#[test]
fn a_birth_is_the_initial_value_and_orders_nothing() {
    let trace = [
        born(0, 0, 7),
        born(1, 1, 0),
        write(1, 1, 1),
        // After the other's write: still no event, and no order between the two strands.
        born(1, 2, 3),
        write(0, 2, 4),
    ]
    .concat();
    let outcome = explore("x == 7", Limits::default(), &VARIABLES, &trace).unwrap();
    assert_eq!((&outcome.initial[..], outcome.events), (&[7][..], 0));
    let outcome = explore("y == 1 || z == 3", Limits::default(), &VARIABLES, &trace).unwrap();
    assert_eq!(outcome.initial, [0, 3]);
    assert_eq!((outcome.events, outcome.runs, outcome.violating), (2, 2, 1));
}

#[test]
fn a_birth_in_the_place_of_another_comes_after_all_that_was_done_to_it() {
    let names = names(&["x", "x", "y"]);
    let trace = [
        &born(0, 0, 0)[..],
        &born(0, 2, 0),
        &write(1, 0, 1),
        &[event(2, Op::Retire, 0)],
        // By a strand that knows nothing of the write.
        &born(2, 1, 2),
    ]
    .concat();
    let outcome = explore("x <= 2", Limits::default(), &names, &trace).unwrap();
    assert_eq!((outcome.events, outcome.runs), (2, 1));
}

#[test]
fn an_object_that_gets_another_name_is_another_variable() {
    let mut tables = names(&["x"]);
    let property = "x == 1 && y < 3".parse().unwrap();
    let mut lattice = Lattice::new(property, Limits::default());
    let mut position = 0;
    let mut feed = |tables: &Tables, events: &[[Event; 2]]| {
        for event in events.as_flattened() {
            position += 1;
            lattice.step(event, position, tables).unwrap();
        }
    };
    feed(&tables, &[born(0, 0, 1)]);
    name_object(&mut tables, ObjectId(0), "y");
    feed(&tables, &[born(0, 0, 1), born(0, 0, 1), write(0, 0, 2)]);
    let outcome = lattice.finish().unwrap();
    assert_eq!((&outcome.initial[..], outcome.events), (&[1, 1][..], 1));
    assert!(outcome.holds());
}

#[test]
fn what_others_have_is_borrowed_until_the_trace_has_its_own() {
    let [theirs, another, own] = [ObjectId(0), ObjectId(1), ObjectId(2)];
    let names = names(&["x", "x", "x"]);
    let lattice = || Lattice::new("x == 5".parse().unwrap(), Limits::default());

    let mut lent = lattice();
    lent.borrow(theirs, Some(5), &names);
    assert!(lent.finish().unwrap().holds());

    let mut contested = lattice();
    contested.borrow(theirs, Some(5), &names);
    contested.borrow(another, Some(5), &names);
    assert!(matches!(contested.finish(), Err(Error::Ambiguous { .. })));

    let mut replaced = lattice();
    replaced.borrow(theirs, Some(4), &names);
    replaced.borrow(another, Some(4), &names);
    replaced.born(own, Some(5), &names).unwrap();
    replaced.borrow(another, Some(4), &names);
    assert!(replaced.finish().unwrap().holds());

    let mut adopted = lattice();
    adopted.borrow(theirs, Some(4), &names);
    adopted.adopt(another, Some(5), &names).unwrap();
    adopted.adopt(another, Some(6), &names).unwrap();
    assert_eq!(adopted.finish().unwrap().initial, [5]);

    let mut gone = lattice();
    gone.borrow(theirs, Some(4), &names);
    gone.step(&event(0, Op::Retire, theirs.0), 1, &names)
        .unwrap();
    gone.borrow(another, Some(5), &names);
    assert!(gone.finish().unwrap().holds());
}
