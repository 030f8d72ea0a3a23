//! Traces for tests: written by hand, or made from random numbers.

use aerodrome::lattice::{Error, Lattice, Limits, Outcome};
use aerodrome::trace::*;
use proptest::prelude::*;
use std::sync::LazyLock;

/// Strands are `T0`, `T1` and so on; the first objects have the names given.
pub(crate) fn names(variables: &[&str]) -> Tables {
    let mut tables = Tables::new();
    for id in 0..STRANDS {
        let name = format!("T{id}");
        tables.define_strand(StrandId(id), &StrandInfo { name });
    }
    for (id, name) in (0..).map(ObjectId).zip(variables) {
        name_object(&mut tables, id, name);
    }
    tables
}

pub(crate) fn name_object(tables: &mut Tables, id: ObjectId, name: &str) {
    let info = ObjectInfo {
        kind: ObjectKind::Variable,
        name: Some(name.to_string()),
        type_name: None,
        created: SiteId::NONE,
    };
    tables.define_object(id, &info);
}

pub(crate) fn event(strand: u32, op: Op, target: u32) -> Event {
    Event {
        strand: StrandId(strand),
        op,
        target,
        site: SiteId::NONE,
    }
}

/// A write with its value.
pub(crate) fn write(strand: u32, object: u32, value: i64) -> [Event; 2] {
    valued(strand, Op::Write, object, value)
}

/// A birth with its value.
pub(crate) fn born(strand: u32, object: u32, value: i64) -> [Event; 2] {
    valued(strand, Op::Born, object, value)
}

fn valued(strand: u32, op: Op, object: u32, value: i64) -> [Event; 2] {
    [
        Event::of_value(StrandId(strand), value),
        event(strand, op, object),
    ]
}

/// Feeds a whole trace.
pub(crate) fn explore(
    property: &str,
    limits: Limits,
    names: &Tables,
    trace: &[Event],
) -> Result<Outcome, Error> {
    let mut lattice = Lattice::new(property.parse()?, limits);
    for (event, position) in trace.iter().zip(1..) {
        lattice.step(event, position, names)?;
    }
    lattice.finish()
}

/// The names of the first three objects of a random trace.
pub(crate) const XYZ: [&str; 3] = ["x", "y", "z"];

pub(crate) static VARIABLES: LazyLock<Tables> = LazyLock::new(|| names(&XYZ));

/// As many as any of the tests has.
const STRANDS: u32 = 200;

const PLAIN: u32 = 3;
const LOCK: u32 = 4;
const SIGNAL: u32 = 5;
const FIRST_MESSAGE: u32 = 6;

/// What a strand is to do; the builder sees to it that the trace makes sense.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Action {
    Access { variable: u32, how: u8, value: i64 },
    Plain { how: u8 },
    Lock { shared: bool },
    Unlock,
    Signal,
    Await,
    Send,
    Recv,
    Fork(u32),
    Join(u32),
    RetirePlain,
}

pub(crate) fn actions(length: usize) -> impl Strategy<Value = Vec<(u32, Action)>> {
    let action = prop_oneof![
        8 => (0..3_u32, 0..5_u8, -2..4_i64).prop_map(|(variable, how, value)| Action::Access { variable, how, value }),
        2 => (0..3_u8).prop_map(|how| Action::Plain { how }),
        1 => any::<bool>().prop_map(|shared| Action::Lock { shared }),
        2 => Just(Action::Unlock),
        1 => Just(Action::Signal),
        1 => Just(Action::Await),
        1 => Just(Action::Send),
        1 => Just(Action::Recv),
        1 => (0..4_u32).prop_map(Action::Fork),
        1 => (0..4_u32).prop_map(Action::Join),
        1 => Just(Action::RetirePlain),
    ];
    prop::collection::vec((0..4_u32, action), 0..length)
}

/// The trace, after the births of the three variables (as 0, the last two by a first write), with
/// at most `writes` writes of them.
pub(crate) fn build(actions: &[(u32, Action)], writes: usize) -> Vec<Event> {
    let mut trace = [born(0, 0, 0), write(0, 1, 0), write(0, 2, 0)].concat();
    let mut written = 0;
    let mut exclusive = None;
    let mut shared: Vec<u32> = Vec::new();
    let mut messages: Vec<u32> = Vec::new();
    let mut joined = [false; 4];
    for &(strand, action) in actions {
        if joined[strand as usize] {
            continue;
        }
        match action {
            Action::Access {
                variable,
                how: 0 | 1,
                ..
            } => trace.push(event(strand, Op::Read, variable)),
            Action::Access {
                variable,
                how,
                value,
            } if written < writes => {
                let op = [Op::Write, Op::ReadWrite, Op::Update(Update::Add)][how as usize - 2];
                written += 1;
                trace.extend(valued(strand, op, variable, value));
            }
            Action::Access { .. } => {}
            Action::Plain { how } => {
                let op = [Op::Read, Op::Write, Op::Update(Update::Or)][how as usize];
                trace.push(event(strand, op, PLAIN));
            }
            Action::Lock { shared: true } if exclusive.is_none() && !shared.contains(&strand) => {
                shared.push(strand);
                trace.push(event(strand, Op::AcquireShared, LOCK));
            }
            Action::Lock { shared: false } if exclusive.is_none() && shared.is_empty() => {
                exclusive = Some(strand);
                trace.push(event(strand, Op::Acquire, LOCK));
            }
            Action::Unlock if exclusive == Some(strand) => {
                exclusive = None;
                trace.push(event(strand, Op::Release, LOCK));
            }
            Action::Unlock if shared.contains(&strand) => {
                shared.retain(|holder| *holder != strand);
                trace.push(event(strand, Op::ReleaseShared, LOCK));
            }
            Action::Lock { .. } | Action::Unlock => {}
            Action::Signal => trace.push(event(strand, Op::Signal, SIGNAL)),
            Action::Await => trace.push(event(strand, Op::Await, SIGNAL)),
            Action::Send => {
                // The smallest number that is free: a received message's number is given again.
                let message = (FIRST_MESSAGE..)
                    .find(|message| !messages.contains(message))
                    .unwrap();
                messages.push(message);
                trace.push(event(strand, Op::Send, message));
            }
            Action::Recv => {
                if !messages.is_empty() {
                    trace.push(event(strand, Op::Recv, messages.remove(0)));
                }
            }
            // A strand that is forked again without a join had retired by itself.
            Action::Fork(other)
                if other != strand && exclusive != Some(other) && !shared.contains(&other) =>
            {
                joined[other as usize] = false;
                trace.push(event(strand, Op::Fork, other));
            }
            Action::Join(other)
                if other != strand
                    && exclusive != Some(other)
                    && !shared.contains(&other)
                    && !joined[other as usize] =>
            {
                joined[other as usize] = true;
                trace.push(event(strand, Op::Join, other));
            }
            Action::Fork(_) | Action::Join(_) => {}
            Action::RetirePlain => trace.push(event(strand, Op::Retire, PLAIN)),
        }
    }
    trace
}
