//! Who can have told whom of an object (escape analysis, after TSE 2006, sections 3 and 6.1).
//!
//! An object that a strand made is nobody else's until the strand has told of it: a schedule in
//! which another strand uses it before is impossible. A trace has no references. But where another
//! strand used the object first, and the content of a lock that was changed by that strand was
//! touched before the own first use, the content may have told of the object. Where nothing can
//! have told of it on this run, the object was known from the beginning.

use super::look::is_read;
use super::{Look, Reads};
use crate::predict::Prediction;
use crate::trace::{ObjectId, StrandId};
use rustc_hash::FxHashSet;

/// A strand that was told of an object before it used it for the first time.
#[derive(Clone, Debug)]
pub(super) struct Told {
    pub(super) who: StrandId,
    /// The first use.
    pub(super) at: u64,
    /// Who may have told it, and with which write.
    pub(super) by: Vec<(StrandId, u64)>,
}

/// So many locks are looked at that may have told of an object.
const LOCKS: usize = 8;

impl Reads {
    /// Who was told of the objects that a prediction is about.
    pub(super) fn told(&self, prediction: &Prediction) -> Vec<Told> {
        let steps = prediction.accesses.iter().map(|step| &step.access);
        let mut uses: Vec<(StrandId, ObjectId)> = steps
            .filter_map(|access| Some((access.strand, access.object?)))
            .collect();
        uses.sort_unstable();
        uses.dedup();
        let told = uses.into_iter();
        told.filter_map(|(who, object)| self.told_of(who, object))
            .collect()
    }

    fn told_of(&self, who: StrandId, object: ObjectId) -> Option<Told> {
        let (owner, owned) = self.objects.get(object)?.first?;
        if owner == who {
            return None;
        }
        let looks = self.looks(who, owned, u64::MAX);
        let is_use = |look: &Look| look.event.object() == object;
        let used = looks.iter().position(is_use)?;
        let mut known: FxHashSet<ObjectId> = FxHashSet::default();
        let before = looks[..used].iter().rev().filter(|look| {
            let lock = look.event.object();
            self.objects[lock].can_refer && known.insert(lock)
        });
        let by = before.take(LOCKS).filter_map(|look| {
            let write = self.last_write(owner, look.event.object(), owned, look.position)?;
            Some((owner, write))
        });
        let by: Vec<(StrandId, u64)> = by.collect();
        let at = looks[used].position;
        (!by.is_empty()).then_some(Told { who, at, by })
    }

    /// The strand's write by which a lock's content may have told of an object, before a position:
    /// the last one before the object was used, for what is made where it is kept; else the first
    /// one after.
    fn last_write(&self, strand: StrandId, lock: ObjectId, used: u64, before: u64) -> Option<u64> {
        let is_write = |look: &&Look| look.event.object() == lock && !is_read(look.event.op);
        let earlier = self.looks(strand, 0, used).iter().rev().find(is_write);
        let later = || self.looks(strand, used, before).iter().find(is_write);
        earlier.or_else(later).map(|look| look.position)
    }
}

/// Whether a lock's content may refer to other objects, by its type: plain data does not.
pub(super) fn can_refer(type_name: &str) -> bool {
    const PLAIN: &str = "std core alloc sync aerodrome mutex rwlock parking_lot string vec vec_deque \
        collections hash map set btree option result time Mutex RwLock String str Vec VecDeque \
        HashMap HashSet BTreeMap BTreeSet Option Result Duration Instant bool char u8 u16 u32 u64 \
        u128 usize i8 i16 i32 i64 i128 isize f32 f64";
    let mut words = type_name.split(|c: char| c != '_' && !c.is_alphanumeric());
    words.any(|word| !word.is_empty() && !PLAIN.split_whitespace().any(|plain| plain == word))
}
