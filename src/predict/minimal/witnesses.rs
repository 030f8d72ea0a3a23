//! The witnesses of a strand's accesses to an object.

use super::visits::Place;
use crate::check::Transaction;
use crate::dense::prefetch;
use crate::predict::{Context, Hold, LockState};
use crate::trace::{Op, SiteId, Update};
use rustc_hash::FxHashSet;
use std::cell::OnceCell;

/// Classes of accesses that conflict with the same accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class {
    Read,
    Change,
    Update(Update),
}

impl Class {
    pub(super) fn of(op: Op) -> Class {
        match op {
            Op::Read => Class::Read,
            Op::Update(kind) => Class::Update(kind),
            _ => Class::Change,
        }
    }
}

/// An access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Point {
    pub(super) position: u64,
    pub(super) site: SiteId,
    pub(super) state: LockState,
    pub(super) op: Op,
}

/// An access that may come between.
#[derive(Clone, Debug)]
pub(super) struct Between {
    pub(super) point: Point,
    pub(super) transaction: Option<Transaction>,
}

/// A place between two accesses of a transaction.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub(super) first: Point,
    pub(super) second: Point,
    pub(super) transaction: Transaction,
}

/// Which of a strand's places a list has a witness for: a bit each for the first 64, which are
/// mostly all.
pub(super) type Mask = u64;

/// One witness a place.
#[derive(Clone, Debug)]
pub(super) struct List<W> {
    pub(super) witnesses: Vec<(Place, W)>,
    /// The places beyond the mask's, by the strand's numbers for them.
    beyond: Option<Box<FxHashSet<u32>>>,
    /// See [`guards`](Self::guards).
    guards: OnceCell<Box<[Hold]>>,
}

impl<W> Default for List<W> {
    fn default() -> List<W> {
        List {
            witnesses: Vec::new(),
            beyond: None,
            guards: OnceCell::new(),
        }
    }
}

impl<W> List<W> {
    /// Whether it has the place, or takes no more and that is `known`.
    #[inline]
    pub(super) fn has(
        &self,
        mask: Mask,
        (id, place): (u32, Place),
        room: usize,
        known: bool,
    ) -> bool {
        match 1_u64.checked_shl(id) {
            Some(bit) => mask & bit != 0,
            None if known && !self.has_room(place, room) => true,
            None => self.beyond.as_ref().is_some_and(|ids| ids.contains(&id)),
        }
    }

    /// A place at which nothing is held has more room: it stands for all others.
    #[inline]
    fn has_room(&self, place: Place, room: usize) -> bool {
        let is_free = place.state() == LockState::FREE;
        self.witnesses.len() < room.saturating_mul(1 + usize::from(is_free))
    }

    /// False if there is no room.
    #[cold]
    pub(super) fn add(
        &mut self,
        mask: &mut Mask,
        (id, place): (u32, Place),
        room: usize,
        witness: impl FnOnce() -> W,
    ) -> bool {
        // Whether it is taken or not, it need not be looked at again.
        match 1_u64.checked_shl(id) {
            Some(bit) => *mask |= bit,
            None => drop(self.beyond.get_or_insert_default().insert(id)),
        }
        let has_room = self.has_room(place, room);
        if has_room {
            self.witnesses.push((place, witness()));
        }
        has_room
    }

    /// The locks that are held at all its places, each shared where it is so at one of them. To be
    /// asked when nothing will be added any more.
    pub(super) fn guards(&self, now: &Context) -> &[Hold] {
        self.guards.get_or_init(|| {
            let mut places = self.witnesses.iter().map(|(place, _)| place.state());
            let first = places.next().map(|state| now.locks.held(state).to_vec());
            let mut guards = first.unwrap_or_default();
            for state in places {
                if guards.is_empty() {
                    break;
                }
                let held = now.locks.held(state);
                guards.retain_mut(|guard| {
                    let same = held.iter().find(|hold| hold.lock == guard.lock);
                    guard.shared |= same.is_some_and(|hold| hold.shared);
                    same.is_some()
                });
            }
            guards.into()
        })
    }
}

/// What every access looks at of a class: which places its lists have, and where the last access
/// was that conflicts with the class.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Track {
    pub(super) betweens: Mask,
    pub(super) gaps: Mask,
    pub(super) last: Option<Last>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub(super) point: Point,
    /// The number of its transaction among the strand's.
    pub(super) transaction: u32,
    /// The transaction's tick.
    pub(super) tick: u32,
}

/// The accesses of a class, and the places between two accesses that both conflict with it.
#[derive(Clone, Debug, Default)]
pub(super) struct Lists {
    pub(super) betweens: List<Between>,
    pub(super) gaps: List<Gap>,
}

/// The tracks of a strand and an object, in two cache lines.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(128))]
pub(super) struct Profile {
    read: Track,
    change: Track,
    has_updates: bool,
}

impl Profile {
    /// Brings it into the cache.
    #[inline]
    pub(super) fn fetch(&self) {
        prefetch(&self.read);
        prefetch(&self.change.last);
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
    pub(super) fn lists(&self) -> impl Iterator<Item = (Class, &Lists)> {
        let plain = [(Class::Read, &self.read), (Class::Change, &self.change)];
        let updates = self.updates.iter();
        let updates = updates.map(|(kind, _, lists)| (Class::Update(*kind), lists));
        plain.into_iter().chain(updates)
    }

    pub(super) fn gaps(&self, class: Class) -> &List<Gap> {
        let own = self.lists().find(|(known, _)| *known == class);
        own.map_or(&self.change.gaps, |(_, lists)| &lists.gaps)
    }

    pub(super) fn count(&self) -> usize {
        let of = |lists: &Lists| lists.betweens.witnesses.len() + lists.gaps.witnesses.len();
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
            profile.has_updates = true;
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
        mut each: impl FnMut(&mut Track, &mut List<Gap>),
    ) {
        each(&mut profile.change, &mut self.change.gaps);
        if op != Op::Read {
            each(&mut profile.read, &mut self.read.gaps);
        }
        if profile.has_updates {
            for (kind, track, lists) in &mut self.updates {
                if op != Op::Update(*kind) {
                    each(track, &mut lists.gaps);
                }
            }
        }
    }
}
