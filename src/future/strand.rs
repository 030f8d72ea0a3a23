//! A future that runs on a strand of its own.

use std::future::Future;
use std::mem;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::mark::{self, Block};
use crate::record::{self, Fiber, Part, pen};

/// A future that runs on a strand of its own, from its first poll, or from when it was made, to its
/// completion or drop.
#[must_use = "futures do nothing unless you `.await` or poll them"]
pub(crate) struct Stranded<F> {
    part: Part,
    site: &'static Location<'static>,
    has_begun: bool,
    /// Nothing where it is part of another's transaction, not tracked, not begun, or over.
    fiber: Option<Fiber>,
    /// Pinned where this is. Nothing once it is over.
    future: Option<F>,
}

impl<F> Stranded<F> {
    /// A task, which is forked here; the number of its strand, which is to be joined or detached.
    pub(crate) fn task(future: F, site: &'static Location<'static>) -> (Self, Option<u32>) {
        let fiber = pen().and_then(|pen| pen.fork_fiber(Part::Task, site));
        let id = fiber.as_ref().map(Fiber::id);
        let task = Self {
            part: Part::Task,
            site,
            has_begun: true,
            fiber,
            future: Some(future),
        };
        (task, id)
    }

    /// A task that nobody joins.
    pub(super) fn detached(future: F, site: &'static Location<'static>) -> Self {
        let (task, id) = Self::task(future, site);
        if let Some((pen, id)) = pen().zip(id) {
            pen.detach(id);
        }
        task
    }

    pub(super) fn branch(future: F, site: &'static Location<'static>) -> Self {
        Self::of(Part::Branch, future, site)
    }

    pub(super) fn run(block: &'static Block, future: F, site: &'static Location<'static>) -> Self {
        Self::of(Part::Run(block), future, site)
    }

    fn of(part: Part, future: F, site: &'static Location<'static>) -> Self {
        Self {
            part,
            site,
            has_begun: false,
            fiber: None,
            future: Some(future),
        }
    }

    /// Forks the strand, at the first poll. What is polled within a transaction is part of that.
    #[track_caller]
    fn begin(&mut self) {
        self.has_begun = true;
        if let Part::Run(_) = self.part {
            record::deliver_here();
        }
        let outside = pen().filter(|pen| !pen.in_block());
        self.fiber = outside.and_then(|pen| pen.fork_fiber(self.part, self.site));
        if let (Some(fiber), Part::Run(block)) = (&mut self.fiber, self.part) {
            let _entered = fiber.enter();
            record::begin(block);
        }
    }

    /// The future, and the strand that it runs on.
    fn project(self: Pin<&mut Self>) -> (Pin<&mut Option<F>>, &mut Option<Fiber>) {
        // SAFETY: the future is pinned where this is: it is handed out pinned and dropped in its
        // place. Nothing else is.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        (
            unsafe { Pin::new_unchecked(&mut this.future) },
            &mut this.fiber,
        )
    }

    /// Drops the future on its strand, and ends that.
    fn end(self: Pin<&mut Self>, is_cancelled: bool) {
        let (part, site) = (self.part, self.site);
        let (mut future, fiber) = self.project();
        let mut end = End {
            fiber: fiber.take(),
            part,
            site,
        };
        // Declared later, so the strand is left first.
        let entered = end.fiber.as_mut().map(Fiber::enter);
        if let (true, Part::Run(_), Some(_), Some(pen)) = (is_cancelled, part, &entered, pen()) {
            pen.cancel(site);
        }
        future.set(None);
        drop(entered);
    }
}

/// Ends a strand when dropped, also where a destructor on it has panicked.
struct End {
    fiber: Option<Fiber>,
    part: Part,
    site: &'static Location<'static>,
}

impl Drop for End {
    fn drop(&mut self) {
        let Some(mut fiber) = self.fiber.take() else {
            return;
        };
        if let Part::Run(_) = self.part {
            let _entered = fiber.enter();
            mark::end();
        }
        let id = fiber.id();
        drop(fiber);
        if !matches!(self.part, Part::Task) {
            if let Some(pen) = pen() {
                pen.join(id, self.site);
            }
        }
    }
}

/// A future that is polled. Dropped, it is over: it is complete, or has panicked.
struct Polled<'a, F>(Pin<&'a mut Stranded<F>>);

impl<F> Drop for Polled<'_, F> {
    fn drop(&mut self) {
        self.0.as_mut().end(false);
    }
}

impl<F: Future> Future for Stranded<F> {
    type Output = F::Output;

    #[track_caller]
    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<F::Output> {
        if !self.has_begun {
            // SAFETY: the future stays where it is.
            unsafe { self.as_mut().get_unchecked_mut() }.begin();
        }
        let mut polled = Polled(self);
        let (future, fiber) = polled.0.as_mut().project();
        let entered = fiber.as_mut().map(Fiber::enter);
        let future = future.as_pin_mut();
        let result = future.expect("polled after it was over").poll(context);
        drop(entered);
        if result.is_pending() {
            mem::forget(polled);
        }
        result
    }
}

impl<F> Drop for Stranded<F> {
    fn drop(&mut self) {
        if self.future.is_some() {
            // SAFETY: it is not used after this, so it stays where it is.
            unsafe { Pin::new_unchecked(self) }.end(true);
        }
    }
}

/// A run of a block that awaits. What the marks expand to.
#[track_caller]
pub fn atomic_future<F: Future>(
    block: &'static Block,
    future: F,
) -> impl Future<Output = F::Output> {
    Stranded::run(block, future, Location::caller())
}
