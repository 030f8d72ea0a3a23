//! What the runs so far have shown of a program: which reads can see which writes, and which
//! accesses of a strand others can come between.

use super::Action;
use super::obligation::{Between, Pair, Point, Rivals, reads, touches, writes};
use rustc_hash::{FxHashMap, FxHashSet};

/// See the [module](self).
#[derive(Debug, Default)]
pub(crate) struct Known {
    pub(crate) rivals: Rivals,
    /// Pairs that runs could have, in the order in which they were met.
    pub(crate) possible: Vec<Pair>,
    /// Pairs that runs have had.
    pub(crate) seen: FxHashSet<Pair>,
}

impl Known {
    /// Learns from a run. True if it had a pair that none had before.
    pub(crate) fn learn(&mut self, actions: &[Action]) -> bool {
        for accesses in by_object(actions).values() {
            self.learn_possible(accesses);
        }
        let mut new = false;
        let mut written: FxHashMap<u32, u32> = FxHashMap::default();
        for action in actions {
            let object = action.intent.object;
            if reads(action) {
                let write = written.get(&object).copied();
                let read = action.intent.site;
                new |= self.seen.insert(Pair { read, write });
            }
            if writes(action) {
                written.insert(object, action.intent.site);
            }
        }
        new
    }

    fn learn_possible(&mut self, accesses: &[&Action]) {
        // A site counts once for each strand, so that long runs stay cheap.
        let mut sites: FxHashSet<(u32, u32)> = FxHashSet::default();
        let first = |action: &&&Action| sites.insert((action.seat, action.intent.site));
        let accesses: Vec<&Action> = accesses.iter().filter(first).copied().collect();
        for read in accesses.iter().filter(|action| reads(action)) {
            let mut others = accesses.iter().filter(|action| writes(action)).peekable();
            let shared = others.clone().any(|write| write.seat != read.seat);
            if shared && others.peek().is_some() {
                self.add(read.intent.site, None);
            }
            for write in others.filter(|write| write.seat != read.seat) {
                self.add(read.intent.site, Some(write.intent.site));
            }
        }
    }

    fn add(&mut self, read: u32, write: Option<u32>) {
        let pair = Pair { read, write };
        let new = match write {
            Some(write) => self.rivals.insert(read, write),
            None => !self.possible.contains(&pair),
        };
        if new {
            self.possible.push(pair);
        }
    }
}

/// The accesses of each object, in order.
pub(crate) fn by_object(actions: &[Action]) -> FxHashMap<u32, Vec<&Action>> {
    let mut objects: FxHashMap<u32, Vec<&Action>> = FxHashMap::default();
    for action in actions.iter().filter(|action| touches(action)) {
        objects
            .entry(action.intent.object)
            .or_default()
            .push(action);
    }
    objects
}

/// Each two successive accesses of a strand to an object, with each conflicting access of another
/// that was not between them in this run: those in blocks first, one for each three sites.
pub(crate) fn triples(actions: &[Action]) -> Vec<Between> {
    let objects = by_object(actions);
    let mut numbers: Vec<u32> = objects.keys().copied().collect();
    numbers.sort_unstable();
    let mut known: FxHashSet<[u32; 3]> = FxHashSet::default();
    let mut triples: Vec<(bool, Between)> = Vec::new();
    for accesses in numbers.iter().map(|number| &objects[number]) {
        for (index, first) in accesses.iter().enumerate() {
            let own = |action: &&&Action| action.seat == first.seat;
            let Some(last) = accesses[index + 1..].iter().find(own) else {
                continue;
            };
            for other in accesses.iter().filter(|action| action.seat != first.seat) {
                let conflicts = |action: &Action| action.intent.conflicts(&other.intent);
                let sites = [first, other, last].map(|action| action.intent.site);
                if conflicts(first) && conflicts(last) && known.insert(sites) {
                    let in_block = first.block != 0 && first.block == last.block;
                    let between = Between {
                        first: Point::of(first),
                        other: Point::of(other),
                        last: Point::of(last),
                    };
                    triples.push((in_block, between));
                }
            }
        }
    }
    triples.sort_by_key(|(in_block, _)| !in_block);
    triples.into_iter().map(|(_, between)| between).collect()
}
