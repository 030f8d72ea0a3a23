//! The window: what it keeps, what it loses, and how it says so.

use aerodrome::check::{Access, Edge, Transaction, Violation};
use aerodrome::report::window::{Inside, Window};
use aerodrome::report::{Extras, Report};
use aerodrome::trace::*;

/// Names after numbers.
pub(crate) struct Numbers;

impl Names for Numbers {
    fn strand(&self, id: StrandId) -> StrandInfo {
        // As unnamed threads are: all alike.
        StrandInfo {
            name: if id.0 < 8 {
                format!("T{}", id.0)
            } else {
                String::new()
            },
        }
    }
    fn object(&self, id: ObjectId) -> ObjectInfo {
        ObjectInfo {
            kind: self.kind(id),
            name: Some(format!("x{}", id.0)),
            type_name: None,
            created: SiteId::NONE,
        }
    }
    fn kind(&self, _: ObjectId) -> ObjectKind {
        ObjectKind::Variable
    }
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        (id != SiteId::NONE).then(|| SiteInfo::Source {
            file: "src/lib.rs".into(),
            line: id.0,
            column: 5,
        })
    }
    fn block(&self, id: BlockId) -> BlockInfo {
        BlockInfo {
            name: format!("block{}", id.0),
            site: SiteId(id.0 * 10 + 1),
        }
    }
}

pub(crate) fn event(strand: u32, op: Op, target: u32) -> Event {
    Event {
        strand: StrandId(strand),
        target,
        site: SiteId(target + 1),
        op,
    }
}

/// Feeds the events, positions from 1.
pub(crate) fn feed(window: &mut Window, events: &[Event]) {
    for (i, event) in events.iter().enumerate() {
        window.push(*event, i as u64 + 1);
    }
}

/// Strand 0 reads x0, strand 1 writes it, strand 0 writes it.
pub(crate) fn violation(first: u64, middle: u64, last: u64) -> Violation {
    let access = |position, strand, op| Access {
        position,
        strand: StrandId(strand),
        op,
        object: Some(ObjectId(0)),
        site: SiteId(1),
    };
    let (a, b, c) = (
        access(first, 0, Op::Read),
        access(middle, 1, Op::Write),
        access(last, 0, Op::Write),
    );
    let of = |strand, begin| Transaction {
        strand: StrandId(strand),
        block: Some(BlockId(strand)),
        begin: Some(begin),
        site: SiteId::NONE,
    };
    Violation {
        event: last,
        blame: 0,
        transactions: vec![of(0, first - 1), of(1, middle - 1)],
        edges: vec![Edge { from: a, to: b }, Edge { from: b, to: c }],
    }
}

fn report(window: &Window, violation: &Violation, events: usize) -> Report {
    Report::new(
        violation,
        &Numbers,
        &Extras {
            window: Some(window),
            events,
            ..Extras::default()
        },
    )
}

fn positions(report: &Report) -> Vec<u64> {
    report
        .window
        .as_ref()
        .unwrap()
        .events
        .iter()
        .map(|row| row.0)
        .collect()
}

const BASE: [(u32, Op, u32); 7] = [
    (2, Op::Write, 5),
    (0, Op::Begin, 0),
    (0, Op::Read, 0),
    (1, Op::Begin, 1),
    (1, Op::Write, 0),
    (1, Op::End, 1),
    (0, Op::Write, 0),
];

fn base() -> Vec<Event> {
    BASE.iter()
        .map(|(strand, op, target)| event(*strand, *op, *target))
        .collect()
}

#[test]
fn it_keeps_what_came_since_the_oldest_open_begin() {
    let mut window = Window::new(1 << 20);
    feed(&mut window, &base());
    assert_eq!(
        positions(&report(&window, &violation(3, 5, 7), 0)),
        [2, 3, 4, 5, 6, 7]
    );
}

#[test]
fn an_end_is_still_there_for_a_report_that_came_with_it_and_gone_afterwards() {
    let mut window = Window::new(1 << 20);
    feed(&mut window, &base());
    window.push(event(3, Op::Begin, 3), 8);
    window.push(event(0, Op::End, 0), 9);
    assert_eq!(
        positions(&report(&window, &violation(3, 5, 7), 0)),
        [2, 3, 4, 5, 6, 7, 8, 9]
    );
    window.push(event(2, Op::Read, 0), 10);
    assert_eq!(
        positions(&report(&window, &violation(3, 5, 7), 0)),
        [8, 9, 10]
    );
    window.push(event(3, Op::End, 3), 11);
    window.push(event(2, Op::Read, 0), 12);
    assert!(window.is_empty());
}

#[test]
fn where_it_is_too_small_the_report_says_what_is_missing() {
    // Room for three events.
    let mut window = Window::new(3 * 24);
    feed(&mut window, &base());
    let report = report(&window, &violation(3, 5, 7), 0);
    assert_eq!(positions(&report), [5, 6, 7]);
    // Both transactions are known to be open where the window starts, one by its end.
    assert_eq!(
        report.window.as_ref().unwrap().gaps[0].open,
        [Inside(0, 0, 2), Inside(1, 1, 0)]
    );
    let missing = report.window.as_ref().unwrap().missing.unwrap();
    assert_eq!(
        (missing.from, missing.to, missing.events, missing.bytes),
        (2, 4, 3, 72)
    );
    let text = report.to_string();
    assert!(text.contains("events 2 to 4"), "{text}");
    // The verdict and the accesses are the violation's own, and do not depend on the window.
    assert_eq!(report.accesses.len(), 3);
    // Nothing is missing any more once the transaction is over that the lost events belonged to.
    window.push(event(0, Op::End, 0), 8);
    window.push(event(1, Op::Begin, 1), 9);
    let report = self::report(&window, &violation(3, 5, 7), 0);
    assert_eq!(report.window.unwrap().missing, None);
}

#[test]
fn a_long_window_is_cut_around_the_cycle_and_the_gaps_say_who_is_inside_what() {
    let mut events = base()[..5].to_vec();
    events.extend((0..10_000).map(|i| event(2, Op::Read, 7 + i % 3)));
    events.push(event(4, Op::Begin, 4));
    events.extend((0..10_000).map(|i| event(2, Op::Read, 7 + i % 3)));
    events.push(event(0, Op::Write, 0));
    let last = events.len() as u64;
    let mut window = Window::new(1 << 20);
    feed(&mut window, &events);
    let slice = report(&window, &violation(3, 5, last), 100).window.unwrap();
    assert!(
        slice.events.len() <= 110 && slice.events.len() > 20,
        "{}",
        slice.events.len()
    );
    let kept: Vec<u64> = slice.events.iter().map(|row| row.0).collect();
    for position in [2, 3, 4, 5, last] {
        assert!(kept.contains(&position), "{position}");
    }
    let [gap] = slice.gaps.as_slice() else {
        panic!("{:?}", slice.gaps)
    };
    assert_eq!(gap.events as usize + kept.len(), window.len());
    let mut inside: Vec<(&str, &str)> = gap
        .open
        .iter()
        .map(|Inside(strand, block, _)| {
            (
                slice.strands[*strand].as_str(),
                slice.blocks[*block].name.as_str(),
            )
        })
        .collect();
    inside.sort();
    assert_eq!(
        inside,
        [("T0", "block0"), ("T1", "block1"), ("T4", "block4")]
    );
}

#[test]
fn an_object_that_is_gone_does_not_lend_its_name_to_the_next() {
    let mut events = base()[..5].to_vec();
    events.extend([
        event(1, Op::Retire, 0),
        event(1, Op::Read, 0),
        event(0, Op::Write, 0),
    ]);
    let mut window = Window::new(1 << 20);
    feed(&mut window, &events);
    let report = report(&window, &violation(3, 5, 8), 0);
    // Accesses 1 and 2 are of the old x0, the last one of the new.
    let names: Vec<Option<&str>> = report
        .accesses
        .iter()
        .map(|access| report.object_of(access).unwrap().name.as_deref())
        .collect();
    assert_eq!(names, [None, None, Some("x0")]);
    let slice = report.window.unwrap();
    let of = |position| {
        slice
            .events
            .iter()
            .find(|row| row.0 == position)
            .unwrap()
            .3
            .unwrap()
    };
    assert_eq!(of(3), of(5));
    assert_ne!(of(3), of(7));
    assert_eq!(slice.objects[of(3)].name, None);
    assert_eq!(slice.objects[of(7)].name.as_deref(), Some("x0"));
}

#[test]
fn strands_that_share_a_name_are_told_apart() {
    let mut window = Window::new(1 << 20);
    feed(
        &mut window,
        &[
            event(8, Op::Begin, 0),
            event(9, Op::Begin, 1),
            event(8, Op::Read, 0),
        ],
    );
    let slice = report(&window, &violation(3, 5, 7), 0).window.unwrap();
    assert_eq!(slice.strands, ["#8", "#9"]);
}
