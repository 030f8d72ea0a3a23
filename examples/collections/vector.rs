//! `Vector` and `Stack`.

use std::ops::Deref;

use aerodrome::atomic;
use aerodrome::sync::Mutex;
use aerodrome::sync::atomic::{AtomicUsize, Ordering::SeqCst};

use super::Verdict::{Benign, Bug};
use super::{Class, ConcurrentModification, Method};

/// `java.util.Vector`: every method is synchronized on its vector.
#[derive(Default)]
pub(crate) struct Vector {
    /// An element is `None` where the JDK has a `null`.
    elements: Mutex<Vec<Option<i64>>>,
    /// `modCount`: counted under the lock, looked at by walks without it.
    changes: AtomicUsize,
}

impl Vector {
    /// `modCount++`. The caller holds the lock.
    fn changed(&self) {
        let changes = self.changes.load(SeqCst);
        self.changes.store(changes + 1, SeqCst);
    }

    /// `iterator()`: it calls synchronized methods, and holds the lock in none of the gaps between them.
    fn walk(&self) -> Walk<'_> {
        Walk {
            vector: self,
            next: 0,
            changes: self.changes.load(SeqCst),
        }
    }
}

/// The JDK's `AbstractList.Itr`.
struct Walk<'a> {
    vector: &'a Vector,
    next: usize,
    changes: usize,
}

impl Iterator for Walk<'_> {
    type Item = Result<Option<i64>, ConcurrentModification>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next == self.vector.size() {
            return None;
        }
        let element = self.vector.get(self.next);
        if self.vector.changes.load(SeqCst) != self.changes {
            return Some(Err(ConcurrentModification));
        }
        self.next += 1;
        Some(element.ok_or(ConcurrentModification))
    }
}

#[atomic]
impl Vector {
    /// `Vector(Collection)`: the first figure of the paper.
    pub(crate) fn from_other(other: &Vector) -> Vector {
        let mut elements = vec![None; other.size()];
        other.to_array(&mut elements);
        Vector {
            elements: Mutex::new(elements),
            changes: AtomicUsize::new(0),
        }
    }

    fn size(&self) -> usize {
        self.elements.lock().unwrap().len()
    }

    fn is_empty(&self) -> bool {
        self.elements.lock().unwrap().is_empty()
    }

    fn capacity(&self) -> usize {
        self.elements.lock().unwrap().capacity()
    }

    fn ensure_capacity(&self, capacity: usize) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        let more = capacity.saturating_sub(elements.len());
        elements.reserve(more);
    }

    fn get(&self, at: usize) -> Option<Option<i64>> {
        self.elements.lock().unwrap().get(at).copied()
    }

    fn first_element(&self) -> Option<Option<i64>> {
        self.elements.lock().unwrap().first().copied()
    }

    fn last_element(&self) -> Option<Option<i64>> {
        self.elements.lock().unwrap().last().copied()
    }

    fn index_of(&self, element: i64) -> Option<usize> {
        let elements = self.elements.lock().unwrap();
        elements.iter().position(|&own| own == Some(element))
    }

    fn contains(&self, element: Option<i64>) -> bool {
        self.elements.lock().unwrap().contains(&element)
    }

    /// `toArray(Object[])`: fills the array as far as there are elements.
    fn to_array(&self, array: &mut [Option<i64>]) {
        let elements = self.elements.lock().unwrap();
        for (to, from) in array.iter_mut().zip(elements.iter()) {
            *to = *from;
        }
    }

    /// `toArray()`.
    fn all(&self) -> Vec<Option<i64>> {
        self.elements.lock().unwrap().clone()
    }

    fn hash_code(&self) -> i64 {
        let elements = self.elements.lock().unwrap();
        let hash = |hash: i64, element: &Option<i64>| {
            hash.wrapping_mul(31).wrapping_add(element.unwrap_or(0))
        };
        elements.iter().fold(1, hash)
    }

    fn add(&self, element: i64) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        elements.push(Some(element));
    }

    fn insert_element_at(&self, element: i64, at: usize) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        if at <= elements.len() {
            elements.insert(at, Some(element));
        }
    }

    fn set(&self, at: usize, element: i64) {
        if let Some(own) = self.elements.lock().unwrap().get_mut(at) {
            *own = Some(element);
        }
    }

    fn set_size(&self, size: usize) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        elements.resize(size, None);
    }

    fn remove(&self, element: i64) -> bool {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        let at = elements.iter().position(|&own| own == Some(element));
        at.map(|at| elements.remove(at)).is_some()
    }

    fn remove_element_at(&self, at: usize) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        if at < elements.len() {
            elements.remove(at);
        }
    }

    fn remove_all_elements(&self) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        elements.clear();
    }

    /// `addAll(Collection)`: makes room by the other's size, then takes its elements.
    fn add_all(&self, other: &Vector) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        let old = elements.len();
        let new = other.size();
        elements.resize(old + new, None);
        other.to_array(&mut elements[old..]);
    }

    /// `addAll(int, Collection)`: asks the other once.
    fn insert_all(&self, at: usize, other: &Vector) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        let new = other.all();
        let at = at.min(elements.len());
        elements.splice(at..at, new);
    }

    /// `removeAll(Collection)`: asks the other about each element.
    fn remove_all(&self, other: &Vector) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        elements.retain(|&element| !other.contains(element));
    }

    /// `retainAll(Collection)`: the same the other way round.
    fn retain_all(&self, other: &Vector) {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        elements.retain(|&element| other.contains(element));
    }

    /// `containsAll(Collection)`: walks over the other.
    fn contains_all(&self, other: &Vector) -> Result<bool, ConcurrentModification> {
        let elements = self.elements.lock().unwrap();
        for element in other.walk() {
            if !elements.contains(&element?) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// `equals(Object)`: walks over both.
    fn equals(&self, other: &Vector) -> Result<bool, ConcurrentModification> {
        let elements = self.elements.lock().unwrap();
        let mut own = elements.iter();
        for element in other.walk() {
            if own.next() != Some(&element?) {
                return Ok(false);
            }
        }
        Ok(own.next().is_none())
    }
}

const FAIL_FAST: &str = "it changes nothing, and a walk that meets a change says so (`ConcurrentModificationException`), as is documented; \
     an answer about a vector that others change is out of date when it comes";

impl Class for Vector {
    const NAME: &'static str = "Vector";

    fn filled() -> Vector {
        Vector {
            elements: Mutex::new(vec![Some(1), Some(2), Some(3)]),
            changes: AtomicUsize::new(0),
        }
    }

    fn methods() -> Vec<Method<Vector>> {
        let constructor = "a vector that is cleared between `size` and `toArray` leaves `null`s that nobody put in, and counts them";
        let from_other = Method::with_other(
            "Vector(Collection)",
            Some(Bug(constructor)),
            |_, other: &Vector| Vector::from_other(other),
        );
        let mut methods = inherited();
        methods.push(from_other);
        methods
    }
}

/// All but the constructor.
fn inherited() -> Vec<Method<Vector>> {
    type M = Method<Vector>;
    let piecemeal = "some elements are judged by what the other held before a change, some by what it held after: \
                     what is left is right for neither";
    vec![
        M::alone("size", Vector::size),
        M::alone("isEmpty", Vector::is_empty),
        M::alone("capacity", Vector::capacity),
        M::alone("ensureCapacity", |v| v.ensure_capacity(8)),
        M::alone("get", |v| v.get(1)),
        M::alone("firstElement", Vector::first_element),
        M::alone("lastElement", Vector::last_element),
        M::alone("indexOf", |v| v.index_of(2)),
        M::alone("contains", |v| v.contains(Some(2))),
        M::alone("toArray", Vector::all),
        M::alone("hashCode", Vector::hash_code),
        M::alone("add", |v| v.add(4)),
        M::alone("insertElementAt", |v| v.insert_element_at(4, 1)),
        M::alone("set", |v| v.set(1, 4)),
        M::alone("setSize", |v| v.set_size(2)),
        M::alone("remove", |v| v.remove(2)),
        M::alone("removeElementAt", |v| v.remove_element_at(1)),
        M::alone("removeAllElements", Vector::remove_all_elements),
        M::with_other(
            "addAll",
            Some(Bug(
                "as the constructor: the end of the vector is `null`s that nobody put in",
            )),
            |v, o| v.add_all(o),
        ),
        M::with_other("addAll(int)", None, |v, o| v.insert_all(1, o)),
        M::with_other("removeAll", Some(Bug(piecemeal)), Vector::remove_all),
        M::with_other("retainAll", Some(Bug(piecemeal)), Vector::retain_all),
        M::with_other("containsAll", Some(Benign(FAIL_FAST)), Vector::contains_all),
        M::with_other("equals", Some(Benign(FAIL_FAST)), Vector::equals),
    ]
}

/// `java.util.Stack`, which extends `Vector`.
pub(crate) struct Stack(Vector);

impl Deref for Stack {
    type Target = Vector;

    fn deref(&self) -> &Vector {
        &self.0
    }
}

#[atomic]
impl Stack {
    fn push(&self, element: i64) {
        self.add(element);
    }

    fn empty(&self) -> bool {
        self.size() == 0
    }

    fn pop(&self) -> Option<Option<i64>> {
        let mut elements = self.elements.lock().unwrap();
        self.changed();
        elements.pop()
    }

    fn peek(&self) -> Option<Option<i64>> {
        self.elements.lock().unwrap().last().copied()
    }

    /// From the top, which is 1.
    fn search(&self, element: i64) -> Option<usize> {
        let elements = self.elements.lock().unwrap();
        let from_top = elements.iter().rev().position(|&own| own == Some(element));
        from_top.map(|at| at + 1)
    }
}

impl Class for Stack {
    const NAME: &'static str = "Stack";

    fn filled() -> Stack {
        Stack(Vector::filled())
    }

    fn methods() -> Vec<Method<Stack>> {
        type M = Method<Stack>;
        let own = [
            M::alone("push", |s| s.push(4)),
            M::alone("empty", Stack::empty),
            M::alone("pop", Stack::pop),
            M::alone("peek", Stack::peek),
            M::alone("search", |s| s.search(2)),
        ];
        let inherited = inherited().into_iter().map(|method| Method {
            name: method.name,
            takes_other: method.takes_other,
            verdict: method.verdict,
            call: Box::new(move |own: &Stack, other: &Stack| (method.call)(own, other)),
        });
        own.into_iter().chain(inherited).collect()
    }
}
