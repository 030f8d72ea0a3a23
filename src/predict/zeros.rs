//! Zero, as a variable beside each counter whose zero counts.
//!
//! What was decided on reaching zero comes before what leaves zero again ([`Op::Reach`],
//! [`Op::Leave`]), and nothing else of the two is ordered. Analyses look for accesses that can
//! change places. To them a reach is an update of the variable beside the counter, because it
//! commutes with its own kind, and a leave is a write: it depends on nothing. Two leaves conflict
//! only there; the replay, which is shown reaches and leaves again, drops such findings.

use super::Access;
use crate::trace::{ObjectId, Op, Update};
use rustc_hash::FxHashMap;

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Zeros {
    /// By counter.
    variables: FxHashMap<ObjectId, ObjectId>,
    /// By the variable beside it.
    counters: FxHashMap<ObjectId, ObjectId>,
}

impl Zeros {
    /// What an analysis takes for a reach or leave of this counter: the operation, and the number
    /// of the variable, which may be new.
    pub(super) fn meet(
        &mut self,
        op: Op,
        counter: ObjectId,
        new: impl FnOnce() -> ObjectId,
    ) -> (Op, ObjectId) {
        let variable = *self.variables.entry(counter).or_insert_with(new);
        self.counters.insert(variable, counter);
        let op = match op {
            Op::Reach => Op::Update(Update::Add),
            _ => Op::Write,
        };
        (op, variable)
    }

    /// Whether the access is a reach or a leave.
    pub(super) fn has(&self, access: &Access) -> bool {
        access
            .object
            .is_some_and(|it| self.counters.contains_key(&it))
    }

    /// Calls a reach and a leave what they are again.
    pub(super) fn name(&self, access: &mut Access) {
        let counter = access.object.and_then(|it| self.counters.get(&it));
        if let Some(&counter) = counter {
            access.object = Some(counter);
            access.op = match access.op {
                Op::Write => Op::Leave,
                _ => Op::Reach,
            };
        }
    }
}
