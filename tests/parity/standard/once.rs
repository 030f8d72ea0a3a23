mod once {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::sync::{LazyLock, ONCE_INIT, Once, OnceLock, OnceState};

    #[test]
    fn a_once_runs_once() {
        static ONCE: Once = Once::new();
        static RUNS: AtomicU32 = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                ONCE.wait();
                assert!(ONCE.is_completed());
            });
            for _ in 0..4 {
                scope.spawn(|| {
                    ONCE.call_once(|| {
                        std::thread::yield_now();
                        RUNS.fetch_add(1, SeqCst);
                    });
                    assert!(ONCE.is_completed());
                    assert_eq!(RUNS.load(SeqCst), 1);
                });
            }
        });
        ONCE.call_once_force(|_| unreachable!());
        ONCE.wait_force();
        assert_eq!(format!("{ONCE:?}"), "Once { .. }");
        let fresh = ONCE_INIT;
        assert!(!fresh.is_completed());
    }

    #[test]
    fn a_panic_poisons_a_once_until_it_is_forced() {
        let once = Once::new();
        assert!(catch_unwind(|| once.call_once(|| panic!("in it"))).is_err());
        assert!(!once.is_completed());
        assert!(catch_unwind(|| once.call_once(|| ())).is_err());
        assert!(catch_unwind(|| once.wait()).is_err());
        once.call_once_force(|state: &OnceState| assert!(state.is_poisoned()));
        assert!(once.is_completed());
        once.call_once(|| unreachable!());
        once.wait();
    }

    #[test]
    fn a_once_lock_is_set_once() {
        static CELL: OnceLock<u32> = OnceLock::new();
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(*CELL.wait(), 7));
            for _ in 0..4 {
                scope.spawn(|| {
                    assert_eq!(*CELL.get_or_init(|| 7), 7);
                    assert_eq!(CELL.get(), Some(&7));
                });
            }
        });
        assert_eq!(CELL.set(8), Err(8));

        let mut cell = OnceLock::default();
        assert_eq!(format!("{cell:?}"), "OnceLock(<uninit>)");
        assert_eq!(cell.get(), None);
        assert_eq!(cell.get_mut(), None);
        assert_eq!(cell.set(1), Ok(()));
        *cell.get_mut().unwrap() += 1;
        assert_eq!(format!("{cell:?}"), "OnceLock(2)");
        let copy = cell.clone();
        assert!(copy == cell && copy != OnceLock::from(3) && copy != OnceLock::new());
        assert_eq!(cell.take(), Some(2));
        assert_eq!(cell.take(), None);
        assert_eq!(cell.set(5), Ok(()));
        assert_eq!(cell.into_inner(), Some(5));
        assert_eq!(*OnceLock::from(4).wait(), 4);
        assert_eq!(OnceLock::<u8>::new().clone(), OnceLock::new());
    }

    #[test]
    fn a_panic_leaves_a_once_lock_empty() {
        let cell = OnceLock::new();
        assert!(catch_unwind(AssertUnwindSafe(|| cell.get_or_init(|| panic!("in it")))).is_err());
        assert_eq!(cell.get(), None);
        assert_eq!(*cell.get_or_init(|| 3), 3);
    }

    #[test]
    fn a_lazy_lock_runs_at_its_first_use() {
        static LAZY: LazyLock<Vec<u32>> = LazyLock::new(|| vec![1, 2]);
        assert_eq!(LazyLock::get(&LAZY), None);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(LAZY.len(), 2));
            }
        });
        assert_eq!(LazyLock::force(&LAZY), &[1, 2]);

        let base = 3;
        let mut lazy = LazyLock::new(move || base + 1);
        assert_eq!(format!("{lazy:?}"), "LazyLock(<uninit>)");
        assert_eq!(LazyLock::get_mut(&mut lazy), None);
        *lazy += 1;
        *LazyLock::force_mut(&mut lazy) += 1;
        assert_eq!(LazyLock::get(&lazy), Some(&6));
        assert_eq!(LazyLock::get_mut(&mut lazy), Some(&mut 6));
        assert_eq!(format!("{lazy:?}"), "LazyLock(6)");
        assert_eq!(*LazyLock::<u32>::default(), 0);
    }

    #[test]
    fn a_panic_poisons_a_lazy_lock() {
        let lazy: LazyLock<u32> = LazyLock::new(|| panic!("in it"));
        assert!(catch_unwind(|| *lazy).is_err());
        let message = catch_unwind(|| *lazy).unwrap_err();
        assert_eq!(
            message.downcast_ref(),
            Some(&"LazyLock instance has previously been poisoned")
        );
        assert_eq!(LazyLock::get(&lazy), None);

        let mut lazy: LazyLock<u32> = LazyLock::new(|| panic!("in it"));
        let mut force = || *LazyLock::force_mut(&mut lazy);
        assert!(catch_unwind(AssertUnwindSafe(&mut force)).is_err());
        let message = catch_unwind(AssertUnwindSafe(&mut force)).unwrap_err();
        assert_eq!(
            message.downcast_ref(),
            Some(&"LazyLock instance has previously been poisoned")
        );
        assert!(catch_unwind(AssertUnwindSafe(|| *lazy)).is_err());
    }

    #[test]
    fn an_unused_initialiser_is_dropped() {
        let token = std::rc::Rc::new(());
        let kept = token.clone();
        drop(LazyLock::new(move || drop(kept)));
        assert_eq!(std::rc::Rc::strong_count(&token), 1);
        let cell = OnceLock::from(token.clone());
        drop(cell);
        assert_eq!(std::rc::Rc::strong_count(&token), 1);
    }
}
