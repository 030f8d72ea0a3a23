//! The text, against files that a person has read. `AERODROME_BLESS=1` rewrites them.

use std::collections::BTreeSet;
use std::path::PathBuf;

use aerodrome::report::text::{Style, render};

use crate::cases;

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/report/snapshots")
}

/// Line numbers as `LL`, so that a fixture can grow.
fn normalised(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let mut rest = line;
        while let Some(at) = rest.find(".rs:") {
            let (head, tail) = rest.split_at(at + 4);
            out.push_str(head);
            out.push_str("LL");
            rest = tail.trim_start_matches(|c: char| c.is_ascii_digit());
            rest = rest.strip_prefix("LL").unwrap_or(rest);
        }
        out.push_str(rest);
        out.push('\n');
    }
    out
}

#[test]
fn every_pattern_reads_as_its_snapshot() {
    let bless = std::env::var("AERODROME_BLESS").is_ok_and(|value| value == "1");
    let mut wrong = Vec::new();
    for (name, report) in cases::all() {
        let style = Style {
            anonymous_lines: true,
            ..Style::plain()
        };
        let text = normalised(&render(&report, &style));
        let path = folder().join(format!("{name}.txt"));
        if bless {
            std::fs::write(&path, &text).unwrap();
        }
        let expected = std::fs::read_to_string(&path).unwrap_or_default();
        if expected != text {
            wrong.push(format!(
                "--- {name}: expected\n{expected}\n+++ found\n{text}"
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{}\nAERODROME_BLESS=1 takes these as right",
        wrong.join("\n")
    );
}

#[test]
fn every_snapshot_has_its_case() {
    let cases: BTreeSet<String> = cases::all()
        .into_iter()
        .map(|(name, _)| format!("{name}.txt"))
        .collect();
    let files: BTreeSet<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(files, cases);
}

#[test]
fn plain_text_has_no_escape_sequences_even_from_names() {
    for (name, report) in cases::all() {
        let text = render(&report, &Style::plain());
        assert!(
            !text.contains('\u{1b}') && !text.contains('\u{7}'),
            "{name}: {text:?}"
        );
        assert_eq!(text, report.to_string());
    }
}

#[test]
fn colour_changes_nothing_but_colour() {
    for (name, report) in cases::all() {
        let coloured = render(
            &report,
            &Style {
                colour: true,
                ..Style::plain()
            },
        );
        assert!(coloured.contains("\u{1b}["), "{name}");
        let mut stripped = String::new();
        let mut rest = coloured.as_str();
        while let Some(at) = rest.find("\u{1b}[") {
            stripped.push_str(&rest[..at]);
            rest = rest[at..].split_once('m').unwrap().1;
        }
        stripped.push_str(rest);
        assert_eq!(stripped, render(&report, &Style::plain()), "{name}");
    }
}

#[test]
fn no_path_of_this_machine_is_told() {
    for (name, report) in cases::all() {
        let text = render(&report, &Style::plain());
        assert!(
            !text.contains(env!("CARGO_MANIFEST_DIR")) && !text.contains(".cargo"),
            "{name}: {text}"
        );
    }
}
