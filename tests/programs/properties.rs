//! What a property says of a test.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// What the test would fail with.
pub(crate) fn failure(test: impl FnOnce()) -> String {
    let payload =
        catch_unwind(AssertUnwindSafe(test)).expect_err("the property should have failed");
    match payload.downcast::<String>() {
        Ok(text) => *text,
        Err(payload) => payload.downcast_ref::<&str>().unwrap().to_string(),
    }
}

#[track_caller]
pub(crate) fn contains(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

/// The columns of the table's rows from the variables' values on, without positions and places,
/// which may change.
pub(crate) fn states(text: &str, run: &str, values: usize) -> Vec<Vec<String>> {
    let (_, rest) = text.split_once(run).unwrap();
    let rows = rest
        .lines()
        .skip(2)
        .take_while(|line| !line.contains("observed instead") && !line.is_empty());
    let cells = |line: &str| -> Vec<String> {
        let line = line.trim_end_matches("  <- broken");
        let cells: Vec<String> = line.split_whitespace().map(str::to_string).collect();
        cells[cells.len() - values..].to_vec()
    };
    rows.map(cells).collect()
}
