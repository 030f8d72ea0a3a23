//! Reading RAPID's CSV.

use std::io::Read;

use super::lines::{LineMap, Lines, shown};
use super::names::Registry;
use super::reader::{Argument, Wrong, apply, parse_operation};
use crate::trace::intern::Key;
use crate::trace::op::{self, Target};
use crate::trace::{
    Error, Event, ObjectKind, Op, Place, Semantics, SiteId, Source, StrandId, Tables,
};

const BATCH: usize = 4096;
/// More columns than any trace has threads, and few enough to make strands of.
const MAX_COLUMNS: usize = 1 << 14;

/// Reads RAPID's CSV, a column a thread; the module's page says what that is.
pub struct CsvReader<R> {
    file: String,
    lines: Lines<R>,
    registry: Registry,
    map: LineMap,
    /// A line was read that is neither empty nor a comment.
    begun: bool,
}

impl<R: Read> CsvReader<R> {
    /// Reads `input`; `file` is its name in errors.
    pub fn new(file: &str, input: R) -> Self {
        Self {
            file: file.to_owned(),
            lines: Lines::new(input),
            registry: Registry::new(),
            map: LineMap::default(),
            begun: false,
        }
    }
}

impl<R: Read> Source for CsvReader<R> {
    fn fill(&mut self, batch: &mut Vec<Event>) -> Result<bool, Error> {
        batch.clear();
        self.map.clear();
        self.registry.next_batch();
        while batch.len() < BATCH && self.lines.more(&self.file)? {
            let line = self.lines.line;
            let text = self.lines.line();
            let (start, next) = (self.lines.start, self.lines.start + text.len() + 1);
            let text = text.strip_suffix(b"\r").unwrap_or(text);
            let end = start + text.len();
            let skipped = text.trim_ascii().is_empty()
                || text.starts_with(b"#")
                || !std::mem::replace(&mut self.begun, true) && !text.contains(&b'(');
            if !skipped {
                let before = batch.len();
                let site = Tables::number(line).unwrap_or(SiteId::NONE);
                parse_row(
                    &mut self.registry,
                    self.lines.window(),
                    start,
                    end,
                    site,
                    batch,
                )
                .map_err(|wrong| wrong.at(&self.file, line))?;
                for index in before..batch.len() {
                    self.map.note(index, line);
                }
            }
            self.lines.advance(&self.file, next)?;
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

/// The events of one row: a `sync` is four.
fn parse_row(
    registry: &mut Registry,
    text: &[u8],
    start: usize,
    end: usize,
    site: SiteId,
    batch: &mut Vec<Event>,
) -> Result<(), Wrong> {
    let row = &text[start..end];
    let mut cell: Option<(usize, usize, usize)> = None;
    let mut from = start;
    for (column, piece) in row.split(|&byte| byte == b',').enumerate() {
        let to = from + piece.len();
        if !piece.is_empty() {
            if cell.is_some() {
                return Err(Wrong::new("one event in a line", shown(row)));
            }
            cell = Some((column, from, to));
        }
        from = to + 1;
    }
    let Some((column, from, to)) = cell else {
        return Err(Wrong::new("an event in one of the columns", shown(row)));
    };
    if column >= MAX_COLUMNS {
        return Err(Wrong::new(
            format!("at most {MAX_COLUMNS} columns"),
            format!("an event in column {column}"),
        ));
    }
    let name = format!("T{column}");
    let strand = registry.strand(&Key::new(name.as_bytes()));
    let field = &text[from..to];
    let mut push =
        |(op, argument): (Op, Argument)| batch.push(argument.event(StrandId(strand), site, op));
    let Some(variable) = field
        .strip_prefix(b"sync(")
        .and_then(|rest| rest.strip_suffix(b")"))
    else {
        push(parse_operation(registry, text, from, to, parse, known)?);
        return Ok(());
    };
    let lock = [b"VARLOCK-", variable, b"-KCOLRAV"].concat();
    let (lock_span, span) = (
        Some((0, lock.len())),
        Some((to - 1 - variable.len(), to - 1)),
    );
    push(apply(registry, &lock, Op::Acquire, LOCK, lock_span, field)?);
    push(apply(registry, text, Op::Read, VARIABLE, span, field)?);
    push(apply(registry, text, Op::Write, VARIABLE, span, field)?);
    push(apply(registry, &lock, Op::Release, LOCK, lock_span, field)?);
    Ok(())
}

const LOCK: Target = Target::Object(ObjectKind::Lock);
const VARIABLE: Target = Target::Object(ObjectKind::Variable);

/// The operation of this name: RAPID's, or one of the STD format.
fn parse(name: &[u8]) -> Option<(Op, Target)> {
    match name {
        b"start" => Some((Op::Fork, Target::Strand)),
        b"enter" => Some((Op::Begin, Target::Block)),
        b"exit" => Some((Op::End, Target::Block)),
        _ => op::parse_std(name),
    }
}

fn known() -> String {
    "r w acq rel start join enter exit sync, or an operation of the STD format".to_owned()
}
