//! What stands between a trace and an engine, against plain models of it: the rules, what counts
//! under the `rust` semantics, and what becomes of violations. Runs of events against single ones.
//! The engines against a judge that shares no code with them.

mod checker;
mod judge;
mod programs;
mod rules;
mod verdicts;

use crate::common::{Kinds, Mix};
use aerodrome::trace::{Event, Names, ObjectKind, Op, Semantics};

const RECORDED: Mix = Mix {
    events: 60,
    extended: true,
    recorded: true,
    guards_move: false,
};

/// Locks with even numbers are around data, the others around nothing.
const KINDS: Kinds = Kinds(|id| {
    if id % 2 == 0 {
        ObjectKind::Lock
    } else {
        ObjectKind::BareLock
    }
});

fn is_lock(op: Op) -> bool {
    matches!(
        op,
        Op::Acquire
            | Op::Release
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::Upgrade
            | Op::Downgrade
    )
}

fn is_for_engine(event: &Event, semantics: Semantics) -> bool {
    semantics == Semantics::Paper
        || !is_lock(event.op)
        || KINDS.kind(event.object()) != ObjectKind::Lock
}
