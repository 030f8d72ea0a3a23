//! The watcher: sees that the strand that has the turn blocks in something that is not mirrored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::world::World;
use crate::record::never_track_this_thread;

/// How often it looks.
const EVERY: Duration = Duration::from_micros(1_000);

/// A strand that runs for this long without a step may wait for something that nobody else can
/// give while it has the turn, an atomic that is not mirrored for one.
const LONG: Duration = Duration::from_millis(50);

/// Watches one run after the other, until it is dropped.
pub(super) struct Watcher {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    world: Mutex<Option<Arc<World>>>,
    is_over: AtomicBool,
}

impl Watcher {
    /// Without a thread of its own, if the system gives none: then nothing is released.
    pub(super) fn start() -> Watcher {
        let shared = Arc::<Shared>::default();
        let watched = shared.clone();
        let thread = std::thread::Builder::new()
            .name("aerodrome-watcher".into())
            .spawn(move || watched.run());
        Watcher {
            shared,
            thread: thread.ok(),
        }
    }

    /// This is the run from here on.
    pub(super) fn watch(&self, world: Option<Arc<World>>) {
        *self.shared.lock() = world;
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Arc<World>>> {
        self.world.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        never_track_this_thread();
        let mut last = (0, 0);
        let mut since = Instant::now();
        let mut sleeps = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::park_timeout(EVERY);
            let Some(world) = self.lock().clone() else {
                continue;
            };
            let (steps, task) = world.progress();
            let now = (Arc::as_ptr(&world).addr(), steps);
            if now != last {
                (last, since, sleeps) = (now, Instant::now(), 0);
                continue;
            }
            let Some(task) = task else {
                world.look_again();
                continue;
            };
            sleeps = if task.is_asleep() { sleeps + 1 } else { 0 };
            if sleeps >= 2 || since.elapsed() > LONG {
                world.leave_outside(steps);
            }
        }
    }
}
