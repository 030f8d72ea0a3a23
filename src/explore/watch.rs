//! The watcher: sees that the strand that has the turn blocks in something that is not mirrored.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::world::World;
use crate::record::never_track_this_thread;

/// How often it looks.
const EVERY: Duration = Duration::from_micros(1_000);

/// How often in a row a strand must be found asleep. On a busy machine it may sleep for a moment
/// because of us; once a strand was really outside, others are likely to be.
const ASLEEP: [u32; 2] = [10, 2];

/// A strand that takes so many hundredths of a second of the processor without a step may wait for
/// something that nobody else can give while it has the turn, an atomic that is not mirrored for
/// one.
const LONG: u64 = 5;

/// The same where what it does cannot be looked at.
const UNKNOWN: Duration = Duration::from_millis(50);

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
        let (mut sleeps, mut ticks, mut was_outside) = (0, None, false);
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::park_timeout(EVERY);
            let Some(world) = self.lock().clone() else {
                continue;
            };
            let (steps, task) = world.progress();
            let now = (Arc::as_ptr(&world).addr(), steps);
            if now != last {
                (last, since, sleeps, ticks) = (now, Instant::now(), 0, None);
                continue;
            }
            let Some(task) = task else {
                world.look_again();
                continue;
            };
            let is_outside = match task.look() {
                Some(look) => {
                    sleeps = if look.is_asleep { sleeps + 1 } else { 0 };
                    let before = *ticks.get_or_insert(look.ticks);
                    sleeps >= ASLEEP[usize::from(was_outside)] || look.ticks >= before + LONG
                }
                None => since.elapsed() > UNKNOWN,
            };
            if is_outside {
                was_outside = true;
                world.leave_outside(steps);
            }
        }
    }
}
