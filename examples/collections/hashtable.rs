//! `Hashtable`.

use std::collections::BTreeMap;

use aerodrome::atomic;
use aerodrome::sync::Mutex;
use aerodrome::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::Verdict::Benign;
use super::{Class, ConcurrentModification, Method};

/// `java.util.Hashtable`: every method is synchronized on its table.
#[derive(Default)]
pub(crate) struct Hashtable {
    entries: Mutex<BTreeMap<i64, i64>>,
    /// `modCount`: counted under the lock, looked at by walks without it.
    changes: AtomicUsize,
}

impl Hashtable {
    /// `modCount++`. The caller holds the lock.
    fn changed(&self) {
        let changes = self.changes.load(SeqCst);
        self.changes.store(changes + 1, SeqCst);
    }

    /// `entrySet().iterator()`: the lock is free between one entry and the next.
    fn walk(&self) -> Walk<'_> {
        Walk {
            table: self,
            last: None,
            changes: self.changes.load(SeqCst),
        }
    }
}

/// The JDK's `Hashtable.Enumerator`.
struct Walk<'a> {
    table: &'a Hashtable,
    last: Option<i64>,
    changes: usize,
}

impl Iterator for Walk<'_> {
    type Item = Result<(i64, i64), ConcurrentModification>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.table.changes.load(SeqCst) != self.changes {
            return Some(Err(ConcurrentModification));
        }
        let (key, value) = self.table.entry_after(self.last)?;
        self.last = Some(key);
        Some(Ok((key, value)))
    }
}

#[atomic]
impl Hashtable {
    /// `Hashtable(Map)`: the size tells how much room to make, the entries come by `putAll`.
    fn from_other(other: &Hashtable) -> Result<Hashtable, ConcurrentModification> {
        let table = Hashtable::default();
        table.rehash(2 * other.size());
        table.put_all(other)?;
        Ok(table)
    }

    /// The first entry whose key is greater.
    fn entry_after(&self, key: Option<i64>) -> Option<(i64, i64)> {
        let entries = self.entries.lock().unwrap();
        let from = key.map_or(i64::MIN, |key| key + 1);
        let mut rest = entries.range(from..);
        rest.next().map(|(&key, &value)| (key, value))
    }

    fn size(&self) -> usize {
        self.entries.lock().unwrap().len()
    }

    fn is_empty(&self) -> bool {
        self.entries.lock().unwrap().is_empty()
    }

    fn get(&self, key: i64) -> Option<i64> {
        self.entries.lock().unwrap().get(&key).copied()
    }

    fn contains_key(&self, key: i64) -> bool {
        self.entries.lock().unwrap().contains_key(&key)
    }

    fn contains_value(&self, value: i64) -> bool {
        self.entries
            .lock()
            .unwrap()
            .values()
            .any(|&own| own == value)
    }

    fn hash_code(&self) -> i64 {
        let entries = self.entries.lock().unwrap();
        entries
            .iter()
            .fold(0, |hash, (key, value)| hash ^ key ^ value)
    }

    fn to_text(&self) -> String {
        format!("{:?}", *self.entries.lock().unwrap())
    }

    /// A tree needs no room: what is left of `rehash` is that it counts as a change.
    fn rehash(&self, _room: usize) {
        let _entries = self.entries.lock().unwrap();
        self.changed();
    }

    fn put(&self, key: i64, value: i64) -> Option<i64> {
        let mut entries = self.entries.lock().unwrap();
        self.changed();
        entries.insert(key, value)
    }

    fn remove(&self, key: i64) -> Option<i64> {
        let mut entries = self.entries.lock().unwrap();
        self.changed();
        entries.remove(&key)
    }

    fn clear(&self) {
        let mut entries = self.entries.lock().unwrap();
        self.changed();
        entries.clear();
    }

    /// `putAll(Map)`: walks over the other, and puts each entry.
    fn put_all(&self, other: &Hashtable) -> Result<(), ConcurrentModification> {
        let mut entries = self.entries.lock().unwrap();
        for entry in other.walk() {
            let (key, value) = entry?;
            self.changed();
            entries.insert(key, value);
        }
        Ok(())
    }

    /// `equals(Object)`: compares the sizes, then asks the other for each key.
    fn equals(&self, other: &Hashtable) -> bool {
        let entries = self.entries.lock().unwrap();
        other.size() == entries.len()
            && entries
                .iter()
                .all(|(&key, &value)| other.get(key) == Some(value))
    }
}

impl Class for Hashtable {
    const NAME: &'static str = "Hashtable";

    fn filled() -> Hashtable {
        Hashtable {
            entries: Mutex::new(BTreeMap::from([(1, 10), (2, 20), (3, 30)])),
            changes: AtomicUsize::new(0),
        }
    }

    fn methods() -> Vec<Method<Hashtable>> {
        type M = Method<Hashtable>;
        let puts = "it is documented as one `put` for each entry, and each leaves a sound table with an entry that the other had; \
                    a walk that meets a change says so";
        let room = "the size only says how much room to make; for the rest it is `putAll`";
        let answer = "it changes nothing, and an answer about a table that others change is out of date when it comes";
        vec![
            M::alone("size", Hashtable::size),
            M::alone("isEmpty", Hashtable::is_empty),
            M::alone("get", |t| t.get(2)),
            M::alone("containsKey", |t| t.contains_key(2)),
            M::alone("containsValue", |t| t.contains_value(20)),
            M::alone("hashCode", Hashtable::hash_code),
            M::alone("toString", Hashtable::to_text),
            M::alone("rehash", |t| t.rehash(16)),
            M::alone("put", |t| t.put(4, 40)),
            M::alone("remove", |t| t.remove(2)),
            M::alone("clear", Hashtable::clear),
            M::with_other("Hashtable(Map)", Some(Benign(room)), |_, o| {
                Hashtable::from_other(o)
            }),
            M::with_other("putAll", Some(Benign(puts)), Hashtable::put_all),
            M::with_other("equals", Some(Benign(answer)), Hashtable::equals),
        ]
    }
}
