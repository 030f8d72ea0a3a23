//! `StringBuffer`.

use aerodrome::atomic;
use aerodrome::sync::Mutex;

use super::Verdict::Benign;
use super::{Class, Method};

/// `java.lang.StringBuffer`: every method is synchronized on its buffer.
#[derive(Default)]
pub(crate) struct StringBuffer {
    chars: Mutex<Vec<char>>,
}

/// The JDK's `StringIndexOutOfBoundsException`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct OutOfBounds;

#[atomic]
impl StringBuffer {
    fn length(&self) -> usize {
        self.chars.lock().unwrap().len()
    }

    fn capacity(&self) -> usize {
        self.chars.lock().unwrap().capacity()
    }

    fn ensure_capacity(&self, capacity: usize) {
        let mut chars = self.chars.lock().unwrap();
        let more = capacity.saturating_sub(chars.len());
        chars.reserve(more);
    }

    fn set_length(&self, length: usize) {
        self.chars.lock().unwrap().resize(length, '\0');
    }

    fn char_at(&self, at: usize) -> Option<char> {
        self.chars.lock().unwrap().get(at).copied()
    }

    fn set_char_at(&self, at: usize, char: char) {
        if let Some(own) = self.chars.lock().unwrap().get_mut(at) {
            *own = char;
        }
    }

    /// `getChars`: the first so many characters, if there are so many.
    fn get_chars(&self, count: usize) -> Result<Vec<char>, OutOfBounds> {
        let chars = self.chars.lock().unwrap();
        chars.get(..count).map(<[char]>::to_vec).ok_or(OutOfBounds)
    }

    fn index_of(&self, char: char) -> Option<usize> {
        let chars = self.chars.lock().unwrap();
        chars.iter().position(|&own| own == char)
    }

    fn substring(&self, from: usize) -> Option<String> {
        let chars = self.chars.lock().unwrap();
        chars.get(from..).map(|rest| rest.iter().collect())
    }

    fn to_text(&self) -> String {
        self.chars.lock().unwrap().iter().collect()
    }

    fn append(&self, text: &str) {
        self.chars.lock().unwrap().extend(text.chars());
    }

    fn insert(&self, at: usize, text: &str) {
        let mut chars = self.chars.lock().unwrap();
        let at = at.min(chars.len());
        chars.splice(at..at, text.chars());
    }

    fn delete(&self, from: usize, to: usize) {
        let mut chars = self.chars.lock().unwrap();
        let to = to.min(chars.len());
        chars.drain(from.min(to)..to);
    }

    fn replace(&self, from: usize, to: usize, text: &str) {
        let mut chars = self.chars.lock().unwrap();
        let to = to.min(chars.len());
        chars.splice(from.min(to)..to, text.chars());
    }

    fn reverse(&self) {
        self.chars.lock().unwrap().reverse();
    }

    /// `append(StringBuffer)`: asks the other for its length, then for so many characters.
    fn append_buffer(&self, other: &StringBuffer) -> Result<(), OutOfBounds> {
        let mut chars = self.chars.lock().unwrap();
        let count = other.length();
        chars.extend(other.get_chars(count)?);
        Ok(())
    }

    /// `insert(int, Object)`: asks the other once, by its `toString`.
    fn insert_buffer(&self, at: usize, other: &StringBuffer) {
        let mut chars = self.chars.lock().unwrap();
        let text = other.to_text();
        let at = at.min(chars.len());
        chars.splice(at..at, text.chars());
    }
}

impl Class for StringBuffer {
    const NAME: &'static str = "StringBuffer";

    fn filled() -> StringBuffer {
        StringBuffer {
            chars: Mutex::new("abc".chars().collect()),
        }
    }

    fn methods() -> Vec<Method<StringBuffer>> {
        type M = Method<StringBuffer>;
        let append = "`getChars` looks at the length again, under the other's lock: what is appended stood in the other at one moment, \
                      and if the other has become too short nothing is appended and the caller is told";
        vec![
            M::alone("length", StringBuffer::length),
            M::alone("capacity", StringBuffer::capacity),
            M::alone("ensureCapacity", |b| b.ensure_capacity(16)),
            M::alone("setLength", |b| b.set_length(2)),
            M::alone("charAt", |b| b.char_at(1)),
            M::alone("setCharAt", |b| b.set_char_at(1, 'x')),
            M::alone("getChars", |b| b.get_chars(2)),
            M::alone("indexOf", |b| b.index_of('b')),
            M::alone("substring", |b| b.substring(1)),
            M::alone("toString", StringBuffer::to_text),
            M::alone("append", |b| b.append("d")),
            M::alone("insert", |b| b.insert(1, "d")),
            M::alone("delete", |b| b.delete(0, 2)),
            M::alone("replace", |b| b.replace(0, 2, "d")),
            M::alone("reverse", StringBuffer::reverse),
            M::with_other(
                "append(StringBuffer)",
                Some(Benign(append)),
                StringBuffer::append_buffer,
            ),
            M::with_other("insert(StringBuffer)", None, |b, o| b.insert_buffer(1, o)),
        ]
    }
}
