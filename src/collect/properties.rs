//! Properties under check, and the values of watched variables.
//!
//! Tests run side by side, and each may have its own variable of a name. So a property's variables
//! are those that its family has touched or named; what others have is borrowed where the family
//! has none.

use crate::dense::Dense;
use crate::lattice::{Error, Lattice, Limits, Outcome, Property};
use crate::trace::{Event, Names, ObjectId, Op, StrandId};

/// What a property asks of a run's merged events.
#[derive(Debug, Default)]
pub(super) struct Properties {
    /// The value of each strand's next write.
    announced: Dense<StrandId, Option<i64>>,
    /// The watched variables, by their numbers.
    watched: Dense<ObjectId, Option<Watched>>,
    open: Vec<Open>,
    declared: u64,
}

/// A watched variable.
#[derive(Clone, Copy, Debug)]
struct Watched {
    /// Nothing where it was not recorded.
    value: Option<i64>,
    /// Whose strand was the first to touch it, or gave it its name.
    family: u32,
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
        self.hear(|lattice| lattice.step(event, position, names));
    }

    /// Tells the lattice something, unless there is a verdict.
    fn hear(&mut self, tell: impl FnOnce(&mut Lattice) -> Result<(), Error>) {
        if let Ok(Err(error)) = self.lattice.as_mut().map(tell) {
            self.lattice = Err(error);
        }
    }
}

impl Properties {
    /// Whether no property is open.
    pub(super) fn are_idle(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether an open property of the family speaks of this variable.
    pub(super) fn speak_of(&self, family: u32, name: &str) -> bool {
        let speaks = |lattice: &Lattice| {
            let mut variables = lattice.property().variables().iter();
            variables.any(|variable| variable == name)
        };
        let mut own = self.open.iter().filter(|open| open.family == family);
        // The collector may have merged the write already, and found that it has no value.
        own.any(|open| match &open.lattice {
            Ok(lattice) => speaks(lattice),
            Err(Error::NoValue { name: of, .. }) => of == name,
            Err(_) => false,
        })
    }

    /// Whether an operation changes what is known of watched variables, so that it is to be told of
    /// though no property is open.
    #[inline]
    pub(super) fn remember(&self, op: Op) -> bool {
        match op {
            Op::Value | Op::Born => true,
            op => (op.changes_value() || op == Op::Retire) && self.watched.len() > 0,
        }
    }

    /// Takes an event of a strand of this family.
    #[inline]
    pub(super) fn event(&mut self, event: &Event, position: u64, family: u32, names: &dyn Names) {
        let mut touched = None;
        match event.op {
            Op::Value => *self.announced.entry(event.strand) = Some(event.value()),
            Op::Born => self.born(event, family, names),
            op if op.changes_value() && self.watched.len() > 0 => {
                let value = self.announced.take(event.strand);
                if let Some(watched) = self.watched(event) {
                    touched = Some(watched.value);
                    watched.value = value;
                }
            }
            Op::Read | Op::Vain(_) | Op::CompareExchangeFailed => {
                // A read that predictions know the value of.
                self.announced.take(event.strand);
                touched = self.watched(event).map(|watched| watched.value)
            }
            Op::Retire => {
                self.watched.take(event.object());
                // Its number may be anybody's next.
                for open in &mut self.open {
                    open.step(event, position, names);
                }
                return;
            }
            _ => {}
        }
        for open in self.open.iter_mut().filter(|open| open.family == family) {
            if let Some(value) = touched {
                open.hear(|lattice| lattice.adopt(event.object(), value, names));
            }
            open.step(event, position, names);
        }
    }

    #[inline]
    fn watched(&mut self, event: &Event) -> Option<&mut Watched> {
        self.watched.get_mut(event.object())?.as_mut()
    }

    /// A variable is born, or has got another name. Others may come to touch it.
    fn born(&mut self, event: &Event, family: u32, names: &dyn Names) {
        let value = self.announced.take(event.strand);
        *self.watched.entry(event.object()) = Some(Watched { value, family });
        for open in self.open.iter_mut().filter(|open| open.family != family) {
            open.hear(|lattice| {
                lattice.borrow(event.object(), value, names);
                Ok(())
            });
        }
    }

    /// Checks a property on what the family does from here on.
    pub(super) fn declare(&mut self, property: Property, family: u32, names: &dyn Names) -> u64 {
        self.declared += 1;
        let mut open = Open {
            number: self.declared,
            family,
            lattice: Ok(Lattice::new(property, Limits::default())),
        };
        for (object, watched) in (0..).map(ObjectId).zip(self.watched.iter()) {
            let Some(watched) = watched else { continue };
            open.hear(|lattice| {
                if watched.family == family {
                    return lattice.born(object, watched.value, names);
                }
                lattice.borrow(object, watched.value, names);
                Ok(())
            });
        }
        self.open.push(open);
        self.declared
    }

    /// The property's test is over.
    pub(super) fn decide(&mut self, number: u64) -> Option<Result<Outcome, Error>> {
        let at = self.open.iter().position(|open| open.number == number)?;
        Some(self.open.swap_remove(at).lattice.and_then(Lattice::finish))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ObjectInfo, SiteId, Tables};

    const FAMILY: u32 = 0;
    const STRAND: StrandId = StrandId(0);

    /// A family with a watched variable `x`, and a property of `x`.
    fn properties(names: &Tables) -> Properties {
        let mut properties = Properties::default();
        let born = Event::new(STRAND, Op::Born, 0, SiteId::NONE);
        for (event, position) in [Event::of_value(STRAND, 0), born].iter().zip(1..) {
            properties.event(event, position, FAMILY, names);
        }
        let property = "x == 0".parse().expect("a property");
        properties.declare(property, FAMILY, names);
        properties
    }

    #[test]
    fn a_property_speaks_of_a_variable_whose_write_without_a_value_was_merged() {
        let mut names = Tables::new();
        let x = ObjectInfo {
            name: Some("x".to_owned()),
            ..ObjectInfo::default()
        };
        names.define_object(ObjectId(0), &x);
        let mut properties = properties(&names);
        let says = |properties: &Properties| {
            [(FAMILY, "x"), (FAMILY, "y"), (1, "x")]
                .map(|(family, name)| properties.speak_of(family, name))
        };
        assert_eq!(says(&properties), [true, false, false]);
        let write = Event::new(STRAND, Op::Write, 0, SiteId::NONE);
        properties.event(&write, 3, FAMILY, &names);
        let verdict = properties.open[0].lattice.as_ref().err();
        assert!(
            matches!(verdict, Some(Error::NoValue { .. })),
            "{verdict:?}"
        );
        assert_eq!(says(&properties), [true, false, false]);
    }
}
