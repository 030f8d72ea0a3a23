//! The kernels of `tests/kernels` without the scripts that order their threads: the bug is for the
//! plan to find, and the neighbours are right on every schedule.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use aerodrome::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst};
use aerodrome::sync::{Arc, Condvar, Mutex, RwLock, mpsc};
use aerodrome::{Problem, atomic, atomic_block, thread};

use super::{assert_silent, find};

/// Runs both at the same time.
fn both<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
    thread::scope(|s| {
        let a = s.spawn(a);
        let b = b();
        (a.join().unwrap(), b)
    })
}

#[track_caller]
fn assert_found(bug: fn()) {
    for seed in 0..20 {
        let found = find(50, seed, bug);
        assert_eq!(found.problem, Problem::Violation, "seed {seed}");
        assert_eq!(found.replays, (2, 2), "seed {seed}");
    }
}

mod admission {
    use super::*;

    struct Gate {
        inside: AtomicUsize,
        limit: usize,
    }

    impl Gate {
        #[atomic]
        fn enter(&self) -> bool {
            let is_free = self.inside.load(SeqCst) < self.limit;
            if is_free {
                self.inside.fetch_add(1, SeqCst);
            }
            is_free
        }

        #[atomic]
        fn enter_at_once(&self) -> bool {
            let next = |inside| (inside < self.limit).then_some(inside + 1);
            self.inside.fetch_update(SeqCst, SeqCst, next).is_ok()
        }

        /// A loop around an exchange, by hand.
        #[atomic]
        fn enter_by_hand(&self) -> bool {
            let mut inside = self.inside.load(SeqCst);
            while inside < self.limit {
                let exchange =
                    self.inside
                        .compare_exchange_weak(inside, inside + 1, SeqCst, SeqCst);
                match exchange {
                    Ok(_) => return true,
                    Err(now) => inside = now,
                }
            }
            false
        }

        #[atomic]
        fn leave(&self) {
            self.inside.fetch_sub(1, SeqCst);
        }
    }

    fn gate(inside: usize, limit: usize) -> Gate {
        let inside = AtomicUsize::new(inside);
        Gate { inside, limit }
    }

    #[test]
    fn a_check_before_the_increment_is_found() {
        assert_found(|| {
            let gate = gate(0, 1);
            both(|| gate.enter(), || gate.enter());
        });
    }

    #[test]
    fn a_check_with_the_increment_is_silent() {
        assert_silent(1_000, || {
            let gate = gate(0, 1);
            let entered = both(|| gate.enter_at_once(), || gate.enter_at_once());
            assert!(entered.0 != entered.1);
        });
    }

    #[test]
    fn a_loop_around_an_exchange_is_silent() {
        assert_silent(1_000, || {
            let gate = gate(0, 2);
            let entered = both(|| gate.enter_by_hand(), || gate.enter_by_hand());
            assert_eq!(entered, (true, true));
        });
    }

    #[test]
    fn an_increment_and_another_counter_are_silent() {
        assert_silent(1_000, || {
            let (gate, served) = (gate(1, 4), AtomicUsize::new(0));
            let serve = || {
                atomic_block! {
                    if gate.enter_at_once() {
                        served.fetch_add(1, SeqCst);
                    }
                }
            };
            both(serve, || gate.leave());
            assert_eq!((gate.inside.into_inner(), served.into_inner()), (1, 1));
        });
    }
}

mod cache_open {
    use super::*;

    #[derive(Default)]
    struct Cache {
        index: Mutex<HashMap<&'static str, u32>>,
        files: Mutex<BTreeSet<u32>>,
    }

    impl Cache {
        #[atomic]
        fn open(&self, key: &str, holds_index: bool) -> bool {
            let index = self.index.lock().unwrap();
            let file = index[key];
            let index = holds_index.then_some(index);
            let is_there = self.files.lock().unwrap().contains(&file);
            drop(index);
            is_there
        }

        #[atomic]
        fn replace(&self, key: &'static str, file: u32, stale: &mpsc::Sender<u32>) {
            let old = self.index.lock().unwrap().insert(key, file);
            if let Some(old) = old {
                stale.send(old).unwrap();
            }
        }

        #[atomic]
        fn clean(&self, stale: &mpsc::Receiver<u32>) {
            let file = stale.recv().unwrap();
            self.files.lock().unwrap().remove(&file);
        }
    }

    /// Whether the key could be opened, as it should.
    fn run(holds_index: bool) -> bool {
        let cache = Arc::new(Cache {
            index: Mutex::new(HashMap::from([("key", 1)])),
            files: Mutex::new(BTreeSet::from([1, 2])),
        });
        let (sender, stale) = mpsc::channel();
        let (writes, cleans) = (cache.clone(), cache.clone());
        let writer = thread::spawn(move || writes.replace("key", 2, &sender));
        let cleaner = thread::spawn(move || cleans.clean(&stale));
        let is_there = cache.open("key", holds_index);
        writer.join().unwrap();
        cleaner.join().unwrap();
        is_there
    }

    #[test]
    fn a_file_that_two_others_take_away_is_found() {
        assert_found(|| {
            let _ = run(false);
        });
    }

    #[test]
    fn an_index_that_stays_locked_is_silent() {
        assert_silent(1_000, || assert!(run(true)));
    }
}

mod config_reload {
    use super::*;

    #[derive(Default)]
    struct Settings {
        folder: RwLock<String>,
        user: RwLock<String>,
        level: RwLock<u8>,
        whole: Mutex<()>,
    }

    impl Settings {
        #[atomic]
        fn set(&self, name: &str) {
            *self.folder.write().unwrap() = name.into();
            *self.user.write().unwrap() = name.into();
        }

        #[atomic]
        fn set_held(&self, name: &str) {
            let mut folder = self.folder.write().unwrap();
            let mut user = self.user.write().unwrap();
            *folder = name.into();
            *user = name.into();
        }

        #[atomic]
        fn get(&self) -> (String, String) {
            let folder = self.folder.read().unwrap().clone();
            (folder, self.user.read().unwrap().clone())
        }

        #[atomic]
        fn get_held(&self) -> (String, String) {
            let folder = self.folder.read().unwrap();
            let user = self.user.read().unwrap();
            (folder.clone(), user.clone())
        }

        #[atomic]
        fn set_level(&self, level: u8) {
            if *self.level.read().unwrap() != level {
                *self.level.write().unwrap() = level;
            }
        }
    }

    #[test]
    fn two_settings_written_apart_are_found() {
        assert_found(|| {
            let settings = Settings::default();
            both(|| settings.set("new"), || settings.get());
        });
    }

    #[test]
    fn two_settings_held_together_are_silent() {
        assert_silent(1_000, || {
            let settings = Settings::default();
            let ((), (folder, user)) = both(|| settings.set_held("new"), || settings.get_held());
            assert_eq!(folder, user);
        });
    }

    #[test]
    fn readers_and_another_setting_are_silent() {
        assert_silent(1_000, || {
            let settings = Settings::default();
            thread::scope(|s| {
                s.spawn(|| settings.get());
                s.spawn(|| settings.get());
                s.spawn(|| settings.set_level(3));
            });
        });
    }

    #[test]
    fn an_outer_lock_excludes_the_bad_schedule() {
        assert_silent(1_000, || {
            let settings = Settings::default();
            let set = || {
                let _guard = settings.whole.lock().unwrap();
                settings.set("new");
            };
            let get = || {
                let _guard = settings.whole.lock().unwrap();
                settings.get()
            };
            let ((), (folder, user)) = both(set, get);
            assert_eq!(folder, user);
        });
    }
}

mod counter_take {
    use super::*;

    #[atomic]
    fn take(counter: &AtomicUsize) -> usize {
        let value = counter.load(SeqCst);
        counter.store(0, SeqCst);
        value
    }

    #[atomic]
    fn take_at_once(counter: &AtomicUsize) -> usize {
        counter.swap(0, SeqCst)
    }

    #[test]
    fn what_is_taken_twice_is_found() {
        assert_found(|| {
            let counter = AtomicUsize::new(10);
            both(|| take(&counter), || take(&counter));
        });
    }

    #[test]
    fn what_is_swapped_out_is_silent() {
        assert_silent(1_000, || {
            let counter = AtomicUsize::new(10);
            let (a, b) = both(|| take_at_once(&counter), || take_at_once(&counter));
            assert_eq!(a + b, 10);
        });
    }

    #[test]
    fn two_counters_and_a_taker_of_one_are_silent() {
        assert_silent(1_000, || {
            let (one, other) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let record = || {
                atomic_block! {
                    one.fetch_add(4, SeqCst);
                    other.fetch_add(6, SeqCst);
                }
            };
            let ((), taken) = both(record, || take_at_once(&one));
            assert_eq!((taken + one.into_inner(), other.into_inner()), (4, 6));
        });
    }

    #[test]
    fn takers_one_after_the_other_are_silent() {
        assert_silent(1_000, || {
            let counter = Arc::new(AtomicUsize::new(10));
            let first = counter.clone();
            let a = thread::spawn(move || take(&first)).join().unwrap();
            let b = thread::spawn(move || take(&counter)).join().unwrap();
            assert_eq!((a, b), (10, 0));
        });
    }
}

mod histo_mean {
    use super::*;

    #[derive(Default)]
    struct Histogram {
        sum: AtomicU64,
        count: AtomicU64,
    }

    impl Histogram {
        fn of(value: u64) -> Self {
            Histogram {
                sum: value.into(),
                count: 1.into(),
            }
        }

        #[atomic]
        fn observe(&self, value: u64) {
            self.sum.fetch_add(value, SeqCst);
            self.count.fetch_add(1, SeqCst);
        }

        #[atomic]
        fn mean(&self) -> Option<u64> {
            let sum = self.sum.load(SeqCst);
            sum.checked_div(self.count.load(SeqCst))
        }
    }

    #[test]
    fn a_mean_of_half_an_observation_is_found() {
        assert_found(|| {
            let histogram = Histogram::of(10);
            both(|| histogram.observe(10), || histogram.mean());
        });
    }

    #[test]
    fn sum_and_count_under_one_lock_are_silent() {
        assert_silent(1_000, || {
            let histogram = Mutex::new((10, 1));
            let observe = || {
                atomic_block! {
                    let mut histogram = histogram.lock().unwrap();
                    histogram.0 += 10;
                    histogram.1 += 1;
                }
            };
            let mean = || {
                atomic_block! {
                    let histogram = histogram.lock().unwrap();
                    histogram.0 / histogram.1
                }
            };
            assert_eq!(both(observe, mean).1, 10);
        });
    }

    #[test]
    fn means_of_one_and_observations_of_another_are_silent() {
        assert_silent(1_000, || {
            let (read, written) = (Histogram::of(10), Histogram::default());
            let observe = || {
                written.observe(7);
                read.mean()
            };
            assert_eq!(both(|| read.mean(), observe), (Some(10), Some(10)));
        });
    }

    /// Additions commute, so nobody can tell that they interleave.
    #[test]
    fn two_observations_are_silent() {
        assert_silent(1_000, || {
            let histogram = Histogram::of(10);
            both(|| histogram.observe(10), || histogram.observe(10));
            assert_eq!(histogram.mean(), Some(10));
        });
    }
}

mod pool_stop {
    use super::*;

    #[derive(Default)]
    struct Pool {
        has_stopped: AtomicBool,
        queue: Mutex<VecDeque<u32>>,
        changed: Condvar,
    }

    impl Pool {
        #[atomic]
        fn submit(&self, job: u32) -> bool {
            if self.has_stopped.load(SeqCst) {
                return false;
            }
            self.queue.lock().unwrap().push_back(job);
            self.changed.notify_one();
            true
        }

        #[atomic]
        fn submit_held(&self, job: u32) -> bool {
            let mut queue = self.queue.lock().unwrap();
            let is_open = !self.has_stopped.load(SeqCst);
            if is_open {
                queue.push_back(job);
                self.changed.notify_one();
            }
            is_open
        }

        #[atomic]
        fn stop(&self) -> usize {
            self.has_stopped.store(true, SeqCst);
            let left = self.queue.lock().unwrap().drain(..).count();
            self.changed.notify_all();
            left
        }

        #[atomic]
        fn stop_held(&self) -> usize {
            let mut queue = self.queue.lock().unwrap();
            self.has_stopped.store(true, SeqCst);
            self.changed.notify_all();
            queue.drain(..).count()
        }

        /// How many jobs it has done when there are no more.
        fn work(&self) -> usize {
            let mut done = 0;
            let mut queue = self.queue.lock().unwrap();
            loop {
                if queue.pop_front().is_some() {
                    done += 1;
                } else if self.has_stopped.load(SeqCst) {
                    return done;
                } else {
                    queue = self.changed.wait(queue).unwrap();
                }
            }
        }
    }

    /// How many jobs were accepted, and what became of them: handed back, and done.
    fn run(submit: fn(&Pool, u32) -> bool, stop: fn(&Pool) -> usize) -> (usize, usize, usize) {
        let pool = Pool::default();
        thread::scope(|s| {
            let worker = s.spawn(|| pool.work());
            let client = s.spawn(|| submit(&pool, 1));
            let left = stop(&pool);
            let accepted = usize::from(client.join().unwrap());
            (accepted, left, worker.join().unwrap())
        })
    }

    #[test]
    fn a_job_that_nobody_does_is_found() {
        assert_found(|| {
            let _ = run(Pool::submit, Pool::stop);
        });
    }

    #[test]
    fn a_flag_under_the_queues_lock_is_silent() {
        assert_silent(1_000, || {
            let (accepted, left, done) = run(Pool::submit_held, Pool::stop_held);
            assert_eq!(accepted, left + done);
        });
    }

    #[test]
    fn two_submissions_are_silent() {
        assert_silent(1_000, || {
            let pool = Pool::default();
            both(|| pool.submit(1), || pool.submit(2));
            pool.stop_held();
        });
    }
}

mod session_insert {
    use super::*;

    type Sessions = RwLock<BTreeMap<u32, &'static str>>;

    #[atomic]
    fn create(sessions: &Sessions, name: &'static str) -> bool {
        let is_new = !sessions.read().unwrap().contains_key(&7);
        if is_new {
            sessions.write().unwrap().insert(7, name);
        }
        is_new
    }

    #[atomic]
    fn create_held(sessions: &Sessions, name: &'static str) -> bool {
        let mut sessions = sessions.write().unwrap();
        let is_new = !sessions.contains_key(&7);
        if is_new {
            sessions.insert(7, name);
        }
        is_new
    }

    #[atomic]
    fn describe(sessions: &Sessions) -> (Option<&'static str>, usize) {
        let name = sessions.read().unwrap().get(&7).copied();
        (name, sessions.read().unwrap().len())
    }

    #[test]
    fn two_sessions_of_one_number_are_found() {
        assert_found(|| {
            let sessions = Sessions::default();
            both(|| create(&sessions, "one"), || create(&sessions, "other"));
        });
    }

    #[test]
    fn a_check_under_the_lock_of_the_insertion_is_silent() {
        assert_silent(1_000, || {
            let sessions = Sessions::default();
            let (one, other) = both(
                || create_held(&sessions, "one"),
                || create_held(&sessions, "other"),
            );
            assert!(one != other);
        });
    }

    #[test]
    fn readers_of_two_regions_are_silent() {
        assert_silent(1_000, || {
            let sessions = Sessions::new(BTreeMap::from([(7, "seven")]));
            let described = both(|| describe(&sessions), || describe(&sessions));
            assert_eq!(described, ((Some("seven"), 1), (Some("seven"), 1)));
        });
    }
}

mod two_index {
    use super::*;

    #[derive(Default)]
    struct Index {
        forward: Mutex<BTreeMap<u32, BTreeSet<u32>>>,
        reverse: Mutex<BTreeMap<u32, u32>>,
    }

    impl Index {
        /// `is_held`: whether both stay locked.
        #[atomic]
        fn insert(&self, outer: u32, inner: u32, is_held: bool) {
            let mut forward = self.forward.lock().unwrap();
            forward.entry(outer).or_default().insert(inner);
            let _forward = is_held.then_some(forward);
            self.reverse.lock().unwrap().insert(inner, outer);
        }

        #[atomic]
        fn remove(&self, outer: u32, inner: u32, is_held: bool) {
            let mut forward = self.forward.lock().unwrap();
            forward.entry(outer).or_default().remove(&inner);
            let _forward = is_held.then_some(forward);
            self.reverse.lock().unwrap().remove(&inner);
        }

        #[atomic]
        fn width(&self, outer: u32) -> usize {
            let forward = self.forward.lock().unwrap();
            forward.get(&outer).map_or(0, BTreeSet::len)
        }
    }

    #[test]
    fn two_maps_changed_apart_are_found() {
        assert_found(|| {
            let index = Index::default();
            both(|| index.insert(1, 5, false), || index.remove(1, 5, false));
        });
    }

    #[test]
    fn two_maps_held_together_are_silent() {
        assert_silent(1_000, || {
            let index = Index::default();
            both(|| index.insert(1, 5, true), || index.remove(1, 5, true));
            let forward = index.forward.lock().unwrap();
            let is_forward = forward.get(&1).is_some_and(|set| set.contains(&5));
            assert_eq!(is_forward, index.reverse.lock().unwrap().contains_key(&5));
        });
    }

    #[test]
    fn two_indexes_and_a_reader_of_one_map_are_silent() {
        assert_silent(1_000, || {
            let (one, other) = (Index::default(), Index::default());
            thread::scope(|s| {
                s.spawn(|| one.insert(1, 5, false));
                s.spawn(|| other.insert(1, 5, false));
                s.spawn(|| one.width(1));
            });
        });
    }
}
