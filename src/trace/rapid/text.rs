//! A text as a source of events: batch after batch, and the names that each brings.

use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, JoinHandle};

use super::lines::{LineMap, Lines};
use super::names::Registry;
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

/// So many batches go around.
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
