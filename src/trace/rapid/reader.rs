//! Reading STD.

use std::io::Read;
use std::ops::Range;

use rustc_hash::FxHashMap;

use super::lines::{Lines, shown};
use super::marks;
use super::names::{self, Registry};
use super::text::{Batch, Parser, Syntax, Text};
use crate::trace::intern::{Key, canonical, first_bytes, load};
use crate::trace::op::{self, TABLE, Target};
use crate::trace::tables::Named;
use crate::trace::{Error, Event, MAX_NAME, ObjectKind, Op, Place, SiteId, StrandId, Tables};

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
pub type StdReader<R> = Text<Parser<Std, R>>;

/// The STD format.
pub struct Std {
    /// Where the fields of the window end, and three more.
    marks: Vec<u32>,
    /// The usual operations by the bytes of their names: the length, and what the target is.
    usual: FxHashMap<u64, (usize, Op, Named)>,
}

impl Default for Std {
    fn default() -> Self {
        let usual = TABLE.iter().filter_map(|row| {
            let key = Key::new(row.std.as_bytes());
            let named = names::of_target(row.op, row.target)?;
            let length = key.bytes().len();
            (length <= 8).then_some((key.word(), (length, row.op, named)))
        });
        Self {
            marks: Vec::new(),
            usual: usual.collect(),
        }
    }
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

impl Syntax for Std {
    fn parse<R: Read>(
        &mut self,
        lines: &mut Lines<R>,
        registry: &mut Registry,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        while batch.events.is_empty() && lines.more()? {
            self.parse_window(lines, registry, batch)?;
        }
        Ok(())
    }
}

impl Std {
    /// Parses all lines of the window.
    fn parse_window<R: Read>(
        &mut self,
        lines: &mut Lines<R>,
        registry: &mut Registry,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        self.marks.clear();
        marks::find(lines.window(), lines.start, lines.whole(), &mut self.marks);
        // The last line has perhaps less than three.
        self.marks.extend([lines.whole() as u32 - 1; 3]);
        let mut at = 0;
        while lines.start < lines.whole() {
            at += 3 * self.parse_usual(&self.marks[at..], lines, registry, batch);
            if lines.start == lines.whole() {
                break;
            }
            let line = Line::new(lines.start, &self.marks[at..]);
            match parse_line(registry, lines.window(), &line) {
                Ok(event) => {
                    batch.push(event, lines.line);
                    lines.advance(line.third + 1)?;
                    at += 3;
                }
                Err(wrong) => {
                    let (text, number) = (lines.line(), lines.line);
                    let (empty, end) = (text.trim_ascii().is_empty(), lines.start + text.len());
                    lines.advance(end + 1)?;
                    if !empty {
                        return Err(wrong.at(lines.file(), number));
                    }
                    // Blanks have no other mark.
                    at += 1;
                }
            }
        }
        Ok(())
    }

    /// Parses lines as long as they are usual; answers how many those are.
    fn parse_usual<R: Read>(
        &self,
        marks: &[u32],
        lines: &mut Lines<R>,
        registry: &mut Registry,
        batch: &mut Batch,
    ) -> usize {
        let text = lines.window();
        let mut start = lines.start;
        let before = batch.events.len();
        let is_far = registry.has_many_variables();
        let mut later = marks.chunks_exact(3).skip(AHEAD);
        let events = marks.chunks_exact(3).map_while(|marks| {
            let line = Line::new(start, marks);
            if let (true, Some(marks)) = (is_far, later.next()) {
                fetch(registry, text, marks);
            }
            let event = self.usual(registry, text, &line)?;
            start = line.third + 1;
            Some(event)
        });
        batch.events.extend(events);
        let count = batch.events.len() - before;
        if count > 0 {
            batch.lines.run(before, count, lines.line);
        }
        lines.skip(start, count as u64);
        count
    }

    /// The event on a line in the form that most lines have, of a thread that has come before.
    #[inline(always)]
    fn usual(&self, registry: &mut Registry, text: &[u8], line: &Line) -> Option<Event> {
        let &Line {
            start,
            first,
            second,
            third,
        } = line;
        let three = text[first] == b'|' && text[second] == b'|' && text[third] == b'\n';
        if !three || third - start > MAX_NAME {
            return None;
        }
        let strand = registry.known(Named::Strand, &Key::within(text, start, first))?;
        let word = load(text, first + 1);
        let length = marks::first(word, b'(')?;
        let &(expected, op, named) = self.usual.get(&first_bytes(word, length))?;
        let (from, to) = (first + 1 + length + 1, second - 1);
        if length != expected || from >= to || text[to] != b')' {
            return None;
        }
        let digits = third - (second + 1);
        if !(1..=8).contains(&digits) {
            return None;
        }
        let site = canonical(load(text, second + 1), digits)?;
        // A name gets its number only where nothing else can be wrong with the line.
        let target = registry.number(named, &Key::within(text, from, to));
        Some(Event {
            strand: StrandId(strand),
            target,
            site: SiteId(site),
            op,
        })
    }
}

/// So many lines before a name is looked up its place in the table is fetched, if that is far.
const AHEAD: usize = 8;

/// Fetches what tells the number of the variable on a line with these marks, if there is one.
#[inline(always)]
fn fetch(registry: &Registry, text: &[u8], marks: &[u32]) {
    let (first, end) = (marks[0] as usize, marks[1] as usize - 1);
    if let Some(length) = marks::first(load(text, first + 1), b'(') {
        let start = first + 1 + length + 1;
        if start < end {
            registry.fetch_variable(&Key::within(text, start, end));
        }
    }
}

/// The event on a line, whatever it looks like.
#[inline(never)]
fn parse_line(registry: &mut Registry, text: &[u8], line: &Line) -> Result<Event, Wrong> {
    let &Line {
        start,
        first,
        second,
        third,
    } = line;
    if text[first] != b'|' || text[second] != b'|' {
        return Err(fields(text, start));
    }
    if first == start {
        return Err(Wrong::new("the name of a thread", "nothing"));
    }
    let strand = registry.strand(&bounded(text, start, first)?);
    let operation = first + 1..second;
    let (op, target) = parse_operation(registry, text, operation, op::parse_std, op::std_names)?;
    if text[third] != b'\n' {
        return Err(fields(text, start));
    }
    let site = location(registry, text, second + 1, third)?;
    Ok(target.event(StrandId(strand), site, op))
}

/// A line of three fields: where it begins, and where the fields end.
struct Line {
    start: usize,
    first: usize,
    second: usize,
    third: usize,
}

impl Line {
    /// The line at `start`, whose marks come first.
    #[inline(always)]
    fn new(start: usize, marks: &[u32]) -> Self {
        Self {
            start,
            first: marks[0] as usize,
            second: marks[1] as usize,
            third: marks[2] as usize,
        }
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

/// The location in `text[start..end]`.
pub(super) fn location(
    registry: &mut Registry,
    text: &[u8],
    start: usize,
    end: usize,
) -> Result<SiteId, Wrong> {
    let end = end - usize::from(end > start && text[end - 1] == b'\r');
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
fn bounded(text: &[u8], start: usize, end: usize) -> Result<Key<'_>, Wrong> {
    if end - start > MAX_NAME {
        return Err(Wrong::new(
            format!("a name of at most {MAX_NAME} bytes"),
            format!("{}, which has {}", shown(&text[start..end]), end - start),
        ));
    }
    Ok(Key::within(text, start, end))
}

/// The name in `text[inner]`, which must be there.
fn name<'t>(
    text: &'t [u8],
    inner: Option<(usize, usize)>,
    what: &str,
    field: &[u8],
) -> Result<Key<'t>, Wrong> {
    match inner {
        Some((start, end)) if start < end => bounded(text, start, end),
        _ => Err(Wrong::new(
            format!("the name of {what} in parentheses"),
            shown(field),
        )),
    }
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

/// The operation in `text[place]`; `parse` knows the names, and `known` lists them for an error.
pub(super) fn parse_operation(
    registry: &mut Registry,
    text: &[u8],
    place: Range<usize>,
    parse: impl Fn(&[u8]) -> Option<(Op, Target)>,
    known: impl Fn() -> String,
) -> Result<(Op, Argument), Wrong> {
    let Range { start, end } = place;
    let field = &text[start..end];
    let open = field.iter().position(|&byte| byte == b'(');
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
pub(super) fn apply(
    registry: &mut Registry,
    text: &[u8],
    op: Op,
    target: Target,
    inner: Option<(usize, usize)>,
    field: &[u8],
) -> Result<(Op, Argument), Wrong> {
    let number = match target {
        Target::Object(kind) => {
            let what = match kind {
                ObjectKind::Lock => "a lock",
                _ => "a variable",
            };
            registry.object(&name(text, inner, what, field)?, op, kind)
        }
        Target::Strand => registry.strand(&name(text, inner, "a thread", field)?),
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
