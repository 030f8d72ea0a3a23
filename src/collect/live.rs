//! The names behind the numbers of a running program.

use std::ptr::NonNull;

use rustc_hash::FxHashMap;

use super::merge::Definition;
use crate::dense::Dense;
use crate::record::{Strand, code, names};
use crate::trace::{
    BlockId, BlockInfo, Former, Names, ObjectId, ObjectInfo, ObjectKind, Owner, SiteId, SiteInfo,
    StrandId, StrandInfo,
};

/// Set in the number of a site that is a block's own place: the rest is the block's code.
const PLACE_OF_BLOCK: u32 = 1 << 30;

#[derive(Debug, Default)]
pub(super) struct Live {
    strands: Dense<u32, StrandName>,
    /// For each object the number of its definition; 0 is none. A program has few definitions, one
    /// for each type and place in the source, and may have millions of objects.
    objects: Dense<u32, u32>,
    definitions: Vec<Definition>,
    definition_numbers: FxHashMap<Definition, u32>,
    names: FxHashMap<u32, u32>,
    /// Names and families.
    former_strands: Former<(String, u32)>,
    former_objects: Former<(Definition, Option<u32>)>,
}

/// When a number gets a new owner.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The position of the last event so far.
    pub(super) position: u64,
    /// No report will name an event of before: no transaction is open, and no violation is held
    /// back.
    pub(super) is_quiet: bool,
}

#[derive(Debug)]
enum StrandName {
    Alive(NonNull<Strand>),
    Gone(String),
}

impl Default for StrandName {
    fn default() -> Self {
        StrandName::Gone(String::new())
    }
}

// SAFETY: a strand that is alive in here has not been freed, and of it only the name is read, which
// may be shared.
unsafe impl Send for Live {}

impl Live {
    /// The number is this strand's from now on; its former owner was of this family.
    pub(super) fn add_strand(
        &mut self,
        id: u32,
        strand: NonNull<Strand>,
        former_family: u32,
        now: Moment,
    ) {
        let old = std::mem::replace(self.strands.entry(id), StrandName::Alive(strand));
        if now.is_quiet {
            self.former_strands.forget_all();
        }
        if let StrandName::Gone(name) = old {
            let former = (!now.is_quiet).then_some((name, former_family));
            self.former_strands.hand_over(id, now.position, former);
        }
    }

    /// The strand is about to be freed.
    pub(super) fn strand_exited(&mut self, id: u32) {
        let name = self.known_name(StrandId(id)).unwrap_or_default();
        self.strands[id] = StrandName::Gone(name);
    }

    /// The number is this object's from now on.
    pub(super) fn add_object(&mut self, id: u32, definition: Definition, now: Moment) {
        if now.is_quiet {
            self.former_objects.forget_all();
        }
        let number = self.number(definition);
        let old = std::mem::replace(self.objects.entry(id), number);
        if let Some(old) = self.definition(old) {
            let name = self.names.remove(&id);
            let old = (!now.is_quiet).then_some((old, name));
            self.former_objects.hand_over(id, now.position, old);
        }
    }

    fn number(&mut self, definition: Definition) -> u32 {
        let numbers = &mut self.definition_numbers;
        *numbers.entry(definition).or_insert_with(|| {
            self.definitions.push(definition);
            self.definitions.len() as u32
        })
    }

    fn definition(&self, number: u32) -> Option<Definition> {
        let at = number.checked_sub(1)?;
        Some(self.definitions[at as usize])
    }

    fn definition_of(&self, object: ObjectId) -> Option<Definition> {
        let number = self.objects.get(object.0)?;
        self.definition(*number)
    }

    pub(super) fn name(&mut self, object: u32, name: u32) {
        self.names.insert(object, name);
    }

    /// The family of the strand that had the number at the event, if it is not the present owner.
    pub(super) fn former_family(&self, id: StrandId, position: u64) -> Owner<u32> {
        let owner = self.former_strands.owner(id.0, position);
        owner.map(|&(_, family)| family)
    }

    /// The strand's name, where it was asked for.
    pub(super) fn known_name(&self, id: StrandId) -> Option<String> {
        match self.strands.get(id.0)? {
            // SAFETY: `strand_exited` comes before the strand is freed.
            StrandName::Alive(strand) => unsafe { strand.as_ref() }.display_name(),
            StrandName::Gone(name) => Some(name.clone()),
        }
    }
}

impl Names for Live {
    fn strand(&self, id: StrandId) -> StrandInfo {
        StrandInfo {
            name: self.known_name(id).unwrap_or_default(),
        }
    }

    fn object(&self, id: ObjectId) -> ObjectInfo {
        let name = self.names.get(&id.0).copied();
        let definition = self.definition_of(id);
        let known = definition.map(|definition| describe(definition, name));
        known.unwrap_or_default()
    }

    #[inline]
    fn kind(&self, id: ObjectId) -> ObjectKind {
        let definition = self.definition_of(id);
        definition.map_or(ObjectKind::default(), |definition| definition.kind)
    }

    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        if id.0 & PLACE_OF_BLOCK != 0 {
            let block = code::block_of(id.0 & !PLACE_OF_BLOCK);
            return Some(SiteInfo::Source {
                file: block.file.to_owned(),
                line: block.line,
                column: block.column,
            });
        }
        let location = code::location(id.0)?;
        Some(SiteInfo::Source {
            file: location.file().to_owned(),
            line: location.line(),
            column: location.column(),
        })
    }

    fn block(&self, id: BlockId) -> BlockInfo {
        match id.0 {
            0 => BlockInfo::default(),
            code => BlockInfo {
                name: code::block_of(code).name().to_owned(),
                site: SiteId(code | PLACE_OF_BLOCK),
            },
        }
    }

    fn owner_of_strand(&self, id: StrandId, position: u64) -> Owner<StrandInfo> {
        let owner = self.former_strands.owner(id.0, position);
        owner.map(|(name, _)| StrandInfo { name: name.clone() })
    }

    fn owner_of_object(&self, id: ObjectId, position: u64) -> Owner<ObjectInfo> {
        let owner = self.former_objects.owner(id.0, position);
        owner.map(|&(definition, name)| describe(definition, name))
    }
}

/// What a definition says of an object, and the number of the name that it got later.
fn describe(definition: Definition, name: Option<u32>) -> ObjectInfo {
    let has_type = definition.type_name != 0;
    ObjectInfo {
        kind: definition.kind,
        name: name.map(names::get),
        type_name: has_type.then(|| code::type_name_of(definition.type_name).to_owned()),
        created: SiteId(definition.created),
    }
}
