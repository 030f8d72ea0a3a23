//! The merge: every strand's records, in one order.
//!
//! A record is emitted when it is first in its strand and next on its object; see [`record`](crate::record) for why any order that this gives is
//! right. If every drawn ticket has been published, some strand is always ready, so the strands are simply tried in turn.
//!
//! Strands write while the merge reads, perhaps faster than it does: a run ends after so many records, and in it no strand keeps the others from
//! their turn.

use std::collections::HashMap;
use std::ptr::NonNull;

use crate::record::{Chunk, Record, Strand, What, pool};
use crate::trace::{Event, ObjectKind, Op, SiteId, StrandId, Update};

/// Takes the merged events, and what is learned of strands and objects on the way.
pub(super) trait Sink {
    fn event(&mut self, event: Event);
    /// A strand is about to have its first event, under a number that may have been another's.
    fn strand(&mut self, id: u32, strand: NonNull<Strand>, family: u32);
    fn strand_exited(&mut self, id: u32);
    fn family(&mut self, strand: u32, family: u32);
    /// An object is about to have its first event, under a number that may have been another's.
    fn object(&mut self, id: u32, definition: Definition);
    fn name(&mut self, object: u32, name: u32);
    /// A whole transaction; the same as its events one by one.
    fn solo(&mut self, whole: Solo);
    /// The strand's next event has this stack.
    fn stack(&mut self, strand: u32, stack: u32);
    /// The strand's transaction ends next, by a panic.
    fn panicked(&mut self, strand: u32);
}

/// A transaction of one access, perhaps in one critical section of the object's own lock. Many are, and those are judged whole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Solo {
    pub(super) begin: Event,
    pub(super) access: Event,
    /// Whether an acquire and a release are around the access, both at `lock_site`.
    pub(super) is_locked: bool,
    lock_site: SiteId,
}

impl Solo {
    /// Its events, in order.
    pub(super) fn events(self, mut event: impl FnMut(Event)) {
        let lock = |op| Event {
            op,
            site: self.lock_site,
            ..self.access
        };
        event(self.begin);
        if self.is_locked {
            event(lock(Op::Acquire));
        }
        event(self.access);
        if self.is_locked {
            event(lock(Op::Release));
        }
        event(Event {
            op: Op::End,
            ..self.begin
        });
    }
}

/// What a record says of a new object.
#[derive(Clone, Copy, Debug)]
pub(super) struct Definition {
    pub(super) kind: ObjectKind,
    /// The code of its type's name; 0 for a message.
    pub(super) type_name: u32,
    pub(super) created: u32,
}

/// What the merge knows of a strand.
#[derive(Debug)]
struct Reader {
    strand: NonNull<Strand>,
    id: u32,
    chunk: NonNull<Chunk>,
    index: u32,
    /// Whether its fork was merged; a strand that nobody forked runs from the start.
    running: bool,
    exited: bool,
}

/// What becomes of a strand's number.
#[derive(Clone, Copy, Debug, Default)]
struct Life {
    forked: bool,
    exited: bool,
    /// Joined, or its handle is gone.
    released: bool,
}

/// The most records of one strand before it is the next one's turn.
const TURN: u32 = 4_096;

/// The records after which a run ends though there may be more.
const ENOUGH: u32 = 1 << 16;

/// No such object at the moment.
const UNDEFINED: u64 = u64::MAX;

#[derive(Debug, Default)]
pub(super) struct Merge {
    readers: Vec<Reader>,
    lives: Vec<Life>,
    /// By object: the ticket of its next record.
    next: Vec<u64>,
    /// By object: the ticket of its retirement, where that was read before what must come before it.
    retiring: HashMap<u32, u32>,
    retired: Vec<u32>,
    /// The ticket of the next change of a watched variable.
    watched: u32,
}

// SAFETY: the pointers lead to strands and chunks that live until the merge gives them back, and of which it is the one reader.
unsafe impl Send for Merge {}

impl Merge {
    /// Emits what can be emitted now, or [`ENOUGH`] of it; whether there was anything.
    pub(super) fn run(&mut self, sink: &mut impl Sink) -> bool {
        let mut total = 0;
        loop {
            self.meet(sink);
            let mut taken = 0;
            for index in 0..self.readers.len() {
                taken += self.advance(index, sink);
            }
            self.bury();
            total += taken;
            if taken == 0 || total >= ENOUGH {
                return total > 0;
            }
        }
    }

    /// Whether everything that a strand had written up to `cursor` was emitted.
    pub(super) fn has_reached(&self, strand: u32, cursor: (NonNull<Chunk>, u32)) -> bool {
        self.readers
            .iter()
            .find(|reader| reader.id == strand)
            .is_none_or(|r| (r.chunk, r.index) == cursor)
    }

    /// Makes every living strand of which `which` is true look up from its work.
    pub(super) fn alarm(&self, which: impl Fn(u32) -> bool) {
        for reader in self.readers.iter().filter(|reader| which(reader.id)) {
            // SAFETY: a reader's strand lives until the reader is removed.
            unsafe { reader.strand.as_ref() }.alarm();
        }
    }

    fn meet(&mut self, sink: &mut impl Sink) {
        for strand in pool::announced() {
            // SAFETY: an announced strand lives until we free it.
            let new = unsafe { strand.as_ref() };
            let (id, running) = (new.id, !new.forked);
            if self.lives.len() <= id as usize {
                self.lives.resize(id as usize + 1, Life::default());
            }
            self.lives[id as usize] = Life {
                forked: running,
                exited: false,
                // Nobody joins what nobody forked.
                released: running,
            };
            self.readers.push(Reader {
                strand,
                id,
                chunk: new.first,
                index: 0,
                running,
                exited: false,
            });
            if running {
                sink.strand(id, strand, new.first_family);
            }
        }
    }

    /// Emits what a strand has, for one turn; how many records that were.
    fn advance(&mut self, index: usize, sink: &mut impl Sink) -> u32 {
        let reader = &mut self.readers[index];
        if !reader.running {
            if !self.lives[reader.id as usize].forked {
                return 0;
            }
            reader.running = true;
            // SAFETY: as in `meet`.
            sink.strand(
                reader.id,
                reader.strand,
                unsafe { reader.strand.as_ref() }.first_family,
            );
        }
        let (mut chunk, mut at, id) = (reader.chunk, reader.index, reader.id);
        let mut left = TURN;
        'chunks: loop {
            // SAFETY: a reader's chunk lives until the reader recycles it.
            let current = unsafe { chunk.as_ref() };
            let next = current.next();
            let published = current.published();
            let end = published.min(at + left);
            while at < end {
                // SAFETY: published, and we are the one reader.
                let record = unsafe { current.read(at) };
                if record.what == What::Begin && end - at >= 3 {
                    // SAFETY: as above.
                    let (access, last) = unsafe { (current.read(at + 1), current.read(at + 2)) };
                    if let Some(whole) = self.solo(StrandId(id), &record, &access, &last) {
                        (at, left) = (at + 3, left - 3);
                        sink.solo(whole);
                        continue;
                    }
                }
                if !self.is_ready(&record) {
                    if record.what != What::Retire {
                        break 'chunks;
                    }
                    // Whoever leaks a guard may hold its acquire back for good, and nobody who drops the lock is to wait for that.
                    self.retiring.insert(record.target, record.ticket);
                    (at, left) = (at + 1, left - 1);
                    continue;
                }
                (at, left) = (at + 1, left - 1);
                if record.what == What::Exit {
                    self.readers[index].exited = true;
                    self.lives[id as usize].exited = true;
                }
                self.emit(StrandId(id), &record, sink);
            }
            if at < published {
                break;
            }
            let Some(next) = next else { break };
            pool::recycle(chunk);
            (chunk, at) = (next, 0);
        }
        let reader = &mut self.readers[index];
        (reader.chunk, reader.index) = (chunk, at);
        TURN - left
    }

    /// The transaction that three records in a row are, if they are one and the access is next on its object.
    #[inline]
    fn solo(
        &mut self,
        strand: StrandId,
        begin: &Record,
        access: &Record,
        last: &Record,
    ) -> Option<Solo> {
        // An object that is to retire may be waiting for this access: that is looked after where records are taken one by one.
        if last.what != What::End || last.ticket != 0 || !self.retiring.is_empty() {
            return None;
        }
        let (op, is_locked) = match access.what {
            What::SectionRead => (Op::Read, true),
            What::SectionWrite => (Op::Write, true),
            What::SectionReadWrite => (Op::ReadWrite, true),
            What::Read => (Op::Read, false),
            What::Write => (Op::Write, false),
            What::ReadWrite => (Op::ReadWrite, false),
            What::UpdateAdd => (Op::Update(Update::Add), false),
            _ => return None,
        };
        let next = self.next(access.target);
        if *next != u64::from(access.ticket) {
            return None;
        }
        *next = (*next + 1) & u64::from(u32::MAX);
        let event = |target, site, op| Event {
            strand,
            target,
            site: SiteId(site),
            op,
        };
        Some(Solo {
            begin: event(begin.target, begin.site, Op::Begin),
            access: event(access.target, access.second_site(), op),
            is_locked,
            lock_site: SiteId(access.site),
        })
    }

    /// Frees the strands that have written their last record, and the numbers of objects that have had theirs.
    fn bury(&mut self) {
        let lives = &mut self.lives;
        self.readers.retain(|reader| {
            if reader.exited {
                // SAFETY: the exit was the last record, and the last thing that the strand did with its memory.
                let strand = unsafe { reader.strand.as_ref() };
                pool::give_back_objects(strand.leftover_ids());
                pool::recycle(reader.chunk);
                // SAFETY: as above; this reader is being removed.
                unsafe { Strand::free(reader.strand) };
                release_number(lives, reader.id);
            }
            !reader.exited
        });
        if !self.retired.is_empty() {
            pool::give_back_objects(self.retired.drain(..));
        }
    }

    fn next(&mut self, object: u32) -> &mut u64 {
        let index = object as usize;
        if self.next.len() <= index {
            self.next.resize((index + 1).next_power_of_two(), UNDEFINED);
        }
        &mut self.next[index]
    }

    #[inline]
    fn is_ready(&mut self, record: &Record) -> bool {
        use What::*;
        match record.what {
            Begin | End | Split | Restart | Value | Written | Fork | Detach | Exit | Family
            | GuardRead | GuardWrite | Stack => true,
            Join => self
                .lives
                .get(record.target as usize)
                .is_none_or(|life| life.exited),
            Watched => self.watched == record.ticket,
            Define | Send => *self.next(record.target) == UNDEFINED,
            Name => *self.next(record.target) != UNDEFINED,
            _ => *self.next(record.target) == u64::from(record.ticket),
        }
    }

    #[inline]
    fn emit(&mut self, strand: StrandId, record: &Record, sink: &mut impl Sink) {
        use What::*;
        let target = record.target;
        let mut event = |op, site| {
            sink.event(Event {
                strand,
                target,
                site: SiteId(site),
                op,
            })
        };
        let site = record.site;
        match record.what {
            Begin => event(Op::Begin, site),
            End => {
                if record.ticket != 0 {
                    sink.panicked(strand.0);
                }
                sink.event(Event {
                    strand,
                    target,
                    site: SiteId(site),
                    op: Op::End,
                });
            }
            Stack => sink.stack(strand.0, target),
            Watched => {}
            // Only now: what comes next among watched variables comes after this, whatever the strand has had to wait for in between.
            Written => self.watched = self.watched.wrapping_add(1),
            Split => event(Op::Split, site),
            Restart => event(Op::Restart, site),
            Value => sink.event(Event {
                strand,
                target,
                site: SiteId(record.ticket),
                op: Op::Value,
            }),
            Fork => {
                event(Op::Fork, site);
                // The child may have been announced after this pass began.
                self.meet(sink);
                if let Some(life) = self.lives.get_mut(target as usize) {
                    life.forked = true;
                }
            }
            Join => {
                event(Op::Join, site);
                self.release(target);
            }
            Detach => self.release(target),
            Exit => {
                event(Op::Exit, site);
                sink.strand_exited(strand.0);
            }
            Family => sink.family(strand.0, target),
            Define => {
                let kind = kind(record.second[0]);
                sink.object(
                    target,
                    Definition {
                        kind,
                        type_name: record.ticket,
                        created: site,
                    },
                );
                *self.next(target) = 0;
                self.retire_late(strand, target, sink);
            }
            Name => sink.name(target, site),
            GuardRead => event(Op::Read, site),
            GuardWrite => event(Op::Write, site),
            Send => {
                sink.object(
                    target,
                    Definition {
                        kind: ObjectKind::Message,
                        type_name: 0,
                        created: site,
                    },
                );
                sink.event(Event {
                    strand,
                    target,
                    site: SiteId(site),
                    op: Op::Send,
                });
                *self.next(target) = 1;
            }
            Recv => {
                event(Op::Recv, site);
                self.retire(target);
            }
            Retire | Lost => {
                event(Op::Retire, site);
                self.retire(target);
            }
            what => {
                let second = SiteId(record.second_site());
                for (op, is_second) in steps(what) {
                    let site = if *is_second { second } else { SiteId(site) };
                    sink.event(Event {
                        strand,
                        target,
                        site,
                        op: *op,
                    });
                }
                let next = self.next(target);
                *next = (*next + 1) & u64::from(u32::MAX);
                self.retire_late(strand, target, sink);
            }
        }
    }

    /// Retires an object whose retirement came before its last record, which has just been emitted.
    #[inline]
    fn retire_late(&mut self, strand: StrandId, object: u32, sink: &mut impl Sink) {
        if !self.retiring.is_empty()
            && let Some(&ticket) = self.retiring.get(&object)
            && *self.next(object) == u64::from(ticket)
        {
            self.retiring.remove(&object);
            sink.event(Event {
                strand,
                target: object,
                site: SiteId::NONE,
                op: Op::Retire,
            });
            self.retire(object);
        }
    }

    fn retire(&mut self, object: u32) {
        *self.next(object) = UNDEFINED;
        self.retired.push(object);
    }

    fn release(&mut self, strand: u32) {
        if let Some(life) = self.lives.get_mut(strand as usize) {
            life.released = true;
            let buried = !self.readers.iter().any(|reader| reader.id == strand);
            if buried {
                release_number(&mut self.lives, strand);
            }
        }
    }
}

/// Gives a strand's number back once nobody can mean it any more: it has exited and nobody will join it.
fn release_number(lives: &mut [Life], id: u32) {
    let life = &mut lives[id as usize];
    if life.exited && life.released {
        *life = Life::default();
        pool::give_back_strand(id);
    }
}

/// The kind that a definition carries as its number.
fn kind(code: u8) -> ObjectKind {
    use ObjectKind::*;
    [Variable, Lock, BareLock, Channel, Message, Signal][code as usize]
}

/// The events that a record with a ticket stands for, each with whether it has the record's second site.
fn steps(what: What) -> &'static [(Op, bool)] {
    use Op::*;
    match what {
        What::Acquire => &[(Acquire, false)],
        What::AcquireRead => &[(Acquire, false), (Read, true)],
        What::AcquireWrite => &[(Acquire, false), (Write, true)],
        What::AcquireReadWrite => &[(Acquire, false), (ReadWrite, true)],
        What::Release => &[(Release, false)],
        What::Section => &[(Acquire, false), (Release, false)],
        What::SectionRead => &[(Acquire, false), (Read, true), (Release, false)],
        What::SectionWrite => &[(Acquire, false), (Write, true), (Release, false)],
        What::SectionReadWrite => &[(Acquire, false), (ReadWrite, true), (Release, false)],
        What::AcquireShared => &[(AcquireShared, false)],
        What::ReleaseShared => &[(ReleaseShared, false)],
        #[cfg(feature = "parking_lot")]
        What::Upgrade => &[(Upgrade, false)],
        What::Downgrade => &[(Downgrade, false)],
        What::Read => &[(Read, false)],
        What::Write => &[(Write, false)],
        What::ReadWrite => &[(ReadWrite, false)],
        What::UpdateAdd => &[(Update(self::Update::Add), false)],
        What::UpdateSub => &[(Update(self::Update::Sub), false)],
        What::UpdateAnd => &[(Update(self::Update::And), false)],
        What::UpdateOr => &[(Update(self::Update::Or), false)],
        What::UpdateXor => &[(Update(self::Update::Xor), false)],
        What::UpdateMax => &[(Update(self::Update::Max), false)],
        What::UpdateMin => &[(Update(self::Update::Min), false)],
        What::UpdateSend => &[(Update(self::Update::Send), false)],
        What::Signal => &[(Signal, false)],
        What::Await => &[(Await, false)],
        What::Born => &[(Born, false)],
        _ => &[],
    }
}
