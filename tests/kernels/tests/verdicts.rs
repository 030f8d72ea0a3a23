//! Every kernel gets its verdict, on every one of a hundred runs, under both semantics.

#[path = "../../process/mod.rs"]
mod process;

use std::collections::HashMap;
use std::process::Command;

use aerodrome_kernels::{with_parking_lot, with_std};

type Kernels = &'static [(&'static str, &'static str, fn())];

const RUNS: usize = 100;

/// From kernel and variant to whether it is reported.
fn expected(column: &str) -> HashMap<(String, String), bool> {
    let table = include_str!("../programs/verdicts.tsv");
    let mut lines = table
        .lines()
        .map(|line| line.split('\t').collect::<Vec<_>>());
    let header = lines.next().expect("a header");
    let column = header
        .iter()
        .position(|name| *name == column)
        .expect("a known column");
    lines
        .map(|fields| {
            (
                (fields[0].to_owned(), fields[1].to_owned()),
                fields[column] == "REPORT",
            )
        })
        .collect()
}

/// Correct code that the papers' definition reports, and the `rust` semantics does not.
fn is_forgiven(variant: &str) -> bool {
    ["policy_casloop", "policy_commute", "policy_wait_inside"].contains(&variant)
}

fn check(kernels: Kernels, is_reported: impl Fn(&str, &str) -> bool + Sync) {
    let wrong = std::sync::Mutex::new(Vec::new());
    std::thread::scope(|s| {
        for &(kernel, variant, run) in kernels {
            let (wrong, is_reported) = (&wrong, &is_reported);
            s.spawn(move || {
                let reported = (0..RUNS)
                    .filter(|_| !aerodrome::check(run).is_serializable())
                    .count();
                let wanted = if is_reported(kernel, variant) {
                    RUNS
                } else {
                    0
                };
                if reported != wanted {
                    let mistake = format!(
                        "{kernel}/{variant}: reported on {reported} of {RUNS} runs, not {wanted}"
                    );
                    wrong.lock().unwrap().push(mistake);
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn check_under_rust(kernels: Kernels) {
    let observed = expected("observed");
    check(kernels, |kernel, variant| {
        observed[&(kernel.to_owned(), variant.to_owned())] && !is_forgiven(variant)
    });
}

fn check_under_paper(kernels: Kernels) {
    let observed = expected("observed_lock_edges");
    check(kernels, |kernel, variant| {
        observed[&(kernel.to_owned(), variant.to_owned())]
    });
}

#[test]
fn kernels_with_std_locks_get_their_verdicts() {
    check_under_rust(with_std::ALL);
}

#[test]
fn kernels_with_parking_lot_locks_get_their_verdicts() {
    check_under_rust(with_parking_lot::ALL);
}

/// Settings are a process's, so these run in a process of their own.
fn run_alone(test: &str, (variable, value): (&str, &str)) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test])
        .env(process::CHILD, "1")
        .env(variable, value)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{text}"
    );
}

#[test]
fn under_the_papers_semantics_locks_order_too() {
    run_alone(
        "kernels_with_std_locks_under_paper",
        ("AERODROME_SEMANTICS", "paper"),
    );
}

#[test]
fn kernels_with_std_locks_under_paper() {
    if !process::is_child() {
        return;
    }
    check_under_paper(with_std::ALL);
}

#[test]
fn what_a_run_happened_to_miss_is_predicted() {
    run_alone("kernels_are_predicted", ("AERODROME_PREDICT", "warn"));
}

#[test]
fn kernels_are_predicted() {
    if !process::is_child() {
        return;
    }
    let mut wrong = Vec::new();
    for (kernels, name) in [
        (with_std::ALL, "std"),
        (with_parking_lot::ALL, "parking_lot"),
    ] {
        for &(kernel, variant, run) in kernels {
            let expected = match variant {
                "missed" | "chain" => true,
                "fixed" | "benign" | "ordered" => false,
                _ => continue,
            };
            let outcome = aerodrome::check(run);
            let predicted = outcome
                .forecast
                .as_ref()
                .is_some_and(|forecast| forecast.fails());
            if predicted != expected {
                let text = outcome.forecast.map(|forecast| forecast.to_string());
                wrong.push(format!(
                    "{kernel}/{variant} with {name}: {}",
                    text.as_deref().unwrap_or("nothing predicted")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
