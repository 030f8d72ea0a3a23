//! The witnesses of a strand's accesses to an object.

use super::Kept;
use super::visits::Place;
use crate::check::{Access, Transaction};
use crate::dense::Shelf;
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
    /// How many witnesses the object had with the one before in its list; 0 for the first.
    before: u32,
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

/// One witness a place, among those of all strands for an object.
#[derive(Clone, Debug, Default)]
pub(super) struct List {
    len: usize,
    /// How many witnesses the object had with the last one of these; 0 if there is none.
    last: u32,
    /// The places beyond the mask's, by the strand's numbers for them, sorted.
    beyond: Vec<u32>,
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
            None => self.beyond.last() >= Some(&id) && self.beyond.binary_search(&id).is_ok(),
        }
    }

    /// A place at which nothing is held has more room: it stands for all others.
    #[inline]
    fn has_room(&self, place: Place, room: usize) -> bool {
        let is_free = place.state() == LockState::FREE;
        self.len < room.saturating_mul(1 + usize::from(is_free))
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
            None => {
                let at = self.beyond.partition_point(|&known| known < id);
                self.beyond.insert(at, id);
            }
        }
        let has_room = self.has_room(place, room);
        if has_room {
            let begin = transaction.and_then(|it| Some((it.begin?, it.block?, it.site)));
            self.last = all.push(Witness {
                place,
                points,
                begin: begin.unwrap_or((0, BlockId(0), SiteId::NONE)),
                side: Cell::default(),
                before: self.last,
            });
            self.len += 1;
        }
        has_room
    }

    /// To be asked when nothing will be added any more.
    fn closed<'a>(&self, all: &'a Shelf<Witness>, now: &'a Context) -> Closed<'a> {
        let mut witnesses = Vec::with_capacity(self.len);
        let mut last = self.last;
        while let Some(at) = last.checked_sub(1) {
            let witness = all.get(at);
            witnesses.push(witness);
            last = witness.before;
        }
        witnesses.reverse();
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
    has_updates: bool,
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
}

/// The tracks of a strand and an object, in one cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
pub(super) struct Profile {
    read: Track,
    change: Track,
}

const _: () = assert!(size_of::<Profile>() == 64);

/// Witnesses, and the locks that are held at all their places, each shared where it is so at one of
/// them.
#[derive(Clone)]
pub(super) struct Closed<'a> {
    pub(super) witnesses: Vec<&'a Witness>,
    pub(super) guards: Cow<'a, [Hold]>,
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
    pub(super) fn lists(&self) -> impl Iterator<Item = (Class, &Lists)> {
        let plain = [(Class::Read, &self.read), (Class::Change, &self.change)];
        let updates = self.updates.iter();
        let updates = updates.map(|(kind, _, lists)| (Class::Update(*kind), lists));
        plain.into_iter().chain(updates)
    }

    /// By class the accesses that may come between, and the gaps. Of a kind of update that the
    /// strand has not made, the gaps are those of changes.
    pub(super) fn closed<'a>(&self, all: &'a Shelf<Witness>, now: &'a Context) -> Kept<'a> {
        let closed = |list: &List| list.closed(all, now);
        self.lists()
            .map(|(class, lists)| (class, closed(&lists.betweens), closed(&lists.gaps)))
            .collect()
    }

    pub(super) fn count(&self) -> usize {
        let of = |lists: &Lists| lists.betweens.len + lists.gaps.len;
        self.lists().map(|(_, lists)| of(lists)).sum()
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
            let lists = Lists {
                betweens: List::default(),
                gaps: self.change.gaps.clone(),
            };
            self.updates.push((kind, track, lists));
            self.updates.len() - 1
        });
        let (_, track, lists) = &mut self.updates[at];
        (track, lists)
    }

    /// Calls back with what is kept of each class that an access conflicts with.
    #[inline]
    pub(super) fn conflicting(
        &mut self,
        op: Op,
        profile: &mut Profile,
        mut each: impl FnMut(&mut Track, &mut List),
    ) {
        each(&mut profile.change, &mut self.change.gaps);
        if op != Op::Read {
            each(&mut profile.read, &mut self.read.gaps);
        }
        if profile.change.has_updates {
            for (kind, track, lists) in &mut self.updates {
                if op != Op::Update(*kind) {
                    each(track, &mut lists.gaps);
                }
            }
        }
    }
}
