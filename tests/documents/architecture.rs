//! Modules point one way: mirrors to the recorder, the recorder to nobody who takes its records,
//! and what works on traces to nothing that records. ARCHITECTURE.md has the picture.

use std::path::{Path, PathBuf};

/// A folder of `src`, and the modules of the crate that its files may name.
const MAY_NAME: &[(&str, &[&str])] = &[
    ("trace", &["trace", "dense"]),
    ("check", &["check", "trace", "dense"]),
    ("lattice", &["lattice", "trace", "dense", "json"]),
    ("report", &["report", "check", "trace", "dense", "json"]),
    // It re-exports what makes forecasts of its findings.
    (
        "predict",
        &["predict", "check", "trace", "dense", "forecast"],
    ),
    (
        "forecast",
        &["forecast", "predict", "report", "check", "trace", "json"],
    ),
    ("plan", &["plan"]),
    // A thread of ours is not tracked.
    ("observe", &["observe", "record"]),
    ("plan", &["plan", "dense"]),
    // The blocks of the marks are what it records, and the operations of plans what it announces.
    ("record", &["record", "trace", "mark", "plan"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder of the sources");
    let paths = entries.map(|entry| entry.expect("an entry").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let inside = folders.iter().flat_map(|folder| sources(folder));
    inside.chain(files).collect()
}

/// The modules that a file names after `crate::`, outside of comments.
fn named(text: &str) -> Vec<&str> {
    let is_comment = |line: &&str| line.trim_start().starts_with("//");
    let code = text.lines().filter(|line| !is_comment(line));
    let after = code.flat_map(|line| line.split("crate::").skip(1));
    let ends = |c: char| !(c.is_alphanumeric() || c == '_');
    let names = after.map(|rest| rest.split(ends).next().unwrap_or_default());
    names
        .filter(|name| name.starts_with(|c: char| c.is_lowercase()))
        .collect()
}

#[test]
fn nothing_points_backwards() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    for (folder, allowed) in MAY_NAME {
        for file in sources(&src.join(folder)) {
            let text = std::fs::read_to_string(&file).expect("a source file");
            for module in named(&text) {
                assert!(
                    allowed.contains(&module),
                    "{} names crate::{module}; `{folder}` may name {allowed:?}",
                    file.display()
                );
            }
        }
    }
}
