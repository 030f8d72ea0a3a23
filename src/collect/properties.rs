//! Properties under check, and the values of watched variables.

use std::collections::HashMap;

use crate::lattice::{Error, Lattice, Limits, Outcome, Property};
use crate::trace::{Event, Names, ObjectId, Op};

/// What a property asks of a run's merged events.
#[derive(Debug, Default)]
pub(super) struct Properties {
    /// The value of each strand's next write.
    announced: Vec<Option<i64>>,
    /// The value of each watched variable, by its number, for properties that are declared after its birth.
    values: HashMap<u32, i64>,
    open: Vec<Open>,
    declared: u64,
}

/// A property whose test is running.
#[derive(Debug)]
struct Open {
    number: u64,
    family: u32,
    /// An error is the verdict already.
    lattice: Result<Lattice, Error>,
}

impl Open {
    fn step(&mut self, event: &Event, position: u64, names: &dyn Names) {
        if let Ok(lattice) = &mut self.lattice
            && let Err(error) = lattice.step(event, position, names)
        {
            self.lattice = Err(error);
        }
    }
}

impl Properties {
    /// Whether no property is open and nothing has a value.
    pub(super) fn are_idle(&self) -> bool {
        self.open.is_empty() && self.announced.is_empty()
    }

    /// Takes an event of a strand of this family. Whether it counts for everybody: the birth of a variable does not.
    #[inline]
    pub(super) fn event(
        &mut self,
        event: &Event,
        position: u64,
        family: u32,
        names: &dyn Names,
    ) -> bool {
        match event.op {
            Op::Value => {
                let strand = event.strand.0 as usize;
                if self.announced.len() <= strand {
                    self.announced.resize(strand + 1, None);
                }
                self.announced[strand] = Some(event.value());
                return true;
            }
            Op::Write | Op::ReadWrite | Op::Update(_) if !self.announced.is_empty() => {
                if let Some(value) = self
                    .announced
                    .get_mut(event.strand.0 as usize)
                    .and_then(Option::take)
                {
                    return self.written(event, value, position, family, names);
                }
            }
            Op::Retire if !self.values.is_empty() => {
                self.values.remove(&event.target);
            }
            _ => {}
        }
        for open in self.open.iter_mut().filter(|open| open.family == family) {
            open.step(event, position, names);
        }
        true
    }

    fn written(
        &mut self,
        event: &Event,
        value: i64,
        position: u64,
        family: u32,
        names: &dyn Names,
    ) -> bool {
        let birth = self.values.insert(event.target, value).is_none();
        // Whoever was first to touch it, its birth is everybody's.
        for open in self
            .open
            .iter_mut()
            .filter(|open| birth || open.family == family)
        {
            open.step(&Event::of_value(event.strand, value), position, names);
            open.step(event, position, names);
        }
        !birth
    }

    /// Checks a property on what the family does from here on.
    pub(super) fn declare(&mut self, property: Property, family: u32, names: &dyn Names) -> u64 {
        self.declared += 1;
        let mut lattice = Ok(Lattice::new(property, Limits::default()));
        for (&object, &value) in &self.values {
            lattice = lattice.and_then(|mut lattice| {
                lattice
                    .born(ObjectId(object), value, names)
                    .map(|()| lattice)
            });
        }
        self.open.push(Open {
            number: self.declared,
            family,
            lattice,
        });
        self.declared
    }

    /// The property's test is over.
    pub(super) fn decide(&mut self, number: u64) -> Option<Result<Outcome, Error>> {
        let at = self.open.iter().position(|open| open.number == number)?;
        Some(self.open.swap_remove(at).lattice.and_then(Lattice::finish))
    }
}
