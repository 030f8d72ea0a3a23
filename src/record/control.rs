//! Control: what a scheduler is told, and where it stands.
//!
//! Every operation that a mirror performs is announced right before it is performed, in one place:
//!
//! - [`step`](super::step), if it cannot block,
//! - [`wait`] and [`wait_for`], if it can; they come with a probe that says whether it would.
//!
//! Both give the strand's [`Pen`]. A strand that is not controlled pays nothing: announcing is the
//! check for room in its buffer. A controlled strand's buffer never counts as ready, so each
//! announcement takes the slow path and asks the strand's [`Control`], which returns when it is the
//! strand's turn and the probe says that the operation goes through. The strand runs alone until
//! its next announcement, so the real operation that follows does not block, and a release needs
//! no hook after the real unlock: when another strand is chosen, the unlock has happened.

use std::num::NonZero;
use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::buffer::code;
use super::buffer::prim::rarely;
use super::buffer::record::What;
use super::ops::clock::Clock;
use super::ops::object::Object;
use super::strand::{Pen, pen, slow_pen, strand, untracked};
pub(crate) use crate::plan::{Choice, Kind};

/// What a strand is about to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intent<'a> {
    kind: Kind,
    target: Target<'a>,
    /// Nothing for a release, which happens in a destructor.
    site: Option<&'static Location<'static>>,
}

/// What it is done to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Target<'a> {
    Nothing,
    /// Something that is ordered by being held.
    Held(&'a Object),
    /// Something that changes as one with its clock.
    Clocked(&'a Object<Clock>),
    /// A strand, by its number.
    Strand(u32),
}

impl<'a> From<&'a Object> for Target<'a> {
    #[inline(always)]
    fn from(object: &'a Object) -> Self {
        Target::Held(object)
    }
}

impl<'a> From<&'a Object<Clock>> for Target<'a> {
    #[inline(always)]
    fn from(object: &'a Object<Clock>) -> Self {
        Target::Clocked(object)
    }
}

impl<'a> Intent<'a> {
    #[inline(always)]
    pub(crate) fn new(
        kind: Kind,
        target: impl Into<Target<'a>>,
        site: &'static Location<'static>,
    ) -> Self {
        let (target, site) = (target.into(), Some(site));
        Intent { kind, target, site }
    }

    /// A lock is given back.
    #[inline(always)]
    pub(crate) fn unlock(lock: &'a Object) -> Self {
        Self::end(Kind::Unlock, lock)
    }

    /// Something that is done in a destructor, which has no place of its own.
    #[inline(always)]
    pub(super) fn end(kind: Kind, target: impl Into<Target<'a>>) -> Self {
        let (target, site) = (target.into(), None);
        Intent { kind, target, site }
    }

    /// Something that is done to no object.
    #[inline(always)]
    pub(crate) fn bare(kind: Kind, site: &'static Location<'static>) -> Self {
        let (target, site) = (Target::Nothing, Some(site));
        Intent { kind, target, site }
    }

    /// Something that is done to a strand.
    #[inline(always)]
    pub(crate) fn of_strand(kind: Kind, strand: u32, site: &'static Location<'static>) -> Self {
        let (target, site) = (Target::Strand(strand), Some(site));
        Intent { kind, target, site }
    }

    fn announced(&self, pen: Pen) -> Announced {
        Announced {
            kind: self.kind,
            thing: match self.target {
                Target::Nothing => Thing::Nothing,
                Target::Held(object) => Thing::Object(pen.identify(object)),
                Target::Clocked(object) => Thing::Object(pen.identify(object)),
                Target::Strand(strand) => Thing::Strand(strand),
            },
            site: self.site.map_or(0, code::site),
        }
    }
}

/// An [`Intent`], in numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Announced {
    pub(crate) kind: Kind,
    pub(crate) thing: Thing,
    /// The code of the place.
    pub(crate) site: u32,
}

/// What an operation is done to, by the recorder's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Thing {
    Nothing,
    Object(u32),
    Strand(u32),
}

/// Whether an operation would go through. Asked by whichever strand gives the turn away, while
/// nobody else runs.
pub(crate) type Probe<'a> = &'a dyn Fn() -> bool;

/// An announced operation, as a [`Control`] sees it.
#[derive(Clone, Copy)]
pub(crate) struct Pending<'a> {
    pub(crate) next: Announced,
    /// Nothing where the operation cannot block.
    pub(crate) ready: Option<Probe<'a>>,
    /// For how long the strand waits at most.
    pub(crate) limit: Option<Duration>,
    /// What comes right after the wait, in whatever way that ends: a condition variable's wait
    /// takes its lock again.
    pub(crate) then: Option<(Announced, Probe<'a>)>,
}

/// How an announcement came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The operation goes through.
    Proceed,
    /// Its time is up.
    Expired,
    /// It was woken without a reason.
    Woken,
    /// The strand is not controlled any more: the operation may block.
    Free,
    /// The run is to end here, because nobody can go on. The strand is not controlled any more.
    Doomed,
}

/// Who decides when a strand goes on.
pub(crate) trait Control: Send + Sync {
    /// Returns when the strand has the turn for the operation.
    fn proceed(&self, pending: Pending<'_>) -> Turn;

    /// Decides inside an operation.
    fn pick(&self, choice: Choice, n: usize) -> usize;

    /// The strand has recorded something.
    fn recorded(&self, what: What, target: u32);

    /// The strand enters an outermost block, or leaves it.
    fn in_block(&self, inside: bool);

    /// The strand is about to block where no probe can tell for how long, or has done so.
    fn outside(&self, is_outside: bool);

    /// The control of a strand that this one is forking.
    fn fork(&self, child: u32) -> Arc<dyn Control>;

    /// The strand begins, on its own thread.
    fn start(&self);

    /// The strand is gone.
    fn gone(&self);

    /// The time that the strand sees.
    fn now(&self) -> Instant;

    /// On how many processors the program may run.
    fn processors(&self) -> Option<NonZero<usize>>;

    /// The strand reads the clock. May be a signal handler's doing: neither waits nor allocates.
    fn reads_clock(&self);

    /// A number that belongs to the strand's place in the run: another one each time.
    fn random(&self) -> u64;

    /// The strand panics, with this message at this place.
    fn panics(&self, message: String, place: String);
}

/// What a strand is unwound with where nobody could go on. The panic hook does not see it.
pub(crate) struct Doomed;

/// Announces an operation that may block; `ready` says whether it would not.
#[inline(always)]
pub(crate) fn wait<'a>(
    intent: impl FnOnce() -> Intent<'a>,
    ready: impl Fn() -> bool,
) -> Option<Pen> {
    let strand = strand();
    if strand.buffer.is_ready() {
        return Some(Pen(strand));
    }
    rarely();
    if strand.is_untracked() {
        None
    } else {
        wait_unlimited(intent, ready)
    }
}

#[cold]
#[inline(never)]
fn wait_unlimited<'a>(
    intent: impl FnOnce() -> Intent<'a>,
    ready: impl Fn() -> bool,
) -> Option<Pen> {
    wait_slow(intent(), None, &ready).0
}

/// The same of an operation that gives up after `limit`, if there is one: the pen, and for how long
/// the real operation may wait, which is no time at all where the strand's time is up.
#[inline]
pub(crate) fn wait_for<'a>(
    intent: impl FnOnce() -> Intent<'a>,
    limit: Option<Duration>,
    ready: impl Fn() -> bool,
) -> (Option<Pen>, Option<Duration>) {
    let strand = strand();
    if strand.buffer.is_ready() {
        return (Some(Pen(strand)), limit);
    }
    rarely();
    if strand.is_untracked() {
        return (None, limit);
    }
    match wait_slow(intent(), limit, &ready) {
        (pen, Turn::Expired) => (pen, Some(Duration::ZERO)),
        (pen, _) => (pen, limit),
    }
}

/// The same of an operation that gives up at a deadline, which has passed where the strand's time is
/// up.
#[cfg(feature = "parking_lot")]
#[inline]
pub(crate) fn wait_until<'a>(
    intent: impl FnOnce() -> Intent<'a>,
    deadline: Instant,
    ready: impl Fn() -> bool,
) -> (Option<Pen>, Instant) {
    let strand = strand();
    if strand.buffer.is_ready() {
        return (Some(Pen(strand)), deadline);
    }
    rarely();
    if strand.is_untracked() {
        return (None, deadline);
    }
    match wait_slow(intent(), Some(left_until(deadline)), &ready) {
        (pen, Turn::Expired) => (pen, Instant::now()),
        (pen, _) => (pen, deadline),
    }
}

/// How much time the program sees between now and a deadline.
pub(crate) fn left_until(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(now())
}

#[cold]
#[inline(never)]
fn wait_slow(intent: Intent<'_>, limit: Option<Duration>, ready: Probe<'_>) -> (Option<Pen>, Turn) {
    let pen = slow_pen();
    let turn = pen.map_or(Turn::Free, |pen| {
        pen.announce_wait(intent, Some(ready), limit, None)
    });
    (pen, turn)
}

/// Waits until a strand that this one has forked is gone, and publishes what is held back: the
/// real join follows.
pub(crate) fn wait_for_end(strand: Option<u32>, site: &'static Location<'static>) {
    let Some(pen) = pen() else { return };
    if let (Some(strand), true) = (strand, is_controlled()) {
        // The control knows when it is ready.
        pen.announce(Intent::of_strand(Kind::Join, strand, site));
    }
    pen.flush();
}

/// Announces a look at whether a strand has ended.
pub(crate) fn step_look_at(strand: Option<u32>, site: &'static Location<'static>) {
    if let Some(strand) = strand {
        super::step(move || Intent::of_strand(Kind::Read, strand, site));
    }
}

/// Whether the current strand is controlled.
#[inline]
pub(crate) fn is_controlled() -> bool {
    strand().control().is_some()
}

impl Pen {
    /// Waits for the turn, if the strand is controlled, for what cannot block.
    pub(super) fn announce(self, intent: Intent<'_>) {
        self.announce_wait(intent, None, None, None);
    }

    /// Waits for the turn, if the strand is controlled.
    fn announce_wait(
        self,
        intent: Intent<'_>,
        ready: Option<Probe<'_>>,
        limit: Option<Duration>,
        then: Option<(Intent<'_>, Probe<'_>)>,
    ) -> Turn {
        let Some(control) = self.0.control() else {
            return Turn::Free;
        };
        let control = Arc::clone(control);
        let pending = Pending {
            next: intent.announced(self),
            ready,
            limit,
            then: then.map(|(intent, ready)| (intent.announced(self), ready)),
        };
        let turn = untracked(|| control.proceed(pending));
        if matches!(turn, Turn::Free | Turn::Doomed) {
            self.0.set_control(None);
        }
        // These happen in destructors, and a panic within a panic ends the process.
        let is_end = matches!(intent.kind, Kind::Unlock | Kind::Close | Kind::Exit);
        let may_unwind = !is_end && !std::thread::panicking();
        if turn == Turn::Doomed && may_unwind {
            std::panic::resume_unwind(Box::new(Doomed));
        }
        turn
    }

    /// Waits in a queue until `notified` says so, then until `lock` goes through.
    pub(crate) fn wait_in_queue(
        self,
        intent: Intent<'_>,
        limit: Option<Duration>,
        notified: Probe<'_>,
        lock: Intent<'_>,
        is_free: Probe<'_>,
    ) -> Turn {
        self.announce_wait(intent, Some(notified), limit, Some((lock, is_free)))
    }
}

/// Announces and records that a condition variable is notified; the real notification follows.
#[inline]
pub(crate) fn step_notify(condvar: &Object, site: &'static Location<'static>) {
    if let Some(pen) = super::step(move || Intent::new(Kind::Notify, condvar, site)) {
        pen.notify(site);
    }
}

/// One who waits for a notification under control: whether it has come.
type Waiter = Arc<AtomicBool>;

/// The strands under control that wait on a condition variable. They are not in the real one's
/// queue, so whoever notifies that looks here first.
#[derive(Debug, Default)]
pub(crate) struct Waiters {
    /// How many there are.
    count: AtomicUsize,
    queue: Mutex<Vec<Waiter>>,
}

impl Waiters {
    pub(crate) const fn new() -> Self {
        Self {
            count: AtomicUsize::new(0),
            queue: Mutex::new(Vec::new()),
        }
    }

    fn change<R>(&self, f: impl FnOnce(&mut Vec<Waiter>) -> R) -> R {
        untracked(|| {
            let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
            let result = f(&mut queue);
            self.count.store(queue.len(), Ordering::Release);
            result
        })
    }

    /// The current strand, controlled, is in the queue until this is dropped.
    pub(crate) fn enter(&self) -> InQueue<'_> {
        let waiter = untracked(Waiter::default);
        self.change(|queue| queue.push(waiter.clone()));
        InQueue {
            waiters: self,
            waiter,
        }
    }

    /// Wakes one; whether there was one.
    #[inline]
    pub(crate) fn notify_one(&self) -> bool {
        self.count.load(Ordering::Acquire) > 0 && self.notify_any()
    }

    #[cold]
    fn notify_any(&self) -> bool {
        self.change(|queue| {
            let n = queue.len();
            let chosen = match n {
                0 => return false,
                1 => 0,
                _ => pick(Choice::Waiter, n),
            };
            queue.remove(chosen).store(true, Ordering::Release);
            true
        })
    }

    /// Wakes all; how many there were.
    #[inline]
    pub(crate) fn notify_all(&self) -> usize {
        if self.count.load(Ordering::Acquire) == 0 {
            return 0;
        }
        self.change(|queue| {
            let waiters = queue.drain(..);
            waiters
                .map(|waiter| waiter.store(true, Ordering::Release))
                .count()
        })
    }
}

/// A strand's place in a queue of [`Waiters`].
#[derive(Debug)]
pub(crate) struct InQueue<'a> {
    waiters: &'a Waiters,
    waiter: Waiter,
}

impl InQueue<'_> {
    pub(crate) fn is_notified(&self) -> bool {
        self.waiter.load(Ordering::Acquire)
    }
}

impl Drop for InQueue<'_> {
    fn drop(&mut self) {
        if !self.is_notified() {
            let is_other = |waiter: &Waiter| !Arc::ptr_eq(waiter, &self.waiter);
            self.waiters.change(|queue| queue.retain(is_other));
        }
    }
}

/// Decides inside an operation: one of `n` ways, of which the first is the usual one.
pub(crate) fn pick(choice: Choice, n: usize) -> usize {
    let control = strand().control().cloned();
    control.map_or(0, |control| untracked(|| control.pick(choice, n)))
}

/// Announces a weak exchange; whether it is to fail without a reason.
#[inline(always)]
pub(crate) fn step_weak<'a>(intent: impl FnOnce() -> Intent<'a>) -> (Option<Pen>, bool) {
    let strand = strand();
    if strand.buffer.is_ready() {
        return (Some(Pen(strand)), false);
    }
    rarely();
    let pen = super::step(intent);
    (pen, is_controlled() && pick(Choice::Weak, 2) == 1)
}

/// Does what may block where no probe can tell for how long.
pub(crate) fn outside<R>(f: impl FnOnce() -> R) -> R {
    /// Comes back also where `f` panics.
    struct Back(Arc<dyn Control>);
    impl Drop for Back {
        fn drop(&mut self) {
            untracked(|| self.0.outside(false));
        }
    }
    let back = strand().control().cloned().map(|control| {
        untracked(|| control.outside(true));
        Back(control)
    });
    let result = f();
    drop(back);
    result
}

/// The time that the program sees.
pub(crate) fn now() -> Instant {
    let control = strand().control().cloned();
    control.map_or_else(Instant::now, |control| untracked(|| control.now()))
}

/// On how many processors the program may run, if the current strand is controlled: it and its
/// like may be kept on one.
pub(crate) fn processors() -> Option<NonZero<usize>> {
    strand().control()?.processors()
}

/// Random bytes that belong to a strand's place in its run.
pub(crate) struct Random(u64);

impl Random {
    /// SplitMix64, a byte at a time.
    pub(crate) fn next(&mut self) -> u8 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ mixed >> 31) as u8
    }
}

/// Random bytes for the current strand, if it is controlled.
pub(crate) fn random() -> Option<Random> {
    let control = strand().control()?.clone();
    Some(Random(untracked(|| control.random())))
}

/// The program reads the clock.
#[inline]
pub(crate) fn note_clock() {
    if let Some(control) = strand().control() {
        control.reads_clock();
    }
}

/// Notes a panic of the current strand, if it is controlled; whether it is.
pub(crate) fn note_panic(panic: impl FnOnce() -> (String, String)) -> bool {
    let control = strand().control().cloned();
    let is_controlled = control.is_some();
    if let Some(control) = control {
        untracked(|| {
            let (message, place) = panic();
            control.panics(message, place);
        });
    }
    is_controlled
}

/// While it lives, the current strand is controlled.
pub(crate) struct Controlled(());

impl Controlled {
    /// Nothing where this thread is not tracked.
    pub(crate) fn new(control: Arc<dyn Control>) -> Option<Self> {
        pen()?.0.set_control(Some(control));
        Some(Self(()))
    }
}

impl Drop for Controlled {
    fn drop(&mut self) {
        strand().set_control(None);
    }
}
