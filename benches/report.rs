//! What a report costs: keeping the window, resolving a violation, and rendering it in each form.

use aerodrome::check::{Access, Edge, Transaction, Violation};
use aerodrome::report::window::Window;
use aerodrome::report::{Extras, Report, html, json, sarif, source::Workspace, text};
use aerodrome::trace::*;
use divan::{Bencher, black_box};

fn main() {
    divan::main();
}

struct Numbers;

impl Names for Numbers {
    fn strand(&self, id: StrandId) -> StrandInfo {
        StrandInfo {
            name: format!("T{}", id.0),
        }
    }
    fn object(&self, id: ObjectId) -> ObjectInfo {
        ObjectInfo {
            kind: ObjectKind::Variable,
            name: Some(format!("x{}", id.0)),
            type_name: None,
            created: SiteId::NONE,
        }
    }
    fn kind(&self, _: ObjectId) -> ObjectKind {
        ObjectKind::Variable
    }
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        Some(SiteInfo::Source {
            file: "src/report/mod.rs".into(),
            line: id.0,
            column: 5,
        })
    }
    fn block(&self, id: BlockId) -> BlockInfo {
        BlockInfo {
            name: format!("block{}", id.0),
            site: SiteId(id.0 + 1),
        }
    }
}

fn event(strand: u32, op: Op, target: u32) -> Event {
    Event {
        strand: StrandId(strand),
        target,
        site: SiteId(target % 100 + 1),
        op,
    }
}

/// Strand 0 reads x0 and, so many events of seven others later, writes it; strand 1 has written it in the middle.
fn story(events: u64) -> (Window, Violation) {
    let mut window = Window::new(64 << 20);
    window.push(event(0, Op::Begin, 0), 1);
    window.push(event(0, Op::Read, 0), 2);
    let middle = 3 + events / 2;
    for position in 3..3 + events {
        let other = event(
            1 + (position % 7) as u32,
            Op::Read,
            1 + (position % 1000) as u32,
        );
        let write = event(1, Op::Write, 0);
        window.push(if position == middle { write } else { other }, position);
    }
    let last = 3 + events;
    window.push(event(0, Op::Write, 0), last);
    let access = |position, strand, op| Access {
        position,
        strand: StrandId(strand),
        op,
        object: Some(ObjectId(0)),
        site: SiteId(1),
    };
    let (a, b, c) = (
        access(2, 0, Op::Read),
        access(middle, 1, Op::Write),
        access(last, 0, Op::Write),
    );
    let of = |strand, begin, block| Transaction {
        strand: StrandId(strand),
        block,
        begin: Some(begin),
        site: SiteId(1),
    };
    let violation = Violation {
        event: last,
        blame: 0,
        transactions: vec![of(0, 1, Some(BlockId(0))), of(1, middle, None)],
        edges: vec![Edge { from: a, to: b }, Edge { from: b, to: c }],
    };
    (window, violation)
}

fn report(events: u64) -> Report {
    let (window, violation) = story(events);
    Report::new(
        &violation,
        &Numbers,
        &Extras {
            window: Some(&window),
            ..Extras::default()
        },
    )
    .with_sources(&Workspace::find())
}

const EVENTS: [u64; 3] = [10, 10_000, 2_000_000];

/// A million events, a quarter of them boundaries of transactions.
#[divan::bench]
fn window_push(bencher: Bencher) {
    let events: Vec<Event> = (0..1_000_000)
        .map(|i| match i % 8 {
            0 => event(i / 8 % 8, Op::Begin, 0),
            7 => event(i / 8 % 8, Op::End, 0),
            _ => event(i / 8 % 8, Op::Read, i % 1000),
        })
        .collect();
    bencher
        .counter(divan::counter::ItemsCount::new(events.len()))
        .bench_local(|| {
            let mut window = Window::new(64 << 20);
            for (event, position) in events.iter().zip(1..) {
                window.push(*black_box(event), position);
            }
            window.len()
        });
}

/// What happens under the collector's lock.
#[divan::bench(args = EVENTS)]
fn resolve(bencher: Bencher, events: u64) {
    let (window, violation) = story(events);
    bencher.bench_local(|| {
        Report::new(
            &violation,
            &Numbers,
            &Extras {
                window: Some(&window),
                ..Extras::default()
            },
        )
    });
}

#[divan::bench]
fn read_sources(bencher: Bencher) {
    let (_, violation) = story(10);
    let workspace = Workspace::find();
    let report = Report::new(&violation, &Numbers, &Extras::default());
    bencher.bench_local(|| report.clone().with_sources(&workspace));
}

#[divan::bench]
fn as_text(bencher: Bencher) {
    let report = report(10);
    bencher.bench_local(|| text::render(&report, &text::Style::plain()));
}

#[divan::bench(args = EVENTS)]
fn as_json(bencher: Bencher, events: u64) {
    let report = report(events);
    bencher.bench_local(|| json::line(&report));
}

#[divan::bench]
fn as_sarif(bencher: Bencher) {
    let reports = [report(10)];
    bencher.bench_local(|| sarif::render(&reports));
}

#[divan::bench(args = EVENTS)]
fn as_page(bencher: Bencher, events: u64) {
    let reports = [report(events)];
    bencher.bench_local(|| html::render(&reports));
}
