//! Reading RoadRunner's log.

use std::io::Read;

use super::lines::{Lines, shown};
use super::names::Registry;
use super::reader::{self, Wrong, apply};
use super::text::{Batch, Parser, Syntax, Text, by_line};
use crate::trace::intern::Key;
use crate::trace::{Error, Event, MAX_NAME, Op, SiteId, StrandId};

const EXPECTED: &str = "an operation (Rd Wr ARd AWr VRd VWr Acquire Release Start Join Enter Exit) and its two arguments";

/// Reads the log of RoadRunner's printing tool; the module's page says what that is.
///
/// ```
/// use aerodrome::trace::{Names, Op, RoadRunnerReader, Source};
///
/// let log = b"[main: Meep Meep.]\n@   Enter(0,Bank.move()V) from null\n@   Wr(0,@01.sum_I)  Final  Bank.java:7:3\n";
/// let mut source = RoadRunnerReader::new("bank.rr", &log[..]);
/// let mut batch = Vec::new();
/// assert!(source.fill(&mut batch)?);
/// assert_eq!([batch[0].op, batch[1].op], [Op::Begin, Op::Write]);
/// assert_eq!(source.names().object(batch[1].object()).name.as_deref(), Some("@01.sum_I"));
/// # Ok::<(), aerodrome::trace::Error>(())
/// ```
pub type RoadRunnerReader<R> = Text<Parser<RoadRunner, R>>;

/// The log of RoadRunner's printing tool.
#[derive(Default)]
pub struct RoadRunner;

impl Syntax for RoadRunner {
    fn parse<R: Read>(
        &mut self,
        lines: &mut Lines<R>,
        registry: &mut Registry,
        batch: &mut Batch,
    ) -> Result<(), Error> {
        by_line(lines, batch, |text, place, line, batch| {
            if is_event(&text[place.clone()]) {
                batch.push(parse(registry, text, place.start, place.end)?, line);
            }
            Ok(())
        })
    }
}

/// The line is one that RoadRunner's printing tool wrote: `@` and a blank.
pub(in crate::trace) fn is_printed(line: &[u8]) -> bool {
    matches!(line, [b'@', blank, ..] if blank.is_ascii_whitespace())
}

/// The line is to be an event: a printed line, but not `@  main[tid = 0] started .` and the like.
fn is_event(line: &[u8]) -> bool {
    const NOTICE: &[u8] = b"[tid = ";
    is_printed(line) && !line.windows(NOTICE.len()).any(|piece| piece == NOTICE)
}

/// The word that begins at `from` or behind the blanks there: where it begins and ends.
fn word(text: &[u8], from: usize, end: usize) -> (usize, usize) {
    let blank = |at: &usize| text[*at].is_ascii_whitespace();
    let start = (from..end).find(|at| !blank(at)).unwrap_or(end);
    (start, (start..end).find(blank).unwrap_or(end))
}

fn operation(name: &[u8]) -> Option<Op> {
    Some(match name {
        b"Rd" | b"ARd" | b"VRd" => Op::Read,
        b"Wr" | b"AWr" | b"VWr" => Op::Write,
        b"Acquire" => Op::Acquire,
        b"Release" => Op::Release,
        b"Start" => Op::Fork,
        b"Join" => Op::Join,
        b"Enter" => Op::Begin,
        b"Exit" => Op::End,
        _ => return None,
    })
}

/// The event on the line `text[start..end]`.
fn parse(registry: &mut Registry, text: &[u8], start: usize, end: usize) -> Result<Event, Wrong> {
    let (from, to) = word(text, start + 1, end);
    let call = &text[from..to];
    let wrong = || Wrong::new(EXPECTED, shown(&text[start..end]));
    let open = call
        .iter()
        .position(|&byte| byte == b'(')
        .ok_or_else(wrong)?;
    let op = operation(&call[..open]).ok_or_else(wrong)?;
    let inner = call[open + 1..].strip_suffix(b")").ok_or_else(wrong)?;
    let comma = inner
        .iter()
        .position(|&byte| byte == b',')
        .ok_or_else(wrong)?;
    let (strand, target) = (&inner[..comma], &inner[comma + 1..]);
    if strand.is_empty() || target.is_empty() || target.contains(&b',') {
        return Err(wrong());
    }
    if strand.len() > MAX_NAME {
        let expected = format!("a thread's name of at most {MAX_NAME} bytes");
        return Err(Wrong::new(expected, shown(strand)));
    }
    let strand = StrandId(registry.strand(&Key::new(strand)));
    let target = Some((to - 1 - target.len(), to - 1));
    let (op, target) = apply(registry, text, op, op.row().target, target, call)?;
    let site = match op {
        Op::Read | Op::Write | Op::Begin | Op::End => location(registry, text, to, end)?,
        _ => SiteId::NONE,
    };
    Ok(target.event(strand, site, op))
}

/// The location: the second word behind the operation.
fn location(
    registry: &mut Registry,
    text: &[u8],
    from: usize,
    end: usize,
) -> Result<SiteId, Wrong> {
    let (_, first) = word(text, from, end);
    let (from, to) = word(text, first, end);
    match &text[from..to] {
        b"null" => Ok(SiteId::NONE),
        _ => reader::location(registry, text, from, to),
    }
}
