//! A text as a source of events: batch after batch, and the names that each brings.

use std::io::Read;
use std::ops::Range;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::lines::{LineMap, Lines};
use super::names::Registry;
use super::reader::Wrong;
use crate::trace::tables::Definition;
use crate::trace::{Error, Event, Place, Semantics, Source, Tables};

/// Events that stand together in a text, and what is to be known of them.
#[derive(Default)]
pub struct Batch {
    pub(super) events: Vec<Event>,
    pub(super) lines: LineMap,
    /// What is named here for the first time.
    definitions: Vec<Definition>,
    /// How many bytes have been read.
    consumed: u64,
}

impl Batch {
    #[inline]
    pub(super) fn push(&mut self, event: Event, line: u64) {
        self.lines.note(self.events.len(), line);
        self.events.push(event);
    }
}

/// Where the batches of a text come from.
pub trait Batches {
    /// The file's name as it was given.
    fn file(&self) -> &str;

    /// Replaces the batch by the next; false when there is none.
    fn next(&mut self, batch: &mut Batch) -> Result<bool, Error>;
}

/// One of the text formats.
pub trait Syntax: Default {
    /// Parses lines until the batch has some events, or there are no more lines.
    fn parse<R: Read>(
        &mut self,
        lines: &mut Lines<R>,
        registry: &mut Registry,
        batch: &mut Batch,
    ) -> Result<(), Error>;
}

/// Parses line by line: `parse` gets the window, where in it the line is, without its end, and the
/// line's number.
pub(super) fn by_line<R: Read>(
    lines: &mut Lines<R>,
    batch: &mut Batch,
    mut parse: impl FnMut(&[u8], Range<usize>, u64, &mut Batch) -> Result<(), Wrong>,
) -> Result<(), Error> {
    const BATCH: usize = 4096;
    while batch.events.len() < BATCH && lines.more()? {
        let (start, number) = (lines.start, lines.line);
        let line = lines.line();
        let next = start + line.len() + 1;
        let place = start..start + line.strip_suffix(b"\r").unwrap_or(line).len();
        parse(lines.window(), place, number, batch)
            .map_err(|wrong| wrong.at(lines.file(), number))?;
        lines.advance(next)?;
    }
    Ok(())
}

/// Makes batches of the lines of a text.
pub struct Parser<S, R> {
    lines: Lines<R>,
    registry: Registry,
    syntax: S,
}

impl<S: Syntax, R: Read> Parser<S, R> {
    fn new(file: &str, input: R) -> Self {
        Self {
            lines: Lines::new(file, input),
            registry: Registry::default(),
            syntax: S::default(),
        }
    }
}

impl<S: Syntax, R: Read> Batches for Parser<S, R> {
    fn file(&self) -> &str {
        self.lines.file()
    }

    fn next(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        let Self {
            lines,
            registry,
            syntax,
        } = self;
        batch.events.clear();
        batch.lines.clear();
        batch.definitions.clear();
        registry.next_batch();
        syntax.parse(lines, registry, batch)?;
        std::mem::swap(&mut registry.definitions, &mut batch.definitions);
        batch.consumed = lines.consumed();
        Ok(!batch.events.is_empty())
    }
}

/// Reads a text format; `rapid`'s page says what these are.
pub struct Text<B> {
    batches: B,
    batch: Batch,
    tables: Tables,
}

impl<B: Batches> Text<B> {
    fn over(batches: B) -> Self {
        Self {
            batches,
            batch: Batch::default(),
            tables: Tables::numbered(),
        }
    }
}

impl<S: Syntax + Send + 'static, R: Read + Send + 'static> Text<Parser<S, R>> {
    /// The same, with the text read and parsed on a thread of its own.
    pub(in crate::trace) fn ahead(self) -> Result<Text<Ahead>, Error> {
        Ahead::new(self.batches).map(Text::over)
    }
}

impl<S: Syntax, R: Read> Text<Parser<S, R>> {
    /// Reads `input`; `file` is its name in errors.
    pub fn new(file: &str, input: R) -> Self {
        Self::over(Parser::new(file, input))
    }
}

impl<B: Batches> Source for Text<B> {
    fn fill(&mut self, batch: &mut Vec<Event>) -> Result<bool, Error> {
        batch.clear();
        std::mem::swap(batch, &mut self.batch.events);
        let more = self.batches.next(&mut self.batch)?;
        for definition in self.batch.definitions.drain(..) {
            self.tables.define(definition);
        }
        std::mem::swap(batch, &mut self.batch.events);
        Ok(more)
    }

    fn names(&self) -> &Tables {
        &self.tables
    }

    fn semantics(&self) -> Semantics {
        Semantics::Paper
    }

    fn file(&self) -> &str {
        self.batches.file()
    }

    fn place(&self, index: usize) -> Place {
        Place::Line(self.batch.lines.line(index))
    }

    fn consumed(&self) -> u64 {
        self.batch.consumed
    }
}

/// Batches that another thread makes, a few ahead of whoever takes them.
///
/// They go around: those that were taken come back to be filled again, so that their number is the
/// bound of what is read ahead.
pub(in crate::trace) struct Ahead {
    file: String,
    full: Receiver<Result<Batch, Error>>,
    empty: Sender<Batch>,
    thread: Option<JoinHandle<()>>,
}

/// How many batches go around.
const RING: usize = 4;

impl Ahead {
    /// Runs `batches` on a thread of its own.
    fn new(batches: impl Batches + Send + 'static) -> Result<Self, Error> {
        let file = batches.file().to_owned();
        let (full_in, full) = channel();
        let (empty, empty_out) = channel();
        let thread = thread::Builder::new()
            .name("aerodrome reader".to_owned())
            .spawn(move || make(batches, &empty_out, &full_in))
            .map_err(|error| Error::io(&file, error))?;
        // The batch that `next` is called with is one of them.
        for _ in 1..RING {
            let _ = empty.send(Batch::default());
        }
        Ok(Self {
            file,
            full,
            empty,
            thread: Some(thread),
        })
    }
}

/// Makes batches until there are no more, or nobody wants them.
fn make(mut batches: impl Batches, empty: &Receiver<Batch>, full: &Sender<Result<Batch, Error>>) {
    while let Ok(mut batch) = empty.recv() {
        let answer = match batches.next(&mut batch) {
            Ok(true) => Ok(batch),
            Ok(false) => return,
            Err(error) => Err(error),
        };
        if full.send(answer).is_err() {
            return;
        }
    }
}

impl Batches for Ahead {
    fn file(&self) -> &str {
        &self.file
    }

    fn next(&mut self, batch: &mut Batch) -> Result<bool, Error> {
        // At the end of the text there is nobody to take it.
        let _ = self.empty.send(std::mem::take(batch));
        if let Ok(answer) = self.full.recv() {
            *batch = answer?;
            return Ok(true);
        }
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(panic)) => std::panic::resume_unwind(panic),
            _ => Ok(false),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Read};

    use crate::trace::{Event, Names, ObjectId, Source, StdReader};

    /// All events, the name of each one's object at its time, and the error at the end.
    fn read(mut source: impl Source) -> (Vec<Event>, Vec<Option<String>>, Option<String>) {
        let (mut events, mut names, mut batch) = (Vec::new(), Vec::new(), Vec::new());
        loop {
            match source.fill(&mut batch) {
                Ok(true) => {}
                Ok(false) => return (events, names, None),
                Err(error) => return (events, names, Some(error.to_string())),
            }
            let name = |event: &Event| source.names().object(ObjectId(event.target)).name;
            names.extend(batch.iter().map(name));
            events.extend(&batch);
        }
    }

    #[test]
    fn what_is_read_ahead_is_what_is_read() {
        let mut text = String::new();
        for line in 0..50_000 {
            let (strand, variable) = (line % 7, line * 31 % 9_000);
            text += &format!("T{strand}|w(x{variable})|{line}\n");
            if line % 100 == 0 {
                text += &format!("\nT{strand}|retire(x{variable})|at {line}\n");
            }
        }
        for end in ["", "T0|w(x)|1", "T0|w(x)|1\nT0|fly(x)|2\n", "T0|w(x\n"] {
            let text = format!("{text}{end}").into_bytes();
            let here = StdReader::new("a.std", io::Cursor::new(text.clone()));
            let ahead = StdReader::new("a.std", io::Cursor::new(text)).ahead();
            assert!(read(here) == read(ahead.expect("a thread")), "{end}");
        }
    }

    #[test]
    fn a_line_means_the_same_when_its_names_are_known() {
        for line in [
            "T0|r(x)|1",
            "T0|w(V12345678)|12345678",
            "a thread with a long name|acq(a lock with a long name)|src/bank.rs:3:4",
            "T0|r(x(y))|7",
            "T0|r(V01)|007",
            "T0|upd.send(c)|5",
            "T0|upd.add(c)|123456789",
            "T0|cas.failed(c)|99999999999",
            "T0|begin|1",
            "T0|end()|2",
            "T0|begin(m)|0",
            "T0|fork(T1)|\r",
            "T0|r(x)|1\r",
            "T0|val(-5)|1",
            "T0|quit|4",
        ] {
            let text = format!("{line}\n{line}\n\n{line}\n");
            let (events, _, error) = read(StdReader::new("a.std", text.as_bytes()));
            assert_eq!(error, None, "{line}");
            assert_eq!(events, [events[0]; 3], "{line}");
        }
    }

    #[test]
    fn names_with_zeros_are_other_names() {
        let text = b"T0|r(x)|1\nT0|r(x\0)|1\nT0|r(x)|1\nT0|r(x\0)|1\n";
        let (events, ..) = read(StdReader::new("a.std", &text[..]));
        let targets: Vec<u32> = events.iter().map(|event| event.target).collect();
        assert_eq!(targets, [0, 1, 0, 1]);
        let text = b"T0|r(x)|1\nT0|r\0(x)|1\n";
        let (.., error) = read(StdReader::new("a.std", &text[..]));
        assert!(error.is_some_and(|error| error.starts_with("a.std:2: expected an operation (")));
    }

    #[test]
    #[should_panic(expected = "the disk is on fire")]
    fn a_panic_of_the_reader_is_not_taken_for_the_end() {
        struct Burning;
        impl Read for Burning {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("the disk is on fire")
            }
        }
        read(StdReader::new("a.std", Burning).ahead().expect("a thread"));
    }
}
