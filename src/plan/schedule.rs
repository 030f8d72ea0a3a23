//! A schedule as text: `aero1.<plan>.<seed>.<run>.<choices>`.
//!
//! What a run needs to be the same run again are its choices. They are written against what would
//! *usually* be next: the strand that was last, while it can go on, else the first that can. So
//! only switches, surprises and unusual picks are written: each as the number of usual choices
//! before it, its index, and a byte of the hash of all actions so far; and at the end the number of
//! usual choices that are left and four bytes of hash. Numbers are LEB128, and all is base64 with
//! the alphabet for file names. Plan, seed and run say where the schedule comes from.

use super::random::mix;
use super::{Action, How, Name};
use std::fmt;
use std::str::FromStr;

/// The choices of a run. See the [module](self).
///
/// ```
/// use aerodrome::plan::Schedule;
///
/// let schedule: Schedule = "aero1.p.7.37.AAAAAAAA".parse()?;
/// assert_eq!((schedule.seed, schedule.run), (7, 37));
/// assert_eq!(schedule.to_string(), "aero1.p.7.37.AAAAAAAA");
///
/// let error = "aero1.q.7.37.AAAAAAAA".parse::<Schedule>().unwrap_err();
/// assert_eq!(
///     error.to_string(),
///     "column 7: expected a plan (w, c, p, s, r, a or m), found `q`",
/// );
/// # Ok::<_, aerodrome::plan::ScheduleError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    /// The plan that made the choices.
    pub plan: Name,
    /// The plan's seed.
    pub seed: u64,
    /// The run, counted from 0.
    pub run: u64,
    pub(crate) turns: Vec<Turn>,
    /// The usual choices after the last turn.
    pub(crate) rest: u32,
    /// The hash of all actions.
    pub(crate) hash: u32,
}

/// A choice that is not the usual one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Turn {
    /// The usual choices before it.
    pub(crate) after: u32,
    pub(crate) index: u32,
    /// The hash of all actions so far: of the chosen one, if it chooses one.
    pub(crate) check: u8,
}

impl Schedule {
    /// No choice at all: everything goes as usual.
    pub fn new(plan: Name, seed: u64, run: u64) -> Schedule {
        Schedule {
            plan,
            seed,
            run,
            turns: Vec::new(),
            rest: 0,
            hash: 0,
        }
    }
}

/// Which of the ready actions comes if nothing is chosen: the strand that was last goes on, else
/// the first that can; nobody is surprised unless only that is left.
pub(crate) fn usual(ready: &[Action], last: Option<u32>) -> usize {
    let proceeds = |action: &Action| action.how == How::Proceed;
    let goes_on = |action: &Action| proceeds(action) && Some(action.seat) == last;
    let expires = |action: &Action| action.how == How::Expire;
    let orders: [&dyn Fn(&Action) -> bool; 3] = [&goes_on, &proceeds, &expires];
    let first = |order: &&dyn Fn(&Action) -> bool| ready.iter().position(order);
    orders.iter().find_map(first).unwrap_or(0)
}

/// The hash of a run so far and its next action. It leaves the site out, which is another number in
/// another process.
pub(crate) fn extend(hash: u64, action: &Action) -> u64 {
    let what = u64::from(action.intent.object) << 16
        | (action.intent.kind as u64) << 8
        | action.how as u64;
    mix(hash, mix(action.path ^ u64::from(action.nth) << 32, what))
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bytes = Vec::new();
        write_number(&mut bytes, self.turns.len() as u32);
        for turn in &self.turns {
            write_number(&mut bytes, turn.after);
            write_number(&mut bytes, turn.index);
            bytes.push(turn.check);
        }
        write_number(&mut bytes, self.rest);
        bytes.extend(self.hash.to_le_bytes());
        let letter = self.plan.letter();
        write!(f, "aero1.{letter}.{}.{}.", self.seed, self.run)?;
        for group in bytes.chunks(3) {
            let byte = |index| u32::from(*group.get(index).unwrap_or(&0));
            let word = byte(0) << 16 | byte(1) << 8 | byte(2);
            for digit in 0..=group.len() {
                let value = word >> (18 - 6 * digit) & 63;
                write!(f, "{}", char::from(ALPHABET[value as usize]))?;
            }
        }
        Ok(())
    }
}

fn write_number(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Why a text is no schedule: where, what was expected, and what was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleError {
    /// The column, counted from 1.
    pub column: usize,
    /// What should be there.
    pub expected: &'static str,
    /// What is there.
    pub found: String,
}

impl fmt::Display for ScheduleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ScheduleError {
            column,
            expected,
            found,
        } = self;
        write!(f, "column {column}: expected {expected}, found {found}")
    }
}

impl std::error::Error for ScheduleError {}

impl FromStr for Schedule {
    type Err = ScheduleError;

    fn from_str(text: &str) -> Result<Schedule, ScheduleError> {
        let mut fields = Fields { text, at: 0 };
        fields.next("`aero1`", |field| (field == "aero1").then_some(()))?;
        let plan = fields.next("a plan (w, c, p, s, r, a or m)", Name::from_letter)?;
        let seed = fields.next("a seed", |field| field.parse().ok())?;
        let run = fields.next("the number of a run", |field| field.parse().ok())?;
        let mut choices = Choices::new(text, fields.at)?;
        let count = choices.number("a number of switches")?;
        let mut turns = Vec::new();
        for _ in 0..count {
            turns.push(Turn {
                after: choices.number("a number of choices")?,
                index: choices.number("an index")?,
                check: choices.byte("a hash")?,
            });
        }
        let rest = choices.number("a number of choices")?;
        let mut hash = [0; 4];
        for byte in &mut hash {
            *byte = choices.byte("four bytes of hash")?;
        }
        choices.finish()?;
        Ok(Schedule {
            plan,
            seed,
            run,
            turns,
            rest,
            hash: u32::from_le_bytes(hash),
        })
    }
}

/// The fields between the points of a text.
struct Fields<'t> {
    text: &'t str,
    at: usize,
}

impl Fields<'_> {
    fn next<T>(
        &mut self,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, ScheduleError> {
        let rest = &self.text[self.at..];
        let field = rest.split('.').next().unwrap_or(rest);
        let value = parse(field).ok_or_else(|| error(self.text, self.at, expected, field))?;
        let end = self.at + field.len();
        if !self.text[end..].starts_with('.') {
            return Err(error(self.text, end, "`.`", ""));
        }
        self.at = end + 1;
        Ok(value)
    }
}

/// The bytes of the last field.
struct Choices<'t> {
    text: &'t str,
    start: usize,
    bytes: Vec<u8>,
    at: usize,
}

impl<'t> Choices<'t> {
    fn new(text: &'t str, start: usize) -> Result<Choices<'t>, ScheduleError> {
        let mut bytes = Vec::new();
        let (mut word, mut bits) = (0_u32, 0);
        for (offset, digit) in text[start..].char_indices() {
            let value = ALPHABET
                .iter()
                .position(|&known| char::from(known) == digit);
            let Some(value) = value else {
                let found = digit.to_string();
                return Err(error(text, start + offset, "a digit of base64", &found));
            };
            word = word << 6 | value as u32;
            bits += 6;
            if bits >= 8 {
                bits -= 8;
                bytes.push((word >> bits) as u8);
                word &= (1 << bits) - 1;
            }
        }
        let choices = Choices {
            text,
            start,
            bytes,
            at: 0,
        };
        // One text for one schedule: no digit too many, no bit set that says nothing.
        match bits < 6 && word == 0 {
            true => Ok(choices),
            false => {
                let last = text.len() - 1;
                Err(error(text, last, "the end of the text", &text[last..]))
            }
        }
    }

    fn byte(&mut self, expected: &'static str) -> Result<u8, ScheduleError> {
        let byte = self.bytes.get(self.at).copied();
        let byte = byte.ok_or_else(|| error(self.text, self.text.len(), expected, ""))?;
        self.at += 1;
        Ok(byte)
    }

    fn number(&mut self, expected: &'static str) -> Result<u32, ScheduleError> {
        let start = self.column();
        let mut number = 0_u64;
        for shift in (0..35).step_by(7) {
            let byte = self.byte(expected)?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                let short = shift == 0 || byte != 0;
                let number = u32::try_from(number).ok().filter(|_| short);
                return number.ok_or_else(|| self.misfit(start, expected));
            }
        }
        Err(self.misfit(start, expected))
    }

    fn finish(&self) -> Result<(), ScheduleError> {
        match self.at == self.bytes.len() {
            true => Ok(()),
            false => Err(self.misfit(self.column(), "the end of the text")),
        }
    }

    /// The digit that has the first bit of the next byte.
    fn column(&self) -> usize {
        self.start + self.at * 8 / 6
    }

    fn misfit(&self, at: usize, expected: &'static str) -> ScheduleError {
        error(self.text, at, expected, &self.text[at..])
    }
}

fn error(text: &str, at: usize, expected: &'static str, found: &str) -> ScheduleError {
    let found = match found {
        "" => "the end".to_string(),
        found => format!("`{found}`"),
    };
    ScheduleError {
        column: text[..at].chars().count() + 1,
        expected,
        found,
    }
}
