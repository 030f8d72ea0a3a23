//! The names of a text, each kind of thing for itself.

use std::ops::Range;

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
    /// All other objects.
    Variables,
}

const SPACES: usize = Space::Variables as usize + 1;

impl Space {
    /// Where the name of such a thing is.
    #[inline(always)]
    pub(super) fn of(named: Named) -> Self {
        match named {
            Named::Strand => Space::Strands,
            Named::Block => Space::Blocks,
            Named::Label => Space::Labels,
            Named::Object(ObjectKind::Lock) => Space::Locks,
            Named::Object(_) => Space::Variables,
        }
    }
}

/// What an operation's target is, if its name is all that is to be read of it.
pub(super) fn of_target(op: Op, target: Target) -> Option<Named> {
    match target {
        _ if retires(op) => None,
        Target::Object(kind) => Some(Named::Object(kind)),
        Target::Strand => Some(Named::Strand),
        Target::Block => Some(Named::Block),
        Target::Value | Target::Nothing => None,
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
    ids: [Interner; SPACES],
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
    fn known(&self, named: Named, key: &Key<'_>) -> Option<u32> {
        self.ids[Space::of(named) as usize].get(key)
    }

    /// The number of the name in a place of a text, if it has come before.
    #[inline(always)]
    pub(super) fn known_within(
        &self,
        space: Space,
        text: &[u8],
        name: Range<usize>,
    ) -> Option<u32> {
        self.ids[space as usize].get_within(text, name)
    }

    /// Where the number of the variable in a place of a text is to be found, if it has a place of
    /// its own, which is on its way into the cache.
    #[inline(always)]
    pub(super) fn place_of_variable(&self, text: &[u8], name: &Range<usize>) -> Option<u32> {
        self.ids[Space::Variables as usize].fetch(text, name)
    }

    /// The number of the variable whose name has this place, if it has one.
    #[inline(always)]
    pub(super) fn variable_at(&self, place: u32) -> Option<u32> {
        self.ids[Space::Variables as usize].at(place)
    }

    pub(super) fn strand(&mut self, key: &Key<'_>) -> u32 {
        self.number(Named::Strand, key)
    }

    pub(super) fn block(&mut self, key: &Key<'_>) -> u32 {
        self.number(Named::Block, key)
    }

    pub(super) fn label(&mut self, key: &Key<'_>) -> SiteId {
        Tables::label(self.number(Named::Label, key))
    }

    /// The object that `op` is on, of this kind if it is new. A retirement takes the name from it,
    /// so that the name's next object is a new one.
    pub(super) fn object(&mut self, key: &Key<'_>, op: Op, kind: ObjectKind) -> u32 {
        let named = Named::Object(kind);
        let id = self.number(named, key);
        if retires(op) {
            self.ids[Space::of(named) as usize].remove(key);
            self.retired.push(id);
        }
        id
    }

    /// The number of the name, a new one if it has none.
    #[inline(always)]
    pub(super) fn number(&mut self, named: Named, key: &Key<'_>) -> u32 {
        match self.known(named, key) {
            Some(id) => id,
            None => self.define(named, key),
        }
    }

    #[inline(never)]
    fn define(&mut self, named: Named, key: &Key<'_>) -> u32 {
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
        self.ids[Space::of(named) as usize].insert(key, id);
        self.definitions
            .push(Definition::new(named, id, key.bytes()));
        id
    }
}
