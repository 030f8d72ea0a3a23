//! The page: complete, self-contained, and proof against what names contain. What it looks like and
//! does in a browser is shown by `tests/browser/run`, which opens the pages that
//! `pages_for_the_browser` writes.

use std::path::PathBuf;

use aerodrome::report::window::Window;
use aerodrome::report::{Extras, Frame, Place, Report, html, source::Workspace};
use aerodrome::trace::*;

use crate::cases;
use crate::window::{Numbers, event, violation};

/// The data block, as the browser reads it.
fn data(page: &str) -> serde_json::Value {
    let (_, rest) = page
        .split_once("<script type=\"application/json\" id=\"data\">")
        .unwrap();
    let (data, _) = rest.split_once("</script>").unwrap();
    serde_json::from_str(data).unwrap()
}

#[test]
fn the_data_block_is_the_reports_whatever_their_names_contain() {
    let reports: Vec<Report> = cases::all().into_iter().map(|(_, report)| report).collect();
    let page = html::render(&reports);
    let items = data(&page)["items"].as_array().unwrap().clone();
    let read: Vec<Report> = items
        .iter()
        .map(|item| serde_json::from_value(item["report"].clone()).unwrap())
        .collect();
    // Some cases are of one cycle, and so one entry.
    for report in &read {
        assert!(reports.contains(report));
    }
    assert!(read.contains(&cases::hostile()));
    assert_eq!(
        page.matches("</script>").count(),
        2,
        "no name ends a script"
    );
    assert_eq!(page.matches("<script").count(), 2, "no name starts one");
}

#[test]
fn the_page_asks_nothing_of_the_network() {
    let page = html::render(&[cases::all().remove(0).1]);
    assert!(page.contains("default-src 'none'"));
    for source in ["http://", "https://", "//cdn", "@import", "url("] {
        let found = page
            .replace("http://www.w3.org/2000/svg", "")
            .contains(source);
        assert!(!found, "{source}");
    }
}

#[test]
fn the_same_cycle_is_one_entry_with_a_count() {
    let mut again = cases::all().remove(0).1;
    again.repeats = 4;
    let other = cases::all().remove(1).1;
    let page = html::render(&[again.clone(), other, again]);
    let data = data(&page);
    let counts: Vec<u64> = data["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["count"].as_u64().unwrap())
        .collect();
    assert_eq!(counts, [10, 1]);
}

/// A read, a foreign write and a write among `others` strands' traffic of `events` events.
fn busy(strands: u32, events: u64) -> Report {
    let mut window = Window::new(64 << 20);
    let mut position = 0;
    let mut push = |event: Event| {
        position += 1;
        window.push(event, position);
        position
    };
    push(event(0, Op::Begin, 0));
    let first = push(event(0, Op::Read, 0));
    let mut middle = 0;
    for i in 0..events {
        let strand = 2 + (i * 7 % u64::from(strands.max(3) - 2)) as u32;
        match i % 5 {
            _ if i == events / 2 => {
                push(event(1, Op::Begin, 1));
                push(event(1, Op::Read, 3));
                middle = push(event(1, Op::Write, 0));
                push(event(1, Op::End, 1));
            }
            0 if strands > 2 => drop(push(event(strand, Op::Begin, strand))),
            4 if strands > 2 => drop(push(event(
                2 + ((i - 4) * 7 % u64::from(strands - 2)) as u32,
                Op::End,
                0,
            ))),
            1 => drop(push(event(strand, Op::Update(Update::Add), 4))),
            _ => drop(push(event(
                if strands > 2 { strand } else { (i % 2) as u32 },
                Op::Read,
                5 + (i % 9) as u32,
            ))),
        }
    }
    let last = push(event(0, Op::Write, 0));
    let mut violation = violation(first, middle, last);
    violation.transactions[1].begin = Some(middle - 2);
    let frame = |function: &str, line| Frame {
        function: function.into(),
        place: Some(Place::Source {
            file: "src/lib.rs".into(),
            line,
            column: 5,
        }),
    };
    let backtraces = vec![(
        first,
        vec![
            frame("bank::Account::withdraw", 9),
            frame("bank::tests::two_clerks", 43),
        ],
    )];
    let extras = Extras {
        window: Some(&window),
        events: 200_000,
        backtraces,
        ..Extras::default()
    };
    Report::new(&violation, &Numbers, &extras).with_sources(&Workspace::find())
}

/// A window that was too small, and a report that was cut.
fn incomplete() -> Report {
    let mut window = Window::new(4_000 * 24);
    window.push(event(0, Op::Begin, 0), 1);
    window.push(event(0, Op::Read, 0), 2);
    for position in 3..6_000 {
        window.push(event(2 + (position % 3) as u32, Op::Read, 5), position);
    }
    window.push(event(1, Op::Begin, 1), 6_000);
    window.push(event(1, Op::Write, 0), 6_001);
    for position in 6_002..9_000 {
        window.push(event(2 + (position % 3) as u32, Op::Read, 5), position);
    }
    window.push(event(0, Op::Write, 0), 9_000);
    let extras = Extras {
        window: Some(&window),
        events: 200,
        ..Extras::default()
    };
    Report::new(&violation(2, 6_001, 9_000), &Numbers, &extras).with_sources(&Workspace::find())
}

#[test]
fn pages_for_the_browser() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("pages");
    std::fs::create_dir_all(&folder).unwrap();
    let case = |wanted: &str| {
        cases::all()
            .into_iter()
            .find(|(name, _)| *name == wanted)
            .unwrap()
            .1
    };
    let mut repeated = case("read-write-write");
    repeated.repeats = 11;
    let mut many: Vec<Report> = cases::all().into_iter().map(|(_, report)| report).collect();
    many.push(repeated);
    let pages = [
        ("small", vec![cases::bank_with_window()]),
        ("chain", vec![case("chain-of-three")]),
        ("wide", vec![busy(40, 400)]),
        ("long", vec![busy(6, 100_000)]),
        ("incomplete", vec![incomplete()]),
        ("many", many),
        ("hostile", vec![cases::hostile()]),
        ("no-edges", vec![case("no-edges")]),
        ("empty", vec![]),
    ];
    for (name, reports) in pages {
        let page = html::render(&reports);
        std::fs::write(folder.join(format!("{name}.html")), &page).unwrap();
        assert!(page.len() < 12 << 20, "{name}: {} bytes", page.len());
    }
}
