//! Reports as JSON: one object a line, one line a report.
//!
//! # The schema, version 1
//!
//! | key | what |
//! |---|---|
//! | `schema` | 1. A reader refuses what it does not know; keys may be added without a new number |
//! | `tier` | `"observed"`, `"predicted"` or `"potential"` |
//! | `message` | the headline |
//! | `pattern` | `"read-write-write"` and its like (three of `read`, `write`, `update`), `"two-objects"`, `"lock-order"`, `"order"`, `"chain-3"` and up, `"unknown"` |
//! | `explanation` | what is wrong, in a sentence |
//! | `chain` | the cycle step by step; only where it has more than two parties |
//! | `schedule` | the schedule that shows it, line by line; only where it was predicted |
//! | `help` | what to do, best first |
//! | `event` | the position of the event that closed the cycle, from 1 |
//! | `blame` | the transaction to blame, an index into `transactions` |
//! | `transactions` | in the cycle's order: `block` (`name`, `place`; absent outside any block), `strand`, `begin` (a position), `place`, `panicked` |
//! | `edges` | `edges[i]` leads from `transactions[i]` to the next, the last one to the first: `from` and `to` are numbers of accesses |
//! | `accesses` | in the order in which they happened: `number` (from 1), `position`, `transaction` (an index), `strand`, `op`, `object` (an index), `place`, `backtrace` (`function`, `place`) |
//! | `objects` | `kind`, `name`, `type`, `created` (a place) |
//! | `test` | the test or family |
//! | `repeats` | how often the same came up again |
//! | `excerpts` | source lines: `file`, `line` (of the first), `text` (a list) |
//! | `window` | the events around: tables `strands`, `blocks`, `objects`, `places`; `events`, each `[position, strand, op, target, place]` with indices into the tables; `gaps` (`at`, `events`, `open`: `[strand, block, begin]`) where events were left out or transactions are open already; `missing` (`from`, `to`, `events`, `bytes`) what the window had no room for |
//!
//! A place is `{"file": .., "line": .., "column": ..}`, counted from 1, or `{"label": ..}` where a
//! trace has nothing better. What is absent is not known.
//!
//! # Several processes
//!
//! A test runner may run each test in its own process, all appending to one file. [`append`] opens
//! the file for appending, takes an exclusive lock on it, and writes the lines in one piece. It
//! does not wait for the lock for ever: whoever has it may be stopped. What could not be written to
//! its end, on a disk that is full, is taken back.

#[cfg(feature = "json")]
mod read;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;
#[cfg(since = "1.89")]
use std::{
    fs::TryLockError,
    time::{Duration, Instant},
};

use super::source::Excerpt;
use super::window::{Gap, Inside, Missing, Row, Slice};
use super::{Access, Block, Edge, Frame, Object, Place, Report, Tier, Transaction};
use crate::json::{Text, ToJson, array, object, objects, to_string, unless_empty};
#[cfg(feature = "json")]
pub use read::{Error, read, reports};
#[cfg(feature = "json")]
pub(super) use read::{kind, operation};

/// For how long another process may have the report file to itself.
#[cfg(since = "1.89")]
const PATIENCE: Duration = Duration::from_secs(5);

/// The report as one line of JSON, with its newline.
pub fn line(report: &Report) -> String {
    to_string(report) + "\n"
}

/// Appends reports to a file, making it and the folders above it where needed. Safe against other
/// processes that do the same.
pub fn append<'a>(path: &Path, reports: impl IntoIterator<Item = &'a Report>) -> io::Result<()> {
    let mut lines: String = reports.into_iter().map(line).collect();
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        fs::create_dir_all(folder)?;
    }
    if is_pipe(path) {
        // Nobody may read from it, and then opening it takes for ever.
        let error = "expected a file, found a named pipe";
        return Err(io::Error::new(io::ErrorKind::InvalidInput, error));
    }
    let mut options = OpenOptions::new();
    let mut file = options.create(true).read(true).append(true).open(path)?;
    let is_locked = lock(&file);
    // The lock ends when the file is closed.
    let length = file.metadata()?.len();
    if !ends_a_line(&mut file, length)? {
        // A process that was killed has left half a line.
        lines.insert(0, '\n');
    }
    let written = file.write_all(lines.as_bytes()).and_then(|()| file.flush());
    if written.is_err() && is_locked {
        file.set_len(length)?;
    }
    written
}

#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt;
    fs::metadata(path).is_ok_and(|found| found.file_type().is_fifo())
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// Locks the file for this process, if that can be had in a while. A short write would let another
/// process in between; with an older compiler, or on a file system without locks, appending in one
/// piece has to do.
#[cfg(since = "1.89")]
fn lock(file: &File) -> bool {
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return true,
            Err(TryLockError::WouldBlock) if start.elapsed() < PATIENCE => {
                std::thread::sleep(Duration::from_millis(5));
            }
            Err(_) => return false,
        }
    }
}

#[cfg(not(since = "1.89"))]
fn lock(_: &File) -> bool {
    false
}

/// Whether what is appended to the file begins a line. What is no file on a disk has no length.
fn ends_a_line(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last == *b"\n")
}

objects! {
    Report {
        schema,
        tier,
        message,
        pattern: |it| Text(it.pattern),
        explanation,
        chain: |it| unless_empty(&it.chain),
        schedule: |it| unless_empty(&it.schedule),
        help,
        event,
        blame,
        transactions,
        edges,
        accesses,
        objects,
        test,
        repeats,
        excerpts: |it| unless_empty(&it.excerpts),
        window,
    }
    Block { name, place }
    Transaction {
        block,
        strand,
        begin,
        place,
        panicked: |it| it.panicked.then_some(true),
    }
    Edge { from, to }
    Access {
        number,
        position,
        transaction,
        strand,
        op: |it| it.op.row().report,
        object,
        place,
        backtrace: |it| unless_empty(&it.backtrace),
    }
    Frame { function, place }
    Object { kind: |it| it.kind.name(), name, type: |it| &it.type_name, created }
    Excerpt { file, line, text }
    Slice {
        strands,
        blocks,
        objects,
        places,
        events,
        gaps: |it| unless_empty(&it.gaps),
        missing,
    }
    Gap { at, events, open }
    Missing { from, to, events, bytes }
}

impl ToJson for Tier {
    fn write(&self, out: &mut String) {
        self.name().write(out);
    }
}

impl ToJson for Place {
    fn write(&self, out: &mut String) {
        match self {
            Place::Source { file, line, column } => {
                object(out, &[("file", file), ("line", line), ("column", column)]);
            }
            Place::Label { label } => object(out, &[("label", label)]),
        }
    }
}

impl ToJson for Row {
    fn write(&self, out: &mut String) {
        let Row(position, strand, op, target, place) = self;
        array(out, &[position, strand, &op.row().report, target, place]);
    }
}

impl ToJson for Inside {
    fn write(&self, out: &mut String) {
        let Inside(strand, block, begin) = self;
        array(out, &[strand, block, begin]);
    }
}
