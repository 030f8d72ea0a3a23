//! The strand of this thread.

use std::cell::Cell;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::{Nobody, Origin, Strand, place};
use crate::mark::Block;
use crate::record::buffer::pool;
use crate::record::buffer::prim::rarely;
use crate::record::buffer::record::What;
use crate::record::control::{Control, Intent, Kind};
use crate::record::host::{Started, host};

/// In place of a strand: this thread records nothing.
static UNTRACKED: Nobody = Nobody::new();
/// In place of a strand: this thread has recorded nothing yet.
static UNREGISTERED: Nobody = Nobody::new();

thread_local! {
    /// Has no destructor, so it costs one load and works until the thread's very end. A pointer,
    /// because in Rust 1.85 a constant cannot have a reference to what has a cell.
    pub(super) static CURRENT: Cell<*const Strand> = const { Cell::new(&raw const UNREGISTERED.0) };

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
pub(crate) struct Pen(pub(in crate::record) &'static Strand);

impl Pen {
    /// The strand's number.
    pub(crate) fn strand(self) -> u32 {
        self.0.id
    }

    /// Whether the strand is inside an atomic block.
    pub(crate) fn in_block(self) -> bool {
        self.0.state.get().in_block()
    }

    fn set_family(self, family: u32) {
        self.0.family.set(family);
        self.writer().push(What::Family, family, 0, 0);
    }
}

/// The strand of this thread, or what it has in place of one.
#[inline(always)]
pub(in crate::record) fn strand() -> &'static Strand {
    // SAFETY: a static, or a strand that lives until `exit` has put a static in its place.
    unsafe { &*CURRENT.get() }
}

impl Strand {
    #[inline(always)]
    pub(in crate::record) fn is_untracked(&self) -> bool {
        ptr::eq(self, &UNTRACKED.0)
    }
}

/// Announces an operation that cannot block, right before it is performed; the current strand's
/// pen, with room for the operation's records; nothing where this thread is not tracked. Does not
/// panic: an operation may be an allocator's, a destructor's or a C function's.
///
/// Every tracked operation passes here, or [`wait`](crate::record::wait), once.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn step(intent: Intent<'_>) -> Option<Pen> {
    let strand = strand();
    if strand.buffer.is_ready() {
        return Some(Pen(strand));
    }
    rarely();
    if strand.is_untracked() {
        None
    } else {
        slow_step(intent)
    }
}

#[cold]
#[inline(never)]
fn slow_step(intent: Intent<'_>) -> Option<Pen> {
    let pen = slow_pen()?;
    pen.announce(intent);
    Some(pen)
}

/// The current strand's pen, for what is no operation of its own: the second part of one, or a
/// boundary.
#[cfg_attr(not(debug_assertions), inline(always))]
pub(crate) fn pen() -> Option<Pen> {
    let strand = strand();
    if strand.buffer.is_ready() {
        return Some(Pen(strand));
    }
    rarely();
    if strand.is_untracked() {
        None
    } else {
        slow_pen()
    }
}

#[cold]
#[inline(never)]
pub(in crate::record) fn slow_pen() -> Option<Pen> {
    let strand = strand();
    if ptr::eq(strand, &UNREGISTERED.0) {
        return register();
    }
    if strand.buffer.is_busy() {
        // This is a signal handler, and what it has interrupted must find everything as it was.
        return None;
    }
    if pool::is_off() {
        CURRENT.set(&UNTRACKED.0);
        return None;
    }
    strand.follow_settings();
    strand.heed_alarm();
    if !strand.buffer.has_room() {
        // What is held back must not wait with us: others may have to be merged after it.
        strand.writer().flush();
        let Some(chunk) = untracked(|| pool::chunk(strand.buffer.chunk())) else {
            CURRENT.set(&UNTRACKED.0);
            return None;
        };
        strand.writer().go_on_in(chunk);
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
    // SAFETY: lives until `exit` has replaced the pointer.
    let known = unsafe { strand.as_ref() };
    known.origin.set(place(Origin::capture()));
    pool::announce(strand);
    CURRENT.set(known);
    Some(Pen(known))
}

/// While this lives, nothing that the thread does is recorded.
pub(crate) struct Untracked(*const Strand);

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
pub(in crate::record) fn finish(end: impl FnOnce(Pen)) {
    match pen() {
        Some(pen) => end(pen),
        None => finish_suspended(end),
    }
}

/// The same of something that is an operation: it is announced first.
#[inline(always)]
pub(in crate::record) fn finish_step(intent: Intent<'_>, end: impl FnOnce(Pen)) {
    match step(intent) {
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
    let mut control = None;
    if let Some(pen) = pen_if_registered() {
        let exit = Intent::of_strand(Kind::Exit, pen.0.id, Location::caller());
        pen.announce(exit);
        control = pen.0.control().cloned();
        if !pen.0.forked {
            name_current_strand();
            if let Some(host) = host() {
                host.first_strand_ends();
            }
        }
        pen.writer().exit();
    }
    CURRENT.set(&UNTRACKED.0);
    if let Some(control) = control {
        control.gone();
    }
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

/// Makes sure that the current strand has its name.
pub(crate) fn name_current_strand() {
    let pen = pen_if_registered();
    if let Some(pen) = pen.filter(|pen| pen.0.state.get().is_unnamed()) {
        name_current(pen);
    }
}

/// The thread's name is asked for where the program runs its own code: asking allocates, and a
/// tracked operation may come from the allocator.
#[cold]
pub(in crate::record) fn name_current(pen: Pen) {
    untracked(|| {
        let thread = std::thread::current();
        pen.0.set_name(thread.name().unwrap_or("").into());
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

/// Tells the family's reports, if it may have some and this is the strand that tells them.
///
/// # Panics
///
/// With the reports.
#[track_caller]
pub(crate) fn deliver_here() {
    let Some(Pen(strand)) = pen() else { return };
    if !std::thread::panicking() && strand.take_reports() {
        if let Some(host) = host() {
            host.deliver(strand.family.get());
        }
    }
}

/// A number for a new family.
pub(crate) fn new_family() -> u32 {
    static FAMILIES: AtomicU32 = AtomicU32::new(1);
    FAMILIES.fetch_add(1, Ordering::Relaxed)
}

/// A strand that was forked and has not started yet. Dropped unstarted, it has done nothing and
/// exits.
pub(crate) struct Child(NonNull<Strand>);

// SAFETY: until it starts, a strand belongs to whoever has the `Child`.
unsafe impl Send for Child {}

impl Child {
    /// A new strand of a family, which the collector is told of once `prepare` is done with it.
    pub(in crate::record) fn new(family: u32, prepare: impl FnOnce(&Strand)) -> Option<Child> {
        let strand = Strand::allocate(family, true)?;
        // SAFETY: ours alone.
        prepare(unsafe { strand.as_ref() });
        pool::announce(strand);
        Some(Child(strand))
    }

    /// The strand, which has not written its last record.
    pub(super) fn strand(&self) -> &Strand {
        // SAFETY: a strand lives until its exit was read, and `self` is yet to write it.
        unsafe { self.0.as_ref() }
    }

    /// The strand is controlled from its start on.
    pub(in crate::record) fn set_control(&self, control: Arc<dyn Control>) {
        self.strand().set_control(Some(control));
    }

    pub(crate) fn id(&self) -> u32 {
        self.strand().id
    }

    /// Makes the current thread this strand.
    pub(crate) fn start(self) {
        let strand = self.0;
        std::mem::forget(self);
        CURRENT.set(&UNTRACKED.0);
        // The first destructor to be registered is the last to run, so the program's own are still
        // recorded.
        if ON_EXIT.try_with(|_| ()).is_err() {
            return drop(Child(strand));
        }
        // SAFETY: alive until this thread writes its last record.
        if let Some(control) = unsafe { strand.as_ref() }.control() {
            control.start();
        }
        CURRENT.set(strand.as_ptr());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let strand = self.strand();
        let control = strand.control().cloned();
        strand.writer().exit();
        if let Some(control) = control {
            control.gone();
        }
    }
}
