//! How far a strand's records were read.

use std::ptr::NonNull;
use std::time::Instant;

use crate::record::{Chunk, Published, Record, Strand};

/// What the merge knows of a strand.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) strand: NonNull<Strand>,
    pub(super) id: u32,
    pub(super) chunk: NonNull<Chunk>,
    pub(super) index: u32,
    /// How far the chunk was filled, and what came after it, when the run began. The writer's line
    /// is looked at once a run, or once a pass while its transaction is open: to take it from the
    /// writer all the time costs it more than all else.
    pub(super) published: Published,
    pub(super) next: Option<NonNull<Chunk>>,
    /// The code of the block that begins next, or began last; and whether its begin was emitted and
    /// its end was not.
    pub(super) block: u32,
    pub(super) is_open: bool,
    /// A record that must wait for its turn, and with it the transaction that is next; and since
    /// when it was seen to wait.
    pub(super) waits: Option<Record>,
    pub(super) since: Option<Instant>,
    pub(super) exited: bool,
    /// How many records were emitted.
    pub(super) taken: u64,
}

impl Reader {
    /// At the first record of a strand.
    pub(super) fn new(strand: NonNull<Strand>, id: u32, first: NonNull<Chunk>) -> Reader {
        let mut reader = Reader {
            strand,
            id,
            chunk: first,
            index: 0,
            published: Published::default(),
            next: None,
            block: 0,
            is_open: false,
            waits: None,
            since: None,
            exited: false,
            taken: 0,
        };
        reader.look();
        reader
    }

    /// Looks at how far the strand has come.
    pub(super) fn look(&mut self) {
        // SAFETY: a reader's strand lives until the reader is removed, its chunk until the reader
        // recycles it.
        let (strand, chunk) = unsafe { (self.strand.as_ref(), self.chunk.as_ref()) };
        // In this order: see `Chunk::next`.
        self.next = chunk.next();
        self.published = strand.published(chunk);
    }

    /// Whether there is something that was not emitted.
    pub(super) fn has_more(&self) -> bool {
        self.next.is_some()
            || self.index < self.published.records
            || (self.is_open && self.published.ended)
    }

    /// How many records the strand has written by now.
    pub(super) fn written(&self) -> u64 {
        // SAFETY: a reader's strand lives until the reader is removed, its chunk until the reader
        // recycles it, and so do those after it.
        let (strand, mut chunk) = unsafe { (self.strand.as_ref(), self.chunk.as_ref()) };
        let mut records = self.taken - u64::from(self.index);
        loop {
            // In this order: see `Chunk::next`.
            let (next, published) = (chunk.next(), strand.published(chunk));
            records += u64::from(published.records);
            let Some(next) = next else { return records };
            // SAFETY: as above.
            chunk = unsafe { next.as_ref() };
        }
    }
}
