//! The collections of the JDK: which methods the analyses speak of, as in table 1 of Wang and
//! Stoller (TSE 2006).
#![cfg(feature = "check")]

use std::collections::BTreeSet;

#[path = "../examples/collections.rs"]
mod collections;

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
        assert_eq!(row.found, methods, "{}", row.class);
    }

    // Bugs, benign violations, false alarms.
    let counts = [buffer, vector, table, stack].map(|row| row.counts());
    assert_eq!(counts, [[0, 1, 0], [4, 2, 0], [0, 3, 0], [3, 2, 0]]);
}
