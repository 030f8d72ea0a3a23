//! Reading STD.

use std::io::Read;

use super::lines::{LineMap, Lines, shown};
use super::names::Registry;
use crate::trace::intern::{Key, load};
use crate::trace::op::{self, Target};
use crate::trace::{
    Error, Event, MAX_NAME, ObjectKind, Op, Place, Semantics, SiteId, Source, StrandId, Tables,
};

const BATCH: usize = 4096;

/// Reads the STD format; the module's page says what that is.
///
/// ```
/// use aerodrome::trace::{Names, ObjectId, Op, Source, StdReader};
///
/// let mut source = StdReader::new("a.std", &b"T0|begin|1\nT0|w(x)|2\nT0|end|3\n"[..]);
/// let mut batch = Vec::new();
/// assert!(source.fill(&mut batch)?);
/// assert_eq!(batch.len(), 3);
/// assert_eq!(batch[1].op, Op::Write);
/// assert_eq!(source.names().object(batch[1].object()).name.as_deref(), Some("x"));
/// assert!(!source.fill(&mut batch)?);
/// # Ok::<(), aerodrome::trace::Error>(())
/// ```
pub struct StdReader<R> {
    file: String,
    lines: Lines<R>,
    registry: Registry,
    map: LineMap,
}

/// What is wrong with a line.
pub(super) struct Wrong {
    expected: String,
    found: String,
}

impl Wrong {
    #[cold]
    pub(super) fn new(expected: impl Into<String>, found: impl Into<String>) -> Self {
        Wrong {
            expected: expected.into(),
            found: found.into(),
        }
    }

    pub(super) fn at(self, file: &str, line: u64) -> Error {
        Error::mismatch(file, Place::Line(line), self.expected, self.found)
    }
}

impl<R: Read> StdReader<R> {
    /// Reads `input`; `file` is its name in errors.
    pub fn new(file: &str, input: R) -> Self {
        Self {
            file: file.to_owned(),
            lines: Lines::new(input),
            registry: Registry::new(),
            map: LineMap::default(),
        }
    }
}

impl<R: Read> Source for StdReader<R> {
    fn fill(&mut self, batch: &mut Vec<Event>) -> Result<bool, Error> {
        batch.clear();
        self.map.clear();
        self.registry.next_batch();
        while batch.len() < BATCH && self.lines.more(&self.file)? {
            let line = self.lines.line;
            let start = self.lines.start;
            match parse_line(&mut self.registry, self.lines.window(), start) {
                Ok((event, next)) => {
                    self.map.note(batch.len(), line);
                    batch.push(event);
                    self.lines.advance(&self.file, next)?;
                }
                Err(wrong) => {
                    let text = self.lines.line();
                    let (empty, next) = (text.trim_ascii().is_empty(), start + text.len() + 1);
                    self.lines.advance(&self.file, next)?;
                    if !empty {
                        return Err(wrong.at(&self.file, line));
                    }
                }
            }
        }
        Ok(!batch.is_empty())
    }

    fn names(&self) -> &Tables {
        &self.registry.tables
    }

    fn semantics(&self) -> Semantics {
        Semantics::Paper
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn place(&self, index: usize) -> Place {
        Place::Line(self.map.line(index))
    }

    fn consumed(&self) -> u64 {
        self.lines.consumed()
    }
}

/// The first `|` or line's end from `at` on, eight bytes at a time.
#[inline]
fn field_end(text: &[u8], mut at: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    // The lowest marked byte is exact; borrows only reach upwards.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & HIGH;
    loop {
        let word = load(text, at);
        let marks = zeros(word ^ (ONES * b'|' as u64)) | zeros(word ^ (ONES * b'\n' as u64));
        if marks != 0 {
            return at + (marks.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
}

fn fields(text: &[u8], start: usize) -> Wrong {
    let rest = &text[start..];
    let line = &rest[..rest
        .iter()
        .position(|&byte| byte == b'\n')
        .unwrap_or(rest.len())];
    Wrong::new("three fields, thread|operation|location", shown(line))
}

/// The event on the line at `start`, and where the next line begins.
#[inline]
fn parse_line(registry: &mut Registry, text: &[u8], start: usize) -> Result<(Event, usize), Wrong> {
    let first = field_end(text, start);
    if text[first] != b'|' {
        return Err(fields(text, start));
    }
    let second = field_end(text, first + 1);
    if text[second] != b'|' {
        return Err(fields(text, start));
    }
    if first == start {
        return Err(Wrong::new("the name of a thread", "nothing"));
    }
    let strand = registry.strand(&bounded(text, start, first)?);
    let (op, target) = parse_operation(
        registry,
        text,
        first + 1,
        second,
        op::parse_std,
        op::std_names,
    )?;

    let mut at = second + 1;
    let mut number = 0;
    while text[at].is_ascii_digit() && at < second + 11 {
        number = number * 10 + u64::from(text[at] - b'0');
        at += 1;
    }
    let canonical = at == second + 2 || text[second + 1] != b'0';
    let site = match Tables::number(number) {
        Some(site) if text[at] == b'\n' && canonical => site,
        _ => {
            at = field_end(text, second + 1);
            if text[at] != b'\n' {
                return Err(fields(text, start));
            }
            label(registry, text, second + 1, at)?
        }
    };
    Ok((target.event(StrandId(strand), site, op), at + 1))
}

/// A location that is not simply a number.
pub(super) fn label(
    registry: &mut Registry,
    text: &[u8],
    start: usize,
    end: usize,
) -> Result<SiteId, Wrong> {
    let end = if end > start && text[end - 1] == b'\r' {
        end - 1
    } else {
        end
    };
    let field = &text[start..end];
    if field.is_empty() {
        return Ok(SiteId::NONE);
    }
    let digits = field.iter().all(u8::is_ascii_digit) && (field.len() == 1 || field[0] != b'0');
    let number = std::str::from_utf8(field)
        .ok()
        .filter(|_| digits)
        .and_then(|field| field.parse().ok());
    match number.and_then(Tables::number) {
        Some(site) => Ok(site),
        None => Ok(registry.label(&bounded(text, start, end)?)),
    }
}

/// The key of a name that is not too long.
#[inline(always)]
fn bounded(text: &[u8], start: usize, end: usize) -> Result<Key<'_>, Wrong> {
    if end - start > MAX_NAME {
        return Err(Wrong::new(
            format!("a name of at most {MAX_NAME} bytes"),
            format!("{}, which has {}", shown(&text[start..end]), end - start),
        ));
    }
    Ok(Key::within(text, start, end))
}

/// What the argument of an operation stands for.
pub(super) enum Argument {
    Number(u32),
    Value(i64),
}

impl Argument {
    #[inline]
    pub(super) fn event(self, strand: StrandId, site: SiteId, op: Op) -> Event {
        let (target, site) = match self {
            Argument::Number(target) => (target, site),
            Argument::Value(value) => (value as u32, SiteId((value as u64 >> 32) as u32)),
        };
        Event {
            strand,
            target,
            site,
            op,
        }
    }
}

/// The operation in `text[start..end]`; `parse` knows the names, and `known` lists them for an
/// error.
#[inline]
pub(super) fn parse_operation(
    registry: &mut Registry,
    text: &[u8],
    start: usize,
    end: usize,
    parse: impl Fn(&[u8]) -> Option<(Op, Target)>,
    known: impl Fn() -> String,
) -> Result<(Op, Argument), Wrong> {
    let field = &text[start..end];
    // Most events are reads and writes.
    let open = match field {
        [_, b'(', ..] => Some(1),
        _ => field.iter().position(|&byte| byte == b'('),
    };
    let (name, inner) = match open {
        Some(open) if field[field.len() - 1] == b')' => {
            (&field[..open], Some((start + open + 1, end - 1)))
        }
        Some(_) => return Err(Wrong::new("`)` at the end of the operation", shown(field))),
        None => (field, None),
    };
    let Some((op, target)) = parse(name) else {
        let expected = format!("an operation ({})", known());
        return Err(Wrong::new(expected, shown(field)));
    };
    apply(registry, text, op, target, inner, field)
}

/// The operation on the argument in `text[inner]`; `field` is what an error shows.
#[inline]
pub(super) fn apply(
    registry: &mut Registry,
    text: &[u8],
    op: Op,
    target: Target,
    inner: Option<(usize, usize)>,
    field: &[u8],
) -> Result<(Op, Argument), Wrong> {
    let needed = |what: &str| match inner {
        Some((start, end)) if start < end => bounded(text, start, end),
        _ => Err(Wrong::new(
            format!("the name of {what} in parentheses"),
            shown(field),
        )),
    };
    let number = match target {
        Target::Object(kind) => {
            let what = match kind {
                ObjectKind::Lock => "a lock",
                _ => "a variable",
            };
            registry.object(&needed(what)?, op, kind)
        }
        Target::Strand => registry.strand(&needed("a thread")?),
        Target::Block => {
            let (start, end) = inner.unwrap_or((0, 0));
            registry.block(&bounded(text, start, end)?)
        }
        Target::Nothing => match inner {
            None => 0,
            Some(_) => return Err(Wrong::new("no argument", shown(field))),
        },
        Target::Value => {
            let digits = inner.and_then(|(start, end)| std::str::from_utf8(&text[start..end]).ok());
            let Some(value) = digits.and_then(|digits| digits.parse().ok()) else {
                return Err(Wrong::new(
                    "a whole number of 64 bits in parentheses",
                    shown(field),
                ));
            };
            return Ok((op, Argument::Value(value)));
        }
    };
    Ok((op, Argument::Number(number)))
}
