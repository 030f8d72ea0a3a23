//! Records: what a strand did, in sixteen bytes.

/// What a strand did, in sixteen bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Record {
    /// The ticket; above it the site. One word, because the fewer writes there are to drain, the
    /// sooner the program's next locked instruction comes.
    place: u64,
    /// Six bits of what, [`ENDED`], [`BEGINS`], and 24 bits of what else there is to say.
    tail: u32,
    target: u32,
}

/// A block ended right before the record.
pub(crate) const ENDED: u64 = 1 << 6;
/// A block begins right before the record, after another one has ended. Which one, the last
/// [`What::Block`] says.
pub(crate) const BEGINS: u64 = 1 << 7;

impl Record {
    #[inline(always)]
    pub(crate) fn new(what: What, target: u32, ticket: u32, site: u32) -> Record {
        Record {
            place: Self::place(ticket, site),
            tail: what as u32,
            target,
        }
    }

    /// A ticket and a site.
    #[inline(always)]
    pub(crate) fn place(ticket: u32, site: u32) -> u64 {
        u64::from(site) << 32 | u64::from(ticket)
    }

    /// With 24 bits more: where the second of two operations in one was, as the distance of its
    /// code from `site`; or an object's kind.
    #[inline(always)]
    pub(crate) fn with(self, more: u32) -> Record {
        Record {
            tail: self.tail | more << 8,
            ..self
        }
    }

    /// The same, with those of [`ENDED`] and [`BEGINS`] that are in `bounds`.
    #[inline(always)]
    pub(crate) fn after(self, bounds: u64) -> Record {
        Record {
            tail: self.tail | (bounds & (ENDED | BEGINS)) as u32,
            ..self
        }
    }

    /// Whether a block ended right before it.
    #[inline(always)]
    pub(crate) fn ended(&self) -> bool {
        self.tail & ENDED as u32 != 0
    }

    /// Whether a block begins right before it.
    #[inline(always)]
    pub(crate) fn begins(&self) -> bool {
        self.tail & BEGINS as u32 != 0
    }

    /// A lock is taken: `how` is the index into [`What::ACQUIRES`].
    #[inline(always)]
    pub(crate) fn acquire(how: u32, lock: u32, ticket: u32, site: u32) -> Record {
        debug_assert!((how as usize) < What::ACQUIRES.len());
        Record {
            place: Self::place(ticket, site),
            tail: What::Acquire as u32 + how,
            target: lock,
        }
    }

    /// Whether an acquire's content was touched in this way, or one that says as much: a read after
    /// any access, and a write after a write, say nothing new.
    #[inline(always)]
    pub(crate) fn is_touched(&self, how: u32) -> bool {
        const { assert!((What::Acquire as u32) % 8 == 0) };
        const { assert_in_order(What::ACQUIRES) };
        self.tail & (how | WRITE) != 0
    }

    /// The same acquire, with its content touched in the way `how`, at this distance from its site;
    /// nothing if that is too far for a record.
    #[inline(always)]
    pub(crate) fn touched(self, how: u32, distance: i64) -> Option<Record> {
        const FAR: i64 = 1 << 23;
        if distance.wrapping_add(FAR) as u64 >= 2 * FAR as u64 {
            return None;
        }
        // Where it was read before gives way to where it is written.
        let before = self.tail & 0xff;
        Some(Record {
            tail: before | how | (distance as u32) << 8,
            ..self
        })
    }

    /// The same acquire, as if its content had not been read.
    pub(crate) fn unread(self) -> Record {
        debug_assert!(!self.is_touched(WRITE));
        Record {
            tail: self.tail & 0xff & !READ,
            ..self
        }
    }

    /// Makes one record of an acquire and the release.
    #[inline(always)]
    pub(crate) fn section(self) -> Record {
        const { assert_in_order(What::SECTIONS) };
        const { assert!((What::Acquire as u8) % 6 == 0) };
        debug_assert!(self.what() as u8 / 6 == What::Acquire as u8 / 6);
        let further = What::Section as u32 - What::Acquire as u32;
        Record {
            tail: self.tail + further,
            ..self
        }
    }

    /// The object, or what else the operation is on.
    #[inline(always)]
    pub(crate) fn target(&self) -> u32 {
        self.target
    }

    /// The record's place among those of its object, where the operation draws one.
    #[inline(always)]
    pub(crate) fn ticket(&self) -> u32 {
        self.place as u32
    }

    /// Where in the source; a code of [`code`](super::code).
    #[inline(always)]
    pub(crate) fn site(&self) -> u32 {
        (self.place >> 32) as u32
    }

    #[inline(always)]
    pub(crate) fn what(&self) -> What {
        // SAFETY: nobody else writes `tail`, and whoever constructs a record puts a `What` there:
        // an acquire is one of six in a row, the way in which it is touched the index among them,
        // and a section is as far into the next six.
        unsafe { std::mem::transmute::<u8, What>((self.tail & 63) as u8) }
    }

    /// What was said beyond the rest.
    pub(crate) fn more(&self) -> u32 {
        self.tail >> 8
    }

    /// Where the second of two operations in one was.
    #[inline]
    pub(crate) fn second_site(&self) -> u32 {
        self.site().wrapping_add_signed(self.tail as i32 >> 8)
    }
}

const _: () = assert!((What::Lost as u32) < 64);

// How a lock was taken and touched: the bits of an index into `What::ACQUIRES`.
/// The content was read.
pub(crate) const READ: u32 = 1;
/// The content was written.
pub(crate) const WRITE: u32 = 2;
/// The lock was taken as one of several holders.
pub(crate) const SHARED: u32 = 4;

const fn assert_in_order(six: [What; 6]) {
    let mut how = 0;
    while how < six.len() {
        assert!(six[how] as usize == six[0] as usize + how);
        how += 1;
    }
}

const _: () = assert!(size_of::<Record>() == 16);

/// What a record says. [`Op`](crate::trace::Op) is what the collector makes of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum What {
    /// The block that begins next, and those after it.
    Block,
    /// A panic leaves the block. Nothing else needs a record for that.
    Unwind,
    Split,
    Restart,
    /// The strand pauses inside a block, and may look again at what it has looked at.
    Pause,
    Notify,
    /// The low half of a value is in `target`, the high half in `ticket`.
    Value,
    /// A watched variable is written, born or dropped next: `ticket` is the place of that among
    /// what happens to all watched variables.
    Watched,
    /// It has been done: what is next among watched variables may follow.
    Written,
    /// Strand.
    Fork,
    Join,
    /// The handle of a strand is gone: nobody will join it.
    Detach,
    /// The strand's last record.
    Exit,
    /// The strand is in another family from here on.
    Family,
    /// An object is used for the first time. `ticket` is the code of its type's name, `site` where
    /// it was made, what is more its kind.
    Define,
    /// `site` is the number of a name.
    Name,
    /// The number of the stack of the strand's next record.
    Stack,
    /// A `try_lock` found the lock taken. Not an access, so it draws no ticket.
    Busy,
    /// The future of a block's run is dropped before it is complete. What follows up to the end of
    /// the block is what that does.
    Cancel,

    /// A guard touches what it guards: the lock's own records keep this in its place, so it draws
    /// no ticket.
    GuardRead,
    GuardWrite,

    // Everything from here on draws a ticket. These stand in the order of `ACQUIRES` and
    // `SECTIONS`, from where the bits of an index are free.
    Acquire = 24,
    AcquireRead,
    AcquireWrite,
    AcquireReadWrite,
    AcquireShared,
    AcquireSharedRead,
    /// A whole critical section in which nothing else was recorded.
    Section,
    SectionRead,
    SectionWrite,
    SectionReadWrite,
    SectionShared,
    SectionSharedRead,
    Release,
    ReleaseShared,
    /// The content is read by a strand that did not take the lock.
    ReadShared,
    #[cfg(feature = "parking_lot")]
    Upgrade,
    Downgrade,
    Read,
    Write,
    ReadWrite,
    CompareExchange,
    CompareExchangeFailed,
    UpdateAdd,
    UpdateAnd,
    UpdateOr,
    UpdateXor,
    UpdateMax,
    UpdateMin,
    UpdateChannel,
    UpdateInit,
    /// What would have been initialised is.
    Found,
    /// A read-modify-write that left the value as it was; what is more is the [`Update`] it would
    /// have been.
    Vain,
    Signal,
    Await,
    /// Properties know the object from here on.
    Born,
    Retire,
    /// A message's own two records: it has no ticket counter, its send is 0 and its receipt is 1.
    Send,
    Recv,
    /// A message that nobody received is gone: 1 as well.
    Lost,
}

impl What {
    /// By how a lock was taken and touched.
    pub(crate) const ACQUIRES: [What; 6] = [
        What::Acquire,
        What::AcquireRead,
        What::AcquireWrite,
        What::AcquireReadWrite,
        What::AcquireShared,
        What::AcquireSharedRead,
    ];
    /// By how a lock was taken and touched.
    pub(crate) const SECTIONS: [What; 6] = [
        What::Section,
        What::SectionRead,
        What::SectionWrite,
        What::SectionReadWrite,
        What::SectionShared,
        What::SectionSharedRead,
    ];

    /// Whether it is something done to an object.
    pub(crate) fn is_access(self) -> bool {
        self as u8 >= What::GuardRead as u8
    }

    /// Those that are an access, or an operation on a lock or a signal, and nothing but that.
    pub(crate) const PLAIN: &[What] = &[
        What::GuardRead,
        What::GuardWrite,
        What::Acquire,
        What::AcquireRead,
        What::AcquireWrite,
        What::AcquireReadWrite,
        What::AcquireShared,
        What::AcquireSharedRead,
        What::Section,
        What::SectionRead,
        What::SectionWrite,
        What::SectionReadWrite,
        What::SectionShared,
        What::SectionSharedRead,
        What::Release,
        What::ReleaseShared,
        What::ReadShared,
        #[cfg(feature = "parking_lot")]
        What::Upgrade,
        What::Downgrade,
        What::Read,
        What::Write,
        What::ReadWrite,
        What::CompareExchange,
        What::CompareExchangeFailed,
        What::UpdateAdd,
        What::UpdateAnd,
        What::UpdateOr,
        What::UpdateXor,
        What::UpdateMax,
        What::UpdateMin,
        What::UpdateChannel,
        What::UpdateInit,
        What::Found,
        What::Vain,
        What::Signal,
        What::Await,
        What::Born,
    ];

    /// Whether it is one of several holders': it has no order among theirs, and its ticket counts
    /// the other records of the lock before it.
    pub(crate) const fn is_shared(self) -> bool {
        !GUARDS_MOVE
            && matches!(
                self,
                What::AcquireShared
                    | What::AcquireSharedRead
                    | What::ReleaseShared
                    | What::SectionShared
                    | What::SectionSharedRead
                    | What::ReadShared
            )
    }

    /// Whether an access leaves another value behind.
    #[inline(always)]
    pub(crate) const fn changes(self) -> bool {
        !matches!(
            self,
            What::Read | What::CompareExchangeFailed | What::Found | What::Vain
        )
    }

    /// Whether it has its place among the records of its object by a ticket.
    #[inline]
    pub(crate) const fn has_ticket(self) -> bool {
        self as u8 >= What::Acquire as u8
    }
}

/// Whether guards may be given back by other strands than those that took them. The order of a
/// strand's own records does not keep such a release behind its acquire, so every one has its own
/// ticket.
pub(crate) const GUARDS_MOVE: bool =
    cfg!(any(feature = "parking_lot-send_guard", feature = "tokio"));
