//! The shape of a cycle: which of the known ways of going wrong it is.

use std::fmt;
use std::str::FromStr;

use super::{Access, Report};
use crate::trace::{Class, Op};

/// What an access does to its object, as far as patterns care.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Looks at it.
    Read,
    /// Replaces it, having looked at it or not.
    Write,
    /// Changes it by an operation that commutes with its own kind.
    Update,
}

impl Kind {
    /// The kind of an operation on data; nothing for locks, messages, threads and blocks.
    pub fn of(op: Op) -> Option<Kind> {
        match op.row().class {
            Class::Read => Some(Kind::Read),
            Class::Write => Some(Kind::Write),
            Class::Update => Some(Kind::Update),
            Class::Lock | Class::Order | Class::Boundary | Class::Note => None,
        }
    }

    /// Whether the object is another afterwards.
    pub fn changes(self) -> bool {
        self != Kind::Read
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Read => "read",
            Kind::Write => "write",
            Kind::Update => "update",
        }
    }
}

/// The shape of a cycle. In JSON its name, as [`Display`](fmt::Display) gives it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(
    feature = "json",
    derive(serde::Deserialize),
    serde(try_from = "String")
)]
pub enum Pattern {
    /// Two accesses of one object in the blamed block, and another's in between: `read-write-write`
    /// and its like, with `update` in the place of `write` where the operation is one.
    OneObject(Kind, Kind, Kind),
    /// The other came in at one object and went out at another: `two-objects`.
    TwoObjects,
    /// A lock was given up and taken again, and another had it in between: `lock-order`.
    LockOrder,
    /// Two parties, and a message, a fork, a join or a signal among the reasons: `order`.
    Order,
    /// More than two parties: `chain-3` and so on.
    Chain(usize),
    /// No cycle: the run of an async block was dropped half-way: `cancelled`.
    Cancelled,
    /// The engine keeps no edges: `unknown`.
    Unknown,
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Pattern::OneObject(a, b, c) => write!(f, "{}-{}-{}", a.name(), b.name(), c.name()),
            Pattern::TwoObjects => f.write_str("two-objects"),
            Pattern::LockOrder => f.write_str("lock-order"),
            Pattern::Order => f.write_str("order"),
            Pattern::Chain(parties) => write!(f, "chain-{parties}"),
            Pattern::Cancelled => f.write_str("cancelled"),
            Pattern::Unknown => f.write_str("unknown"),
        }
    }
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(name: String) -> Result<Pattern, String> {
        name.parse()
    }
}

impl FromStr for Pattern {
    type Err = String;

    fn from_str(name: &str) -> Result<Pattern, String> {
        let kind = |name: &str| {
            [Kind::Read, Kind::Write, Kind::Update]
                .into_iter()
                .find(|kind| kind.name() == name)
        };
        let one_object = || {
            let mut kinds = name.split('-').map(kind);
            let (Some(Some(a)), Some(Some(b)), Some(Some(c)), None) =
                (kinds.next(), kinds.next(), kinds.next(), kinds.next())
            else {
                return None;
            };
            Some(Pattern::OneObject(a, b, c))
        };
        match name {
            "two-objects" => Some(Pattern::TwoObjects),
            "lock-order" => Some(Pattern::LockOrder),
            "order" => Some(Pattern::Order),
            "cancelled" => Some(Pattern::Cancelled),
            "unknown" => Some(Pattern::Unknown),
            _ => match name.strip_prefix("chain-") {
                Some(parties) => parties.parse().ok().map(Pattern::Chain),
                None => one_object(),
            },
        }
        .ok_or_else(|| {
            format!("unknown pattern \"{name}\", expected read-write-write or its like, two-objects, lock-order, order, chain-3, cancelled or unknown")
        })
    }
}

/// The blamed transaction's way out of itself and back in, and what is between.
#[derive(Clone, Copy, Debug)]
pub struct Detour<'a> {
    /// The blamed transaction's access that another's came after.
    pub first: &'a Access,
    /// That other access.
    pub out: &'a Access,
    /// The other's access that came before the blamed transaction's last.
    pub back: &'a Access,
    /// The blamed transaction's access that closes the cycle.
    pub last: &'a Access,
    /// How many parties the cycle has, the blamed transaction among them; what one strand does one
    /// after the other is one party.
    pub parties: usize,
}

impl<'a> Detour<'a> {
    /// Nothing where the engine kept no edges.
    pub fn of(report: &'a Report) -> Option<Detour<'a>> {
        let count = report.edges.len();
        if count < 2 || count != report.transactions.len() {
            return None;
        }
        let exit = report.edges[report.blame];
        let entry = report.edges[(report.blame + count - 1) % count];
        let in_program_order = report
            .edges
            .iter()
            .filter(
                |edge| match (report.access(edge.from), report.access(edge.to)) {
                    (Some(from), Some(to)) => from.strand == to.strand,
                    _ => false,
                },
            )
            .count();
        Some(Detour {
            first: report.access(exit.from)?,
            out: report.access(exit.to)?,
            back: report.access(entry.from)?,
            last: report.access(entry.to)?,
            parties: count - in_program_order,
        })
    }
}

fn is_lock(access: &Access) -> bool {
    access.op.row().class == Class::Lock
}

impl Pattern {
    /// The pattern of a report, from its edges.
    pub fn of(report: &Report) -> Pattern {
        let Some(detour) = Detour::of(report) else {
            return Pattern::Unknown;
        };
        if detour.parties > 2 {
            return Pattern::Chain(detour.parties);
        }
        let Detour {
            first,
            out,
            back,
            last,
            ..
        } = detour;
        let one_object = first.object.is_some() && first.object == last.object;
        let kinds = [first, out, back, last].map(|access| Kind::of(access.op));
        match kinds {
            [Some(first), Some(out), Some(back), Some(last)] if one_object => {
                // The other's accesses may be two; what it changed matters more than what it looked
                // at.
                let middle = if out.changes() { out } else { back };
                Pattern::OneObject(first, middle, last)
            }
            [Some(_), Some(_), Some(_), Some(_)] => Pattern::TwoObjects,
            _ if [first, out, back, last].into_iter().all(is_lock) => Pattern::LockOrder,
            _ if [first, out, back, last]
                .into_iter()
                .all(|access| is_lock(access) || Kind::of(access.op).is_some()) =>
            {
                Pattern::TwoObjects
            }
            _ => Pattern::Order,
        }
    }
}
