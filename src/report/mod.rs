//! Reports: a violation told so that whoever reads it knows what happened and which lines to
//! change.
//!
//! A [`Report`] is the violation as data: every number resolved to its name, owned, and
//! serialisable. It is made in two steps. [`Report::new`] asks the [`Names`] and does nothing else,
//! because numbers are recycled and the names are only right at the moment of the violation; it
//! touches no file, so it may run under the collector's lock.
//! [`Report::with_sources`] then reads the source lines and shortens the paths. From there on
//! everything is a pure function of the report: [`text`], [`json`], [`html`] and, with the feature
//! `json`, SARIF.
//!
//! ```
//! # use aerodrome::check::{Access, Edge, Transaction, Violation};
//! # use aerodrome::trace::*;
//! use aerodrome::report::{Extras, Report, source::Workspace, text};
//! # let mut names = Tables::new();
//! # let balance = ObjectInfo { kind: ObjectKind::Lock, name: Some("balance".into()), ..ObjectInfo::default() };
//! # names.define_object(ObjectId(0), &balance);
//! # names.define_block(BlockId(0), &BlockInfo { name: "withdraw".into(), site: SiteId::NONE });
//! # let access = |position, strand, op| Access {
//! #     position, strand: StrandId(strand), op, object: Some(ObjectId(0)), site: SiteId(position as u32),
//! # };
//! # let transaction = |strand| Transaction {
//! #     strand: StrandId(strand), block: Some(BlockId(0)), begin: None, site: SiteId::NONE,
//! # };
//! # let (a, b, c) = (access(3, 0, Op::Read), access(4, 1, Op::Write), access(5, 0, Op::Write));
//! # let violation = Violation {
//! #     event: 5, blame: 0, transactions: vec![transaction(0), transaction(1)],
//! #     edges: vec![Edge { from: a, to: b }, Edge { from: b, to: c }],
//! # };
//! let report = Report::new(&violation, &names, &Extras::default()).with_sources(&Workspace::find());
//! assert_eq!(report.message, "`withdraw` is not atomic");
//! assert_eq!(report.pattern.to_string(), "read-write-write");
//! print!("{}", text::render(&report, &text::Style::plain()));
//! ```

mod cause;
pub mod html;
pub mod json;
pub mod pattern;
mod resolve;
#[cfg(feature = "json")]
pub mod sarif;
pub(crate) mod schedule;
pub mod source;
mod splits;
mod strands;
pub mod text;
pub mod window;
pub(crate) mod words;

#[cfg(feature = "json")]
use serde::Deserialize;

use crate::trace::{
    BlockId, Names, ObjectId, ObjectInfo, ObjectKind, Op, SiteId, SiteInfo, StrandId, Target,
};
#[cfg(feature = "check")]
pub(crate) use cause::Cause;
pub(crate) use cause::between;
pub use cause::{Group, groups};
use pattern::Pattern;
pub use splits::Split;
pub(crate) use strands::StrandNames;
use window::Slice;

/// The version of the report's schema: the number in the field `schema`.
pub const SCHEMA: u32 = 1;

/// One violation, resolved and owned. Its JSON form is described in [`json`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: u32,
    /// How sure it is.
    #[cfg_attr(feature = "json", serde(default))]
    pub tier: Tier,
    /// The headline: which block is not atomic.
    pub message: String,
    /// The shape of the cycle.
    pub pattern: Pattern,
    /// What is wrong, in one sentence.
    pub explanation: String,
    /// The cycle step by step, where it has more than two parties.
    #[cfg_attr(feature = "json", serde(default))]
    pub chain: Vec<String>,
    /// The schedule that shows it, line by line, where it was predicted.
    #[cfg_attr(feature = "json", serde(default))]
    pub schedule: Vec<String>,
    /// What to do about it, best first.
    #[cfg_attr(feature = "json", serde(default))]
    pub help: Vec<String>,
    /// The position of the event that closed the cycle, from 1.
    pub event: u64,
    /// The transaction to blame: an index into `transactions`.
    pub blame: usize,
    /// The transactions of the cycle, in its order.
    pub transactions: Vec<Transaction>,
    /// Why each transaction comes before the next, and the last before the first.
    pub edges: Vec<Edge>,
    /// The accesses that the edges name, in the order in which they happened, or would happen.
    pub accesses: Vec<Access>,
    /// The objects of the accesses.
    pub objects: Vec<Object>,
    /// The test or family it belongs to.
    pub test: Option<String>,
    /// How often the same violation came up again and was not reported.
    #[cfg_attr(feature = "json", serde(default))]
    pub repeats: u64,
    /// Lines of the sources that the report names.
    #[cfg_attr(feature = "json", serde(default))]
    pub excerpts: Vec<source::Excerpt>,
    /// The events around the cycle.
    pub window: Option<Slice>,
}

/// How sure a report is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "json",
    derive(Deserialize),
    serde(rename_all = "kebab-case")
)]
pub enum Tier {
    /// It happened.
    #[default]
    Observed,
    /// Another schedule of the same run has it, if control flow does not change.
    Predicted,
    /// It may be a false alarm.
    Potential,
}

impl Tier {
    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Tier::Observed => "observed",
            Tier::Predicted => "predicted",
            Tier::Potential => "potential",
        }
    }
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "json", derive(Deserialize), serde(untagged))]
pub enum Place {
    /// File, line and column, each counted from 1.
    Source {
        /// The path, relative to the workspace where it lies there.
        file: String,
        /// From 1.
        line: u32,
        /// From 1, in characters.
        column: u32,
    },
    /// What the trace's author wrote.
    Label {
        /// The number or word.
        label: String,
    },
}

impl Place {
    /// The place of a site, where there is one.
    pub fn of(site: SiteId, names: &dyn Names) -> Option<Place> {
        Some(match names.site(site)? {
            SiteInfo::Source { file, line, column } => Place::Source { file, line, column },
            SiteInfo::Label(label) => Place::Label { label },
        })
    }
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Place::Source { file, line, column } => write!(f, "{file}:{line}:{column}"),
            Place::Label { label } => write!(f, "site {label}"),
        }
    }
}

/// An atomic block.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Block {
    /// Its name; may be empty.
    pub name: String,
    /// Where it is in the source.
    pub place: Option<Place>,
}

impl Block {
    pub(crate) fn of(id: BlockId, names: &dyn Names) -> Block {
        let block = names.block(id);
        Block {
            name: block.name,
            place: Place::of(block.site, names),
        }
    }
}

/// A transaction of the cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Transaction {
    /// Nothing for a single operation outside any block.
    pub block: Option<Block>,
    /// The strand's name.
    pub strand: String,
    /// The position at which it began, where known.
    pub begin: Option<u64>,
    /// Where it began.
    pub place: Option<Place>,
    /// It was left by a panic.
    #[cfg_attr(feature = "json", serde(default))]
    pub panicked: bool,
}

/// Why one transaction comes before another: the numbers of two accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Edge {
    /// The number of the earlier access.
    pub from: usize,
    /// The number of the later access.
    pub to: usize,
}

/// An access of the cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Access {
    /// From 1, in the order in which the accesses happened.
    pub number: usize,
    /// The event's position in the trace.
    pub position: u64,
    /// Its transaction: an index into the report's.
    pub transaction: usize,
    /// The strand's name.
    pub strand: String,
    /// What it did.
    #[cfg_attr(feature = "json", serde(deserialize_with = "json::operation"))]
    pub op: Op,
    /// To which object: an index into the report's.
    pub object: Option<usize>,
    /// Where.
    pub place: Option<Place>,
    /// How it came there, innermost first, where backtraces are on.
    #[cfg_attr(feature = "json", serde(default))]
    pub backtrace: Vec<Frame>,
}

/// A function on the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Frame {
    /// The function's demangled name.
    pub function: String,
    /// Where in it.
    pub place: Option<Place>,
}

impl Frame {
    /// Whether a reader of the report wants to see it: not the checker's, the standard library's or
    /// the system's.
    pub fn is_users(&self) -> bool {
        const OTHERS: [&str; 8] = [
            "aerodrome::",
            "aerodrome_",
            "std::",
            "core::",
            "alloc::",
            "test::",
            "backtrace::",
            "rayon_core::",
        ];
        const SYSTEM: [&str; 10] = [
            "_start",
            "main",
            "clone",
            "clone3",
            "start_thread",
            "__libc_start_main",
            "__libc_start_call_main",
            "rust_begin_unwind",
            "__rust_try",
            "<unknown>",
        ];
        // `<T as Trait>::f` counts as T's.
        let name = self
            .function
            .trim_start_matches(['<', '&', '*', '[', '('])
            .trim_start_matches("dyn ")
            .trim_start_matches("mut ");
        !(OTHERS.iter().any(|own| name.starts_with(own))
            || SYSTEM.contains(&name)
            || name.contains("__rust_begin_short_backtrace")
            || name.contains("__rust_end_short_backtrace"))
    }
}

/// An object of the cycle.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Object {
    /// What it is.
    #[cfg_attr(feature = "json", serde(deserialize_with = "json::kind"))]
    pub kind: ObjectKind,
    /// The name that the program or the trace gave it.
    pub name: Option<String>,
    /// Its Rust type.
    #[cfg_attr(feature = "json", serde(rename = "type"))]
    pub type_name: Option<String>,
    /// Where it was made.
    pub created: Option<Place>,
}

impl Object {
    pub(crate) fn of(id: ObjectId, names: &dyn Names) -> Object {
        Object::from_info(names.object(id), names)
    }

    fn from_info(info: ObjectInfo, names: &dyn Names) -> Object {
        Object {
            kind: info.kind,
            name: info.name,
            type_name: info.type_name,
            created: Place::of(info.created, names),
        }
    }

    /// An object whose number has been given away since: no more is known than what `op` says.
    fn gone(op: Op) -> Object {
        let kind = match op.row().target {
            Target::Object(kind) => kind,
            _ => ObjectKind::Variable,
        };
        Object {
            kind,
            name: None,
            type_name: None,
            created: None,
        }
    }

    /// The name, or else the type without its modules, or else the kind; in code quotes where it is
    /// code.
    pub fn label(&self) -> String {
        match (&self.name, &self.type_name) {
            (Some(name), _) => format!("`{name}`"),
            (None, Some(type_name)) => format!("`{}`", words::short_type(type_name)),
            (None, None) => self.kind.nameless().to_string(),
        }
    }
}

/// What a report has beside the violation.
#[derive(Clone, Debug, Default)]
pub struct Extras<'a> {
    /// How sure it is.
    pub tier: Tier,
    /// The test or family it belongs to.
    pub test: Option<String>,
    /// How often it came up again.
    pub repeats: u64,
    /// The events since the oldest open transaction's begin, for the page.
    pub window: Option<&'a window::Window>,
    /// At most this many of them go into the report, those nearest to the cycle; 0 is
    /// [`window::EVENTS_IN_A_REPORT`].
    pub events: usize,
    /// The stacks of accesses, by the access's position.
    pub backtraces: Vec<(u64, Vec<Frame>)>,
    /// The transactions that a panic has left: indices into the violation's.
    pub panicked: Vec<usize>,
    /// The blamed block has restarted after it had written, which had no effect.
    pub restarted_in_vain: bool,
    /// The schedule that shows a prediction: each strand runs up to an event.
    pub schedule: Vec<(StrandId, u64)>,
}

impl Report {
    /// Reads the source lines that the report names, as far as they can be read, and shortens its
    /// paths.
    pub fn with_sources(mut self, workspace: &source::Workspace) -> Report {
        source::attach(&mut self, workspace);
        self
    }

    /// An access by its number.
    pub fn access(&self, number: usize) -> Option<&Access> {
        self.accesses.get(number.checked_sub(1)?)
    }

    /// The object of an access.
    pub fn object_of(&self, access: &Access) -> Option<&Object> {
        self.objects.get(access.object?)
    }

    /// The blamed transaction.
    pub fn blamed(&self) -> Option<&Transaction> {
        self.transactions.get(self.blame)
    }

    /// The same for the same cycle of blocks and operations, wherever in their files they have
    /// moved to.
    pub fn fingerprint(&self) -> String {
        let mut parts: Vec<String> = vec![format!("{:?}", self.tier), self.pattern.to_string()];
        for transaction in &self.transactions {
            parts.push(
                transaction
                    .block
                    .as_ref()
                    .map(|block| block.name.clone())
                    .unwrap_or_default(),
            );
        }
        for access in &self.accesses {
            parts.push(format!(
                "{} {}",
                access.transaction,
                access.op.does(&words::object_label(self, access))
            ));
            match &access.place {
                Some(Place::Source { file, line, .. }) => {
                    parts.push(file.clone());
                    parts.push(
                        self.line(file, *line)
                            .map(|text| text.trim().to_string())
                            .unwrap_or_default(),
                    );
                }
                Some(Place::Label { label }) => parts.push(label.clone()),
                None => {}
            }
        }
        // FNV-1a, the hash of Fowler, Noll and Vo: fingerprints must not change with a library.
        const FNV_OFFSET_BASIS: u64 = 0xcbf2_9ce4_8422_2325;
        const FNV_PRIME: u64 = 0x0100_0000_01b3;
        let hash = parts
            .join("\0")
            .bytes()
            .fold(FNV_OFFSET_BASIS, |hash, byte| {
                (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME)
            });
        format!("{hash:016x}")
    }

    /// Every place in the report that a reader looks at.
    pub(crate) fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        let transactions = self.transactions.iter_mut().flat_map(|t| {
            t.place
                .iter_mut()
                .chain(t.block.iter_mut().filter_map(|block| block.place.as_mut()))
        });
        let accesses = self.accesses.iter_mut().flat_map(|a| {
            a.place.iter_mut().chain(
                a.backtrace
                    .iter_mut()
                    .filter_map(|frame| frame.place.as_mut()),
            )
        });
        let objects = self
            .objects
            .iter_mut()
            .filter_map(|object| object.created.as_mut());
        let window = self.window.iter_mut().flat_map(Slice::places_mut);
        transactions.chain(accesses).chain(objects).chain(window)
    }
}

impl std::fmt::Display for Report {
    /// The report as plain text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&text::render(self, &text::Style::plain()))
    }
}
