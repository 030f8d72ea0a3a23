//! The witnesses of a strand's accesses to an object.

use super::Kept;
use super::visits::Place;
use crate::check::{Access, Transaction};
use crate::dense::{Shelf, prefetch};
use crate::predict::{Class, Context, Hold, LockState};
use crate::trace::{BlockId, ObjectId, Op, SiteId, StrandId, Update};
use std::borrow::Cow;
use std::cell::Cell;

/// An access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) position: u64,
    pub(super) site: SiteId,
    pub(super) state: LockState,
    pub(super) op: Op,
}

impl Point {
    pub(super) fn access(self, strand: StrandId, object: ObjectId) -> Access {
        Access {
            position: self.position,
            strand,
            op: self.op,
            object: Some(object),
            site: self.site,
        }
    }
}

/// A place between two accesses of a transaction, or an access that may come between, twice.
#[derive(Clone, Debug)]
pub(super) struct Witness {
    pub(super) place: Place,
    pub(super) points: [Point; 2],
    /// Where its transaction began; position 0 where it is in none.
    begin: (u64, BlockId, SiteId),
    /// The number of its side; 0 until it has one.
    pub(super) side: Cell<u32>,
    /// The number of its list.
    list: u32,
}

impl Witness {
    pub(super) fn block(&self) -> Option<BlockId> {
        (self.begin.0 > 0).then_some(self.begin.1)
    }

    pub(super) fn transaction(&self, strand: StrandId) -> Option<Transaction> {
        let (begin, _, site) = self.begin;
        Some(Transaction {
            strand,
            block: Some(self.block()?),
            begin: Some(begin),
            site,
        })
    }
}

/// Which of a strand's places a list has a witness for: a bit each for the first 32, which are
/// mostly all.
pub(super) type Mask = u32;

/// So many lists a strand has at most for an object: two for each class.
const LISTS: u32 = 32;

/// One witness a place, among those of all strands for an object.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    /// Its number among the lists of the object.
    number: u32,
    len: u32,
    /// The places beyond the mask's, by the strand's numbers for them, sorted; and the highest.
    beyond: Vec<u32>,
    highest: u32,
}

impl List {
    /// Whether it has the place, or takes no more and that is `known`.
    #[inline]
    pub(super) fn has(
        &self,
        mask: Mask,
        (id, place): (u32, Place),
        room: usize,
        known: bool,
    ) -> bool {
        match Mask::checked_shl(1, id) {
            Some(bit) => mask & bit != 0,
            None if known && !self.has_room(place, room) => true,
            // Most places are new, and have a higher number than all before.
            None => id <= self.highest && self.beyond.binary_search(&id).is_ok(),
        }
    }

    /// A place at which nothing is held has more room: it stands for all others.
    #[inline]
    fn has_room(&self, place: Place, room: usize) -> bool {
        let is_free = place.state() == LockState::FREE;
        (self.len as usize) < room.saturating_mul(1 + usize::from(is_free))
    }

    /// False if there is no room.
    #[cold]
    pub(super) fn add(
        &mut self,
        mask: &mut Mask,
        (id, place): (u32, Place),
        room: usize,
        points: [Point; 2],
        transaction: Option<&Transaction>,
        all: &mut Shelf<Witness>,
    ) -> bool {
        // Whether it is taken or not, it need not be looked at again.
        match Mask::checked_shl(1, id) {
            Some(bit) => *mask |= bit,
            None if id > self.highest => {
                self.beyond.push(id);
                self.highest = id;
            }
            None => {
                let at = self.beyond.partition_point(|&known| known < id);
                self.beyond.insert(at, id);
            }
        }
        let has_room = self.has_room(place, room);
        if has_room {
            let begin = transaction.and_then(|it| Some((it.begin?, it.block?, it.site)));
            all.push(Witness {
                place,
                points,
                begin: begin.unwrap_or((0, BlockId(0), SiteId::NONE)),
                side: Cell::default(),
                list: self.number,
            });
            self.len += 1;
        }
        has_room
    }
}

/// What every access looks at of a class: which places its lists have, and the last access that
/// conflicts with the class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Track {
    pub(super) betweens: Mask,
    pub(super) gaps: Mask,
    /// The strand's tick at the last access; 0 if there was none.
    pub(super) tick: u32,
    site: SiteId,
    position: u64,
    state: LockState,
    op: Option<Op>,
    /// There are tracks of updates beside this one.
    pub(super) has_updates: bool,
}

impl Track {
    /// The last access.
    pub(super) fn last(&self) -> Option<Point> {
        Some(Point {
            position: self.position,
            site: self.site,
            state: self.state,
            op: self.op?,
        })
    }

    /// There was another access, at this tick.
    #[inline]
    pub(super) fn set_last(&mut self, point: Point, tick: u32) {
        (self.position, self.site, self.tick) = (point.position, point.site, tick);
        (self.state, self.op) = (point.state, Some(point.op));
    }
}

/// The accesses of a class, and the places between two accesses that both conflict with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) betweens: List,
    pub(super) gaps: List,
    /// The first gaps, so many, are those of changes.
    shared: u32,
}

impl Lists {
    /// Those whose numbers begin with this one.
    fn new(number: u32) -> Lists {
        let list = |number| List {
            number,
            ..List::default()
        };
        Lists {
            betweens: list(number),
            gaps: list(number + 1),
            shared: 0,
        }
    }
}

/// The tracks of a strand and an object, in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Profile {
    pub(super) read: Track,
    pub(super) change: Track,
}

const _: () = assert!(size_of::<Profile>() == 64);

/// The witnesses of an object by their lists, each list in the order in which it grew.
pub(super) struct Sorted<'a> {
    witnesses: Vec<&'a Witness>,
    /// Where each list begins, by its number; the next one begins where it ends.
    starts: Vec<usize>,
}

impl<'a> Sorted<'a> {
    /// Of an object that so many strands have touched.
    pub(super) fn new(all: &'a Shelf<Witness>, strands: usize) -> Sorted<'a> {
        // First where each list ends. Filled from the last witness on, it ends where it begins.
        let mut starts = vec![0; strands * LISTS as usize + 1];
        for witness in all.iter() {
            starts[witness.list as usize] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        let mut witnesses: Vec<&Witness> = all.iter().collect();
        for witness in all.iter().rev() {
            let start = &mut starts[witness.list as usize];
            *start -= 1;
            witnesses[*start] = witness;
        }
        Sorted { witnesses, starts }
    }

    fn list(&self, list: &List) -> &[&'a Witness] {
        let at = list.number as usize;
        &self.witnesses[self.starts[at]..self.starts[at + 1]]
    }
}

/// Witnesses, and the locks that are held at all their places, each shared where it is so at one of
/// them.
#[derive(Clone)]
pub(super) struct Closed<'a> {
    pub(super) witnesses: Cow<'a, [&'a Witness]>,
    pub(super) guards: Cow<'a, [Hold]>,
}

impl<'a> Closed<'a> {
    fn new(witnesses: Cow<'a, [&'a Witness]>, now: &'a Context) -> Closed<'a> {
        let held = |witness: &&Witness| now.locks.held(witness.place.state());
        let mut guards = Cow::Borrowed(witnesses.first().map_or(&[][..], held));
        for held in witnesses.iter().skip(1).map(held) {
            if guards.is_empty() {
                break;
            }
            guards.to_mut().retain_mut(|guard| {
                let same = held.iter().find(|hold| hold.lock == guard.lock);
                guard.shared |= same.is_some_and(|hold| hold.shared);
                same.is_some()
            });
        }
        Closed { witnesses, guards }
    }
}

/// The witnesses of a [`Profile`].
#[derive(Clone, Debug, Default)]
pub(super) struct Witnesses {
    /// Gaps between any two accesses but reads (the paper's WW).
    read: Lists,
    /// Gaps between any two accesses (AA).
    change: Lists,
    /// Of the kinds that the strand has made. Where a kind is missing, the gaps for it are those
    /// between any two accesses.
    updates: Vec<(Update, Track, Lists)>,
}

impl Witnesses {
    /// Of the strand that was the `rank`th to touch the object.
    pub(super) fn new(rank: usize) -> Witnesses {
        let first = rank as u32 * LISTS;
        Witnesses {
            read: Lists::new(first),
            change: Lists::new(first + 2),
            updates: Vec::new(),
        }
    }

    fn lists(&self) -> impl Iterator<Item = (Class, &Lists)> {
        let plain = [(Class::Read, &self.read), (Class::Change, &self.change)];
        let updates = self.updates.iter();
        let updates = updates.map(|(kind, _, lists)| (Class::Update(*kind), lists));
        plain.into_iter().chain(updates)
    }

    /// By class the accesses that may come between, and the gaps. Of a kind of update that the
    /// strand has not made, the gaps are those of changes.
    pub(super) fn closed<'a>(&self, all: &'a Sorted<'_>, now: &'a Context) -> Kept<'a> {
        let gaps = |lists: &Lists| {
            let shared = &all.list(&self.change.gaps)[..lists.shared as usize];
            let own = all.list(&lists.gaps);
            if shared.is_empty() {
                Cow::Borrowed(own)
            } else {
                Cow::Owned([shared, own].concat())
            }
        };
        let close = |(class, lists): (Class, &Lists)| {
            let betweens = Cow::Borrowed(all.list(&lists.betweens));
            let [betweens, gaps] = [betweens, gaps(lists)].map(|list| Closed::new(list, now));
            (class, betweens, gaps)
        };
        self.lists().map(close).collect()
    }

    pub(super) fn count(&self) -> usize {
        let of = |lists: &Lists| lists.betweens.len + lists.gaps.len;
        self.lists().map(|(_, lists)| of(lists) as usize).sum()
    }

    /// What is kept of a class of accesses.
    #[inline]
    pub(super) fn class<'a>(
        &'a mut self,
        class: Class,
        profile: &'a mut Profile,
    ) -> (&'a mut Track, &'a mut Lists) {
        let kind = match class {
            Class::Read => return (&mut profile.read, &mut self.read),
            Class::Change => return (&mut profile.change, &mut self.change),
            Class::Update(kind) => kind,
        };
        let known = self.updates.iter().position(|(known, ..)| *known == kind);
        let at = known.unwrap_or_else(|| {
            profile.change.has_updates = true;
            // Until now every access was no update of this kind.
            let track = Track {
                betweens: 0,
                ..profile.change
            };
            let at = self.updates.len();
            let mut lists = Lists::new(self.change.betweens.number + 2 + 2 * at as u32);
            let known = &self.change.gaps;
            lists.gaps = List {
                number: lists.gaps.number,
                ..known.clone()
            };
            lists.shared = known.len;
            self.updates.push((kind, track, lists));
            at
        });
        let (_, track, lists) = &mut self.updates[at];
        (track, lists)
    }

    /// The lists of reads and changes are looked at soon.
    #[inline]
    pub(super) fn fetch(&self) {
        prefetch(&self.read);
        prefetch(&self.change);
    }

    /// The gaps for reads or changes.
    pub(super) fn gaps(&mut self, class: Class) -> &mut List {
        match class {
            Class::Read => &mut self.read.gaps,
            _ => &mut self.change.gaps,
        }
    }

    /// What is kept of each kind of update that an access conflicts with.
    pub(super) fn updates(&mut self, op: Op) -> impl Iterator<Item = (&mut Track, &mut List)> {
        let others = self.updates.iter_mut();
        let others = others.filter(move |(kind, ..)| op != Op::Update(*kind));
        others.map(|(_, track, lists)| (track, &mut lists.gaps))
    }
}
