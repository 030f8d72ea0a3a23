//! Reading RAPID's CSV.

use std::io::Read;
use std::ops::Range;

use super::lines::{Lines, shown};
use super::names::Registry;
use super::reader::{Argument, Wrong, apply, parse_operation};
use super::text::{Batch, Parser, Syntax, Text, by_line};
use crate::trace::intern::Key;
use crate::trace::op::{self, Target};
use crate::trace::{Error, ObjectKind, Op, SiteId, StrandId, Tables};

/// More columns than any trace has threads, and few enough to make strands of.
const MAX_COLUMNS: usize = 1 << 14;

/// Reads RAPID's CSV, a column a thread; the module's page says what that is.
pub type CsvReader<R> = Text<Parser<Csv, R>>;

/// RAPID's CSV.
#[derive(Default)]
pub struct Csv {
    /// A line was read that is neither empty nor a comment.
    begun: bool,
}

impl Syntax for Csv {
    fn parse<R: Read>(
        &mut self,
        lines: &mut Lines<R>,
        registry: &mut Registry,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        by_line(lines, batch, |text, place, line, batch| {
            let row = &text[place.clone()];
            let skipped = row.trim_ascii().is_empty()
                || row.starts_with(b"#")
                || !std::mem::replace(&mut self.begun, true) && !row.contains(&b'(');
            if skipped {
                return Ok(());
            }
            parse_row(registry, text, place, line, batch)
        })
    }
}

/// The events of one row: a `sync` is four.
fn parse_row(
    registry: &mut Registry,
    text: &[u8],
    place: Range<usize>,
    line: u64,
    batch: &mut Batch,
) -> Result<(), Wrong> {
    let site = Tables::number(line).unwrap_or(SiteId::NONE);
    let start = place.start;
    let row = &text[place];
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
    let mut push = |(op, argument): (Op, Argument)| {
        batch.push(argument.event(StrandId(strand), site, op), line);
    };
    let Some(variable) = field
        .strip_prefix(b"sync(")
        .and_then(|rest| rest.strip_suffix(b")"))
    else {
        push(parse_operation(registry, text, from..to, parse, known)?);
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
