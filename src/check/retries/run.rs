//! What a strand does inside one block, and which of its looks that takes back.

use rustc_hash::FxHashMap;

use crate::trace::{Event, Op, SiteId, Update};

/// What a strand has done inside the block.
#[derive(Debug, Default)]
pub(super) struct Run {
    pub(super) looks: Vec<Look>,
    /// The last look at each object: its index and one.
    pub(super) last: Lasts,
    /// Exchanges of one object that no other write has followed.
    pub(super) exchanges: Vec<Exchange>,
    pub(super) failures: Vec<Failure>,
    /// Looks before this were followed by a failure that was retried.
    pub(super) retried: u64,
    /// The segment began with this event.
    pub(super) segment: u64,
    pub(super) has_written: bool,
    /// The block has done something else than look, in any segment.
    pub(super) has_acted: bool,
    /// The segment's last pause, if nothing was written since.
    pub(super) pause: Option<u64>,
    /// The looks are tidied up when there are so many.
    pub(super) tidy_at: usize,
}

/// What is looked at: an object's content, or the object as a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key(u64);

impl Key {
    const LOCK: u64 = 1 << 32;

    pub(super) fn content(object: u32) -> Key {
        Key(u64::from(object))
    }

    pub(super) fn lock(object: u32) -> Key {
        Key(u64::from(object) | Key::LOCK)
    }

    /// The object, if this is its content.
    pub(super) fn object(self) -> Option<u32> {
        (self.0 & Key::LOCK == 0).then_some(self.0 as u32)
    }
}

/// A number by key, 0 where there is none. Most blocks look at few things.
#[derive(Debug, Default)]
pub(super) struct Lasts {
    pub(super) few: Vec<(Key, u32)>,
    /// Those beyond [`FEW`](Self::FEW).
    pub(super) many: FxHashMap<Key, u32>,
}

impl Lasts {
    const FEW: usize = 8;

    #[inline]
    pub(super) fn get(&self, key: Key) -> u32 {
        let found = self.few.iter().find(|(it, _)| *it == key);
        match found {
            Some(&(_, number)) => number,
            None if self.many.is_empty() => 0,
            None => self.many.get(&key).copied().unwrap_or(0),
        }
    }

    /// Sets a number: the one before.
    #[inline]
    pub(super) fn replace(&mut self, key: Key, number: u32) -> u32 {
        if let Some((_, last)) = self.few.iter_mut().find(|(it, _)| *it == key) {
            return std::mem::replace(last, number);
        }
        if self.few.len() == Self::FEW {
            return self.many.insert(key, number).unwrap_or(0);
        }
        self.few.push((key, number));
        0
    }

    pub(super) fn clear(&mut self) {
        self.few.clear();
        self.many.clear();
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) number: u64,
    pub(super) key: Key,
    pub(super) site: SiteId,
    /// The look at the same object before this: its index and one.
    pub(super) previous: u32,
    /// It is a vain update of this kind.
    pub(super) vain: Option<Update>,
    pub(super) is_undecided: bool,
    /// The run has written the object since.
    pub(super) is_overwritten: bool,
}

impl Look {
    /// An update that would have set something.
    fn is_try(&self) -> bool {
        use Update::{And, Or, Swap};
        matches!(self.vain, Some(Swap | Or | And))
    }
}

/// A failed exchange that was not retried yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Failure {
    pub(super) number: u64,
    pub(super) object: u32,
    pub(super) site: SiteId,
    /// The look that the exchange answers for, or its own.
    pub(super) since: u64,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    pub(super) number: u64,
    pub(super) object: u32,
    /// The segment that it was made in.
    pub(super) segment: u64,
}

/// What a look again is made by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Exchange,
    Other,
}

impl Run {
    pub(super) fn clear(&mut self) {
        self.looks.clear();
        self.last.clear();
        self.exchanges.clear();
        self.failures.clear();
        (self.retried, self.segment, self.tidy_at) = (0, 0, 0);
        (self.has_written, self.has_acted, self.pause) = (false, false, None);
    }

    /// The looks at an object, the last one first: their indices.
    pub(super) fn looks_at(&self, key: Key) -> impl Iterator<Item = usize> {
        let mut next = self.last.get(key);
        std::iter::from_fn(move || {
            let index = (next as usize).checked_sub(1)?;
            next = self.looks[index].previous;
            Some(index)
        })
    }

    pub(super) fn is_in_segment(&self, look: &Look) -> bool {
        look.number > self.segment
    }

    /// Whether the strand has looked at anything in the segment.
    pub(super) fn has_looked(&self) -> bool {
        self.looks
            .last()
            .is_some_and(|look| self.is_in_segment(look))
    }

    /// Whether the segment has found the object initialised where it would have done it.
    pub(super) fn has_found(&self, key: Key) -> bool {
        self.looks_at(key).any(|index| {
            let look = &self.looks[index];
            look.vain == Some(Update::Init) && self.is_in_segment(look)
        })
    }

    /// Whether what this lock guards was read in the segment, and counts so far.
    pub(super) fn has_read_guarded(&self, lock: u32) -> bool {
        self.looks_at(Key::content(lock)).any(|index| {
            let look = &self.looks[index];
            look.is_undecided && self.is_in_segment(look)
        })
    }

    /// Whether a read of the object, and not the result of an update, is undecided.
    fn has_read(&self, key: Key) -> bool {
        self.looks_at(key).any(|index| {
            let look = &self.looks[index];
            look.is_undecided && look.vain.is_none()
        })
    }

    /// Whether a read-modify-write at this site is a look again.
    pub(super) fn repeats(&self, key: Key, site: SiteId) -> bool {
        site != SiteId::NONE
            && self.looks_at(key).any(|index| {
                let look = &self.looks[index];
                look.site == site && (look.is_undecided || self.is_in_segment(look))
            })
    }

    /// The object is about to be looked at again: what that takes back, and the pause that it makes
    /// a split of.
    pub(super) fn look_again(
        &mut self,
        key: Key,
        site: SiteId,
        by: By,
        dropped: &mut Vec<u64>,
    ) -> Option<u64> {
        if let Some(object) = key.object() {
            self.come_around(site, dropped);
            self.retry(object, site, by, dropped);
        }
        let pause = self
            .pause
            .filter(|&pause| self.wait_ends(key, site, pause, dropped));
        if let Some(pause) = pause {
            self.begin_segment(pause);
        }
        let taken_back = self.segment.max(self.retried.saturating_sub(1));
        let mut next = self.last.get(key);
        while let Some(index) = (next as usize).checked_sub(1) {
            let look = &mut self.looks[index];
            if look.number <= taken_back && look.is_undecided {
                look.is_undecided = false;
                dropped.push(look.number);
            }
            next = look.previous;
        }
        if !self.exchanges.is_empty() && site != SiteId::NONE {
            self.drop_exchanges(key, site, dropped);
        }
        pause
    }

    /// Drops exchanges that led only to waiting: after a look at this site, and before a split.
    pub(super) fn drop_exchanges(&mut self, key: Key, site: SiteId, dropped: &mut Vec<u64>) {
        let mut exchanges = std::mem::take(&mut self.exchanges);
        exchanges.retain(|it| {
            let led_to_waiting = key == Key::content(it.object)
                && it.number <= self.segment
                && self.looks_at(key).any(|index| {
                    let look = &self.looks[index];
                    look.site == site && (it.segment + 1..it.number).contains(&look.number)
                });
            dropped.extend(led_to_waiting.then_some(it.number));
            !led_to_waiting
        });
        self.exchanges = exchanges;
    }

    /// Drops what led to failures whose loop has come around to a look at this site.
    fn come_around(&mut self, site: SiteId, dropped: &mut Vec<u64>) {
        if site == SiteId::NONE {
            return;
        }
        for at in 0..self.failures.len() {
            let Failure { since, number, .. } = self.failures[at];
            let from = self.looks.partition_point(|look| look.number < since);
            let mut looks = self.looks[from..].iter();
            let is_again = |look: &Look| look.is_undecided && look.site == site;
            if looks.any(|look| look.number < number && is_again(look)) {
                self.drop_between(since, number - 1, dropped);
            }
        }
    }

    /// Drops what failures that are hereby retried take back.
    pub(super) fn retry(&mut self, object: u32, site: SiteId, by: By, dropped: &mut Vec<u64>) {
        let mut at = 0;
        while let Some(&failure) = self.failures.get(at) {
            let is_same_place = by == By::Exchange && site != SiteId::NONE && failure.site == site;
            if failure.object != object && !is_same_place {
                at += 1;
                continue;
            }
            self.failures.swap_remove(at);
            self.drop_between(failure.since, failure.number, dropped);
            self.retried = self.retried.max(failure.since);
            let after = self
                .looks
                .partition_point(|look| look.number <= failure.number);
            for again in after..self.looks.len() {
                let mut next = self.looks[again].previous;
                while let Some(index) = (next as usize).checked_sub(1) {
                    let look = &mut self.looks[index];
                    if look.number < failure.since && look.is_undecided {
                        look.is_undecided = false;
                        dropped.push(look.number);
                    }
                    next = look.previous;
                }
            }
        }
    }

    /// Whether this look ends a wait that had come to the pause; drops the looks that led to it.
    pub(super) fn wait_ends(
        &mut self,
        key: Key,
        site: SiteId,
        pause: u64,
        dropped: &mut Vec<u64>,
    ) -> bool {
        let (mut here, mut elsewhere) = (None, None);
        for index in self.looks_at(key) {
            let look = &self.looks[index];
            if !self.is_in_segment(look) {
                break;
            }
            if look.number < pause {
                if site != SiteId::NONE && look.site == site {
                    here = Some(look.number);
                }
                if !look.is_overwritten {
                    elsewhere = Some(look.number);
                }
            }
        }
        let Some(first) = here.or(elsewhere) else {
            return false;
        };
        self.drop_between(first, pause, dropped);
        true
    }

    /// Drops the undecided looks from one event to another.
    pub(super) fn drop_between(&mut self, first: u64, last: u64, dropped: &mut Vec<u64>) {
        let from = self.looks.partition_point(|look| look.number < first);
        for look in &mut self.looks[from..] {
            if look.number > last {
                break;
            }
            if std::mem::take(&mut look.is_undecided) {
                dropped.push(look.number);
            }
        }
    }

    /// The transaction was split at this event.
    pub(super) fn begin_segment(&mut self, number: u64) {
        self.segment = number;
        self.has_written = false;
        self.pause = None;
    }

    /// The look that an exchange which succeeds has its expected value from.
    pub(super) fn expects(&self, key: Key) -> Option<u64> {
        let last = self.looks_at(key).next().map(|index| &self.looks[index]);
        let counts = |look: &&Look| self.is_in_segment(look) && !look.is_overwritten;
        last.filter(counts).map(|look| look.number)
    }

    /// An exchange answers for the segment's looks at its object.
    pub(super) fn answer(&mut self, key: Key, dropped: &mut Vec<u64>) {
        let segment = self.segment;
        self.drop_looks(key, dropped, |look| {
            look.number > segment && !look.is_overwritten
        });
    }

    /// A read-modify-write at the site of vain ones before it takes their place. A vain one that
    /// would have set something has answered for the segment's looks before it, as an exchange does.
    pub(super) fn drop_vain(&mut self, key: Key, site: SiteId, dropped: &mut Vec<u64>) {
        if site == SiteId::NONE {
            return;
        }
        let is_tried = |look: &&Look| look.is_try() && look.site == site;
        let mut looks = self.looks_at(key).map(|index| &self.looks[index]);
        let tried = looks.find(|look| is_tried(look) && self.is_in_segment(look));
        let tried = tried.map_or(0, |look| look.number);
        drop(looks);
        let answered = self.segment + 1..tried;
        self.drop_looks(key, dropped, |look| {
            look.vain.is_some() && look.site == site || answered.contains(&look.number)
        });
    }

    pub(super) fn drop_looks(
        &mut self,
        key: Key,
        dropped: &mut Vec<u64>,
        which: impl Fn(&Look) -> bool,
    ) {
        let mut next = self.last.get(key);
        while let Some(index) = (next as usize).checked_sub(1) {
            let look = &mut self.looks[index];
            if look.is_undecided && which(look) {
                look.is_undecided = false;
                dropped.push(look.number);
            }
            next = look.previous;
        }
    }

    /// Adds a look, which is undecided.
    pub(super) fn look(&mut self, number: u64, key: Key, site: SiteId, vain: Option<Update>) {
        self.looks.push(Look {
            number,
            key,
            site,
            previous: 0,
            vain,
            is_undecided: true,
            is_overwritten: false,
        });
        let index = self.looks.len() as u32;
        let previous = self.last.replace(key, index);
        self.looks[index as usize - 1].previous = previous;
        if self.looks.len() >= self.tidy_at.max(64) {
            self.tidy_up();
        }
    }

    /// An exchange that fails: since when the strand wants it, and that it has looked. Gives back
    /// where the block is split.
    pub(super) fn fail_exchange(
        &mut self,
        number: u64,
        event: Event,
        dropped: &mut Vec<u64>,
    ) -> Option<u64> {
        let key = Key::content(event.target);
        let split = self.look_again(key, event.site, By::Exchange, dropped);
        let answered = self.looks_at(key).next().map(|index| self.looks[index]);
        let since = answered
            .filter(|look| self.is_in_segment(look) && !look.is_overwritten)
            .map_or(number, |look| look.number);
        self.answer(key, dropped);
        self.failures.push(Failure {
            number,
            object: event.target,
            site: event.site,
            since,
        });
        self.look(number, key, event.site, None);
        split
    }

    /// An exchange that succeeds and leaves the value as it was: a look. Gives back where the block
    /// is split.
    pub(super) fn exchange_in_vain(
        &mut self,
        number: u64,
        event: Event,
        dropped: &mut Vec<u64>,
    ) -> Option<u64> {
        let split = self.answer_again(event, dropped);
        let key = Key::content(event.target);
        self.look(number, key, event.site, Some(Update::Exchange));
        split
    }

    /// An exchange succeeds, which answers for the looks before it.
    fn answer_again(&mut self, event: Event, dropped: &mut Vec<u64>) -> Option<u64> {
        let key = Key::content(event.target);
        let split = self.look_again(key, event.site, By::Exchange, dropped);
        self.answer(key, dropped);
        split
    }

    /// Another update that leaves the value as it was. Gives back where the block is split, and
    /// what the update is: a read, where the block has read before that a flag is not set.
    pub(super) fn update_in_vain(
        &mut self,
        number: u64,
        event: Event,
        kind: Update,
        dropped: &mut Vec<u64>,
    ) -> (Option<u64>, Op) {
        let key = Key::content(event.target);
        let split = self.look_again(key, event.site, By::Other, dropped);
        self.drop_vain(key, event.site, dropped);
        let is_flag = matches!(kind, Update::Or | Update::And);
        let is_read = is_flag && self.has_read(key);
        self.look(number, key, event.site, Some(kind));
        (split, if is_read { Op::Read } else { event.op })
    }

    /// An exchange that succeeds. Gives back where the block is split.
    pub(super) fn exchange(
        &mut self,
        number: u64,
        event: Event,
        dropped: &mut Vec<u64>,
    ) -> Option<u64> {
        let split = self.answer_again(event, dropped);
        self.exchanges.retain(|it| it.object == event.target);
        self.exchanges.push(Exchange {
            number,
            object: event.target,
            segment: self.segment,
        });
        self.write(Some(event.target));
        split
    }

    /// The only thing that the block has done, where that is a try in vain.
    pub(super) fn lone_try(&self) -> Option<u64> {
        let counts = |look: &&Look| look.is_undecided && look.key.object().is_some();
        let mut looks = self.looks.iter().filter(counts);
        let (Some(look), None, false) = (looks.next(), looks.next(), self.has_acted) else {
            return None;
        };
        let has_failed = self.failures.iter().any(|it| it.number == look.number);
        (has_failed || look.is_try()).then_some(look.number)
    }

    /// The strand has done what others can see; on this object, where it is known.
    pub(super) fn write(&mut self, object: Option<u32>) {
        (self.has_written, self.has_acted) = (true, true);
        self.pause = None;
        let Some(object) = object else { return };
        let key = Key::content(object);
        let mut next = self.last.get(key);
        while let Some(index) = (next as usize).checked_sub(1) {
            let look = &mut self.looks[index];
            if look.is_overwritten {
                break;
            }
            look.is_overwritten = true;
            look.is_undecided = false;
            next = look.previous;
        }
    }

    /// Forgets looks that no rule asks for: those that are decided and of an earlier segment, and,
    /// of the present segment's at one object and site, all but the first and the last.
    pub(super) fn tidy_up(&mut self) {
        let kept = self.exchanges.first().map(|it| it.object);
        let mut firsts = FxHashMap::default();
        let mut lasts = FxHashMap::default();
        let place = |look: &Look| (look.key, look.site, look.is_overwritten);
        for look in self.looks.iter().filter(|look| look.number > self.segment) {
            firsts.entry(place(look)).or_insert(look.number);
            lasts.insert(place(look), look.number);
        }
        let segment = self.segment;
        self.looks.retain(|look| {
            look.is_undecided
                || look.key.object().is_some_and(|object| Some(object) == kept)
                || look.number > segment
                    && [&firsts, &lasts]
                        .map(|them| them[&place(look)])
                        .contains(&look.number)
        });
        self.last.clear();
        for (look, index) in self.looks.iter_mut().zip(1..) {
            look.previous = self.last.replace(look.key, index);
        }
        self.tidy_at = 2 * self.looks.len();
    }
}
