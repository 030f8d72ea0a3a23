//! The collections of the JDK: which methods the analyses speak of, as in table 1 of Wang and
//! Stoller (TSE 2006).
#![cfg(feature = "check")]

use std::collections::BTreeSet;

#[path = "../examples/collections.rs"]
mod collections;

const PREDICTED: usize = 0;
const REDUCTION: usize = 1;

#[test]
fn vector_and_stack_have_bugs_where_they_take_another_and_the_others_benign_violations_only() {
    collections::install().unwrap();
    let rows = collections::table();
    let of = |class: &str| rows.iter().find(|row| row.class == class).unwrap();
    let [buffer, vector, table, stack] = ["StringBuffer", "Vector", "Hashtable", "Stack"].map(of);

    let of_vector = ["addAll", "containsAll", "equals", "removeAll", "retainAll"];
    let expected = [
        (buffer, BTreeSet::from(["append(StringBuffer)"])),
        (
            vector,
            of_vector
                .into_iter()
                .chain(["Vector(Collection)"])
                .collect(),
        ),
        (
            table,
            BTreeSet::from(["Hashtable(Map)", "equals", "putAll"]),
        ),
        (stack, BTreeSet::from(of_vector)),
    ];
    for (row, methods) in expected {
        assert_eq!(row.found[PREDICTED], methods, "{}", row.class);
        assert!(
            row.found[REDUCTION].is_superset(&methods),
            "{}: {:?}",
            row.class,
            row.found[REDUCTION]
        );
    }

    // Bugs, benign violations, false alarms.
    let counts = [buffer, vector, table, stack].map(|row| row.counts(PREDICTED));
    assert_eq!(counts, [[0, 1, 0], [4, 2, 0], [0, 3, 0], [3, 2, 0]]);

    // `modCount++` under the lock races with walks that look at it without. Only its write does: no
    // write meets its read, so that a single access moves neither way, and the methods that count
    // are reducible.
    let alarms = [buffer, vector, table, stack].map(|row| row.counts(REDUCTION)[2]);
    assert_eq!(alarms, [0; 4], "{:?}", vector.found[REDUCTION]);
    assert!(!vector.found[REDUCTION].contains("size"));
}
