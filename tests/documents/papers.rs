//! `docs/papers.md` names files and tests: they exist.

use std::path::Path;

#[test]
fn every_row_has_a_file_and_a_test_or_a_reason() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = include_str!("../../docs/papers.md");
    let mut rows = 0;
    for line in text.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        // Cells of published tables that differ have four.
        if let [_, _, _, why] = cells[..] {
            assert!(!why.is_empty(), "no reason: {line}");
            continue;
        }
        let [what, file, shown] = cells[..] else {
            panic!("three cells are expected: {line}");
        };
        if what == "paper" {
            continue;
        }
        rows += 1;
        assert!(!shown.is_empty(), "neither a test nor a reason: {line}");
        let file = file.trim_matches('`');
        assert!(
            file.is_empty() || root.join(file).exists(),
            "no file: {line}"
        );
        if let Some((test, path)) = shown.split_once("` in `") {
            let (test, path) = (test.trim_matches('`'), path.trim_matches('`'));
            let source = std::fs::read_to_string(root.join(path));
            let source = source.unwrap_or_else(|error| panic!("{path}: {error}"));
            assert!(
                source.contains(&format!("fn {test}(")),
                "no {test} in {path}"
            );
        }
    }
    assert!(rows > 40, "{rows} rows");
}
