//! The names behind the numbers of a trace.

use super::intern::{Interner, Key, Name};
use super::shown::clean;
use super::{
    BlockId, BlockInfo, Former, Names, ObjectId, ObjectInfo, ObjectKind, Owner, SiteId, SiteInfo,
    StrandId, StrandInfo,
};
use crate::dense::Dense;

/// Site codes with this bit are labels that were interned; the others are numbers or defined
/// places.
const LABEL: u32 = 1 << 31;

#[derive(Clone, Debug, Default)]
struct Object {
    name: Option<Name>,
    /// An index into the types and one; 0 where the type is not known.
    type1: u32,
    created: SiteId,
}

#[derive(Clone, Debug, Default)]
struct Block {
    name: Name,
    site: SiteId,
}

/// An [`ObjectInfo`] whose names stand somewhere else.
pub(crate) struct Description<'a> {
    pub(crate) kind: ObjectKind,
    pub(crate) name: Option<&'a [u8]>,
    pub(crate) type_name: Option<&'a [u8]>,
    pub(crate) created: SiteId,
}

/// What in a text has a name.
#[derive(Clone, Copy)]
pub(crate) enum Named {
    Strand,
    Block,
    Label,
    /// An object of this kind.
    Object(ObjectKind),
}

/// A name that a text gives to a number.
pub(crate) struct Definition {
    named: Named,
    id: u32,
    name: Name,
}

impl Definition {
    pub(crate) fn new(named: Named, id: u32, name: &[u8]) -> Self {
        let name = Name::new(name);
        Self { named, id, name }
    }
}

/// The names behind a trace's numbers, as its reader knows them.
///
/// Memory follows the numbers, which are dense: an object that retires gives its entry to the next
/// that gets its number.
///
/// ```
/// use aerodrome::trace::{Names, ObjectId, ObjectInfo, ObjectKind, SiteId, StrandId, StrandInfo, Tables};
///
/// let mut tables = Tables::new();
/// tables.define_strand(StrandId(0), &StrandInfo { name: "main".into() });
/// let account = ObjectInfo { kind: ObjectKind::Lock, name: None, type_name: Some("Mutex<u64>".into()), created: SiteId::NONE };
/// tables.define_object(ObjectId(0), &account);
/// assert_eq!(tables.strand(StrandId(0)).name, "main");
/// assert_eq!(tables.object(ObjectId(0)), account);
/// ```
#[derive(Default)]
pub struct Tables {
    strands: Dense<StrandId, Option<Name>>,
    /// Beside the rest, because it is asked for every lock event.
    kinds: Dense<ObjectId, ObjectKind>,
    objects: Dense<ObjectId, Object>,
    types: Vec<Name>,
    type_ids: Interner,
    sites: Dense<u32, Option<SiteInfo>>,
    labels: Dense<u32, Name>,
    blocks: Dense<BlockId, Block>,
    numbered: bool,
    former_strands: Former<StrandInfo>,
    former_objects: Former<ObjectInfo>,
}

impl Tables {
    /// No names.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sites are the numbers of the trace itself, and labels where they are not: what a text has.
    pub(crate) fn numbered() -> Self {
        Self {
            numbered: true,
            ..Self::default()
        }
    }

    /// Names a strand, or the new one that has got the number.
    pub fn define_strand(&mut self, id: StrandId, info: &StrandInfo) {
        self.name_strand(id, info.name.as_bytes());
    }

    pub(crate) fn name_strand(&mut self, id: StrandId, name: &[u8]) {
        *self.strands.entry(id) = Some(Name::new(name));
    }

    /// The strand's number has a new owner after the event at `position`, which is to be named.
    pub(crate) fn hand_over_strand(&mut self, id: StrandId, position: u64) {
        let info = self.strand(id);
        self.former_strands.hand_over(id.0, position, Some(info));
    }

    /// The object's number has a new owner after the event at `position`, which is to be described.
    pub(crate) fn hand_over_object(&mut self, id: ObjectId, position: u64) {
        let info = self.object(id);
        self.former_objects.hand_over(id.0, position, Some(info));
    }

    /// Whether the strand was defined by this name.
    pub(crate) fn is_strand(&self, id: StrandId, name: &[u8]) -> bool {
        match self.strands.get(id) {
            Some(Some(known)) => known.bytes() == name,
            _ => false,
        }
    }

    /// Describes an object, or the new one that has got the number.
    pub fn define_object(&mut self, id: ObjectId, info: &ObjectInfo) {
        self.describe_object(
            id,
            &Description {
                kind: info.kind,
                name: info.name.as_deref().map(str::as_bytes),
                type_name: info.type_name.as_deref().map(str::as_bytes),
                created: info.created,
            },
        );
    }

    pub(crate) fn describe_object(&mut self, id: ObjectId, info: &Description<'_>) {
        let name = info.name.map(Name::new);
        let type1 = info.type_name.map_or(0, |name| self.intern_type(name) + 1);
        self.set_object(id, info.kind, name, type1, info.created);
    }

    /// Whether the object was described so.
    pub(crate) fn is_object(&self, id: ObjectId, info: &Description<'_>) -> bool {
        let Some(object) = self.objects.get(id) else {
            return false;
        };
        let type_name = match object.type1 {
            0 => None,
            type1 => Some(&self.types[type1 as usize - 1]),
        };
        self.kind(id) == info.kind
            && object.created == info.created
            && object.name.as_ref().map(Name::bytes) == info.name
            && type_name.map(Name::bytes) == info.type_name
    }

    /// Describes a site.
    pub fn define_site(&mut self, id: SiteId, info: &SiteInfo) {
        if id != SiteId::NONE {
            *self.sites.entry(id.0) = Some(match info {
                SiteInfo::Source { file, line, column } => SiteInfo::Source {
                    file: clean(file),
                    line: *line,
                    column: *column,
                },
                SiteInfo::Label(label) => SiteInfo::Label(clean(label)),
            });
        }
    }

    /// Names a block.
    pub fn define_block(&mut self, id: BlockId, info: &BlockInfo) {
        let block = Block {
            name: Name::new(info.name.as_bytes()),
            site: info.site,
        };
        *self.blocks.entry(id) = block;
    }

    fn intern_type(&mut self, name: &[u8]) -> u32 {
        let ids = &mut self.type_ids;
        let key = Key::new(name);
        ids.get(&key).unwrap_or_else(|| {
            let id = self.types.len() as u32;
            self.types.push(Name::new(key.bytes()));
            ids.insert(&key, id);
            id
        })
    }

    #[inline]
    fn set_object(
        &mut self,
        id: ObjectId,
        kind: ObjectKind,
        name: Option<Name>,
        type1: u32,
        created: SiteId,
    ) {
        *self.kinds.entry(id) = kind;
        *self.objects.entry(id) = Object {
            name,
            type1,
            created,
        };
    }

    /// Takes a name of a text.
    pub(crate) fn define(&mut self, definition: Definition) {
        let Definition { named, id, name } = definition;
        match named {
            Named::Strand => *self.strands.entry(StrandId(id)) = Some(name),
            Named::Block => self.blocks.entry(BlockId(id)).name = name,
            Named::Label => *self.labels.entry(id) = name,
            Named::Object(kind) => {
                self.set_object(ObjectId(id), kind, Some(name), 0, SiteId::NONE);
            }
        }
    }

    /// The code of a number of the text, where it fits.
    #[inline]
    pub(crate) fn number(number: u64) -> Option<SiteId> {
        (number < u64::from(LABEL)).then_some(SiteId(number as u32))
    }

    pub(crate) fn label(index: u32) -> SiteId {
        SiteId(index | LABEL)
    }
}

/// `src/bank.rs:12:9` is a place in a file; anything else is a label.
fn place(label: &str) -> SiteInfo {
    let source = || {
        let (rest, column) = label.rsplit_once(':')?;
        let (file, line) = rest.rsplit_once(':')?;
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        (!file.is_empty() && line > 0 && column > 0).then(|| SiteInfo::Source {
            file: file.to_owned(),
            line,
            column,
        })
    };
    source().unwrap_or_else(|| SiteInfo::Label(label.to_owned()))
}

impl Names for Tables {
    fn strand(&self, id: StrandId) -> StrandInfo {
        let name = self.strands.get(id).and_then(Option::as_ref);
        StrandInfo {
            name: name.map_or_else(|| format!("T{}", id.0), Name::to_text),
        }
    }

    fn object(&self, id: ObjectId) -> ObjectInfo {
        let Some(object) = self.objects.get(id) else {
            return ObjectInfo::default();
        };
        let type_name = object.type1.checked_sub(1);
        ObjectInfo {
            kind: self.kind(id),
            name: object.name.as_ref().map(Name::to_text),
            type_name: type_name.map(|at| self.types[at as usize].to_text()),
            created: object.created,
        }
    }

    #[inline]
    fn kind(&self, id: ObjectId) -> ObjectKind {
        self.kinds.get(id).copied().unwrap_or_default()
    }

    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        if id == SiteId::NONE {
            return None;
        }
        if !self.numbered {
            return self.sites.get(id.0).cloned().flatten();
        }
        if id.0 & LABEL == 0 {
            return Some(SiteInfo::Label(id.0.to_string()));
        }
        let label = self.labels.get(id.0 & !LABEL)?;
        Some(place(&label.to_text()))
    }

    fn block(&self, id: BlockId) -> BlockInfo {
        let block = self.blocks.get(id).map(|block| BlockInfo {
            name: block.name.to_text(),
            site: block.site,
        });
        block.unwrap_or_default()
    }

    fn owner_of_strand(&self, id: StrandId, position: u64) -> Owner<StrandInfo> {
        self.former_strands.owner(id.0, position).map(Clone::clone)
    }

    fn owner_of_object(&self, id: ObjectId, position: u64) -> Owner<ObjectInfo> {
        self.former_objects.owner(id.0, position).map(Clone::clone)
    }
}
