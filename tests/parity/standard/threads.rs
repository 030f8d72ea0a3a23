mod threads {
    use std::panic::catch_unwind;
    use std::time::{Duration, Instant};

    use super::sync::atomic::{AtomicU32, Ordering::SeqCst};
    use super::thread::{
        self, AccessError, Builder, JoinHandle, LocalKey, Scope, ScopedJoinHandle, Thread, ThreadId,
    };

    /// What has no `Debug`.
    struct Mute;

    #[test]
    fn what_is_shown_of_threads() {
        let handle: JoinHandle<Mute> = thread::spawn(|| Mute);
        assert_eq!(format!("{handle:?}"), "JoinHandle { .. }");
        let id = handle.thread().id();
        assert_eq!(format!("{:?}", handle.thread()), format!("Thread {{ id: {id:?}, name: None, .. }}"));
        let Mute = handle.join().ok().unwrap();

        let here: Thread = thread::current();
        let shown_here = format!("Thread {{ id: {:?}, name: {:?}, .. }}", here.id(), here.name());
        assert_eq!(format!("{here:?} {:?}", here.clone()), format!("{shown_here} {shown_here}"));
        thread::scope(|scope: &Scope<'_, '_>| {
            assert_eq!(
                format!("{scope:?}"),
                format!("Scope {{ num_running_threads: 0, a_thread_panicked: false, main_thread: {shown_here}, .. }}")
            );
            let handle: ScopedJoinHandle<'_, Mute> = scope.spawn(|| Mute);
            assert_eq!(format!("{handle:?}"), "ScopedJoinHandle { .. }");
        });

        assert_eq!(
            format!("{:?}", Builder::new().name("shown".into()).stack_size(1 << 16)),
            format!("{:?}", std::thread::Builder::new().name("shown".into()).stack_size(1 << 16))
        );
    }

    #[test]
    fn threads_have_names_and_numbers() {
        fn about_here() -> (Option<String>, ThreadId) {
            (thread::current().name().map(Into::into), thread::current().id())
        }
        let unnamed = thread::spawn(about_here);
        let id = unnamed.thread().id();
        assert_eq!(unnamed.thread().name(), None);
        assert_eq!(unnamed.join().unwrap(), (None, id));

        let named = Builder::new().name("worker".into()).spawn(about_here).unwrap();
        let other = named.thread().id();
        assert_eq!(named.thread().name(), Some("worker"));
        assert_eq!(named.join().unwrap(), (Some("worker".into()), other));

        thread::scope(|scope| {
            let scoped = Builder::new().name("scoped".into()).spawn_scoped(scope, about_here).unwrap();
            let third = scoped.thread().id();
            assert_eq!(scoped.join().unwrap(), (Some("scoped".into()), third));
            assert!(id != other && other != third && third != thread::current().id());
        });
    }

    #[test]
    fn a_name_with_a_zero_byte_is_refused() {
        let build = || Builder::new().name("a\0b".into());
        assert!(catch_unwind(|| build().spawn(|| ())).is_err());
        thread::scope(|scope| {
            let spawn = std::panic::AssertUnwindSafe(|| build().spawn_scoped(scope, || ()).map(drop));
            assert!(catch_unwind(spawn).is_err());
        });
        assert_eq!(thread::spawn(|| 1).join().unwrap(), 1);
    }

    #[test]
    fn the_smallest_stack_is_enough() {
        let counter = std::sync::Arc::new(AtomicU32::new(0));
        let theirs = counter.clone();
        let thread = Builder::new().stack_size(1).spawn(move || theirs.fetch_add(1, SeqCst));
        assert_eq!(thread.unwrap().join().unwrap(), 0);
        assert_eq!(counter.load(SeqCst), 1);
    }

    #[test]
    fn a_panic_goes_to_whoever_joins() {
        struct Payload(u32);
        let joined = thread::spawn(|| std::panic::panic_any(Payload(7))).join();
        assert_eq!(joined.unwrap_err().downcast::<Payload>().ok().unwrap().0, 7);
        let left = thread::scope(|scope| {
            let joined = scope.spawn(|| std::panic::panic_any("joined")).join();
            assert_eq!(joined.unwrap_err().downcast_ref(), Some(&"joined"));
            1
        });
        assert_eq!(left, 1);
        let unjoined = catch_unwind(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("nobody joins"));
            })
        });
        assert_eq!(unjoined.unwrap_err().downcast_ref(), Some(&"a scoped thread panicked"));
        let own = catch_unwind(|| {
            thread::scope(|scope| {
                scope.spawn(|| panic!("nobody joins"));
                std::panic::panic_any("the scope's own")
            })
        });
        assert_eq!(own.unwrap_err().downcast_ref(), Some(&"the scope's own"));
    }

    #[test]
    fn a_thread_is_finished_when_it_is() {
        let gate = std::sync::Arc::new(std::sync::Barrier::new(2));
        let theirs = gate.clone();
        let handle = thread::spawn(move || theirs.wait().is_leader());
        thread::scope(|scope| {
            let scoped = scope.spawn(|| {
                thread::park();
                9
            });
            assert!(!handle.is_finished() && !scoped.is_finished());
            scoped.thread().unpark();
            gate.wait();
            let start = Instant::now();
            while !(handle.is_finished() && scoped.is_finished()) {
                assert!(start.elapsed() < Duration::from_secs(60));
                thread::yield_now();
            }
            assert_eq!(scoped.join().unwrap(), 9);
        });
        handle.join().unwrap();
    }

    #[test]
    fn a_token_is_kept_for_the_next_park() {
        let start = Instant::now();
        for _ in 0..3 {
            thread::current().unpark();
            thread::current().unpark();
            thread::park();
            thread::current().unpark();
            thread::park_timeout(Duration::from_secs(600));
            thread::current().unpark();
            thread::park_timeout_ms(600_000);
        }
        thread::park_timeout(Duration::from_millis(1));
        let parent = thread::current();
        let waker = thread::spawn(move || parent.unpark());
        while !waker.is_finished() {
            thread::park_timeout(Duration::from_secs(600));
            thread::current().unpark();
            thread::yield_now();
        }
        assert!(start.elapsed() < Duration::from_secs(300));
        waker.join().unwrap();
    }

    #[test]
    fn a_scopes_thread_may_fork_another_from_its_results_destructor() {
        struct ForkOnDrop<'scope, 'env>(&'scope Scope<'scope, 'env>, &'env AtomicU32);
        impl Drop for ForkOnDrop<'_, '_> {
            fn drop(&mut self) {
                let count = self.1;
                self.0.spawn(move || {
                    thread::sleep(Duration::from_millis(5));
                    count.fetch_add(1, SeqCst);
                });
            }
        }
        let count = AtomicU32::new(0);
        let borrowed = &count;
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(move || ForkOnDrop(scope, borrowed));
            }
        });
        assert_eq!(count.load(SeqCst), 3);
    }

    #[test]
    fn a_join_comes_after_the_threads_destructors() {
        static DROPPED: AtomicU32 = AtomicU32::new(0);
        struct Late;
        impl Drop for Late {
            fn drop(&mut self) {
                assert_eq!(thread::current().name(), Some("late"));
                thread::sleep(Duration::from_millis(5));
                DROPPED.fetch_add(1, SeqCst);
            }
        }
        thread_local!(static LATE: Late = const { Late });
        let key: &'static LocalKey<Late> = &LATE;
        let thread = Builder::new().name("late".into()).spawn(move || {
            let used: Result<(), AccessError> = key.try_with(|_| ());
            used.unwrap();
        });
        thread.unwrap().join().unwrap();
        assert_eq!(DROPPED.load(SeqCst), 1);
    }

    #[test]
    fn a_thread_may_borrow_by_promise() {
        let mut number = 1;
        // SAFETY: joined before `number` goes.
        let handle = unsafe { Builder::new().spawn_unchecked(|| number += 1) };
        handle.unwrap().join().unwrap();
        assert_eq!(number, 2);
    }

    #[test]
    #[cfg(unix)]
    fn a_handle_has_its_systems_handle() {
        use std::os::unix::thread::JoinHandleExt;
        unsafe extern "C" {
            fn pthread_join(thread: std::os::unix::thread::RawPthread, result: *mut *mut std::ffi::c_void) -> i32;
        }
        static DONE: AtomicU32 = AtomicU32::new(0);
        let handle = thread::spawn(|| DONE.fetch_add(1, SeqCst));
        let raw = handle.as_pthread_t();
        assert_eq!(handle.into_pthread_t(), raw);
        // SAFETY: the handle, which would have detached the thread, is gone, so it is ours to join.
        assert_eq!(unsafe { pthread_join(raw, std::ptr::null_mut()) }, 0);
        assert_eq!(DONE.load(SeqCst), 1);
    }
}
