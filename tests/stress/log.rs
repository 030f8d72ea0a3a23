//! What a strand of a random program says of itself, step by step, with the values that it saw.

use std::io::{self, Read, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// One step. Objects and strands have numbers of the program's own, which are never used twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Step {
    /// An object comes into being with this value; no event.
    New,
    Acquire,
    Release,
    AcquireShared,
    ReleaseShared,
    Downgrade,
    /// The value that was there.
    Read,
    /// The value that is there now.
    Write,
    Signal,
    /// At least this many signals came before.
    Await,
    /// The value that was sent.
    Send,
    /// The value that was received.
    Receive,
    /// The receiver of a rendezvous answers.
    Answer,
    /// The sender of a rendezvous has got the answer.
    Answered,
    /// A channel was found empty after this many receipts.
    Empty,
    /// The value that was there, or that this made.
    Force,
    Fork,
}

const STEPS: [Step; 17] = {
    use Step::*;
    [
        New,
        Acquire,
        Release,
        AcquireShared,
        ReleaseShared,
        Downgrade,
        Read,
        Write,
        Signal,
        Await,
        Send,
        Receive,
        Answer,
        Answered,
        Empty,
        Force,
        Fork,
    ]
};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry {
    pub(crate) step: Step,
    /// The object, or the forked strand.
    pub(crate) on: u32,
    pub(crate) value: u64,
}

/// A strand's own log.
pub(crate) struct Log {
    pub(crate) strand: u32,
    entries: Vec<Entry>,
}

static STRANDS: AtomicU32 = AtomicU32::new(0);
static OBJECTS: AtomicU32 = AtomicU32::new(0);
static LOGS: Mutex<Vec<(u32, Vec<Entry>)>> = Mutex::new(Vec::new());

pub(crate) fn new_strand() -> u32 {
    STRANDS.fetch_add(1, Ordering::Relaxed)
}

/// A number for an object, or for several.
pub(crate) fn new_objects(count: usize) -> u32 {
    OBJECTS.fetch_add(count as u32, Ordering::Relaxed)
}

impl Log {
    pub(crate) fn of(strand: u32) -> Self {
        Self {
            strand,
            entries: Vec::new(),
        }
    }

    pub(crate) fn push(&mut self, step: Step, on: u32, value: u64) {
        self.entries.push(Entry { step, on, value });
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        LOGS.lock().unwrap().push((self.strand, entries));
    }
}

/// Writes down the logs of all strands that have ended.
pub(crate) fn save(mut to: impl Write) -> io::Result<()> {
    for (strand, entries) in LOGS.lock().unwrap().iter() {
        to.write_all(&strand.to_le_bytes())?;
        to.write_all(&(entries.len() as u32).to_le_bytes())?;
        for entry in entries {
            to.write_all(&[entry.step as u8])?;
            to.write_all(&entry.on.to_le_bytes())?;
            to.write_all(&entry.value.to_le_bytes())?;
        }
    }
    to.flush()
}

/// The logs, by strand.
pub(crate) fn load(mut from: impl Read) -> Vec<Vec<Entry>> {
    let mut logs = Vec::new();
    let mut strand = [0; 4];
    while from.read_exact(&mut strand).is_ok() {
        let strand = u32::from_le_bytes(strand) as usize;
        let count = u32::from_le_bytes(bytes(&mut from));
        if logs.len() <= strand {
            logs.resize(strand + 1, Vec::new());
        }
        logs[strand] = (0..count)
            .map(|_| Entry {
                step: STEPS[usize::from(bytes::<1>(&mut from)[0])],
                on: u32::from_le_bytes(bytes(&mut from)),
                value: u64::from_le_bytes(bytes(&mut from)),
            })
            .collect();
    }
    logs
}

fn bytes<const N: usize>(from: &mut impl Read) -> [u8; N] {
    let mut bytes = [0; N];
    from.read_exact(&mut bytes).expect("a whole log");
    bytes
}
