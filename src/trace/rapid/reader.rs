//! Reading STD.

use std::io::Read;
use std::ops::Range;

use super::lines::{Lines, shown};
use super::marks;
use super::names::{self, Registry, Space};
use super::recent::Recent;
use super::text::{Batch, Parser, Syntax, Text};
use crate::trace::intern::{Key, canonical, load};
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
#[derive(Default)]
pub struct Std {
    /// Where the fields of the window end, and three more.
    marks: Vec<u32>,
    fields: Fields,
}

/// What the fields of usual lines stand for.
#[derive(Default)]
struct Fields {
    operations: Operations,
    strands: Recent,
    sites: Recent,
}

/// The usual operations by the bytes of their names, each in a slot of its own.
struct Operations {
    slots: Box<[Operation; Operations::SLOTS]>,
    /// The slot of a name is in the high bits of its product with this.
    factor: u64,
}

#[derive(Clone, Copy)]
struct Operation {
    /// The name and the parenthesis behind it; zeros behind that.
    name: u64,
    /// The name's length.
    length: u8,
    op: Op,
    /// What the target is.
    named: Named,
    /// Where the target's name is.
    space: Space,
}

impl Operations {
    const BITS: u32 = 10;
    const SLOTS: usize = 1 << Self::BITS;

    /// The operation whose name, and the parenthesis behind it, are the first bytes of a word.
    #[inline(always)]
    fn get(&self, word: u64) -> Option<&Operation> {
        let name = marks::through_first(word, b'(');
        let found = &self.slots[slot(name, self.factor)];
        (found.name == name).then_some(found)
    }

    /// With every operation in the slot that the factor gives it, unless two have the same.
    fn by(factor: u64, operations: &[Operation]) -> Option<Self> {
        // No word that has a parenthesis is 0, and none that has not is the name of anything.
        let nothing = Operation {
            name: 0,
            length: 0,
            op: Op::Read,
            named: Named::Label,
            space: Space::Labels,
        };
        let mut slots = Box::new([nothing; Self::SLOTS]);
        for operation in operations {
            let slot = &mut slots[slot(operation.name, factor)];
            if slot.name != 0 {
                return None;
            }
            *slot = *operation;
        }
        Some(Self { slots, factor })
    }
}

#[inline(always)]
fn slot(name: u64, factor: u64) -> usize {
    (name.wrapping_mul(factor) >> (u64::BITS - Operations::BITS)) as usize
}

impl Default for Operations {
    fn default() -> Self {
        let usual = TABLE.iter().filter_map(|row| {
            let name = format!("{}(", row.std);
            let named = names::of_target(row.op, row.target)?;
            (name.len() <= 8).then(|| Operation {
                name: Key::new(name.as_bytes()).word(),
                length: row.std.len() as u8,
                op: row.op,
                named,
                space: Space::of(named),
            })
        });
        let usual: Vec<Operation> = usual.collect();
        // About one factor in ten will do, and the search always finds the same one.
        let mut factors = (1..).map(|at: u64| at.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let found = factors.find_map(|factor| Operations::by(factor, &usual));
        found.expect("there is no end of factors")
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
            let marks = &self.marks[at..];
            at += 3 * self.fields.parse_usual(marks, lines, registry, batch);
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
}

impl Fields {
    /// Parses lines as long as they are usual; answers how many those are.
    fn parse_usual<R: Read>(
        &mut self,
        marks: &[u32],
        lines: &mut Lines<R>,
        registry: &mut Registry,
        batch: &mut Batch,
    ) -> usize {
        let (before, mut start, mut count) = (batch.events.len(), lines.start, 0);
        loop {
            let (text, marks) = (lines.window(), &marks[3 * count..]);
            let group = self.parse_group(text, start, marks, registry, &mut batch.events);
            if group == 0 {
                break;
            }
            count += group;
            start = marks[3 * group - 1] as usize + 1;
        }
        if count > 0 {
            batch.lines.run(before, count, lines.line);
        }
        lines.skip(start, count as u64);
        count
    }

    /// Parses lines from `start` on as long as they are usual, up to [`GROUP`]; answers how many
    /// those are.
    ///
    /// The places of variables in their table are fetched on the way, and asked for at the end, so
    /// that the lines do not wait for memory.
    fn parse_group(
        &mut self,
        text: &[u8],
        mut start: usize,
        marks: &[u32],
        registry: &mut Registry,
        events: &mut Vec<Event>,
    ) -> usize {
        let before = events.len();
        events.reserve(GROUP);
        // For each line a bit: whether its target is a place, and not yet a number.
        let (mut places, mut bit) = (0_u64, 1);
        for marks in marks.chunks_exact(3).take(GROUP) {
            let line = Line::new(start, marks);
            let Some((event, is_place)) = self.usual(registry, text, &line, places == 0) else {
                break;
            };
            places |= if is_place { bit } else { 0 };
            bit <<= 1;
            start = line.third + 1;
            events.push(event);
        }
        let events = &mut events[before..];
        while places != 0 {
            let at = places.trailing_zeros() as usize;
            places &= places - 1;
            let target = &mut events[at].target;
            *target = match registry.variable_at(*target) {
                Some(id) => id,
                None => self.define(text, &marks[3 * at..], registry),
            };
        }
        events.len()
    }

    /// The number of the new name on a usual line.
    fn define(&self, text: &[u8], marks: &[u32], registry: &mut Registry) -> u32 {
        let operation = self.operation(text, marks[0] as usize, marks[1] as usize);
        let (operation, Range { start, end }) = operation.expect("a usual line");
        registry.number(operation.named, &Key::within(text, start, end))
    }

    /// The event on a line in the form that most lines have, of a thread that has come before; and
    /// whether its target is the place of a variable's name. Names get their numbers in the order
    /// of the lines, so any other new name has to wait until it `may_define`.
    #[inline(always)]
    fn usual(
        &mut self,
        registry: &mut Registry,
        text: &[u8],
        line: &Line,
        may_define: bool,
    ) -> Option<(Event, bool)> {
        let &Line {
            start,
            first,
            second,
            third,
        } = line;
        // Each of them ends a field or a line.
        let three = text[first] & text[second] == b'|' && text[third] == b'\n';
        if !three || third - start > MAX_NAME {
            return None;
        }
        let (strand, site) = (start..first, second + 1..third);
        let strand = match self.strands.get(text, &strand) {
            Some(id) => id,
            None => self.strand(text, strand, registry)?,
        };
        let site = match self.sites.get(text, &site) {
            Some(number) => number,
            None => self.site(text, site)?,
        };
        let (operation, name) = self.operation(text, first, second)?;
        let event = |target| Event::new(StrandId(strand), operation.op, target, SiteId(site));
        if let Space::Variables = operation.space {
            if let Some(place) = registry.place_of_variable(text, &name) {
                return Some((event(place), true));
            }
        }
        let target = match registry.known_within(operation.space, text, name.clone()) {
            Some(target) => target,
            // A name gets its number only where nothing else can be wrong with the line.
            None if may_define => {
                let key = Key::within(text, name.start, name.end);
                registry.number(operation.named, &key)
            }
            None => return None,
        };
        Some((event(target), false))
    }

    /// The number of a thread's name that has come before.
    #[inline(never)]
    fn strand(&mut self, text: &[u8], field: Range<usize>, registry: &Registry) -> Option<u32> {
        let id = registry.known_within(Space::Strands, text, field.clone())?;
        self.strands.set(text, &field, id);
        Some(id)
    }

    /// The location that is a number.
    #[inline(never)]
    fn site(&mut self, text: &[u8], field: Range<usize>) -> Option<u32> {
        if !(1..=8).contains(&field.len()) {
            return None;
        }
        let number = canonical(load(text, field.start), field.len())?;
        self.sites.set(text, &field, number);
        Some(number)
    }

    /// The operation in the second field of a line, and where its target's name is.
    #[inline(always)]
    fn operation(
        &self,
        text: &[u8],
        first: usize,
        second: usize,
    ) -> Option<(&Operation, Range<usize>)> {
        let operation = self.operations.get(load(text, first + 1))?;
        let name = first + 2 + usize::from(operation.length)..second - 1;
        let is_whole = name.start < name.end && text[name.end] == b')';
        is_whole.then_some((operation, name))
    }
}

/// How many lines are parsed before the numbers of their variables are looked up.
const GROUP: usize = 64;

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
        match self {
            Argument::Number(target) => Event::new(strand, op, target, site),
            Argument::Value(value) => Event::of_value(strand, value),
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
