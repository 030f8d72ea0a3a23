//! The window: the events since the oldest open transaction's begin, kept for the report.
//!
//! Every cycle that can still close goes through an open transaction, so nothing older than the
//! oldest one's begin can be part of what a report tells. The window is bounded in bytes; where
//! that was too little, the oldest events are lost and the report says which. It never has a say in
//! a verdict.

mod slice;
mod survey;

use std::collections::VecDeque;

pub use self::slice::{Gap, Inside, Missing, Row, Slice};
pub(super) use self::survey::Survey;
use crate::trace::{BlockId, Event, Op, StrandId};

/// The window's default bound.
pub const DEFAULT_BYTES: usize = 64 << 20;
/// How many events go into a report unless it is told otherwise.
pub const EVENTS_IN_A_REPORT: usize = 10_000;

const NONE: u64 = u64::MAX;

#[derive(Clone, Copy, Debug)]
struct Entry {
    event: Event,
    position: u64,
}

/// A bounded ring of events. Feed it every event of a trace that is well formed, before or after
/// the engine.
///
/// A push costs a few nanoseconds, and nothing is kept while no transaction is open.
///
/// ```
/// use aerodrome::report::window::Window;
/// use aerodrome::trace::{Event, Op, SiteId, StrandId};
///
/// let mut window = Window::new(1 << 20);
/// let event = |op| Event { strand: StrandId(0), target: 0, site: SiteId::NONE, op };
/// for (i, op) in [Op::Write, Op::Begin, Op::Read, Op::Write].into_iter().enumerate() {
///     window.push(event(op), i as u64 + 1);
/// }
/// assert_eq!(window.len(), 3, "the write before the begin is not kept");
/// ```
#[derive(Clone, Debug)]
pub struct Window {
    entries: VecDeque<Entry>,
    /// The bound, in entries.
    capacity: usize,
    /// How many entries fit before `grow` has to decide; at most `capacity`.
    room: usize,
    /// By strand, the open transaction.
    open: Vec<OpenTransaction>,
    /// How many transactions are open.
    depth: usize,
    /// The smallest of `open`.
    oldest: u64,
    /// The oldest transaction has ended. What it kept goes at the next push: its end may be what a
    /// report is about.
    stale: bool,
    /// The last event that was lost because the ring was full, and how many since the oldest begin.
    lost: Option<Lost>,
}

/// An open transaction: where it began, or `NONE`, and its block.
#[derive(Clone, Copy, Debug)]
struct OpenTransaction {
    begin: u64,
    block: BlockId,
}

#[derive(Clone, Copy, Debug)]
struct Lost {
    first: u64,
    last: u64,
    events: u64,
}

impl Window {
    /// A window of at most this many bytes.
    pub fn new(bytes: usize) -> Window {
        Window {
            entries: VecDeque::new(),
            capacity: (bytes / size_of::<Entry>()).max(1),
            room: 0,
            open: Vec::new(),
            depth: 0,
            oldest: NONE,
            stale: false,
            lost: None,
        }
    }

    /// How many events are in it.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it holds nothing.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Takes the next event. Positions never fall.
    #[inline]
    pub fn push(&mut self, event: Event, position: u64) {
        if self.stale {
            self.trim();
        }
        match event.op {
            Op::Begin => self.begin(event.strand, event.block(), position),
            Op::End => self.end(event.strand),
            Op::Value | Op::Born => return,
            _ if self.depth == 0 => return,
            _ => {}
        }
        if self.entries.len() == self.room {
            self.grow();
        }
        self.entries.push_back(Entry { event, position });
    }

    fn begin(&mut self, strand: StrandId, block: BlockId, position: u64) {
        let at = strand.0 as usize;
        if self.open.len() <= at {
            let none = OpenTransaction { begin: NONE, block };
            self.open.resize(at + 1, none);
        }
        if self.open[at].begin == NONE {
            self.open[at] = OpenTransaction {
                begin: position,
                block,
            };
            self.depth += 1;
            self.oldest = self.oldest.min(position);
        }
    }

    fn end(&mut self, strand: StrandId) {
        let open = self.open.get_mut(strand.0 as usize);
        let Some(open) = open.filter(|open| open.begin != NONE) else {
            return;
        };
        let was_oldest = open.begin == self.oldest;
        open.begin = NONE;
        self.depth -= 1;
        if was_oldest {
            self.oldest = self
                .open
                .iter()
                .map(|open| open.begin)
                .min()
                .unwrap_or(NONE);
            self.stale = true;
        }
    }

    #[cold]
    fn trim(&mut self) {
        self.stale = false;
        if self.depth == 0 {
            self.entries.clear();
        } else {
            let kept = self
                .entries
                .partition_point(|entry| entry.position < self.oldest);
            self.entries.drain(..kept);
        }
        self.lost = self
            .lost
            .filter(|lost| self.oldest <= lost.last)
            .map(|lost| Lost {
                first: lost.first.max(self.oldest),
                last: lost.last,
                events: lost.events.min(lost.last - lost.first.max(self.oldest) + 1),
            });
    }

    /// Makes room for one more: by growing as far as the bound allows, else by losing the oldest.
    #[cold]
    fn grow(&mut self) {
        let length = self.entries.len();
        if length < self.capacity {
            let more = length.max(64).min(self.capacity - length);
            self.entries.reserve_exact(more);
            self.room = length + more;
        } else if let Some(entry) = self.entries.pop_front() {
            let lost = self.lost.get_or_insert(Lost {
                first: entry.position,
                last: entry.position,
                events: 0,
            });
            lost.last = entry.position;
            lost.events += 1;
        }
    }
}

/// Reads a number of bytes as a user writes it: `67108864`, `64M`, `64MiB`, `1G`.
///
/// ```
/// # use aerodrome::report::window::parse_bytes;
/// assert_eq!(parse_bytes("64M"), Ok(64 << 20));
/// assert!(parse_bytes("much").is_err());
/// ```
pub fn parse_bytes(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let shift = match text[digits..].trim().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        _ => {
            return Err(format!(
                "\"{text}\" is not a number of bytes: expected digits and K, M, G or nothing"
            ));
        }
    };
    let number: usize = text[..digits]
        .parse()
        .map_err(|_| format!("\"{text}\" is not a number of bytes: expected digits first"))?;
    number
        .checked_mul(1 << shift)
        .ok_or_else(|| format!("\"{text}\" is more than this machine can address"))
}
