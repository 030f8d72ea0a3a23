//! Reports as one self-contained page: strands as columns, time downwards, transactions as boxes,
//! the cycle drawn on it.
//!
//! The page needs no network and works from a file. It draws only what is in sight, so windows of a
//! hundred thousand events scroll as those of ten; what is not in the cycle is folded. All text
//! reaches the page as JSON in a data block in which no `<` is left, and the script puts it into
//! text nodes: a name cannot become markup.

use std::collections::{BTreeMap, BTreeSet};

use super::{Access, Group, Place, Report, between, groups, source, words};
use crate::json::{self, objects};
use crate::trace::TABLE;

const PAGE: &str = include_str!("page/page.html");
const STYLE: &str = include_str!("page/page.css");
const SCRIPT: &str = include_str!("page/page.js");

struct Data<'a> {
    /// By operation, what it does, with `%` for the object.
    verbs: BTreeMap<&'static str, String>,
    items: Vec<Item<'a>>,
}

/// Violations with one cause: the first, and how often they were seen.
struct Item<'a> {
    count: u64,
    /// Where the others were.
    others: Vec<String>,
    /// What each access does, in words.
    told: Vec<String>,
    /// The part of each access's line to underline, in characters.
    spans: Vec<Option<[usize; 2]>>,
    /// The objects of the cycle.
    labels: Vec<String>,
    /// The objects of the window.
    window_labels: Vec<String>,
    report: &'a Report,
}

objects! {
    Data<'_> { verbs, items }
    Item<'_> { count, others, told, spans, labels, windowLabels: |it| &it.window_labels, report }
}

impl<'a> Item<'a> {
    fn of(group: &Group<'a>) -> Item<'a> {
        let report = group.report;
        let label = |index: usize| {
            let access = report
                .accesses
                .iter()
                .find(|access| access.object == Some(index));
            access.map_or_else(
                || report.objects[index].label(),
                |access| words::object_label(report, access),
            )
        };
        let window = report.window.as_ref();
        Item {
            count: group.count(),
            others: others(group),
            told: report
                .accesses
                .iter()
                .map(|access| words::told(report, access))
                .collect(),
            spans: report
                .accesses
                .iter()
                .map(|access| span(report, access))
                .collect(),
            labels: (0..report.objects.len()).map(label).collect(),
            window_labels: window
                .iter()
                .flat_map(|window| &window.objects)
                .map(|object| object.label())
                .collect(),
            report,
        }
    }
}

fn span(report: &Report, access: &Access) -> Option<[usize; 2]> {
    let Some(Place::Source { file, line, column }) = &access.place else {
        return None;
    };
    let text = report.line(file, *line)?;
    let span = source::span(text, *column);
    let characters = |end: usize| text[..end].chars().count();
    Some([characters(span.start), characters(span.end)])
}

/// Where reports with one cause were, but for those with the cycle of the first.
fn others(group: &Group<'_>) -> Vec<String> {
    let mut seen = BTreeSet::from([group.report.fingerprint()]);
    let others = group.others.iter();
    let others = others.filter(|report| seen.insert(report.fingerprint()));
    others.map(|report| between(report)).collect()
}

/// The page for the given reports; those with one cause are one entry with a count.
pub fn render(reports: &[Report]) -> String {
    let items: Vec<_> = groups(reports).iter().map(Item::of).collect();
    let verbs = TABLE
        .iter()
        .map(|row| (row.report, row.op.does("%")))
        .collect();
    let data = json::to_string(&Data { verbs, items });
    // In a script element only `<` can end or nest anything; the two separators were line ends in
    // older JavaScript.
    let data = data
        .replace('<', "\\u003c")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029");

    let mut page = String::with_capacity(PAGE.len() + STYLE.len() + SCRIPT.len() + data.len());
    let mut rest = PAGE;
    for (slot, content) in [
        ("/*{style}*/", STYLE),
        ("/*{data}*/", &data),
        ("/*{script}*/", SCRIPT),
    ] {
        let (before, after) = rest
            .split_once(slot)
            .expect("the page has its three slots in this order");
        page.push_str(before);
        page.push_str(content);
        rest = after;
    }
    page.push_str(rest);
    page
}
