//! Families of programs whose data is guarded by something that a prediction does not see: each
//! right one with a neighbour that is wrong.

use std::collections::HashMap;

use aerodrome::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use aerodrome::sync::{Arc, Condvar, Mutex, mpsc};
use aerodrome::{atomic, thread};

use super::{assert_silent, find};

const SCHEDULES: u64 = 500;

/// In each of 20 campaigns.
#[track_caller]
fn assert_found(bug: impl Fn() + Copy + Sync) {
    for seed in 0..20 {
        let found = find(SCHEDULES, seed, bug);
        assert_eq!(found.replays, (2, 2), "seed {seed}: {}", found.problem);
    }
}

/// A list; whoever walks it takes the next node's lock before it gives back the last one.
mod lists {
    use super::*;

    struct Node {
        value: u32,
        /// The place of the next one.
        next: Option<usize>,
    }

    struct List {
        nodes: [Mutex<Node>; 3],
    }

    impl List {
        fn new() -> Self {
            let node = |nth| Node {
                value: 1,
                next: (nth < 2).then_some(nth + 1),
            };
            List {
                nodes: std::array::from_fn(|nth| Mutex::new(node(nth))),
            }
        }

        /// `is_held`: whether it holds one node while it takes the next.
        fn walk(&self, is_held: bool, mut visit: impl FnMut(&mut u32)) {
            let mut node = self.nodes[0].lock().unwrap();
            loop {
                visit(&mut node.value);
                let Some(next) = node.next else { return };
                let last = is_held.then_some(node);
                node = self.nodes[next].lock().unwrap();
                drop(last);
            }
        }

        #[atomic]
        fn add(&self, n: u32, is_held: bool) {
            self.walk(is_held, |value| *value += n);
        }

        #[atomic]
        fn sum(&self) -> u32 {
            let mut sum = 0;
            self.walk(true, |value| sum += *value);
            sum
        }
    }

    fn run(is_held: bool) -> u32 {
        let list = List::new();
        thread::scope(|s| {
            s.spawn(|| list.add(10, is_held));
            s.spawn(|| list.add(20, is_held));
            list.sum()
        })
    }

    #[test]
    fn a_walk_hand_over_hand_is_silent() {
        assert_silent(SCHEDULES, || {
            assert!([3, 33, 63, 93].contains(&run(true)));
        });
    }

    #[test]
    fn a_walk_that_lets_go_is_found() {
        assert_found(|| {
            let _ = run(false);
        });
    }
}

/// A map of objects with a lock each. The map's lock is given back before the object is used.
mod registries {
    use super::*;

    struct Registry {
        accounts: Mutex<HashMap<u32, Arc<Mutex<u32>>>>,
    }

    impl Registry {
        /// With two accounts: who makes one that others use as well comes before them.
        fn new() -> Self {
            let accounts = [1, 2].map(|id| (id, Arc::default()));
            Registry {
                accounts: Mutex::new(accounts.into()),
            }
        }

        fn get(&self, id: u32) -> Arc<Mutex<u32>> {
            self.accounts.lock().unwrap()[&id].clone()
        }

        #[atomic]
        fn deposit(&self, id: u32, n: u32) {
            *self.get(id).lock().unwrap() += n;
        }

        /// Looks, then pays, in two critical sections.
        #[atomic]
        fn double(&self, id: u32) {
            let balance = *self.get(id).lock().unwrap();
            *self.get(id).lock().unwrap() += balance;
        }
    }

    #[test]
    fn deposits_into_a_registry_are_silent() {
        assert_silent(SCHEDULES, || {
            let registry = Registry::new();
            thread::scope(|s| {
                s.spawn(|| registry.deposit(1, 5));
                s.spawn(|| registry.deposit(1, 7));
                s.spawn(|| registry.deposit(2, 9));
            });
            assert_eq!(*registry.get(1).lock().unwrap(), 12);
        });
    }

    #[test]
    fn a_balance_that_is_looked_at_before_it_is_doubled_is_found() {
        assert_found(|| {
            let registry = Registry::new();
            registry.deposit(1, 1);
            thread::scope(|s| {
                s.spawn(|| registry.double(1));
                s.spawn(|| registry.deposit(1, 5));
            });
        });
    }
}

/// An entry is filled by whoever has made it, and then published: nobody else has it before.
mod published {
    use super::*;

    struct Entry {
        name: AtomicU32,
        size: AtomicU32,
    }

    type Table = Mutex<Option<Arc<Entry>>>;

    fn entry() -> Arc<Entry> {
        Arc::new(Entry {
            name: AtomicU32::new(0),
            size: AtomicU32::new(0),
        })
    }

    fn fill(entry: &Entry) {
        entry.name.store(1, SeqCst);
        entry.size.store(2, SeqCst);
    }

    #[atomic]
    fn publish(table: &Table) {
        let entry = entry();
        fill(&entry);
        *table.lock().unwrap() = Some(entry);
    }

    #[atomic]
    fn publish_early(table: &Table) {
        let entry = entry();
        *table.lock().unwrap() = Some(entry.clone());
        fill(&entry);
    }

    #[atomic]
    fn read(table: &Table) -> Option<(u32, u32)> {
        let entry = table.lock().unwrap().clone()?;
        Some((entry.name.load(SeqCst), entry.size.load(SeqCst)))
    }

    fn run(publish: fn(&Table)) -> Option<(u32, u32)> {
        let table = Table::default();
        thread::scope(|s| {
            s.spawn(|| publish(&table));
            read(&table)
        })
    }

    #[test]
    fn an_entry_filled_before_it_is_published_is_silent() {
        assert_silent(SCHEDULES, || {
            assert!([None, Some((1, 2))].contains(&run(publish)));
        });
    }

    #[test]
    fn an_entry_filled_after_it_is_published_is_found() {
        assert_found(|| {
            let _ = run(publish_early);
        });
    }

    /// A flag says that the fields are there.
    fn run_flagged(is_early: bool) -> Option<(u32, u32)> {
        let (entry, is_ready) = (entry(), AtomicBool::new(false));
        let publish = || {
            aerodrome::atomic_block! {
                if is_early {
                    is_ready.store(true, SeqCst);
                }
                fill(&entry);
                is_ready.store(true, SeqCst);
            }
        };
        let read = || {
            aerodrome::atomic_block! {
                let is_ready = is_ready.load(SeqCst);
                is_ready.then(|| (entry.name.load(SeqCst), entry.size.load(SeqCst)))
            }
        };
        thread::scope(|s| {
            s.spawn(publish);
            read()
        })
    }

    #[test]
    fn fields_behind_a_flag_are_silent() {
        assert_silent(SCHEDULES, || {
            assert!([None, Some((1, 2))].contains(&run_flagged(false)));
        });
    }

    #[test]
    fn a_flag_before_its_fields_is_found() {
        assert_found(|| {
            let _ = run_flagged(true);
        });
    }
}

/// A topic sends to all who have subscribed.
mod topics {
    use super::*;

    #[derive(Default)]
    struct Topic {
        subscribers: Mutex<Vec<mpsc::Sender<u32>>>,
        last: Mutex<u32>,
    }

    impl Topic {
        /// The last message, and those to come.
        #[atomic]
        fn subscribe(&self, is_held: bool) -> (u32, mpsc::Receiver<u32>) {
            let (sender, receiver) = mpsc::channel();
            let mut subscribers = self.subscribers.lock().unwrap();
            subscribers.push(sender);
            let _subscribers = is_held.then_some(subscribers);
            (*self.last.lock().unwrap(), receiver)
        }

        #[atomic]
        fn publish(&self, message: u32, is_held: bool) {
            let subscribers = self.subscribers.lock().unwrap();
            for subscriber in subscribers.iter() {
                let _ = subscriber.send(message);
            }
            let _subscribers = is_held.then_some(subscribers);
            *self.last.lock().unwrap() = message;
        }
    }

    /// Whether the message came once.
    fn run(is_held: bool) -> bool {
        let topic = Topic::default();
        let (last, receiver) = thread::scope(|s| {
            s.spawn(|| topic.publish(7, is_held));
            topic.subscribe(is_held)
        });
        (last == 7) != (receiver.try_recv() == Ok(7))
    }

    #[test]
    fn a_subscription_under_the_topics_lock_is_silent() {
        assert_silent(SCHEDULES, || assert!(run(true)));
    }

    #[test]
    fn a_subscription_that_misses_or_repeats_is_found() {
        assert_found(|| {
            let _ = run(false);
        });
    }

    /// One forwards what the other has sent; the receiver knows that by the message alone.
    #[test]
    fn messages_that_are_passed_on_are_silent() {
        assert_silent(SCHEDULES, || {
            let value = Arc::new(AtomicU32::new(0));
            let ((first, middle), (last, end)) = (mpsc::channel(), mpsc::channel());
            let writes = value.clone();
            let writer = thread::spawn(move || {
                writes.store(1, SeqCst);
                first.send(()).unwrap();
            });
            let forwarder = thread::spawn(move || {
                middle.recv().unwrap();
                last.send(()).unwrap();
            });
            end.recv().unwrap();
            aerodrome::atomic_block! {
                let seen = value.load(SeqCst);
                value.store(seen + 1, SeqCst);
            }
            assert_eq!(value.load(SeqCst), 2);
            writer.join().unwrap();
            forwarder.join().unwrap();
        });
    }
}

/// A lock for readers and writers made of a mutex, a condition variable and a count.
mod reader_writer_locks {
    use super::*;

    #[derive(Default)]
    struct Lock {
        /// Readers inside, or -1 for a writer.
        state: Mutex<i32>,
        changed: Condvar,
        data: [AtomicU32; 2],
    }

    impl Lock {
        fn acquire(&self, is_free: impl Fn(i32) -> bool, change: i32) {
            let state = self.state.lock().unwrap();
            let mut state = self.changed.wait_while(state, |it| !is_free(*it)).unwrap();
            *state += change;
        }

        fn release(&self, change: i32, notify: fn(&Condvar)) {
            *self.state.lock().unwrap() += change;
            notify(&self.changed);
        }

        fn write(&self, notify: fn(&Condvar)) {
            self.acquire(|state| state == 0, -1);
            self.set();
            self.release(1, notify);
        }

        /// `is_free`: whether a reader may come in.
        fn read(&self, is_free: fn(i32) -> bool) -> (u32, u32) {
            self.acquire(is_free, 1);
            let pair = self.get();
            self.release(-1, Condvar::notify_all);
            pair
        }

        #[atomic]
        fn set(&self) {
            for data in &self.data {
                data.store(data.load(SeqCst) + 1, SeqCst);
            }
        }

        #[atomic]
        fn get(&self) -> (u32, u32) {
            (self.data[0].load(SeqCst), self.data[1].load(SeqCst))
        }
    }

    #[test]
    fn readers_and_writers_of_a_lock_made_by_hand_are_silent() {
        assert_silent(SCHEDULES, || {
            let lock = Lock::default();
            thread::scope(|s| {
                s.spawn(|| lock.write(Condvar::notify_all));
                s.spawn(|| lock.write(Condvar::notify_all));
                let (one, other) = lock.read(|state| state >= 0);
                assert_eq!(one, other);
            });
            assert_eq!(lock.get(), (2, 2));
        });
    }

    #[test]
    fn a_reader_that_does_not_look_for_a_writer_is_found() {
        assert_found(|| {
            let lock = Lock::default();
            thread::scope(|s| {
                s.spawn(|| lock.write(Condvar::notify_all));
                lock.read(|_| true);
            });
        });
    }

    /// A reader's leave wakes one of those who wait, who may be the one that cannot go on.
    #[test]
    fn a_writer_that_wakes_nobody_is_found() {
        assert_found(|| {
            let lock = Lock::default();
            thread::scope(|s| {
                s.spawn(|| lock.write(|_| {}));
                s.spawn(|| lock.write(|_| {}));
            });
        });
    }
}
