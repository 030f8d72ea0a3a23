//! What a report takes from a window: the events around a cycle, with their names.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::slice::{Gap, Inside, Missing, Row, Slice};
use super::{Entry, NONE, Window};
use crate::dense::Dense;
use crate::report::{Block, Object, Place, StrandNames};
use crate::trace::{BlockId, Event, Names, ObjectId, Op, Owner, SiteId, StrandId, Target};

impl Window {
    /// Looks at every event once: a full window has millions, and the collector waits meanwhile.
    pub(in crate::report) fn survey(&self) -> Survey<'_> {
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
        let mut seen: Dense<StrandId, bool> = Dense::new();
        let mut bounded: HashSet<StrandId> = HashSet::new();
        let mut strands = Vec::new();
        let mut see = |id: StrandId, position: u64, is_new: bool| {
            if !std::mem::replace(seen.entry(id), true) || is_new {
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

    /// Disjoint ranges of entries, in order: everything, or the surroundings of the given
    /// positions.
    fn nearest(&self, around: &[u64], limit: usize) -> Vec<Range<usize>> {
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
        let mut ranges: Vec<Range<usize>> = Vec::new();
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
pub(in crate::report) struct Survey<'a> {
    window: &'a Window,
    /// The strands of the events, and those they fork and join: each with an event of its owner.
    pub(in crate::report) strands: Vec<(StrandId, u64)>,
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
    pub(in crate::report) fn was_recycled(&self, object: ObjectId, position: u64) -> bool {
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
    pub(in crate::report) fn slice(
        &self,
        names: &dyn Names,
        strand_names: &StrandNames<'_>,
        around: &[u64],
        limit: usize,
    ) -> Slice {
        let kept = self.window.nearest(around, limit);
        let mut slicer = Slicer {
            entries: &self.window.entries,
            resolver: Resolver::new(self, names, strand_names, &kept),
            open: self.open.clone(),
            next: 0,
            slice: Slice::default(),
        };
        kept.into_iter().for_each(|range| slicer.keep(range));
        let mut slice = slicer.finish();
        slice.missing = self.window.lost.map(|lost| Missing {
            from: lost.first,
            to: lost.last,
            events: lost.events,
            bytes: (self.window.capacity * size_of::<Entry>()) as u64,
        });
        slice
    }
}

/// A slice in the making.
struct Slicer<'a> {
    entries: &'a VecDeque<Entry>,
    resolver: Resolver<'a>,
    /// The transactions that are open before the next event.
    open: BTreeMap<StrandId, (BlockId, u64)>,
    /// The index of the next event.
    next: usize,
    slice: Slice,
}

impl Slicer<'_> {
    /// Leaves out what comes before the range, and keeps the range.
    fn keep(&mut self, range: Range<usize>) {
        let skipped = self.next..range.start;
        for entry in self.entries.range(skipped.clone()) {
            self.note(entry);
        }
        if !skipped.is_empty() || (self.next == 0 && !self.open.is_empty()) {
            let first = self.entries.get(range.start);
            let position = first.map_or(NONE, |entry| entry.position);
            let open = std::mem::take(&mut self.open);
            let inside = open.iter().map(|(strand, (block, begin))| {
                let strand = self.resolver.strand(*strand, position);
                Inside(strand, self.resolver.block(*block), *begin)
            });
            let inside = inside.collect();
            self.open = open;
            self.gap(skipped.len(), inside);
        }
        for entry in self.entries.range(range.clone()) {
            self.note(entry);
            self.slice.events.push(self.resolver.row(entry));
        }
        self.next = range.end;
    }

    fn note(&mut self, Entry { event, position }: &Entry) {
        match event.op {
            Op::Begin => drop(self.open.insert(event.strand, (event.block(), *position))),
            Op::End => drop(self.open.remove(&event.strand)),
            _ => {}
        }
    }

    fn gap(&mut self, events: usize, open: Vec<Inside>) {
        self.slice.gaps.push(Gap {
            at: self.slice.events.len(),
            events: events as u64,
            open,
        });
    }

    fn finish(mut self) -> Slice {
        let rest = self.entries.len() - self.next;
        if rest > 0 {
            self.gap(rest, Vec::new());
        }
        Slice {
            strands: self.resolver.strands.list,
            objects: self.resolver.objects.list,
            blocks: self.resolver.blocks.list,
            places: self.resolver.places.list,
            ..self.slice
        }
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
        kept: &[Range<usize>],
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

    fn row(&mut self, Entry { event, position }: &Entry) -> Row {
        let target = match event.op.row().target {
            Target::Object(_) => Some(self.object(event, *position)),
            Target::Strand => Some(self.strand(event.other(), *position)),
            Target::Block => Some(self.block(event.block())),
            Target::Value | Target::Nothing => None,
        };
        let strand = self.strand(event.strand, *position);
        Row(*position, strand, event.op, target, self.place(event.site))
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
        self.blocks.get(id, || Block::of(id, names))
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
