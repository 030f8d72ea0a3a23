//! The names of a text, each kind of thing for itself.

use crate::trace::intern::{Interner, Key};
use crate::trace::op::Target;
use crate::trace::tables::{Definition, Named};
use crate::trace::{ObjectKind, Op, SiteId, Tables};

/// What has names of its own.
#[derive(Clone, Copy)]
pub(super) enum Space {
    Strands,
    Blocks,
    Labels,
    Locks,
    /// And all other objects.
    Variables,
}

impl Space {
    fn of(kind: ObjectKind) -> Self {
        match kind {
            ObjectKind::Lock => Space::Locks,
            _ => Space::Variables,
        }
    }

    /// Where the name of an operation's target is to be found, if no more is to be done.
    pub(super) fn of_target(op: Op, target: Target) -> Option<Self> {
        match target {
            _ if retires(op) => None,
            Target::Object(kind) => Some(Space::of(kind)),
            Target::Strand => Some(Space::Strands),
            Target::Block => Some(Space::Blocks),
            Target::Value | Target::Nothing => None,
        }
    }
}

/// Whether the operation takes the name from its object.
fn retires(op: Op) -> bool {
    matches!(op, Op::Retire | Op::Recv)
}

/// Gives numbers to the names of a text.
#[derive(Default)]
pub struct Registry {
    /// For each [`Space`] the numbers of its names.
    ids: [Interner; 5],
    strands: u32,
    blocks: u32,
    labels: u32,
    objects: u32,
    /// Numbers whose object retired in this batch: their names may still be asked for.
    retired: Vec<u32>,
    /// Numbers for the next objects.
    free: Vec<u32>,
    /// What has got a name in this batch.
    pub(super) definitions: Vec<Definition>,
}

impl Registry {
    /// Nobody asks for the names of the last batch any more.
    pub(super) fn next_batch(&mut self) {
        self.free.append(&mut self.retired);
    }

    /// The number of a name that has come before.
    #[inline(always)]
    pub(super) fn known(&self, space: Space, key: &Key<'_>) -> Option<u32> {
        self.ids[space as usize].get(key)
    }

    pub(super) fn strand(&mut self, key: &Key<'_>) -> u32 {
        self.number(Space::Strands, Named::Strand, key)
    }

    pub(super) fn block(&mut self, key: &Key<'_>) -> u32 {
        self.number(Space::Blocks, Named::Block, key)
    }

    pub(super) fn label(&mut self, key: &Key<'_>) -> SiteId {
        Tables::label(self.number(Space::Labels, Named::Label, key))
    }

    /// The object that `op` is on, of this kind if it is new. A retirement takes the name from it,
    /// so that the name's next object is a new one.
    pub(super) fn object(&mut self, key: &Key<'_>, op: Op, kind: ObjectKind) -> u32 {
        let space = Space::of(kind);
        let id = self.number(space, Named::Object(kind), key);
        if retires(op) {
            self.ids[space as usize].remove(key);
            self.retired.push(id);
        }
        id
    }

    /// The number of the name, a new one if it has none.
    fn number(&mut self, space: Space, named: Named, key: &Key<'_>) -> u32 {
        if let Some(id) = self.known(space, key) {
            return id;
        }
        let (next, free) = match named {
            Named::Strand => (&mut self.strands, None),
            Named::Block => (&mut self.blocks, None),
            Named::Label => (&mut self.labels, None),
            Named::Object(_) => (&mut self.objects, self.free.pop()),
        };
        let id = free.unwrap_or_else(|| {
            *next += 1;
            *next - 1
        });
        self.ids[space as usize].insert(key, id);
        self.definitions
            .push(Definition::new(named, id, key.bytes()));
        id
    }
}
