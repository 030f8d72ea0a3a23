//! Names that objects get after their first event, known in advance.

use std::collections::HashMap;

use crate::dense::Dense;
use crate::trace::{
    BlockId, BlockInfo, Event, Names, ObjectId, ObjectInfo, ObjectKind, Op, SiteId, SiteInfo,
    Source, StrandId, StrandInfo, Tables,
};

/// What a first reading of a trace tells a second one: the last name of each object that had none
/// at its first event.
#[derive(Debug, Default)]
pub(super) struct LateNames {
    /// By number, and how many objects had it before.
    names: HashMap<(u32, u32), String>,
    /// By number.
    numbers: Dense<ObjectId, Number>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Number {
    /// How many objects had it before.
    former: u32,
    /// Whether its object has had an event.
    is_used: bool,
    /// Whether the object had no name then.
    is_nameless: bool,
}

impl LateNames {
    /// Reads the trace to its end, or up to what is wrong with it, which is for the second reading
    /// to say.
    pub(super) fn read(source: &mut dyn Source) -> LateNames {
        let mut late = LateNames::default();
        let mut batch = Vec::new();
        while let Ok(true) = source.fill(&mut batch) {
            for event in &batch {
                late.note(event, source.names());
            }
        }
        for id in (0..late.numbers.len() as u32).map(ObjectId) {
            late.keep(id, source.names());
        }
        late.numbers = Dense::new();
        late
    }

    fn note(&mut self, event: &Event, names: &Tables) {
        let Some(number) = self.number(event) else {
            return;
        };
        if !number.is_used {
            number.is_used = true;
            number.is_nameless = names.object(event.object()).name.is_none();
        }
        if is_last(event.op) {
            self.keep(event.object(), names);
            self.pass(event);
        }
    }

    /// The object's name is its last one.
    fn keep(&mut self, id: ObjectId, names: &Tables) {
        let number = self.numbers[id];
        let name = names.object(id).name;
        if let Some(name) = name.filter(|_| number.is_nameless) {
            self.names.insert((id.0, number.former), name);
        }
    }

    /// The second reading has passed this event.
    pub(super) fn pass(&mut self, event: &Event) {
        if !is_last(event.op) {
            return;
        }
        if let Some(number) = self.number(event) {
            *number = Number {
                former: number.former + 1,
                ..Number::default()
            };
        }
    }

    /// The number of an event's object.
    fn number(&mut self, event: &Event) -> Option<&mut Number> {
        Some(self.numbers.entry(event.its_object()?))
    }

    /// The trace's names, and those that are still to come.
    pub(super) fn with<'a>(&'a self, names: &'a Tables) -> Foreseen<'a> {
        Foreseen { names, late: self }
    }
}

/// After it the number may be given to another object.
fn is_last(op: Op) -> bool {
    matches!(op, Op::Retire | Op::Recv)
}

/// A trace's names, at a moment of its second reading.
pub(super) struct Foreseen<'a> {
    names: &'a Tables,
    late: &'a LateNames,
}

impl Names for Foreseen<'_> {
    fn strand(&self, id: StrandId) -> StrandInfo {
        self.names.strand(id)
    }

    fn object(&self, id: ObjectId) -> ObjectInfo {
        let info = self.names.object(id);
        let number = self.late.numbers.get(id);
        let former = number.map_or(0, |number| number.former);
        let name = self.late.names.get(&(id.0, former)).cloned();
        ObjectInfo {
            name: name.or(info.name),
            ..info
        }
    }

    fn kind(&self, id: ObjectId) -> ObjectKind {
        self.names.kind(id)
    }

    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        self.names.site(id)
    }

    fn block(&self, id: BlockId) -> BlockInfo {
        self.names.block(id)
    }
}
