//! What the tests of prediction share: a terse notation for traces, random ones, and the
//! brute-force judge.

#![allow(
    dead_code,
    unused_imports,
    reason = "each test, and the benchmark, uses a part"
)]

mod judge;
mod random;

pub(crate) use judge::*;
pub(crate) use random::*;

use aerodrome::predict::{AnalysisKind, Outcome, Predictions, Predictor, Step};
use aerodrome::trace::*;

/// A trace: the event at index `i` has position `i + 1`, and that as its site unless the notation
/// says otherwise.
pub(crate) type Trace = Vec<Event>;

pub(crate) fn event(strand: u32, op: Op, target: u32, site: u32) -> Event {
    Event {
        strand: StrandId(strand),
        target,
        site: SiteId(site),
        op,
    }
}

/// Reads `"0 begin, 0 r x, 0 acq l, 1 w x"`: a strand's number, an operation, and what it is on.
/// Names of one letter are objects, numbers are strands. Each event's site is its position.
pub(crate) fn trace(text: &str) -> Trace {
    let parse = |(at, item): (usize, &str)| {
        let words: Vec<&str> = item.split_whitespace().collect();
        let strand = words[0].parse().expect("a strand's number");
        let op = match words[1] {
            "begin" => Op::Begin,
            "end" => Op::End,
            "r" => Op::Read,
            "w" => Op::Write,
            "rw" => Op::ReadWrite,
            "add" => Op::Update(Update::Add),
            "or" => Op::Update(Update::Or),
            "acq" => Op::Acquire,
            "rel" => Op::Release,
            "acqs" => Op::AcquireShared,
            "rels" => Op::ReleaseShared,
            "up" => Op::Upgrade,
            "down" => Op::Downgrade,
            "fork" => Op::Fork,
            "join" => Op::Join,
            "signal" => Op::Signal,
            "await" => Op::Await,
            "send" => Op::Send,
            "recv" => Op::Recv,
            "retire" => Op::Retire,
            other => panic!("unknown operation {other:?} in {item:?}"),
        };
        let target = match words.get(2) {
            None => 0,
            Some(word) => word
                .parse()
                .unwrap_or_else(|_| u32::from(word.as_bytes()[0] - b'a')),
        };
        event(strand, op, target, at as u32 + 1)
    };
    text.split([',', '\n'])
        .filter(|item| !item.trim().is_empty())
        .enumerate()
        .map(parse)
        .collect()
}

/// Names for traces that have none.
pub(crate) struct Plain;

impl Names for Plain {
    fn strand(&self, id: StrandId) -> StrandInfo {
        StrandInfo {
            name: format!("strand {}", id.0),
        }
    }
    fn object(&self, id: ObjectId) -> ObjectInfo {
        let name = char::from_u32(u32::from(b'a') + id.0).map(String::from);
        ObjectInfo {
            kind: self.kind(id),
            name,
            type_name: None,
            created: SiteId::NONE,
        }
    }
    fn kind(&self, _: ObjectId) -> ObjectKind {
        ObjectKind::Lock
    }
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        (id != SiteId::NONE).then(|| SiteInfo::Label(id.0.to_string()))
    }
    fn block(&self, id: BlockId) -> BlockInfo {
        BlockInfo {
            name: format!("block {}", id.0),
            site: SiteId::NONE,
        }
    }
}

/// Runs analyses over a trace. Strands and objects in the outcome have the trace's numbers.
pub(crate) fn predict(trace: &[Event], kinds: &[AnalysisKind]) -> Outcome {
    predict_by(Predictor::new(kinds), trace)
}

/// The same with a predictor that has analyses already.
pub(crate) fn predict_by(mut predictor: Predictor, trace: &[Event]) -> Outcome {
    for (&event, position) in trace.iter().zip(1..) {
        predictor.step(event, position, &Plain);
    }
    let Predictions {
        mut outcome,
        ledger,
        ..
    } = predictor.finish();
    let original = |step: &mut Step| {
        step.access.strand = ledger.strand_number(step.access.strand);
        step.access.object = step
            .access
            .object
            .map(|object| ledger.object_number(object));
        step.held
            .iter_mut()
            .for_each(|hold| hold.lock = ledger.object_number(hold.lock));
        if let Some(transaction) = &mut step.transaction {
            transaction.strand = ledger.strand_number(transaction.strand);
        }
    };
    for prediction in &mut outcome.predictions {
        prediction.accesses.iter_mut().for_each(original);
        prediction
            .schedule
            .iter_mut()
            .for_each(|run| run.strand = ledger.strand_number(run.strand));
    }
    for race in &mut outcome.races {
        original(&mut race.first);
        original(&mut race.second);
    }
    for wait in outcome
        .deadlocks
        .iter_mut()
        .flat_map(|deadlock| &mut deadlock.waits)
    {
        for access in [&mut wait.held, &mut wait.wanted] {
            access.strand = ledger.strand_number(access.strand);
            access.object = access.object.map(|object| ledger.object_number(object));
        }
        wait.locks
            .iter_mut()
            .for_each(|hold| hold.lock = ledger.object_number(hold.lock));
    }
    outcome
}

/// The trace in the notation of [`trace`], an event a line.
pub(crate) fn show(trace: &[Event]) -> String {
    let mut text = String::new();
    for (event, position) in trace.iter().zip(1..) {
        text += &format!(
            "{position:3}: {:?} {} {:?} site {}\n",
            event.strand, event.target, event.op, event.site.0
        );
    }
    text
}

/// Accesses that conflict with the same.
pub(crate) fn class(op: Op) -> Op {
    if op == Op::ReadWrite { Op::Write } else { op }
}
