mod locks {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::time::{Duration, Instant};

    use super::sync::{
        Arc, Barrier, Condvar, LockResult, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard,
        RwLockWriteGuard, TryLockError, TryLockResult, WaitTimeoutResult, Weak,
    };

    static MUTEX: Mutex<u32> = Mutex::new(0);
    static RWLOCK: RwLock<Option<String>> = RwLock::new(None);
    static CONDVAR: Condvar = Condvar::new();
    static BARRIER: Barrier = Barrier::new(1);

    #[test]
    fn statics_work() {
        *MUTEX.lock().unwrap() += 1;
        assert!(*MUTEX.lock().unwrap() >= 1);
        *RWLOCK.write().unwrap() = Some("there".into());
        assert_eq!(RWLOCK.read().unwrap().as_deref(), Some("there"));
        CONDVAR.notify_one();
        assert!(BARRIER.wait().is_leader());
    }

    #[test]
    fn a_mutex_does_what_std_says() {
        let mut mutex: Mutex<Vec<i32>> = Mutex::default();
        mutex.lock().unwrap().push(1);
        {
            let guard: MutexGuard<'_, Vec<i32>> = mutex.lock().unwrap();
            assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
            assert_eq!(format!("{guard:?}"), "[1]");
            assert_eq!(format!("{mutex:?}"), "Mutex { data: <locked>, poisoned: false, .. }".replace("<locked>", "\"<locked>\""));
        }
        let free: TryLockResult<_> = mutex.try_lock();
        free.unwrap().push(2);
        mutex.get_mut().unwrap().push(3);
        assert_eq!(format!("{mutex:?}"), "Mutex { data: [1, 2, 3], poisoned: false, .. }");
        let content: LockResult<Vec<i32>> = mutex.into_inner();
        assert_eq!(content.unwrap(), [1, 2, 3]);
        assert_eq!(format!("{}", Mutex::from("shown").lock().unwrap()), "shown");
    }

    #[test]
    fn a_panic_poisons_a_mutex() {
        let mutex = Mutex::new(1);
        let panicked = catch_unwind(|| {
            let mut guard = mutex.lock().unwrap();
            *guard = 2;
            panic!("while locked");
        });
        assert!(panicked.is_err() && mutex.is_poisoned());
        let error: PoisonError<MutexGuard<'_, i32>> = mutex.lock().unwrap_err();
        assert_eq!(**error.get_ref(), 2);
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        *error.into_inner() = 3;
        assert!(matches!(mutex.try_lock(), Err(TryLockError::Poisoned(_))));
        mutex.clear_poison();
        assert_eq!(*mutex.lock().unwrap(), 3);
    }

    #[test]
    fn a_panic_poisons_a_rwlock_only_for_its_writer() {
        let lock = RwLock::new(1);
        let reader = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.read().unwrap();
            panic!("while reading");
        }));
        assert!(reader.is_err() && !lock.is_poisoned());
        let writer = catch_unwind(AssertUnwindSafe(|| {
            let _guard = lock.write().unwrap();
            panic!("while writing");
        }));
        assert!(writer.is_err() && lock.is_poisoned());
        assert!(lock.read().is_err() && lock.write().is_err());
        assert!(matches!(lock.try_read(), Err(TryLockError::Poisoned(_))));
        assert!(matches!(lock.try_write(), Err(TryLockError::Poisoned(_))));
        lock.clear_poison();
        assert_eq!(lock.into_inner().unwrap(), 1);
    }

    #[test]
    fn a_rwlock_does_what_std_says() {
        let mut lock: RwLock<Vec<i32>> = RwLock::default();
        lock.write().unwrap().push(1);
        {
            let one: RwLockReadGuard<'_, Vec<i32>> = lock.read().unwrap();
            let two = lock.try_read().unwrap();
            assert_eq!((one[0], two.len()), (1, 1));
            assert!(matches!(lock.try_write(), Err(TryLockError::WouldBlock)));
            assert_eq!(format!("{one:?}"), "[1]");
        }
        {
            let mut writer: RwLockWriteGuard<'_, Vec<i32>> = lock.try_write().unwrap();
            assert!(matches!(lock.try_read(), Err(TryLockError::WouldBlock)));
            assert_eq!(format!("{lock:?}"), "RwLock { data: <locked>, poisoned: false, .. }");
            writer.push(2);
            assert_eq!(format!("{writer:?}"), "[1, 2]");
            let reader = RwLockWriteGuard::downgrade(writer);
            assert_eq!(*lock.try_read().unwrap(), *reader);
            assert!(lock.try_write().is_err());
        }
        lock.get_mut().unwrap().push(3);
        assert_eq!(format!("{lock:?}"), "RwLock { data: [1, 2, 3], poisoned: false, .. }");
        assert_eq!(lock.into_inner().unwrap(), [1, 2, 3]);
        let shown = RwLock::from("shown");
        assert_eq!(format!("{}", shown.read().unwrap()), "shown");
        assert_eq!(format!("{}", shown.write().unwrap()), "shown");
    }

    #[test]
    fn content_may_be_unsized() {
        let objects: Vec<Box<Mutex<dyn std::fmt::Debug + Send>>> =
            vec![Box::new(Mutex::new(1)), Box::new(Mutex::new("two"))];
        let shown: Vec<_> = objects.iter().map(|o| format!("{:?}", &*o.lock().unwrap())).collect();
        assert_eq!(shown, ["1", "\"two\""]);
        let slice: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
        slice.lock().unwrap()[1] = 9;
        assert_eq!(*slice.lock().unwrap(), [1, 9, 3]);
        let lock: Box<RwLock<[u8]>> = Box::new(RwLock::new([1, 2]));
        lock.write().unwrap()[0] = 7;
        assert_eq!(*lock.read().unwrap(), [7, 2]);
        let downgraded = RwLockWriteGuard::downgrade(lock.write().unwrap());
        assert_eq!(downgraded.len(), 2);
    }

    #[test]
    fn a_guard_can_be_forgotten() {
        let mutex = Mutex::new(1);
        std::mem::forget(mutex.lock());
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        let lock = RwLock::new(1);
        std::mem::forget(lock.read());
        assert!(lock.try_write().is_err());
        assert_eq!(*lock.read().unwrap(), 1);
    }

    #[test]
    fn a_guard_can_be_shared_with_scoped_threads() {
        let (mutex, lock) = (Mutex::new(vec![1, 2]), RwLock::new(3));
        let (mut guard, reader) = (mutex.lock().unwrap(), lock.read().unwrap());
        for _ in 0..3 {
            std::thread::scope(|scope| {
                for _ in 0..2 {
                    scope.spawn(|| assert_eq!((guard[0], *reader), (1, 3)));
                }
            });
            guard.push(9);
        }
        assert_eq!(guard.len(), 5);
    }

    #[test]
    fn a_lock_in_a_thread_local_destructor_works() {
        struct Push(Arc<Mutex<Vec<u32>>>);
        impl Drop for Push {
            fn drop(&mut self) {
                self.0.lock().unwrap().push(1);
                let local = RwLock::new(2);
                assert_eq!(*local.read().unwrap(), 2);
            }
        }
        thread_local!(static LOCAL: std::cell::RefCell<Option<Push>> = const { std::cell::RefCell::new(None) });
        let list = Arc::new(Mutex::new(Vec::new()));
        let weak: Weak<_> = Arc::downgrade(&list);
        let inner = list.clone();
        std::thread::spawn(move || LOCAL.set(Some(Push(inner)))).join().unwrap();
        assert_eq!(*weak.upgrade().unwrap().lock().unwrap(), [1]);
    }

    #[test]
    fn every_wait_of_a_condvar_waits() {
        let shared = (Mutex::new(0), Condvar::default());
        assert_eq!(format!("{:?}", shared.1), "Condvar { .. }");
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for step in 1..=3 {
                    let guard = shared.1.wait_while(shared.0.lock().unwrap(), |n| *n % 2 == 0);
                    let mut guard = guard.unwrap();
                    assert_eq!(*guard, 2 * step - 1);
                    *guard += 1;
                    drop(guard);
                    shared.1.notify_all();
                }
            });
            for step in 1..=3 {
                let mut guard = shared.0.lock().unwrap();
                *guard += 1;
                shared.1.notify_one();
                while *guard < 2 * step {
                    guard = shared.1.wait(guard).unwrap();
                }
            }
        });
        assert_eq!(shared.0.into_inner().unwrap(), 6);
    }

    #[test]
    fn condvar_time_outs_are_real() {
        let (mutex, condvar) = (Mutex::new(false), Condvar::new());
        let dur = Duration::from_millis(20);
        let start = Instant::now();
        let (guard, result): (_, WaitTimeoutResult) =
            condvar.wait_timeout_while(mutex.lock().unwrap(), dur, |ready| !*ready).unwrap();
        assert!(result.timed_out() && start.elapsed() >= dur && !*guard);
        let (guard, result) = condvar.wait_timeout_while(guard, dur, |_| false).unwrap();
        assert!(!result.timed_out());
        // These may wake early, so a few tries are made.
        let (guard, result) = condvar.wait_timeout(guard, Duration::from_millis(1)).unwrap();
        let _ = result.timed_out();
        let (guard, notified) = condvar.wait_timeout_ms(guard, 1).unwrap();
        let _ = notified;
        assert!(matches!(mutex.try_lock(), Err(TryLockError::WouldBlock)));
        drop(guard);
        assert!(mutex.try_lock().is_ok());
    }

    #[test]
    fn a_wait_tells_of_poison() {
        let shared = Arc::new((Mutex::new(false), Condvar::new()));
        let guard = shared.0.lock().unwrap();
        let other = shared.clone();
        let poisoner = std::thread::spawn(move || {
            let mut guard = other.0.lock().unwrap();
            *guard = true;
            other.1.notify_all();
            panic!("while locked");
        });
        let mut result = Ok(guard);
        while let Ok(guard) = result {
            assert!(!*guard);
            result = shared.1.wait(guard);
        }
        assert!(*result.unwrap_err().into_inner());
        assert!(poisoner.join().is_err());
    }

    #[test]
    fn a_barrier_holds_everybody_until_the_last() {
        const ROUNDS: usize = 50;
        for threads in [1, 2, 5] {
            let barrier = Barrier::new(threads);
            let (count, leaders) = (Mutex::new(0), Mutex::new(0));
            std::thread::scope(|scope| {
                for _ in 0..threads {
                    scope.spawn(|| {
                        for round in 1..=ROUNDS {
                            *count.lock().unwrap() += 1;
                            if barrier.wait().is_leader() {
                                *leaders.lock().unwrap() += 1;
                            }
                            assert!(*count.lock().unwrap() >= round * threads);
                        }
                    });
                }
            });
            assert_eq!(*leaders.lock().unwrap(), ROUNDS);
        }
        assert_eq!(format!("{:?} {:?}", Barrier::new(2), Barrier::new(0).wait()), "Barrier { .. } BarrierWaitResult { is_leader: true }");
    }

    #[test]
    fn a_barrier_takes_more_threads_than_a_round_has() {
        let (barrier, waits, leaders) = (Barrier::new(2), Mutex::new(800), Mutex::new(0));
        let one_more = || {
            let mut waits = waits.lock().unwrap();
            let more = *waits > 0;
            *waits -= i32::from(more);
            more
        };
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    while one_more() {
                        *leaders.lock().unwrap() += i32::from(barrier.wait().is_leader());
                    }
                });
            }
        });
        assert_eq!(*leaders.lock().unwrap(), 400);
    }

    #[test]
    fn a_contended_counter_counts() {
        let (mutex, lock) = (Mutex::new(0), RwLock::new(0));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for round in 0..2_000 {
                        *mutex.lock().unwrap() += 1;
                        if round % 10 == 0 {
                            *lock.write().unwrap() += 1;
                        } else {
                            assert!(*lock.read().unwrap() <= 800);
                        }
                    }
                });
            }
        });
        assert_eq!((mutex.into_inner().unwrap(), lock.into_inner().unwrap()), (8_000, 800));
    }
}
