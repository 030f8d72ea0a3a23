//! Dynamic escape analysis: which accesses initialise an object that no other strand knows yet.
//!
//! An object belongs to the strand that uses it first, until that strand does what can tell another
//! of it: releases a lock, forks, sends, signals, or changes another object, which may then refer to
//! it. The published analysis (TSE 2006, section 3) follows references; a trace has none, so every
//! such event counts, and less is left out.

use crate::dense::Dense;
use crate::predict::{Usage, is_access};
use crate::trace::{Event, ObjectId, Op, StrandId};

#[derive(Debug, Default)]
pub(super) struct Escapes {
    /// How often each strand did what can tell others of its objects.
    told: Dense<StrandId, u64>,
    /// Who used an object first, and how often it had told when it last changed the object.
    owners: Dense<ObjectId, Option<(StrandId, u64)>>,
    /// The accesses of objects that have escaped.
    usages: Dense<ObjectId, Usage>,
}

impl Escapes {
    /// Takes the next event; true if it is an access of an object that has not escaped.
    pub(super) fn step(&mut self, event: Event) -> bool {
        let told = self.told.entry(event.strand);
        if !is_access(event.op) {
            use Op::{Downgrade, Fork, Release, ReleaseShared, Send, Signal};
            let tells = matches!(
                event.op,
                Release | ReleaseShared | Downgrade | Fork | Send | Signal
            );
            *told += u64::from(tells);
            return false;
        }
        let owner = self.owners.entry(event.object());
        let is_own = *owner.get_or_insert((event.strand, *told)) == (event.strand, *told);
        if event.op != Op::Read {
            *told += 1;
        }
        if is_own {
            *owner = Some((event.strand, *told));
        } else {
            self.usages.entry(event.object()).note(event);
        }
        is_own
    }

    /// How a variable has been used since it escaped.
    pub(super) fn usage(&self, variable: ObjectId) -> Usage {
        self.usages.get(variable).copied().unwrap_or_default()
    }
}
