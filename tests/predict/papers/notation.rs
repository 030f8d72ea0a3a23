//! Traces in a few letters, for tests.
//!
//! `1: [ +l Rx -l ]` is strand 1 with a transaction that acquires `l`, reads `x` and releases `l`.
//! Lines run one after the other. `[` and `]` are begin and end, `+` and `-` acquire and release,
//! `s+` and `s-` the same shared, `^` and `v` upgrade and downgrade, `R`, `W`, `X`, `A` and `S`
//! read, write, read+write, add and subtract, `>` and `<` send and receive, `!` and `?` signal and
//! await, `fork` and `join` are followed by a strand's number.

use crate::common::predict;
use aerodrome::predict::{Analysis, AnalysisKind, Context, Outcome, Prediction, Skeleton};
use aerodrome::trace::{Event, ObjectId, Op, SiteId, StrandId, Update};

/// Objects are numbered by their names' first letter: `x` is the same in every trace.
pub(crate) fn object(name: &str) -> u32 {
    name.bytes()
        .fold(0, |number, byte| number * 128 + u32::from(byte))
}

/// Parses lines; `;` separates them as well.
pub(crate) fn trace(text: &str) -> Vec<Event> {
    let mut events = Vec::new();
    let mut block = 0;
    for line in text
        .split(['\n', ';'])
        .map(str::trim)
        .filter(|line| !line.is_empty())
    {
        let (strand, tokens) = line.split_once(':').expect("strand: tokens");
        let strand: u32 = strand.trim().parse().expect("a strand's number");
        for token in tokens.split_whitespace() {
            let operations = [
                ("[", Op::Begin),
                ("]", Op::End),
                ("s+", Op::AcquireShared),
                ("s-", Op::ReleaseShared),
                ("+", Op::Acquire),
                ("-", Op::Release),
                ("^", Op::Upgrade),
                ("v", Op::Downgrade),
                ("R", Op::Read),
                ("W", Op::Write),
                ("X", Op::ReadWrite),
                ("A", Op::Update(Update::Add)),
                ("S", Op::Update(Update::Or)),
                (">", Op::Send),
                ("<", Op::Recv),
                ("!", Op::Signal),
                ("?", Op::Await),
                ("fork", Op::Fork),
                ("join", Op::Join),
            ];
            let parsed = operations
                .iter()
                .find_map(|(word, op)| Some((*op, token.strip_prefix(word)?)));
            let (op, name) = parsed.unwrap_or_else(|| panic!("{token:?} is no operation"));
            let target = match op {
                Op::Begin => {
                    block += 1;
                    block
                }
                Op::End => block,
                Op::Fork | Op::Join => name.parse().expect("a strand's number"),
                _ => object(name),
            };
            events.push(Event {
                strand: StrandId(strand),
                target,
                site: SiteId::NONE,
                op,
            });
        }
    }
    events
}

/// The same with one block for all transactions: those that do the same are runs of the same.
pub(crate) fn one_block(text: &str) -> Vec<Event> {
    let mut events = trace(text);
    events
        .iter_mut()
        .filter(|event| matches!(event.op, Op::Begin | Op::End))
        .for_each(|event| event.target = 1);
    events
}

/// What these analyses find.
pub(crate) fn predicted(kind: AnalysisKind, text: &str) -> Outcome {
    predict(&trace(text), &[kind])
}

/// A context with room for so many lock and order events.
pub(crate) fn with_room(room: usize) -> Context {
    let mut now = Context::default();
    now.skeleton = Skeleton::new(room);
    now
}

/// Feeds an analysis, to its end.
pub(crate) fn run(analysis: Box<dyn Analysis>, events: &[Event]) -> Outcome {
    run_in(Context::default(), analysis, events)
}

/// Feeds an analysis that is given this context.
pub(crate) fn run_in(
    mut now: Context,
    mut analysis: Box<dyn Analysis>,
    events: &[Event],
) -> Outcome {
    feed(&mut now, &mut *analysis, events);
    analysis.finish(&mut now)
}

/// Feeds an analysis that goes on.
pub(crate) fn feed(now: &mut Context, analysis: &mut dyn Analysis, events: &[Event]) {
    for (event, position) in events.iter().zip(1..) {
        now.step(*event, position);
        analysis.step(*event, position, now);
    }
}

/// Where the accesses of a finding are.
pub(crate) fn positions(found: &Prediction) -> Vec<u64> {
    let accesses = found.accesses.iter();
    accesses.map(|step| step.access.position).collect()
}

/// What a finding is about, each once.
pub(crate) fn objects(found: &Prediction) -> Vec<ObjectId> {
    let accesses = found.accesses.iter();
    let mut objects: Vec<ObjectId> = accesses.filter_map(|step| step.access.object).collect();
    objects.sort_unstable();
    objects.dedup();
    objects
}

/// The movers of the transactions that reduction reports.
pub(crate) fn movers(outcome: &Outcome) -> Vec<&str> {
    let found = outcome.predictions.iter();
    found
        .map(|found| found.pattern.trim_start_matches("not reducible: "))
        .collect()
}
