//! The window: the events since the oldest open transaction's begin, kept for the report.
//!
//! Every cycle that can still close goes through an open transaction, so nothing older than the
//! oldest one's begin can be part of what a report tells. The window is bounded in bytes; where
//! that was too little, the oldest events are lost and the report says which. It never has a say in
//! a verdict.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

#[cfg(feature = "json")]
use serde::Deserialize;

use super::{Block, Object, Place, StrandNames};
use crate::trace::{BlockId, Event, Names, ObjectId, Op, Owner, SiteId, StrandId, Target};

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
    open: Vec<Open>,
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
struct Open {
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
    /// A window of at most so many bytes.
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
            let none = Open { begin: NONE, block };
            self.open.resize(at + 1, none);
        }
        if self.open[at].begin == NONE {
            self.open[at] = Open {
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

    /// Looks at every event once: a full window has millions, and the collector waits meanwhile.
    pub(super) fn survey(&self) -> Survey<'_> {
        let first = self.entries.front().map_or(NONE, |entry| entry.position);
        let open = (0..).map(StrandId).zip(&self.open);
        let open = open.filter(|(_, open)| open.begin < first);
        let mut survey = Survey {
            window: self,
            strands: Vec::new(),
            open: open
                .map(|(id, open)| (id, (open.block, open.begin)))
                .collect(),
            retired: HashMap::new(),
            forked: HashMap::new(),
        };
        let mut seen: Vec<bool> = Vec::new();
        let mut bounded: HashSet<StrandId> = HashSet::new();
        let mut strands = Vec::new();
        let mut see = |id: StrandId, position: u64, is_new: bool| {
            let at = id.0 as usize;
            if seen.len() <= at {
                seen.resize(at + 1, false);
            }
            if is_new || !seen[at] {
                seen[at] = true;
                strands.push((id, position));
            }
        };
        for Entry { event, position } in &self.entries {
            see(event.strand, *position, false);
            match event.op {
                Op::Begin => drop(bounded.insert(event.strand)),
                // It has an end, and no begin before it.
                Op::End if bounded.insert(event.strand) => {
                    survey.open.insert(event.strand, (event.block(), 0));
                }
                Op::Retire | Op::Recv => survey
                    .retired
                    .entry(event.object())
                    .or_default()
                    .push(*position),
                Op::Fork => {
                    see(event.other(), *position, true);
                    survey
                        .forked
                        .entry(event.other())
                        .or_default()
                        .push(*position);
                }
                Op::Join => see(event.other(), *position, false),
                _ => {}
            }
        }
        survey.strands = strands;
        survey
    }

    /// The events as a report keeps them: resolved, and at most `limit` of them, those nearest to
    /// the given positions.
    fn slice(
        &self,
        survey: &Survey<'_>,
        names: &dyn Names,
        strand_names: &StrandNames<'_>,
        around: &[u64],
        limit: usize,
    ) -> Slice {
        let kept = self.nearest(around, limit);
        let mut resolver = Resolver::new(survey, names, strand_names, &kept);
        let mut slice = Slice::default();
        let mut open = survey.open.clone();
        let note = |open: &mut BTreeMap<StrandId, (BlockId, u64)>, entry: &Entry| {
            let Entry { event, position } = entry;
            if event.op == Op::Begin {
                open.insert(event.strand, (event.block(), *position));
            } else if event.op == Op::End {
                open.remove(&event.strand);
            }
        };
        let mut next = 0;
        for range in kept {
            self.entries
                .range(next..range.start)
                .for_each(|entry| note(&mut open, entry));
            let before = self
                .entries
                .get(range.start)
                .map_or(NONE, |entry| entry.position);
            if range.start > next || (next == 0 && !open.is_empty()) {
                let inside = open.iter().map(|(strand, (block, begin))| {
                    Inside(
                        resolver.strand(*strand, before),
                        resolver.block(*block),
                        *begin,
                    )
                });
                let (at, events) = (slice.events.len(), (range.start - next) as u64);
                slice.gaps.push(Gap {
                    at,
                    events,
                    open: inside.collect(),
                });
            }
            for entry in self.entries.range(range.clone()) {
                note(&mut open, entry);
                let Entry { event, position } = entry;
                let target = match event.op.row().target {
                    Target::Object(_) => Some(resolver.object(event, *position)),
                    Target::Strand => Some(resolver.strand(event.other(), *position)),
                    Target::Block => Some(resolver.block(event.block())),
                    Target::Value | Target::Nothing => None,
                };
                let (strand, place) = (
                    resolver.strand(event.strand, *position),
                    resolver.place(event.site),
                );
                slice
                    .events
                    .push(Row(*position, strand, event.op, target, place));
            }
            next = range.end;
        }
        if next < self.entries.len() {
            let (at, events) = (slice.events.len(), (self.entries.len() - next) as u64);
            slice.gaps.push(Gap {
                at,
                events,
                open: Vec::new(),
            });
        }
        slice.missing = self.lost.map(|lost| Missing {
            from: lost.first,
            to: lost.last,
            events: lost.events,
            bytes: (self.capacity * size_of::<Entry>()) as u64,
        });
        let Resolver {
            strands,
            objects,
            blocks,
            places,
            ..
        } = resolver;
        (slice.strands, slice.objects, slice.blocks, slice.places) =
            (strands.list, objects.list, blocks.list, places.list);
        slice
    }

    /// Disjoint ranges of entries, in order: everything, or the surroundings of the given
    /// positions.
    fn nearest(&self, around: &[u64], limit: usize) -> Vec<std::ops::Range<usize>> {
        let length = self.entries.len();
        if length <= limit {
            return std::iter::once(0..length).collect();
        }
        let mut anchors: Vec<usize> = around
            .iter()
            .map(|position| {
                self.entries
                    .partition_point(|entry| entry.position < *position)
                    .min(length - 1)
            })
            .collect();
        anchors.sort_unstable();
        anchors.dedup();
        let each = (limit / anchors.len().max(1)).max(1);
        let mut ranges: Vec<std::ops::Range<usize>> = Vec::new();
        for anchor in anchors {
            let start = anchor.saturating_sub(each / 2);
            let end = (start + each).max(anchor + 1).min(length);
            match ranges.last_mut() {
                Some(last) if last.end >= start => last.end = last.end.max(end),
                _ => ranges.push(start..end),
            }
        }
        ranges
    }
}

/// What a look at every event of a window gives.
pub(super) struct Survey<'a> {
    window: &'a Window,
    /// The strands of the events, and those they fork and join: each with an event of its owner.
    pub(super) strands: Vec<(StrandId, u64)>,
    /// The transactions that are open before the first event, with their blocks and begins (0 where
    /// not known).
    open: BTreeMap<StrandId, (BlockId, u64)>,
    /// By number, the positions at which an object retired or a strand was forked, that is, at
    /// which owners change.
    retired: HashMap<ObjectId, Vec<u64>>,
    forked: HashMap<StrandId, Vec<u64>>,
}

impl Survey<'_> {
    /// Whether an object's number has been given to another object after the given position.
    pub(super) fn was_recycled(&self, object: ObjectId, position: u64) -> bool {
        let retired = self.retired.get(&object).map_or(&[][..], Vec::as_slice);
        let Some(retired) = retired.iter().find(|retired| **retired > position) else {
            return false;
        };
        let entries = &self.window.entries;
        let from = entries.partition_point(|entry| entry.position <= *retired);
        let mut later = entries.range(from..).map(|entry| &entry.event);
        later.any(|event| event.op.is_on_object() && event.object() == object)
    }

    /// The events as a report keeps them: resolved, and at most `limit` of them, those nearest to
    /// the given positions.
    pub(super) fn slice(
        &self,
        names: &dyn Names,
        strand_names: &StrandNames<'_>,
        around: &[u64],
        limit: usize,
    ) -> Slice {
        self.window.slice(self, names, strand_names, around, limit)
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

/// A window's events in a report.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Slice {
    /// The strands' names.
    pub strands: Vec<String>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The objects.
    pub objects: Vec<Object>,
    /// The places.
    pub places: Vec<Place>,
    /// The events, in order.
    pub events: Vec<Row>,
    /// Where events were left out to keep the report small.
    #[cfg_attr(feature = "json", serde(default))]
    pub gaps: Vec<Gap>,
    /// What the window was too small for.
    pub missing: Option<Missing>,
}

/// An event in a [`Slice`]: its position, the index of its strand, the operation, the index of its
/// object, block or strand, and the index of its place. In JSON an array.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Row(
    pub u64,
    pub usize,
    #[cfg_attr(feature = "json", serde(deserialize_with = "super::json::operation"))] pub Op,
    pub Option<usize>,
    pub Option<usize>,
);

/// Events that were left out of a report; none before the first event, where transactions are open
/// already.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Gap {
    /// Before which of the slice's events.
    pub at: usize,
    /// How many.
    pub events: u64,
    /// The transactions that are open at its end.
    pub open: Vec<Inside>,
}

/// An open transaction in a [`Gap`]: the index of its strand, that of its block, and the position
/// of its begin, 0 where that is not known. In JSON an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Inside(pub usize, pub usize, pub u64);

/// Events since the oldest open transaction's begin that the window had no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Missing {
    /// The first one's position.
    pub from: u64,
    /// The last one's position.
    pub to: u64,
    /// How many.
    pub events: u64,
    /// The window's bound.
    pub bytes: u64,
}

impl Slice {
    pub(super) fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        self.places
            .iter_mut()
            .chain(
                self.blocks
                    .iter_mut()
                    .filter_map(|block| block.place.as_mut()),
            )
            .chain(
                self.objects
                    .iter_mut()
                    .filter_map(|object| object.created.as_mut()),
            )
    }
}

/// A list and where each key's value stands in it.
struct Table<K, V> {
    indices: HashMap<K, usize>,
    list: Vec<V>,
}

impl<K: std::hash::Hash + Eq, V> Table<K, V> {
    fn new() -> Self {
        Table {
            indices: HashMap::new(),
            list: Vec::new(),
        }
    }

    fn get(&mut self, key: K, make: impl FnOnce() -> V) -> usize {
        *self.indices.entry(key).or_insert_with(|| {
            self.list.push(make());
            self.list.len() - 1
        })
    }
}

/// Resolves numbers as they were meant at an event's position. Where the names know only a number's
/// present owner, its earlier owners in the window are told apart, and nameless.
struct Resolver<'a> {
    names: &'a dyn Names,
    strand_names: &'a StrandNames<'a>,
    survey: &'a Survey<'a>,
    /// The last position at which the number is used.
    used: HashMap<ObjectId, u64>,
    strands: Table<(StrandId, usize), String>,
    objects: Table<(ObjectId, usize), Object>,
    blocks: Table<BlockId, Block>,
    places: Table<SiteId, Place>,
}

impl<'a> Resolver<'a> {
    fn new(
        survey: &'a Survey<'a>,
        names: &'a dyn Names,
        strand_names: &'a StrandNames<'a>,
        kept: &[std::ops::Range<usize>],
    ) -> Self {
        let mut used = HashMap::new();
        for Entry { event, position } in kept
            .iter()
            .flat_map(|range| survey.window.entries.range(range.clone()))
        {
            if event.op.is_on_object() && survey.retired.contains_key(&event.object()) {
                used.insert(event.object(), *position);
            }
        }
        Resolver {
            names,
            strand_names,
            survey,
            used,
            strands: Table::new(),
            objects: Table::new(),
            blocks: Table::new(),
            places: Table::new(),
        }
    }

    fn object(&mut self, event: &Event, position: u64) -> usize {
        let id = event.object();
        let retired = self.survey.retired.get(&id).map_or(&[][..], Vec::as_slice);
        let later = retired.len() - retired.partition_point(|retired| *retired < position);
        let recycled = match (later, retired.last(), self.used.get(&id)) {
            (0, ..) => false,
            // Retired, and the number not used since: the names still know it.
            (1, Some(retired), Some(used)) => used > retired,
            _ => true,
        };
        let names = self.names;
        self.objects.get((id, later), || match event.op {
            op @ (Op::Send | Op::Recv) => Object::gone(op),
            op => match names.owner_of_object(id, position) {
                Owner::Former { info, .. } => Object::from_info(info, names),
                Owner::Present if !recycled => Object::of(id, names),
                _ => Object::gone(op),
            },
        })
    }

    fn strand(&mut self, id: StrandId, position: u64) -> usize {
        // The fork itself already means the new owner.
        let forked = self.survey.forked.get(&id).map_or(&[][..], Vec::as_slice);
        let later = forked.len() - forked.partition_point(|forked| *forked <= position);
        let (names, strand_names) = (self.names, self.strand_names);
        self.strands.get((id, later), || {
            let name = strand_names.name(id, position);
            match names.owner_of_strand(id, position) {
                Owner::Present if later > 0 => format!("{name}, an earlier owner of the number"),
                _ => name,
            }
        })
    }

    fn block(&mut self, id: BlockId) -> usize {
        let names = self.names;
        self.blocks.get(id, || {
            let block = names.block(id);
            Block {
                name: block.name,
                place: Place::of(block.site, names),
            }
        })
    }

    fn place(&mut self, site: SiteId) -> Option<usize> {
        let names = self.names;
        if let Some(index) = self.places.indices.get(&site) {
            return Some(*index);
        }
        let place = Place::of(site, names)?;
        Some(self.places.get(site, || place))
    }
}
