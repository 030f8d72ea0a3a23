//! Traces: what happened, in one order.
//!
//! A trace is a sequence of [`Event`]s and the names behind their numbers ([`Names`]). It is the
//! same thing in memory and in a file; engines, predictors and reports know nothing else of the
//! program that ran.
//!
//! [`open`] reads a trace from a file, in one of four [formats](Format); [`WellFormed`] says
//! whether it is one.

pub mod aero;
pub(crate) mod by_name;
mod error;
mod former;
mod intern;
pub(crate) mod ledger;
mod op;
pub mod rapid;
pub(crate) mod shown;
mod source;
mod tables;
mod wellformed;

pub use aero::{AeroReader, AeroWriter};
pub use error::{Error, Fault, Place};
pub use former::Owner;
pub(crate) use former::{Former, Then};
pub use op::op_name;
pub(crate) use op::{Class, TABLE, Target};
pub use rapid::{CsvReader, RoadRunnerReader, StdReader, StdWriter};
pub use source::{Format, Source, from_reader, open, open_ahead};
use tables::Description;
pub use tables::Tables;
pub use wellformed::{Admitted, Malformed, Rule, WellFormed, describe, object_name};

/// The longest name in a trace, in bytes. Readers refuse a longer one, writers cut it.
pub const MAX_NAME: usize = 4096;

/// A strand: what the papers call a thread.
///
/// The number is dense. It may be given to a new strand by a later fork once its owner has been
/// joined or has retired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct StrandId(pub u32);

/// A tracked lock, variable, channel or message.
///
/// The number is dense. It may be given to a new object after [`Op::Retire`] or [`Op::Recv`]. One
/// object can be both a lock and a variable: `Mutex<T>` is acquired and released, and its content
/// is read and written, under one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct ObjectId(pub u32);

/// A source location. Not dense: an opaque code that [`Names::site`] resolves.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct SiteId(pub u32);

impl SiteId {
    /// No location is known.
    pub const NONE: SiteId = SiteId(0);
}

/// An atomic block of the source. Not dense: an opaque code that [`Names::block`] resolves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct BlockId(pub u32);

/// Which updates commute: two updates of the same kind do, and nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names of the atomics' methods")]
pub enum Update {
    /// `fetch_add` and `fetch_sub`.
    Add,
    And,
    Or,
    Xor,
    Max,
    Min,
    /// A `swap`. Two of them commute only where they change nothing, so there is an [`Op::Vain`] of
    /// this kind and no [`Op::Update`].
    Swap,
    /// A `compare_exchange` that succeeds. There is an [`Op::Vain`] of this kind and no
    /// [`Op::Update`]; one that changes the value is an [`Op::CompareExchange`].
    Exchange,
    /// A message was put into a channel or taken out: changes what `len`, `is_empty` and a vain
    /// `try_recv` see.
    Channel,
    /// A cell that is set once was initialised. In vain: it was found to be, by a strand that would
    /// have done it.
    Init,
}

/// What an event does. The comment says what the event's `target` is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Op {
    /// A block is entered (block).
    Begin,
    /// The block is left (block).
    End,
    /// The strand waits for another's progress, which cannot be atomic: under the `rust` semantics
    /// the transaction ends and a new one of the same block begins (0).
    Split,
    /// The program says that it starts again: under the `rust` semantics, what a transaction that
    /// has written nothing yet has looked at does not count (0).
    Restart,
    /// A pause inside a block, such as `spin_loop`, `yield_now` or `sleep`: a [`Split`](Op::Split)
    /// under the `rust` semantics if the strand then looks again at what it had looked at before
    /// (0).
    Pause,
    /// A `Condvar` is notified. It orders nothing; it says that others wait for what the strand has
    /// changed under the lock that it holds or has just released (0).
    Notify,
    /// (object)
    Read,
    /// (object)
    Write,
    /// A read and a write that nothing comes between, such as `swap` (object).
    ReadWrite,
    /// A read-modify-write that commutes with its own kind (object).
    Update(Update),
    /// The strand's next update brings the variable to zero, or across, and the program goes by its
    /// result: under the `rust` semantics every later [`Leave`](Op::Leave) comes after it (object).
    Reach,
    /// The strand's next update takes the variable from zero, or across (object).
    Leave,
    /// A read-modify-write that left the value as it was: commutes with reads and with its own kind
    /// (object).
    Vain(Update),
    /// A `compare_exchange` that succeeded: a read and a write that answers for the block's earlier
    /// reads (object).
    CompareExchange,
    /// A `compare_exchange` that failed: a read that answers for the block's earlier ones, and a
    /// point of retry (object).
    CompareExchangeFailed,
    /// A `try_lock` found the lock taken: a look at the lock, not an access (object).
    Busy,
    /// (object)
    Acquire,
    /// (object)
    Release,
    /// (object)
    AcquireShared,
    /// (object)
    ReleaseShared,
    /// The holder of a shared lock becomes its exclusive holder, with no moment in between
    /// (object).
    Upgrade,
    /// The exclusive holder of a lock becomes a shared holder, with no moment in between (object).
    Downgrade,
    /// (strand)
    Fork,
    /// (strand)
    Join,
    /// The strand's last event. It may still be joined; its number may be given to another by a
    /// later fork (0).
    Exit,
    /// Every earlier signal of an object comes before every later await of it; nothing else is
    /// ordered: barriers, park and unpark, and the like (object).
    Signal,
    /// (object)
    Await,
    /// A message is sent: its object is born (object).
    Send,
    /// The message is received: ordered after its send, and its object retires (object).
    Recv,
    /// The object is gone; its number may be given to another (object).
    Retire,
    /// The value that this strand's next write stores, or its next birth finds, for properties: the
    /// low half is in `target`, the high half in `site`; see [`Event::value`].
    Value,
    /// Properties know the object from here on, by its name and the strand's [`Value`](Op::Value)
    /// before this. Not an access: it orders nothing (object).
    Born,
}

/// One step of one strand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Event {
    /// Who.
    pub strand: StrandId,
    /// On what: an object, a strand or a block, as the operation says.
    pub target: u32,
    /// Where in the source.
    pub site: SiteId,
    /// What.
    pub op: Op,
}

const _: () = assert!(size_of::<Event>() == 16);

impl Event {
    /// The strand does this to the target, at the site.
    #[inline]
    pub const fn new(strand: StrandId, op: Op, target: u32, site: SiteId) -> Event {
        Event {
            strand,
            target,
            site,
            op,
        }
    }

    /// The object of an operation on objects.
    #[inline]
    pub fn object(&self) -> ObjectId {
        ObjectId(self.target)
    }

    /// The object, where the operation is on one.
    pub(crate) fn its_object(&self) -> Option<ObjectId> {
        self.op.is_on_object().then(|| self.object())
    }

    /// The other strand of a fork or join.
    #[inline]
    pub fn other(&self) -> StrandId {
        StrandId(self.target)
    }

    /// The block of a begin or end.
    #[inline]
    pub fn block(&self) -> BlockId {
        BlockId(self.target)
    }

    /// An [`Op::Value`]: the strand's next write stores this, or its next birth or read finds it.
    /// Where there are two before a write, the first is what it replaces.
    #[inline]
    pub fn of_value(strand: StrandId, value: i64) -> Event {
        let high = SiteId((value as u64 >> 32) as u32);
        Event::new(strand, Op::Value, value as u32, high)
    }

    /// The value of an [`Op::Value`].
    #[inline]
    pub fn value(&self) -> i64 {
        (u64::from(self.target) | u64::from(self.site.0) << 32) as i64
    }
}

/// What kind of thing an object is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ObjectKind {
    /// Read and written, never locked.
    #[default]
    Variable,
    /// A lock around data: under the `rust` semantics the data orders, not the lock.
    Lock,
    /// A lock around nothing (`Mutex<()>`): orders by release and acquire under either semantics.
    BareLock,
    /// A channel's state.
    Channel,
    /// One message.
    Message,
    /// A barrier, a parked thread: signalled and awaited.
    Signal,
}

/// How recorded operations are read; `docs/rules.md` has every difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Semantics {
    /// No alarm that a Rust programmer would call false.
    #[default]
    Rust,
    /// The papers' definitions to the letter.
    Paper,
}

/// What is known of a strand.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StrandInfo {
    /// The thread's name, or the name in the trace.
    pub name: String,
}

/// What is known of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectInfo {
    /// What it is.
    pub kind: ObjectKind,
    /// The name that the program gave it (`aerodrome::name`) or that it has in the trace.
    pub name: Option<String>,
    /// The Rust type (`Mutex<Account>`), where known.
    pub type_name: Option<String>,
    /// Where it was made.
    pub created: SiteId,
}

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum SiteInfo {
    /// File, line and column, each counted from 1.
    Source {
        /// As the compiler names it.
        file: String,
        /// From 1.
        line: u32,
        /// From 1.
        column: u32,
    },
    /// A number or word that only the trace's author understands (the third field of the STD
    /// format).
    Label(String),
}

/// What is known of an atomic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockInfo {
    /// `Account::withdraw`, or the name in `begin(..)`; empty where `begin` came without one.
    pub name: String,
    /// Where the block is.
    pub site: SiteId,
}

/// The names behind an event's numbers, at the moment at which the event was the trace's last.
pub trait Names {
    /// A strand that has occurred.
    fn strand(&self, id: StrandId) -> StrandInfo;
    /// An object that has occurred and not retired.
    fn object(&self, id: ObjectId) -> ObjectInfo;
    /// The same object's kind, without its names: asked for every lock event.
    fn kind(&self, id: ObjectId) -> ObjectKind;
    /// A site; nothing for [`SiteId::NONE`].
    fn site(&self, id: SiteId) -> Option<SiteInfo>;
    /// A block that has occurred.
    fn block(&self, id: BlockId) -> BlockInfo;

    /// Whose a strand's number was at an earlier event. By default numbers have one owner.
    fn owner_of_strand(&self, id: StrandId, position: u64) -> Owner<StrandInfo> {
        let _ = (id, position);
        Owner::Present
    }

    /// Whose an object's number was at an earlier event. By default numbers have one owner.
    fn owner_of_object(&self, id: ObjectId, position: u64) -> Owner<ObjectInfo> {
        let _ = (id, position);
        Owner::Present
    }
}
