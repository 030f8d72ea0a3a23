//! The names of a text, each kind of thing for itself.

use crate::trace::intern::{Interner, Key};
use crate::trace::{ObjectKind, Op, SiteId, Tables};

/// Gives numbers to the names of a text.
pub(super) struct Registry {
    pub(super) tables: Tables,
    strands: Interner,
    variables: Interner,
    locks: Interner,
    blocks: Interner,
    labels: Interner,
    /// Numbers whose object retired in this batch: their names may still be asked for.
    retired: Vec<u32>,
    /// Numbers for the next objects.
    free: Vec<u32>,
}

impl Registry {
    pub(super) fn new() -> Self {
        Self {
            tables: Tables::numbered(),
            strands: Interner::new(),
            variables: Interner::new(),
            locks: Interner::new(),
            blocks: Interner::new(),
            labels: Interner::new(),
            retired: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Nobody asks for the names of the last batch any more.
    pub(super) fn next_batch(&mut self) {
        self.free.append(&mut self.retired);
    }

    #[inline]
    pub(super) fn strand(&mut self, key: &Key<'_>) -> u32 {
        let Self {
            tables, strands, ..
        } = self;
        strands
            .get(key, |id| tables.strand_name(id))
            .unwrap_or_else(|| {
                let id = tables.push_strand(key.bytes());
                strands.insert(key, id);
                id
            })
    }

    #[inline]
    pub(super) fn block(&mut self, key: &Key<'_>) -> u32 {
        let Self { tables, blocks, .. } = self;
        blocks
            .get(key, |id| tables.block_name(id))
            .unwrap_or_else(|| {
                let id = tables.push_block(key.bytes());
                blocks.insert(key, id);
                id
            })
    }

    pub(super) fn label(&mut self, key: &Key<'_>) -> SiteId {
        let Self { tables, labels, .. } = self;
        let index = labels
            .get(key, |id| tables.label_name(id))
            .unwrap_or_else(|| {
                let id = tables.push_label(key.bytes());
                labels.insert(key, id);
                id
            });
        Tables::label(index)
    }

    /// The object that `op` is on, of this kind if it is new. A retirement takes the name from it,
    /// so that the name's next object is a new one.
    #[inline]
    pub(super) fn object(&mut self, key: &Key<'_>, op: Op, kind: ObjectKind) -> u32 {
        let Self {
            tables,
            variables,
            locks,
            retired,
            free,
            ..
        } = self;
        let numbers = if kind == ObjectKind::Lock {
            locks
        } else {
            variables
        };
        let id = numbers
            .get(key, |id| tables.object_name(id))
            .unwrap_or_else(|| {
                let id = free.pop().unwrap_or(tables.objects() as u32);
                tables.name_object(id, kind, key.bytes());
                numbers.insert(key, id);
                id
            });
        if matches!(op, Op::Retire | Op::Recv) {
            numbers.remove(key, |id| tables.object_name(id));
            retired.push(id);
        }
        id
    }
}
