//! Numbers that are never given twice, and the names of what is gone.
//!
//! A trace gives the number of a joined strand or a retired object to another. Witnesses outlive
//! both, so a predictor must never mix up two owners of one number: the ledger replaces each number
//! by one that belongs to its owner for ever, and keeps the names of those dead objects that more
//! than one strand has touched (no other can be part of a finding).

use super::{
    BlockId, BlockInfo, Event, Names, ObjectId, ObjectInfo, ObjectKind, Op, SiteId, SiteInfo,
    StrandId, StrandInfo,
};
use crate::dense::Dense;
use rustc_hash::FxHashMap;

/// Renumbers a trace; see the module.
#[derive(Debug, Default)]
pub struct Ledger {
    /// The trace's number to ours.
    strands: Dense<StrandId, Option<StrandId>>,
    objects: Dense<ObjectId, Option<Owner>>,
    /// Ours to the trace's.
    strand_numbers: Vec<StrandId>,
    object_numbers: Vec<ObjectId>,
    /// What the dead were called.
    strand_infos: FxHashMap<StrandId, StrandInfo>,
    object_infos: FxHashMap<ObjectId, ObjectInfo>,
}

/// Who has one of the trace's numbers.
#[derive(Clone, Copy, Debug)]
struct Owner {
    ours: ObjectId,
    /// The first strand that used it.
    strand: StrandId,
    /// Others have used it, too.
    is_shared: bool,
}

impl Ledger {
    /// Our own numbers for the event's strand and target. Nothing for an event that no analysis
    /// looks at.
    #[inline]
    pub fn renumber(&mut self, event: Event, names: &dyn Names) -> Option<(StrandId, u32)> {
        let strand = self.strand(event.strand);
        let target = match event.op {
            Op::Begin | Op::End | Op::Split | Op::Restart | Op::Pause | Op::Notify => event.target,
            Op::Value | Op::Born => return None,
            Op::Exit => {
                self.strand_infos.insert(strand, names.strand(event.strand));
                event.target
            }
            Op::Join => {
                let joined = self.strand(event.other());
                // From now on the number may be another's, and the names with it.
                let info = names.strand(event.other());
                self.strand_infos.insert(joined, info);
                joined.0
            }
            Op::Fork => self.new_strand(event.other()).0,
            Op::Retire | Op::Recv => {
                let object = self.object(event.object(), strand);
                self.retire(event.object(), names);
                object.0
            }
            _ => self.object(event.object(), strand).0,
        };
        Some((strand, target))
    }

    /// The same for an access.
    #[inline(always)]
    pub(crate) fn access(&mut self, event: &Event) -> (StrandId, ObjectId) {
        let strand = self.strand(event.strand);
        (strand, self.object(event.object(), strand))
    }

    #[inline(always)]
    fn strand(&mut self, strand: StrandId) -> StrandId {
        match self.strands.get(strand) {
            Some(&Some(ours)) => ours,
            _ => self.new_strand(strand),
        }
    }

    #[cold]
    fn new_strand(&mut self, strand: StrandId) -> StrandId {
        let ours = StrandId(self.strand_numbers.len() as u32);
        self.strand_numbers.push(strand);
        *self.strands.entry(strand) = Some(ours);
        ours
    }

    #[inline(always)]
    fn object(&mut self, object: ObjectId, strand: StrandId) -> ObjectId {
        if let Some(Some(owner)) = self.objects.get_mut(object) {
            owner.is_shared |= owner.strand != strand;
            return owner.ours;
        }
        self.new_object_of(object, strand)
    }

    #[cold]
    fn new_object_of(&mut self, object: ObjectId, strand: StrandId) -> ObjectId {
        let ours = self.own(object);
        *self.objects.entry(object) = Some(Owner {
            ours,
            strand,
            is_shared: false,
        });
        ours
    }

    fn own(&mut self, number: ObjectId) -> ObjectId {
        self.object_numbers.push(number);
        ObjectId(self.object_numbers.len() as u32 - 1)
    }

    /// An object that the trace does not have.
    pub(crate) fn new_object(&mut self) -> ObjectId {
        self.own(ObjectId(self.object_numbers.len() as u32))
    }

    fn retire(&mut self, number: ObjectId, names: &dyn Names) {
        let owner = self.objects.take(number);
        if let Some(Owner { ours, .. }) = owner.filter(|owner| owner.is_shared) {
            self.object_infos.insert(ours, names.object(number));
        }
    }

    /// The trace's own number of a strand.
    pub fn strand_number(&self, strand: StrandId) -> StrandId {
        self.strand_numbers[strand.0 as usize]
    }

    /// The trace's own number of an object.
    pub fn object_number(&self, object: ObjectId) -> ObjectId {
        self.object_numbers[object.0 as usize]
    }

    /// Names for our numbers, given the trace's names at its end.
    pub fn resolve<'a>(&'a self, names: &'a dyn Names) -> Resolved<'a> {
        Resolved {
            ledger: self,
            names,
        }
    }
}

/// The names behind a [`Ledger`]'s numbers.
pub struct Resolved<'a> {
    ledger: &'a Ledger,
    names: &'a dyn Names,
}

impl Names for Resolved<'_> {
    fn strand(&self, id: StrandId) -> StrandInfo {
        match self.ledger.strand_infos.get(&id) {
            Some(info) => info.clone(),
            None => self.names.strand(self.ledger.strand_number(id)),
        }
    }

    fn object(&self, id: ObjectId) -> ObjectInfo {
        match self.ledger.object_infos.get(&id) {
            Some(info) => info.clone(),
            None => self.names.object(self.ledger.object_number(id)),
        }
    }

    fn kind(&self, id: ObjectId) -> ObjectKind {
        match self.ledger.object_infos.get(&id) {
            Some(info) => info.kind,
            None => self.names.kind(self.ledger.object_number(id)),
        }
    }

    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        self.names.site(id)
    }

    fn block(&self, id: BlockId) -> BlockInfo {
        self.names.block(id)
    }
}
