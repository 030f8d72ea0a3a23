//! What strands take and the collector gives back: chunks, object numbers, strand numbers; and the
//! list of new strands.
//!
//! Nothing here allocates from the program's allocator or waits for a lock: a tracked operation may
//! come from inside that allocator, and may hold any lock of the program. Where a pool's lock is
//! taken, the strand does without.
//!
//! Most strands record little, so a strand begins with a small chunk, and each of its next ones is
//! twice as large as the one before, until they have their full size. The small ones together are
//! less than one of these; they are not counted, and freed when they were read.
//!
//! A strand that has filled its chunk needs another one. So that the program is slowed down to what
//! the collector can take, there are at most
//! [`SPARE`] chunks beside the ones that strands write, but nobody waits for good:
//!
//! | chunks | the merge | the strand |
//! |---|---|---|
//! | one has come back, or there are fewer | | takes it |
//! | all are in use | has taken records since the strand looked last | sleeps for a moment |
//! | all are in use | has taken none for a while | makes another one: the collector may wait for a lock that the strand holds, or for its records |
//! | all are in use | cannot go on for seconds, because a ticket was drawn and its record is missing | switches checking off |
//!
//! A strand that spins until another has done something fills one chunk after the other while that
//! one waits. So where strands spin, those that had to wait go on together, when most chunks have
//! come back, and the collector lets them have the processors, if these are no more than they are.

use std::cell::Cell;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender};
use once_cell::sync::OnceCell;

use super::chunk::{Chunk, SLOTS};
use crate::record::host::give_up;
use crate::record::strand::Strand;

/// The most chunks of full size there are, beside the one that every live strand writes: 128 chunks
/// of 32 KiB are 4 MiB.
const SPARE: usize = 128;

/// The slots of a strand's first chunk, which is 1 KiB.
const FIRST: u32 = 64;

/// Set once and for all when checking ends: by the setting, or after a failure of ours.
static OFF: AtomicBool = AtomicBool::new(false);

/// Whether nothing is recorded any more.
pub(crate) fn is_off() -> bool {
    OFF.load(Ordering::Relaxed)
}

/// Ends recording, for good. Strands notice at their next slow path.
pub(crate) fn switch_off() {
    OFF.store(true, Ordering::Relaxed);
}

/// Whether checking has ended by a failure: there is no verdict.
static FAILED: AtomicBool = AtomicBool::new(false);

/// Ends recording by a failure; whether it is the first.
pub(crate) fn fail() -> bool {
    switch_off();
    !FAILED.swap(true, Ordering::Relaxed)
}

/// Whether recording has ended by a failure.
pub(crate) fn has_failed() -> bool {
    FAILED.load(Ordering::Relaxed)
}

struct Empty(NonNull<Chunk>);

// SAFETY: an empty chunk belongs to whoever has it.
unsafe impl Send for Empty {}

static EMPTY: OnceCell<(Sender<Empty>, Receiver<Empty>)> = OnceCell::new();
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
/// How many strands write a chunk of full size.
static WRITERS: AtomicUsize = AtomicUsize::new(0);

/// How many chunks there may be.
fn cap() -> usize {
    SPARE + WRITERS.load(Ordering::Relaxed)
}

/// How many records the merge has taken, and whether it cannot go on. The collector alone writes
/// them.
static MERGED: AtomicU64 = AtomicU64::new(0);
static IS_STALLED: AtomicBool = AtomicBool::new(false);

/// The merge has taken so many more records.
pub(crate) fn note_merged(records: u32) {
    let merged = MERGED.load(Ordering::Relaxed);
    MERGED.store(merged + u64::from(records), Ordering::Relaxed);
}

/// Whether the merge has not been able to go on for long, though there are records.
pub(crate) fn note_stalled(is_stalled: bool) {
    IS_STALLED.store(is_stalled, Ordering::Relaxed);
}

/// Makes the pool of chunks. Before this, every strand allocates.
pub(crate) fn prepare() {
    EMPTY.get_or_init(|| crossbeam_channel::bounded(SPARE));
}

/// How many chunks strands may still take.
fn left() -> usize {
    let empty = EMPTY.get().map_or(0, |(_, empty)| empty.len());
    empty + cap().saturating_sub(ALLOCATED.load(Ordering::Relaxed))
}

/// Whether strands spin, as far as the collector has seen.
static IS_SPINNING: AtomicBool = AtomicBool::new(false);
/// Whether they wait until most chunks have come back.
static IS_BEHIND: AtomicBool = AtomicBool::new(false);
/// Whether they have gone on since the collector's thread asked last.
static HAVE_GONE_ON: AtomicBool = AtomicBool::new(false);

/// Whether a strand may take a chunk.
fn has_room() -> bool {
    if IS_BEHIND.load(Ordering::Relaxed) {
        return false;
    }
    let has_room = left() > 0;
    if !has_room && IS_SPINNING.load(Ordering::Relaxed) {
        IS_BEHIND.store(true, Ordering::Relaxed);
    }
    has_room
}

/// The merge has run for a while, and has seen strands spin or not.
pub(crate) fn note_run(is_spinning: bool) {
    IS_SPINNING.store(is_spinning, Ordering::Relaxed);
    if IS_BEHIND.load(Ordering::Relaxed) && left() >= SPARE - SPARE / 8 {
        IS_BEHIND.store(false, Ordering::Relaxed);
        HAVE_GONE_ON.store(true, Ordering::Relaxed);
    }
}

/// Leaves the processors to strands that go on, until they have taken most of the chunks or do not
/// seem to need them. The collector's thread calls it now and then.
pub(crate) fn give_way(processors: usize) {
    let have_gone_on = HAVE_GONE_ON.swap(false, Ordering::Relaxed);
    if have_gone_on && WRITERS.load(Ordering::Relaxed) >= processors {
        let start = Instant::now();
        while left() > SPARE / 4 && start.elapsed() < Duration::from_millis(4) {
            std::thread::sleep(Duration::from_micros(200));
        }
    }
}

fn reuse() -> Option<NonNull<Chunk>> {
    EMPTY.get()?.1.try_recv().ok().map(|Empty(chunk)| chunk)
}

fn allocate() -> Option<NonNull<Chunk>> {
    let chunk = Chunk::allocate(SLOTS)?;
    ALLOCATED.fetch_add(1, Ordering::Relaxed);
    Some(chunk)
}

fn is_small(chunk: &Chunk) -> bool {
    chunk.slots() < SLOTS
}

/// A chunk for a strand that has none: never waits, so that a new strand costs no more than its
/// memory.
pub(in crate::record) fn first_chunk() -> Option<NonNull<Chunk>> {
    Chunk::allocate(FIRST)
}

/// A chunk for a strand that has filled its own, `last`, and cannot wait.
pub(in crate::record) fn chunk_at_once(last: &Chunk) -> Option<NonNull<Chunk>> {
    let slots = 2 * last.slots();
    if slots < SLOTS {
        return Chunk::allocate(slots);
    }
    let chunk = reuse().or_else(allocate)?;
    if is_small(last) {
        WRITERS.fetch_add(1, Ordering::Relaxed);
    }
    Some(chunk)
}

/// A chunk for a strand that has filled its own, `last`. Waits while all are in use, which slows
/// the program down to what the collector can take; nothing once recording has ended.
pub(in crate::record) fn chunk(last: &Chunk) -> Option<NonNull<Chunk>> {
    if is_small(last) {
        return chunk_at_once(last);
    }
    let mut merged = MERGED.load(Ordering::Relaxed);
    let mut since = None;
    while !is_off() {
        if has_room() {
            return reuse().or_else(allocate);
        }
        if IS_STALLED.load(Ordering::Relaxed) {
            give_up(
                "a thread has stopped in the middle of an operation and did not record it, so that nothing after it can be judged",
            );
            return None;
        }
        let now = Instant::now();
        let last = std::mem::replace(&mut merged, MERGED.load(Ordering::Relaxed));
        if last != merged {
            since = None;
        }
        if now - *since.get_or_insert(now) > patience() {
            // It may be ours that the merge waits for.
            IS_BEHIND.store(false, Ordering::Relaxed);
            return reuse().or_else(allocate);
        }
        std::thread::sleep(Duration::from_micros(50));
    }
    None
}

/// For how long a strand waits though the merge does nothing: the longer the more chunks there are
/// beyond the cap, so that memory grows with the root of the time that the collector takes for
/// something else.
fn patience() -> Duration {
    let beyond = ALLOCATED.load(Ordering::Relaxed).saturating_sub(cap());
    Duration::from_millis(2 + beyond as u64 / 4).min(Duration::from_millis(250))
}

/// Takes back a chunk that was read to its end.
pub(crate) fn recycle(chunk: NonNull<Chunk>) {
    // SAFETY: the writer has left it, and the caller, its reader, is done with it.
    let read = unsafe { chunk.as_ref() };
    if is_small(read) {
        // SAFETY: as above.
        return unsafe { Chunk::free(chunk) };
    }
    read.reset();
    let kept = ALLOCATED.load(Ordering::Relaxed) <= cap()
        && EMPTY
            .get()
            .is_some_and(|(sender, _)| sender.try_send(Empty(chunk)).is_ok());
    if !kept {
        ALLOCATED.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { Chunk::free(chunk) };
    }
}

/// Takes back the chunk of a strand that has written its last record.
pub(crate) fn recycle_last(chunk: NonNull<Chunk>) {
    // SAFETY: the caller is its reader.
    if !is_small(unsafe { chunk.as_ref() }) {
        WRITERS.fetch_sub(1, Ordering::Relaxed);
    }
    recycle(chunk);
}

/// Numbers that are drawn, and come back when what they stood for is gone.
struct Numbers {
    /// std's lock: a tracked operation may come from inside of `parking_lot_core::park`, which has
    /// locked a bucket of parking_lot's.
    free: Mutex<Vec<u32>>,
    next: AtomicU32,
}

impl Numbers {
    const fn from(first: u32) -> Self {
        Self {
            free: Mutex::new(Vec::new()),
            next: AtomicU32::new(first),
        }
    }

    fn fill(&self, numbers: &mut [u32]) {
        let mut filled = 0;
        if let Ok(mut free) = self.free.try_lock() {
            let given_back = std::iter::from_fn(|| free.pop());
            for (number, old) in numbers.iter_mut().zip(given_back) {
                *number = old;
                filled += 1;
            }
        }
        let rest = (numbers.len() - filled) as u32;
        let first = self.next.fetch_add(rest, Ordering::Relaxed);
        for (number, fresh) in numbers[filled..].iter_mut().zip(first..) {
            *number = fresh;
        }
    }

    fn give_back(&self, numbers: impl IntoIterator<Item = u32>) {
        let free = self.free.lock();
        free.unwrap_or_else(PoisonError::into_inner).extend(numbers);
    }
}

/// 0 is no object.
static OBJECTS: Numbers = Numbers::from(1);
static STRANDS: Numbers = Numbers::from(0);

/// A strand's small stock of object numbers.
#[derive(Debug)]
pub(in crate::record) struct Ids {
    stock: [Cell<u32>; Ids::SIZE],
    len: Cell<usize>,
    /// How many are drawn next: few at first, because tables have a place for every number.
    restock: Cell<usize>,
    generation: Cell<u32>,
}

impl Ids {
    const SIZE: usize = 32;
    const FIRST: usize = 4;

    pub(in crate::record) const fn new() -> Self {
        Self {
            stock: [const { Cell::new(0) }; Self::SIZE],
            len: Cell::new(0),
            restock: Cell::new(Self::FIRST),
            generation: Cell::new(0),
        }
    }

    pub(in crate::record) fn draw(&self) -> u32 {
        self.pop().unwrap_or_else(|| self.restock())
    }

    /// Tells the owner of a number that was just drawn from the owners before: every stock has
    /// another one, and a number that came back is drawn from another stock.
    pub(in crate::record) fn generation(&self) -> u32 {
        self.generation.get()
    }

    #[cold]
    fn restock(&self) -> u32 {
        let size = self.restock.get();
        let mut numbers = [0; Self::SIZE];
        OBJECTS.fill(&mut numbers[..size]);
        for (slot, number) in self.stock.iter().zip(numbers) {
            slot.set(number);
        }
        self.len.set(size - 1);
        self.restock.set(Self::SIZE.min(2 * size));
        static STOCKS: AtomicU32 = AtomicU32::new(0);
        self.generation.set(STOCKS.fetch_add(1, Ordering::Relaxed));
        numbers[size - 1]
    }

    pub(in crate::record) fn pop(&self) -> Option<u32> {
        let len = self.len.get().checked_sub(1)?;
        self.len.set(len);
        Some(self.stock[len].get())
    }

    /// Takes back a number that [`draw`](Self::draw) has just given.
    pub(in crate::record) fn put_back(&self, number: u32) {
        self.stock[self.len.get()].set(number);
        self.len.set(self.len.get() + 1);
    }
}

/// The number of a new strand. Only a fork says that a number has a new owner: what nobody forked
/// has one that nobody had before.
pub(in crate::record) fn strand(forked: bool) -> u32 {
    if !forked {
        return STRANDS.next.fetch_add(1, Ordering::Relaxed);
    }
    let mut number = [0];
    STRANDS.fill(&mut number);
    number[0]
}

/// The objects are gone and everything recorded of them was merged.
pub(crate) fn give_back_objects(ids: impl IntoIterator<Item = u32>) {
    OBJECTS.give_back(ids);
}

/// The strand is gone, joined or detached, and everything recorded of it was merged.
pub(crate) fn give_back_strand(id: u32) {
    STRANDS.give_back([id]);
}

/// Strands that the collector has not met yet: a list that anybody pushes to and the collector
/// takes whole.
static NEW: AtomicPtr<Strand> = AtomicPtr::new(ptr::null_mut());

/// Tells the collector of a strand.
pub(in crate::record) fn announce(strand: NonNull<Strand>) {
    let mut head = NEW.load(Ordering::Relaxed);
    loop {
        // SAFETY: ours alone until it is in the list.
        unsafe { strand.as_ref() }
            .next
            .store(head, Ordering::Relaxed);
        match NEW.compare_exchange_weak(head, strand.as_ptr(), Ordering::Release, Ordering::Relaxed)
        {
            Ok(_) => return,
            Err(other) => head = other,
        }
    }
}

/// The strands announced since the last call.
pub(crate) fn announced() -> impl Iterator<Item = NonNull<Strand>> {
    let mut head = if NEW.load(Ordering::Relaxed).is_null() {
        ptr::null_mut()
    } else {
        NEW.swap(ptr::null_mut(), Ordering::Acquire)
    };
    std::iter::from_fn(move || {
        let strand = NonNull::new(head)?;
        // SAFETY: an announced strand lives until the collector, who calls this, frees it.
        head = unsafe { strand.as_ref() }.next.load(Ordering::Relaxed);
        Some(strand)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_strands_chunks_grow_to_their_full_size() {
        let mut chunks = vec![first_chunk().unwrap()];
        while chunks.len() < 7 {
            // SAFETY: it is ours.
            let last = unsafe { chunks[chunks.len() - 1].as_ref() };
            chunks.push(chunk_at_once(last).unwrap());
        }
        // SAFETY: they are ours.
        let slots = chunks.iter().map(|it| unsafe { it.as_ref() }.slots());
        let slots: Vec<u32> = slots.collect();
        assert_eq!(slots, [64, 128, 256, 512, 1024, SLOTS, SLOTS]);
        let last = chunks.pop().unwrap();
        chunks.into_iter().for_each(recycle);
        recycle_last(last);
    }
}
