//! The report of each kernel's `bug.rs` names the lines that its `NOTES.md` names, and blames the
//! block that is wrong.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::process::Command;

use aerodrome::report::{Place, Report, json};
use aerodrome_kernels::{with_parking_lot, with_std};

/// What a report has to say.
struct Expected {
    kernel: &'static str,
    /// The block that is entered and left in the middle.
    blamed: &'static str,
    /// "What must fall between what" of the notes, in the order in which it happens: a letter for
    /// each transaction, `a` the blamed one, and the line. The report names these, in this order.
    accesses: &'static [(char, &'static str)],
}

const EXPECTED: &[Expected] = &[
    Expected {
        kernel: "admission",
        blamed: "Cluster::try_admit",
        accesses: &[
            ('a', "self.running.load(Ordering::Acquire) >= self.limit"),
            ('b', "self.running.load(Ordering::Acquire) >= self.limit"),
            ('b', "self.running.fetch_add(1, Ordering::AcqRel);"),
            ('a', "self.running.fetch_add(1, Ordering::AcqRel);"),
        ],
    },
    Expected {
        kernel: "cache_open",
        blamed: "Cache::open",
        accesses: &[
            ('a', "let file = self.index.lock().get(key).copied()?;"),
            ('b', "let old = self.index.lock().insert(key, file);"),
            ('b', "stale.send(old);"),
            ('c', "let file = stale.recv();"),
            ('c', "self.files.lock().remove(&file);"),
            ('a', "self.files.lock().get(&file).copied()"),
        ],
    },
    Expected {
        kernel: "config_reload",
        blamed: "Manager::reload",
        accesses: &[
            ('a', "*self.cache_dir.write() = name.to_string();"),
            ('b', "let dir = m.cache_dir.read().clone();"),
            ('b', "let operator = m.operator.read().clone();"),
            ('a', "*self.operator.write() = name.to_string();"),
        ],
    },
    Expected {
        kernel: "counter_take",
        blamed: "take_and_reset",
        accesses: &[
            ('a', "let value = counter.load(Ordering::SeqCst);"),
            ('b', "counter.store(0, Ordering::SeqCst);"),
            ('a', "counter.store(0, Ordering::SeqCst);"),
        ],
    },
    Expected {
        kernel: "histo_mean",
        blamed: "Histogram::observe",
        accesses: &[
            ('a', "self.sum.fetch_add(value, Ordering::Relaxed);"),
            ('b', "let sum = self.sum.load(Ordering::Relaxed);"),
            ('b', "let count = self.count.load(Ordering::Relaxed);"),
            ('a', "self.count.fetch_add(1, Ordering::Relaxed);"),
        ],
    },
    Expected {
        kernel: "pool_stop",
        blamed: "Pool::submit",
        accesses: &[
            ('a', "if self.stop.load(Ordering::SeqCst) {"),
            ('b', "self.stop.store(true, Ordering::SeqCst);"),
            ('b', "let left = self.queue.lock().drain(..).count();"),
            ('a', "self.queue.lock().push_back(job);"),
        ],
    },
    Expected {
        kernel: "session_insert",
        blamed: "Sessions::create",
        accesses: &[
            ('a', "self.live.read().contains_key(id)"),
            ('b', "self.live.write().insert(id, session.clone());"),
            ('a', "self.live.write().insert(id, session.clone());"),
        ],
    },
    Expected {
        kernel: "two_index",
        blamed: "Index::insert",
        accesses: &[
            (
                'a',
                "self.forward.lock().0.entry(outer).or_default().insert(inner);",
            ),
            (
                'b',
                "if let Some(set) = self.forward.lock().0.get_mut(&outer) {",
            ),
            ('b', "self.reverse.lock().0.remove(&inner);"),
            ('a', "self.reverse.lock().0.insert(inner, outer);"),
        ],
    },
];

/// The line of a place, as it reads with either library's locks.
fn line(place: Option<&Place>) -> String {
    let Some(Place::Source { file, line, .. }) = place else {
        panic!("no source line: {place:?}");
    };
    let source = std::fs::read_to_string(file).unwrap();
    let line = source.lines().nth(*line as usize - 1).unwrap();
    line.trim().replace(".unwrap()", "")
}

/// What is wrong with a report.
fn mistakes(report: &Report, expected: &Expected) -> Vec<String> {
    let mut mistakes = Vec::new();
    let blamed = &report.transactions[report.blame];
    let block = blamed.block.as_ref().map(|block| block.name.as_str());
    if block != Some(expected.blamed)
        || report.message != format!("`{}` is not atomic", expected.blamed)
    {
        mistakes.push(format!("blames {block:?}: {}", report.message));
    }
    let mut letters = HashMap::from([('a', report.blame)]);
    let mut told = report.accesses.iter();
    for &(letter, wanted) in expected.accesses {
        let found = told.find(|access| {
            line(access.place.as_ref()) == wanted
                && letters
                    .get(&letter)
                    .is_none_or(|&transaction| access.transaction == transaction)
                && (letters.contains_key(&letter)
                    || !letters
                        .values()
                        .any(|&transaction| transaction == access.transaction))
        });
        match found {
            Some(access) => drop(letters.insert(letter, access.transaction)),
            None => mistakes.push(format!("does not name `{wanted}` of {letter} in its order")),
        }
    }
    mistakes
}

fn assert_reports(kernels: &[(&str, &str, fn())]) {
    let bugs: Vec<_> = kernels
        .iter()
        .filter(|(_, variant, _)| *variant == "bug")
        .collect();
    let named: Vec<_> = EXPECTED.iter().map(|expected| expected.kernel).collect();
    assert_eq!(
        bugs.iter().map(|(kernel, ..)| *kernel).collect::<Vec<_>>(),
        named
    );
    let mut wrong = Vec::new();
    for ((kernel, _, run), expected) in bugs.into_iter().zip(EXPECTED) {
        let violations = aerodrome::check(run).violations;
        let Some(report) = violations.first() else {
            wrong.push(format!("{kernel}: no report"));
            continue;
        };
        let mistakes = mistakes(report, expected);
        if !mistakes.is_empty() {
            wrong.push(format!("{kernel}: {}\n{report}", mistakes.join("; ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_of_std_kernels_name_the_lines_to_change() {
    assert_reports(with_std::ALL);
}

#[test]
fn reports_of_parking_lot_kernels_name_the_lines_to_change() {
    assert_reports(with_parking_lot::ALL);
}

/// Runs a kernel as a program whose reports go to a file, and reads that file. Nothing where there
/// was nothing to report.
fn read_back(library: &str, kernel: &str, variant: &str) -> Vec<Report> {
    let name = format!("{library}-{kernel}-{variant}.json");
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_file(&file);
    Command::new(env!("CARGO_BIN_EXE_kernel"))
        .args([library, kernel, variant])
        .env("AERODROME", "log")
        .env("AERODROME_REPORT", &file)
        .output()
        .unwrap();
    match File::open(&file) {
        Ok(opened) => json::read(BufReader::new(opened))
            .unwrap_or_else(|error| panic!("{}: {error}", file.display())),
        Err(_) => Vec::new(),
    }
}

#[test]
fn the_report_file_of_each_kernel_can_be_read() {
    for (library, kernels) in [
        ("std", with_std::ALL),
        ("parking_lot", with_parking_lot::ALL),
    ] {
        for (kernel, variant, _) in kernels {
            let reports = read_back(library, kernel, variant);
            let windows = reports.iter().filter(|report| report.window.is_some());
            assert_eq!(
                windows.count(),
                reports.len(),
                "{library} {kernel} {variant}"
            );
            assert!(
                *variant != "bug" || !reports.is_empty(),
                "{library} {kernel}: no report"
            );
        }
    }
}
