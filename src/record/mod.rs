//! Recording: what a strand does, written into its own buffer.
//!
//! A mirror asks for the strand's [`Pen`] *before* it performs an operation: the pen comes with
//! room for the operation's records, so that a ticket, once drawn, is always published without
//! waiting. Then it performs the operation, and records it where the object is owned: after an
//! acquisition, before a release, inside a read-modify-write. No allocation, no lock of ours, no
//! hashing and no formatting is on that way.
//!
//! Tickets and records make one exact order without a global clock. Order all records by the
//! instant at which they drew their ticket: program order and every object's order increase with
//! it, so their union is acyclic, and every linear extension of it keeps the order of every
//! conflicting pair. Accesses through a guard draw no ticket, because the lock's own records
//! enclose them.

pub(crate) mod channel;
mod chunk;
pub(crate) mod clock;
pub(crate) mod code;
mod done;
pub(crate) mod host;
pub(crate) mod names;
mod object;
mod once;
mod origin;
pub(crate) mod pool;
mod prim;
mod section;
pub(crate) mod stacks;
mod strand;
pub(crate) mod value;

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, Location, catch_unwind};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

pub(crate) use self::chunk::{Chunk, Published, Record, What};
use self::chunk::{GUARDS_MOVE, READ, SHARED, STEP, WRITE};
use self::clock::{Clock, Moment, Turn};
pub(crate) use self::done::Done;
use self::host::{Started, host};
use self::object::{Identity, Number};
pub(crate) use self::object::{Object, Order};
pub(crate) use self::once::{OnceCore, initialise, publish};
pub(crate) use self::origin::{Origin, Runner};
pub(crate) use self::section::{Exclusive, Shared};
#[cfg(feature = "parking_lot")]
pub(crate) use self::section::{Gate, Holder};
pub(crate) use self::strand::Strand;
use self::strand::{NOBODYS_EPOCH, Nobody};
use crate::mark::Block;
use crate::trace::Update;

/// In place of a strand: this thread records nothing.
static UNTRACKED: Nobody = Nobody::new();
/// In place of a strand: this thread has recorded nothing yet.
static UNREGISTERED: Nobody = Nobody::new();

thread_local! {
    /// Has no destructor, so it costs one load and works until the thread's very end.
    static CURRENT: Cell<&'static Strand> = const { Cell::new(&UNREGISTERED.0) };

    /// The strand that [`Suspended`] has taken from this thread.
    static SUSPENDED: Cell<Option<&'static Strand>> = const { Cell::new(None) };

    /// Writes the strand's last record when the thread ends. Initialised off the hot path, once.
    static ON_EXIT: OnExit = const { OnExit };
}

struct OnExit;

impl Drop for OnExit {
    fn drop(&mut self) {
        exit();
    }
}

/// The right to record one operation of the current strand.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Pen(&'static Strand);

/// The strand of this thread, or what it has in place of one.
#[inline(always)]
fn strand() -> &'static Strand {
    CURRENT.get()
}

impl Strand {
    #[inline(always)]
    fn is_untracked(&self) -> bool {
        ptr::eq(self, &UNTRACKED.0)
    }

    #[inline(always)]
    fn address(&self) -> usize {
        ptr::from_ref(self).addr()
    }
}

/// The current strand's pen, with room for one operation; nothing where this thread is not tracked.
/// Does not panic: an operation may be an allocator's, a destructor's or a C function's.
#[inline(always)]
pub(crate) fn pen() -> Option<Pen> {
    let strand = strand();
    if strand.is_ready() {
        Some(Pen(strand))
    } else if strand.is_untracked() {
        None
    } else {
        slow_pen()
    }
}

/// Records that a `Condvar` is notified here.
pub(crate) fn notify(site: &'static Location<'static>) {
    if let Some(pen) = pen() {
        pen.notify(site);
    }
}

#[cold]
#[inline(never)]
fn slow_pen() -> Option<Pen> {
    let strand = strand();
    if ptr::eq(strand, &UNREGISTERED.0) {
        return register();
    }
    if strand.is_busy() {
        // This is a signal handler, and what it has interrupted must find everything as it was.
        return None;
    }
    if pool::is_off() {
        CURRENT.set(&UNTRACKED.0);
        return None;
    }
    strand.follow_settings();
    strand.heed_alarm();
    if !strand.has_room() {
        // What is held back must not wait with us: others may have to be merged after it.
        Pen(strand).flush_held();
        let Some(chunk) = untracked(pool::chunk) else {
            CURRENT.set(&UNTRACKED.0);
            return None;
        };
        let _busy = strand.busy();
        strand.go_on_in(chunk);
    }
    Some(Pen(strand))
}

/// Makes this thread a strand that nobody forked: the first of a family.
fn register() -> Option<Pen> {
    // Whatever our own start does is not the program's.
    CURRENT.set(&UNTRACKED.0);
    match host().map_or(Started::NotYet, |host| host.start()) {
        Started::Yes if ON_EXIT.try_with(|_| ()).is_ok() => {}
        Started::Yes | Started::Off => return None,
        Started::NotYet => {
            // What the thread does next may be recorded.
            CURRENT.set(&UNREGISTERED.0);
            return None;
        }
    }
    let strand = Strand::allocate(new_family(), false)?;
    // SAFETY: lives until `exit` has replaced the reference.
    let known = unsafe { strand.as_ref() };
    known.origin.set(Origin::capture());
    pool::announce(strand);
    let strand = known;
    CURRENT.set(strand);
    Some(Pen(strand))
}

/// While this lives, nothing that the thread does is recorded.
pub(crate) struct Untracked(&'static Strand);

impl Untracked {
    pub(crate) fn new() -> Self {
        Self(CURRENT.replace(&UNTRACKED.0))
    }
}

impl Drop for Untracked {
    fn drop(&mut self) {
        CURRENT.set(self.0);
    }
}

/// Runs `f` without recording what it does.
pub(crate) fn untracked<R>(f: impl FnOnce() -> R) -> R {
    let _untracked = Untracked::new();
    f()
}

/// While this lives, the program's thread records nothing but the end of what began before: a
/// release, or an object's end. Without those, the records of others would not fit.
pub(crate) struct Suspended {
    before: Option<&'static Strand>,
    _untracked: Untracked,
}

impl Suspended {
    pub(crate) fn new() -> Self {
        let strand = strand();
        let before = SUSPENDED.get();
        if !strand.is_untracked() && !ptr::eq(strand, &UNREGISTERED.0) {
            SUSPENDED.set(Some(strand));
        }
        Suspended {
            before,
            _untracked: Untracked::new(),
        }
    }
}

impl Drop for Suspended {
    fn drop(&mut self) {
        SUSPENDED.set(self.before);
    }
}

/// Records the end of something that was recorded, also while the strand is suspended.
#[inline(always)]
fn finish(end: impl FnOnce(Pen)) {
    match pen() {
        Some(pen) => end(pen),
        None => finish_suspended(end),
    }
}

#[cold]
#[inline(never)]
fn finish_suspended(end: impl FnOnce(Pen)) {
    if let Some(strand) = SUSPENDED.get() {
        let current = CURRENT.replace(strand);
        if let Some(pen) = pen() {
            end(pen);
        }
        CURRENT.set(current);
    }
}

/// This thread belongs to us: nothing that it does is recorded, ever.
pub(crate) fn never_track_this_thread() {
    CURRENT.set(&UNTRACKED.0);
}

/// Writes the current strand's last record.
pub(crate) fn exit() {
    if let Some(pen) = pen_if_registered() {
        if !pen.0.forked {
            name_current_strand();
            if let Some(host) = host() {
                host.first_strand_ends();
            }
        }
        pen.exit();
    }
    CURRENT.set(&UNTRACKED.0);
}

/// The pen of a thread that has recorded before.
fn pen_if_registered() -> Option<Pen> {
    if ptr::eq(strand(), &UNREGISTERED.0) {
        None
    } else {
        pen()
    }
}

/// The current strand's number and family, if it has recorded anything.
pub(crate) fn current() -> Option<(u32, u32)> {
    pen_if_registered().map(|pen| (pen.0.id, pen.0.family.get()))
}

/// The current strand's name, if it was asked for.
pub(crate) fn current_name() -> Option<&'static str> {
    let Pen(strand) = pen_if_registered()?;
    strand.name.get().map(|name| &**name)
}

/// Whether the current thread is the first strand of its family: the one that delivers the family's
/// violations.
pub(crate) fn is_first_of_family() -> bool {
    pen_if_registered().is_some_and(|pen| !pen.0.forked)
}

/// Puts the current strand into another family until [`Regroup`] is dropped; its children follow.
pub(crate) fn regroup(family: u32) -> Option<Regroup> {
    let pen = pen()?;
    let before = pen.0.family.get();
    pen.set_family(family);
    Some(Regroup { before })
}

/// Restores the family.
pub(crate) struct Regroup {
    before: u32,
}

impl Drop for Regroup {
    fn drop(&mut self) {
        if let Some(pen) = pen() {
            pen.set_family(self.before);
        }
    }
}

/// A number for a new family.
pub(crate) fn new_family() -> u32 {
    static FAMILIES: AtomicU32 = AtomicU32::new(1);
    FAMILIES.fetch_add(1, Ordering::Relaxed)
}

/// How far a strand has written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) chunk: NonNull<Chunk>,
    pub(crate) records: u32,
    /// Whether it was in a block, so that this need not have ended.
    pub(crate) in_block: bool,
}

/// A strand that was forked and has not started yet. Dropped unstarted, it has done nothing and
/// exits.
pub(crate) struct Child(NonNull<Strand>);

// SAFETY: until it starts, a strand belongs to whoever has the `Child`.
unsafe impl Send for Child {}

impl Child {
    pub(crate) fn id(&self) -> u32 {
        // SAFETY: a strand lives until its exit was read, and `self` is yet to write it.
        unsafe { self.0.as_ref() }.id
    }

    /// Makes the current thread this strand.
    pub(crate) fn start(self) {
        let strand = self.0;
        std::mem::forget(self);
        CURRENT.set(&UNTRACKED.0);
        // The first destructor to be registered is the last to run, so the program's own are still
        // recorded.
        if ON_EXIT.try_with(|_| ()).is_ok() {
            // SAFETY: lives until `exit` has replaced the reference.
            CURRENT.set(unsafe { strand.as_ref() });
        } else {
            drop(Child(strand));
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // SAFETY: alive, and ours alone until the exit is published.
        Pen(unsafe { self.0.as_ref() }).exit();
    }
}

impl Pen {
    #[inline(always)]
    pub(crate) fn epoch(self) -> u64 {
        self.0.epoch.get()
    }

    pub(crate) fn strand(self) -> u32 {
        self.0.id
    }

    /// Whether the strand is inside an atomic block.
    pub(crate) fn in_block(self) -> bool {
        self.0.state.get().in_block()
    }

    // `extern "C"`, here and wherever it stands on the recording path, says that a function does
    // not unwind: otherwise every guard would have to be in memory, for the case that it does. None
    // of them panics, and what they call that might is guarded.

    /// Publishes what is held back, and writes the block and the stack where these are due before a
    /// record.
    #[inline(never)]
    extern "C" fn prepare(self, what: What) {
        self.flush_held_amid();
        self.0.write_news();
        let wants_stack = self.0.state.get().wants_stacks() && what.is_access();
        if wants_stack
            && self.in_block()
            && let Some(stack) = untracked(|| guarded(stacks::capture))
        {
            self.0.write(Record::new(What::Stack, stack, 0, 0));
        }
    }

    #[inline(always)]
    fn push(self, what: What, target: u32, ticket: u32, site: u32) {
        let _busy = self.0.busy();
        self.push_amid(what, target, ticket, site);
    }

    /// The same in the middle of an operation: the strand is busy.
    #[inline(always)]
    fn push_amid(self, what: What, target: u32, ticket: u32, site: u32) {
        self.push_record(Record::new(what, target, ticket, site));
    }

    #[inline(always)]
    fn push_record(self, record: Record) {
        if self.0.state.get().hinders() {
            self.prepare(record.what());
        }
        self.0.write(record);
    }

    /// Writes the strand's last record. It stays busy for good: once that is published, it may be
    /// gone.
    fn exit(self) {
        std::mem::forget(self.0.busy());
        self.push_amid(What::Exit, 0, 0, 0);
    }

    /// The object's number; draws it at the first use.
    #[inline(always)]
    fn identify<O: Order>(self, object: &Object<O>) -> u32 {
        let id = object.id.number();
        if id != 0 { id } else { self.define(object) }
    }

    /// The object's identity; draws its number at the first use.
    #[inline(always)]
    fn identify_atomic(self, object: &Object<Clock>) -> Identity {
        let identity = object.id.identity();
        if identity.is_drawn() {
            return identity;
        }
        self.define(object);
        object.id.identity()
    }

    #[cold]
    #[inline(never)]
    extern "C" fn define<O: Order>(self, object: &Object<O>) -> u32 {
        let _busy = self.0.busy();
        let id = self.0.ids.draw();
        match object.id.claim(id, self.0.ids.generation()) {
            Ok(()) => {
                let type_name = object.type_name.map_or(0, code::type_name);
                let define = Record::new(What::Define, id, type_name, object.created_code());
                self.flush_held_amid();
                self.0.define(define.with(object.kind() as u32));
                id
            }
            Err(other) => {
                self.0.ids.put_back(id);
                other
            }
        }
    }

    /// An object is gone.
    pub(crate) fn retire(self, id: u32, ticket: u32, is_watched: bool) {
        if is_watched {
            self.push(What::Watched, 0, draw_watched(), 0);
        }
        self.push(What::Retire, id, ticket, 0);
        if is_watched {
            self.push(What::Written, 0, 0, 0);
        }
    }

    // Locks.

    /// The lock has just been taken exclusively.
    #[inline(always)]
    pub(crate) fn acquire(self, object: &Object, site: u32) {
        let id = self.identify(object);
        self.hold_back(Record::acquire(0, id, object.order.draw(), site));
    }

    /// The lock has just been taken as one of several holders.
    #[inline(always)]
    pub(crate) fn acquire_shared(self, object: &Object, site: u32) {
        let id = self.identify(object);
        let ticket = object.order.draw_shared();
        if GUARDS_MOVE {
            self.push(What::AcquireShared, id, ticket, site);
        } else {
            self.hold_back(Record::acquire(SHARED, id, ticket, site));
        }
    }

    /// Records an acquire, which is published when its release is, or something else before that.
    #[inline(always)]
    fn hold_back(self, acquire: Record) {
        let _busy = self.0.busy();
        if self.0.state.get().hinders() {
            self.hold_back_slow(acquire);
        } else {
            self.0.hold_back(acquire);
        }
    }

    /// Records an acquire while another one is held back, or where the block or the stack is due.
    #[inline(never)]
    extern "C" fn hold_back_slow(self, acquire: Record) {
        let state = self.0.state.get();
        if state.only_holds() && state.in_block() {
            return self.0.hold_back_above(acquire);
        }
        if state.wants_stacks() {
            self.prepare(What::Acquire);
            // What happens in the section is recorded where it happens.
            return self.0.write(acquire);
        }
        self.flush_held_amid();
        self.0.write_news();
        self.0.hold_back(acquire);
    }

    /// The lock, held exclusively, is about to be given back.
    #[inline]
    pub(crate) fn release(self, object: &Object, taken: u32) {
        if self.0.closes(object) {
            return;
        }
        let id = self.identify(object);
        self.push(What::Release, id, object.order.draw(), taken);
    }

    /// The lock, held by us and perhaps others, is about to be given back.
    #[inline]
    pub(crate) fn release_shared(self, object: &Object, taken: u32) {
        if self.0.closes(object) {
            return;
        }
        let id = self.identify(object);
        let ticket = object.order.draw_shared();
        self.push(What::ReleaseShared, id, ticket, taken);
    }

    /// A shared holder has just become the exclusive one.
    #[cfg(feature = "parking_lot")]
    pub(crate) fn upgrade(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.push(What::Upgrade, id, object.order.draw(), code::site(site));
    }

    /// The exclusive holder is about to let others in, and stays one of them.
    pub(crate) fn downgrade(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.push(What::Downgrade, id, object.order.draw(), code::site(site));
    }

    /// A guard's content is read.
    fn guard_read(self, object: &Object, site: &'static Location<'static>) {
        self.push(What::GuardRead, self.identify(object), 0, code::site(site));
    }

    /// A guard's content is about to be written.
    fn guard_write(self, object: &Object, site: &'static Location<'static>) {
        self.push(What::GuardWrite, self.identify(object), 0, code::site(site));
    }

    // Everything else that draws a ticket.

    /// An access or signal of an object whose tickets anybody may draw at any time: the moment of
    /// drawing is the moment of the event.
    #[inline]
    pub(crate) fn event(self, what: What, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.push(what, id, object.order.draw_any(), code::site(site));
    }

    /// What a lock guards is read by a strand that did not take it.
    fn read_shared(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        let ticket = object.order.draw_shared();
        self.push(What::ReadShared, id, ticket, code::site(site));
    }

    /// What a lock guards is about to be written through a guard that may have come from another
    /// strand.
    fn write_moved(self, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        self.push(What::Write, id, object.order.draw(), code::site(site));
    }

    /// Runs an operation on an atomic and records it. `operate` runs while the value is ours alone,
    /// and says what it did. It must not record anything itself.
    #[inline]
    pub(crate) fn atomic<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        operate: impl FnOnce() -> (R, What),
    ) -> R {
        self.attempt(object, site, || {
            let (result, what) = operate();
            (result, Effect::Did(what))
        })
    }

    /// Like [`atomic`](Self::atomic), for an operation that may fail.
    #[inline]
    pub(crate) fn attempt<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        operate: impl FnOnce() -> (R, Effect),
    ) -> R {
        self.take_turn(object, site, None::<fn() -> i128>, operate)
    }

    /// Like [`attempt`](Self::attempt), for what a property may know: a change is then recorded
    /// with the `value` that it has left behind.
    ///
    /// # Panics
    ///
    /// If the value is none of `i64`, and a property of the family speaks of the object.
    #[inline]
    #[track_caller]
    pub(crate) fn change<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        value: impl FnOnce() -> i128,
        operate: impl FnOnce() -> (R, Effect),
    ) -> R {
        self.take_turn(object, site, Some(value), operate)
    }

    #[inline(always)]
    #[track_caller]
    fn take_turn<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        value: Option<impl FnOnce() -> i128>,
        operate: impl FnOnce() -> (R, Effect),
    ) -> R {
        let id = self.identify_atomic(object);
        let _busy = self.0.busy();
        let Some(turn) = self.enter(object) else {
            return operate().0;
        };
        let (result, effect) = operate();
        match (effect, value) {
            (Effect::Nothing, _) => {}
            (Effect::Did(what), Some(value)) if what.changes() && turn.is_watched() => {
                self.settle_named(id, turn, what, code::site(site), value());
            }
            (Effect::Did(what), _) => self.settle(id, turn, what, site),
            (Effect::Vain(kind), _) => self.settle_vain(id, turn, kind, site),
        }
        result
    }

    /// Waits for a turn, while the strand is busy. Nothing where there will be none: then checking
    /// has ended.
    #[inline(always)]
    fn enter(self, object: &Object<Clock>) -> Option<Turn<'_>> {
        let turn = object.order.enter();
        if turn.is_none() {
            give_up("a thread has stopped in the middle of an operation on a tracked atomic");
        }
        turn
    }

    /// Records what was done in a turn to an atomic that has a name, or how it was born.
    ///
    /// # Panics
    ///
    /// If the value cannot be recorded, and a property of the family speaks of the atomic.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn settle_named(self, id: Identity, turn: Turn<'_>, what: What, site: u32, value: i128) {
        self.settle_watched(id, turn, what, site, value);
        if i64::try_from(value).is_ok() || std::thread::panicking() {
            return;
        }
        let family = self.0.family.get();
        let name = untracked(|| host()?.speaks_of(family, &|| names::of(id.number())));
        if let Some(name) = name {
            value::refuse(&name, value);
        }
    }

    /// The program touches an atomic: where that is wanted, it counts as if for the first time in
    /// its block.
    #[inline(always)]
    pub(crate) fn see_anew(self) {
        if self.0.thorough.get() && self.in_block() {
            self.0.seen.forget();
        }
    }

    /// Records what was done in a turn, unless it says nothing new.
    #[inline]
    fn settle(
        self,
        id: Identity,
        mut turn: Turn<'_>,
        what: What,
        site: &'static Location<'static>,
    ) {
        if let Some(seen) = self.0.last_seen(id)
            && seen.moment.get() == turn.moment()
            && covers(seen.what.get(), what)
        {
            if what == What::UpdateChannel {
                // Whoever has just found nothing must hear of it.
                let moment = turn.change();
                self.0.has_seen(id, what, moment);
            }
            return;
        }
        let (ticket, moment) = turn.draw(what.changes());
        drop(turn);
        self.push_amid(what, id.number(), ticket, code::site(site));
        if what == What::CompareExchangeFailed {
            // What is looked at next may be looked at again.
            self.0.new_epoch();
        } else {
            self.0.has_seen(id, what, moment);
        }
    }

    /// Records a read-modify-write that left the value as it was.
    #[cold]
    #[inline(never)]
    fn settle_vain(
        self,
        id: Identity,
        mut turn: Turn<'_>,
        kind: Update,
        site: &'static Location<'static>,
    ) {
        let (ticket, _) = turn.draw(false);
        drop(turn);
        let record = Record::new(What::Vain, id.number(), ticket, code::site(site));
        self.push_record(record.with(kind as u32));
    }

    /// Records that something was read at an earlier moment, unless it has changed since: whether
    /// it has not.
    fn read_at(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        moment: Moment,
    ) -> bool {
        let id = self.identify_atomic(object);
        let _busy = self.0.busy();
        let Some(turn) = self.enter(object) else {
            return true;
        };
        let same = turn.moment().version() == moment.version();
        if same {
            self.settle(id, turn, What::Read, site);
        }
        same
    }

    /// Reads an atomic; records it unless this strand has just read or written this version.
    #[inline]
    pub(crate) fn load<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        read: impl Fn() -> R,
    ) -> R {
        self.look(What::Read, object, site, read)
    }

    /// The same, for what counts as `what`, which changes nothing.
    #[inline]
    pub(crate) fn look<R>(
        self,
        what: What,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        read: impl Fn() -> R,
    ) -> R {
        debug_assert!(!what.changes());
        let id = self.identify_atomic(object);
        if let Some(seen) = self.0.last_seen(id)
            && covers(seen.what.get(), what)
        {
            let (value, moment) = object.order.observe(&read);
            if moment.version() == seen.moment.get().version() {
                return value;
            }
        }
        self.atomic(object, site, || (read(), what))
    }

    /// Runs an operation on a watched variable and records it, a change with the value that it left
    /// behind.
    pub(crate) fn watched<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        operate: impl FnOnce() -> (R, Effect, i128),
    ) -> R {
        let id = self.identify_atomic(object);
        let _busy = self.0.busy();
        let turn = self.enter(object);
        let (result, effect, value) = operate();
        let Some(turn) = turn else {
            return result;
        };
        match effect {
            Effect::Nothing => {}
            Effect::Did(what) if what.changes() => {
                self.settle_watched(id, turn, what, code::site(site), value);
            }
            Effect::Did(what) => self.settle(id, turn, what, site),
            Effect::Vain(kind) => self.settle_vain(id, turn, kind, site),
        }
        result
    }

    /// Properties know the object from here on, and the value that it has, which is returned.
    pub(crate) fn born(self, object: &Object<Clock>, value: impl FnOnce() -> i128) -> i128 {
        let id = self.identify_atomic(object);
        let _busy = self.0.busy();
        let turn = self.enter(object);
        let value = value();
        if let Some(turn) = turn {
            self.settle_watched(id, turn, What::Born, object.created_code(), value);
        }
        value
    }

    /// Records what has left this value behind in a turn. Unlike those of other atomics, no change
    /// is left out: each value counts.
    fn settle_watched(self, id: Identity, mut turn: Turn<'_>, what: What, site: u32, value: i128) {
        let (ticket, moment) = turn.draw(true);
        turn.watch();
        // In the turn, so that it agrees with the variable's own order.
        let order = draw_watched();
        drop(turn);
        self.push_amid(What::Watched, 0, order, 0);
        if let Ok(value) = i64::try_from(value) {
            let high = (value as u64 >> 32) as u32;
            self.push_amid(What::Value, value as u32, high, 0);
        }
        self.push_amid(what, id.number(), ticket, site);
        self.push_amid(What::Written, 0, 0, 0);
        self.0.has_seen(id, what, moment);
    }

    // Transactions.

    /// A block is entered.
    #[inline(always)]
    #[track_caller]
    fn begin(self, block: &'static Block) {
        let state = self.0.state.get();
        if state.is_idle() {
            self.0.begin(block);
        } else if state.in_block() {
            self.0.begin_inner();
        } else {
            self.begin_otherwise(block);
        }
    }

    /// The outermost block is entered, while a lock is held back, by a strand that has no name yet,
    /// or whose family may have reports.
    ///
    /// # Panics
    ///
    /// With the reports.
    #[inline(never)]
    #[track_caller]
    fn begin_otherwise(self, block: &'static Block) {
        self.flush_held();
        if self.0.state.get().is_unnamed() {
            name_current(self);
        }
        if !std::thread::panicking()
            && self.0.take_reports()
            && let Some(host) = host()
        {
            host.deliver(self.0.family.get());
        }
        self.0.begin(block);
    }

    /// A block is left: the block, if it was a transaction that recorded nothing.
    fn end(self) -> Option<&'static Block> {
        if self.0.state.get().depth() != 1 {
            self.0.end_inner();
            return None;
        }
        // A lock that was taken inside and is still held: its acquire belongs into the transaction.
        self.flush_held();
        let is_empty = self.0.state.get().is_at_begin();
        let block = self.0.block().filter(|_| is_empty);
        if !is_empty && std::thread::panicking() {
            self.push(What::Unwind, 0, 0, 0);
        }
        self.0.end();
        block
    }

    /// The strand is about to wait for another's progress, here. Publishes what is held back, too.
    pub(crate) fn split(self, site: &'static Location<'static>) {
        self.boundary(What::Split, code::site(site));
    }

    /// What the transaction has read so far does not count.
    pub(crate) fn restart(self) {
        self.boundary(What::Restart, 0);
    }

    /// The strand pauses, and may then look again at what it has looked at.
    pub(crate) fn pause(self, site: &'static Location<'static>) {
        self.boundary(What::Pause, code::site(site));
    }

    /// A `Condvar` is notified here.
    pub(crate) fn notify(self, site: &'static Location<'static>) {
        let state = self.0.state.get();
        if !state.in_block() || !state.is_at_begin() {
            self.push(What::Notify, 0, 0, code::site(site));
        }
    }

    fn boundary(self, what: What, site: u32) {
        let _busy = self.0.busy();
        let state = self.0.state.get();
        if state.in_block() && !state.is_at_begin() {
            self.push_amid(what, 0, 0, site);
            self.0.new_epoch();
        }
        self.flush_held_amid();
    }

    /// Publishes an acquire that is held back: the strand is about to wait.
    #[inline]
    pub(crate) fn flush_held(self) {
        let _busy = self.0.busy();
        self.flush_held_amid();
    }

    /// The same in the middle of an operation: the strand is busy.
    #[inline(always)]
    fn flush_held_amid(self) {
        if self.0.state.get().held() != 0 {
            self.0.flush();
        }
    }

    // Strands.

    /// Forks a strand. The record is written before the child can write its first.
    pub(crate) fn fork(
        self,
        name: Option<&str>,
        site: &'static Location<'static>,
    ) -> Option<Child> {
        let child = untracked(|| {
            let child = Strand::allocate(self.0.family.get(), true)?;
            if let Some(name) = name {
                // SAFETY: ours alone.
                unsafe { child.as_ref() }.set_name(name);
            }
            pool::announce(child);
            Some(Child(child))
        })?;
        self.push(What::Fork, child.id(), 0, code::site(site));
        Some(child)
    }

    /// A strand was joined.
    pub(crate) fn join(self, child: u32, site: &'static Location<'static>) {
        self.push(What::Join, child, 0, code::site(site));
    }

    /// A strand's handle is gone.
    pub(crate) fn detach(self, child: u32) {
        self.push(What::Detach, child, 0, 0);
    }

    fn set_family(self, family: u32) {
        self.0.family.set(family);
        self.push(What::Family, family, 0, 0);
    }

    /// How far this strand has written.
    pub(crate) fn cursor(self) -> Cursor {
        self.flush_held();
        let _busy = self.0.busy();
        Cursor {
            chunk: self.0.chunk.get(),
            records: self.0.len.get() / STEP,
            in_block: self.in_block(),
        }
    }

    // Messages.

    /// The number of a message to be sent, which travels with it.
    pub(crate) fn message(self) -> u32 {
        let _busy = self.0.busy();
        self.0.ids.draw()
    }

    /// Takes back the number of a message that was not sent.
    pub(crate) fn unsend(self, message: u32) {
        let _busy = self.0.busy();
        self.0.ids.put_back(message);
    }

    /// A message was sent. It may have been received already: what counts as its sending is the
    /// last record before this one.
    pub(crate) fn send(self, message: u32, site: &'static Location<'static>) {
        self.push(What::Send, message, 0, code::site(site));
    }

    /// A message was received.
    pub(crate) fn receive(self, message: u32, site: &'static Location<'static>) {
        self.push(What::Recv, message, 1, code::site(site));
    }

    /// A message was dropped unreceived.
    pub(crate) fn lose(self, message: u32) {
        self.push(What::Lost, message, 1, 0);
    }

    // Names and values.

    /// Gives an object a name; the number of which is the collector's.
    pub(crate) fn name<O: Order>(self, object: &Object<O>, name: u32) {
        let id = self.identify(object);
        self.push(What::Name, id, 0, name);
    }

    /// Gives an atomic a name, by which properties know it as well.
    ///
    /// # Panics
    ///
    /// As [`change`](Self::change).
    #[track_caller]
    pub(crate) fn name_watched(
        self,
        object: &Object<Clock>,
        name: u32,
        value: impl FnOnce() -> i128,
    ) {
        self.name(object, name);
        let id = self.identify_atomic(object);
        untracked(|| names::give(id.number(), name));
        let _busy = self.0.busy();
        let turn = self.enter(object);
        let value = value();
        if let Some(turn) = turn {
            self.settle_named(id, turn, What::Born, object.created_code(), value);
        }
    }
}

/// A `try_lock` has found the lock taken, which is a pause.
#[cold]
#[inline(never)]
pub(crate) fn found_locked(pen: Option<Pen>, object: &Object, site: &'static Location<'static>) {
    if let Some(pen) = pen
        && pen.in_block()
    {
        let id = pen.identify(object);
        pen.push(What::Busy, id, 0, code::site(site));
        pen.pause(site);
    }
}

/// Runs what is ours alone: if it panics, checking ends, and the program goes on.
pub(crate) fn guarded<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(payload) => {
            if let Some(host) = host() {
                host.failed(payload);
            }
            None
        }
    }
}

/// What somebody waits for does not come. Checking ends, without a verdict, and the program goes
/// on.
#[cold]
#[inline(never)]
pub(crate) fn give_up(what: &'static str) {
    if let Some(host) = host() {
        untracked(|| host.give_up(what));
    }
}

static THOROUGH: AtomicBool = AtomicBool::new(false);

/// Whether accesses of atomics in blocks are all recorded. A second read of a value that nobody has
/// changed says nothing of this run, but much of the runs in which somebody does.
pub(crate) fn be_thorough(thorough: bool) {
    THOROUGH.store(thorough, Ordering::Relaxed);
}

fn is_thorough() -> bool {
    THOROUGH.load(Ordering::Relaxed)
}

/// A ticket among all changes of watched variables together. Nothing else orders those of different
/// variables by different strands, and a property is about the order in which they really happened.
fn draw_watched() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// What an operation on an atomic did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Did(What),
    /// A read-modify-write left the value as it was.
    Vain(Update),
    /// Nothing that anybody needs to know.
    Nothing,
}

/// Whether an access of the kind `earlier` makes a later one, with nobody's access in between,
/// redundant. What may be part of a retry never is.
fn covers(earlier: What, later: What) -> bool {
    use What::{CompareExchange, CompareExchangeFailed, ReadWrite, Write};
    !matches!(later, CompareExchange | CompareExchangeFailed)
        && (earlier == later || matches!(earlier, Write | ReadWrite | CompareExchange))
}

/// An atomic block is entered; see [`atomic_block!`](crate::atomic_block).
#[inline]
#[track_caller]
pub(crate) fn begin(block: &'static Block) {
    if let Some(pen) = pen() {
        pen.begin(block);
    }
}

/// A block is left: whether there was nothing to do, or it was one that recorded something and
/// ended as most do. If not, nothing was done.
#[inline(always)]
pub(crate) fn ends_plainly() -> bool {
    let strand = strand();
    strand.ends_plainly() || strand.is_untracked()
}

/// A block is left: the block, if it was a transaction that recorded nothing.
pub(crate) fn end() -> Option<&'static Block> {
    pen().and_then(Pen::end)
}

/// The thread's name is asked for where the program runs its own code: asking allocates, and a
/// tracked operation may come from the allocator.
#[cold]
fn name_current(pen: Pen) {
    untracked(|| {
        let thread = std::thread::current();
        pen.0.set_name(thread.name().unwrap_or(""));
    });
}

/// How many atomic blocks the current strand is in, and the outermost of them.
pub(crate) fn open_blocks() -> (u32, Option<&'static Block>) {
    match pen_if_registered() {
        Some(Pen(strand)) if strand.state.get().in_block() => {
            (strand.state.get().depth(), strand.block())
        }
        _ => (0, None),
    }
}

/// Makes sure that the current strand has its name.
pub(crate) fn name_current_strand() {
    if let Some(pen) = pen_if_registered()
        && pen.0.state.get().is_unnamed()
    {
        name_current(pen);
    }
}
