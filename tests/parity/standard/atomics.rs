mod atomics {
    use super::sync::Arc;
    use super::sync::atomic::Ordering::{self, *};
    use super::sync::atomic::*;
    use super::hint;

    macro_rules! integers {
        ($($name:ident: $Atomic:ident, $Int:ident;)*) => {$(
            #[test]
            fn $name() {
                static STATIC: $Atomic = $Atomic::new(3);
                assert_eq!(STATIC.load(SeqCst), 3);
                STATIC.store(4, Release);
                assert_eq!(STATIC.load(Relaxed), 4);

                let mut a = $Atomic::new(5);
                assert_eq!(a.swap(6, AcqRel), 5);
                assert_eq!(a.compare_exchange(6, 7, SeqCst, Relaxed), Ok(6));
                assert_eq!(a.compare_exchange(6, 8, SeqCst, Relaxed), Err(7));
                while a.compare_exchange_weak(7, 8, Acquire, Acquire).is_err() {}
                assert_eq!(a.compare_exchange_weak(0, 1, Release, Relaxed), Err(8));
                assert_eq!(a.compare_and_swap(8, 9, AcqRel), 8);
                assert_eq!(a.compare_and_swap(8, 1, Release), 9);
                assert_eq!(a.fetch_add(3, SeqCst), 9);
                assert_eq!(a.fetch_sub(2, SeqCst), 12);
                assert_eq!(a.fetch_and(0b110, SeqCst), 10);
                assert_eq!(a.fetch_or(0b1000, SeqCst), 0b10);
                assert_eq!(a.fetch_xor(0b11, SeqCst), 0b1010);
                assert_eq!(a.fetch_nand(0b11, SeqCst), 0b1001);
                assert_eq!(a.fetch_max(20, SeqCst), !0b1);
                assert_eq!(a.fetch_min(5, SeqCst), (!0b1).max(20));
                let before = a.load(SeqCst);
                assert_eq!(before, 5);
                assert_eq!(a.fetch_update(SeqCst, SeqCst, |v| Some(v + 1)), Ok(before));
                a.store(6, SeqCst);
                assert_eq!(a.fetch_update(SeqCst, SeqCst, |_| None), Err(6));
                assert_eq!(a.try_update(AcqRel, Acquire, |v| v.checked_sub(1)), Ok(6));
                assert_eq!(a.update(AcqRel, Acquire, |v| v * 2), 5);
                *a.get_mut() += 1;
                assert_eq!(format!("{a:?}"), "11");
                // SAFETY: nobody else has it.
                assert_eq!(unsafe { *a.as_ptr() }, 11);
                assert_eq!(a.into_inner(), 11);
                assert_eq!($Atomic::default().into_inner(), 0);
                assert_eq!($Atomic::from(7).into_inner(), 7);
                // Overflow wraps.
                assert_eq!($Atomic::new($Int::MAX).fetch_add(1, SeqCst), $Int::MAX);
            }
        )*};
    }

    integers! {
        atomic_i8: AtomicI8, i8;
        atomic_u8: AtomicU8, u8;
        atomic_i16: AtomicI16, i16;
        atomic_u16: AtomicU16, u16;
        atomic_i32: AtomicI32, i32;
        atomic_u32: AtomicU32, u32;
        atomic_i64: AtomicI64, i64;
        atomic_u64: AtomicU64, u64;
        atomic_isize: AtomicIsize, isize;
        atomic_usize: AtomicUsize, usize;
    }

    #[test]
    fn atomic_bool() {
        static STATIC: AtomicBool = AtomicBool::new(true);
        assert!(STATIC.swap(false, SeqCst));
        let mut a = AtomicBool::default();
        a.store(true, SeqCst);
        assert!(a.load(SeqCst));
        assert_eq!(a.compare_exchange(true, false, SeqCst, SeqCst), Ok(true));
        assert_eq!(a.compare_exchange_weak(true, false, SeqCst, SeqCst), Err(false));
        assert!(!a.compare_and_swap(false, true, SeqCst));
        assert!(a.fetch_and(true, SeqCst));
        assert!(a.fetch_nand(true, SeqCst));
        assert!(!a.fetch_or(true, SeqCst));
        assert!(a.fetch_xor(true, SeqCst));
        assert!(!a.fetch_not(SeqCst));
        assert_eq!(a.fetch_update(SeqCst, SeqCst, |v| Some(!v)), Ok(true));
        assert_eq!(a.try_update(SeqCst, SeqCst, |_| None), Err(false));
        assert!(!a.update(SeqCst, SeqCst, |v| !v));
        *a.get_mut() = false;
        assert_eq!(format!("{a:?}"), "false");
        // SAFETY: nobody else has it.
        assert!(!unsafe { *a.as_ptr() });
        assert!(!a.into_inner());
        assert!(AtomicBool::from(true).into_inner());
    }

    #[test]
    fn atomic_ptr() {
        static STATIC: AtomicPtr<u8> = AtomicPtr::new(std::ptr::null_mut());
        assert!(STATIC.load(SeqCst).is_null());
        let mut array = [0_u16; 8];
        let first = array.as_mut_ptr();
        let mut a = AtomicPtr::new(first);
        assert_eq!(a.fetch_ptr_add(2, SeqCst), first);
        assert_eq!(a.fetch_byte_add(2, SeqCst), first.wrapping_add(2));
        assert_eq!(a.fetch_ptr_sub(1, SeqCst), first.wrapping_add(3));
        assert_eq!(a.fetch_byte_sub(4, SeqCst), first.wrapping_add(2));
        assert_eq!(a.fetch_or(1, SeqCst), first);
        assert_eq!(a.fetch_xor(1, SeqCst), first.wrapping_byte_add(1));
        assert_eq!(a.fetch_and(usize::MAX, SeqCst), first);
        assert_eq!(a.swap(first.wrapping_add(1), SeqCst), first);
        assert!(a.compare_exchange(first, first, SeqCst, SeqCst).is_err());
        assert!(a.compare_exchange_weak(first, first, SeqCst, SeqCst).is_err());
        assert_eq!(a.compare_and_swap(first, first, SeqCst), first.wrapping_add(1));
        a.store(first, SeqCst);
        assert_eq!(a.fetch_update(SeqCst, SeqCst, |p| Some(p.wrapping_add(1))), Ok(first));
        assert_eq!(a.try_update(SeqCst, SeqCst, |_| None), Err(first.wrapping_add(1)));
        assert_eq!(a.update(SeqCst, SeqCst, |_| first), first.wrapping_add(1));
        assert_eq!(format!("{a:p} {a:?}"), format!("{first:p} {first:?}"));
        // SAFETY: nobody else has it.
        assert_eq!(unsafe { *a.as_ptr() }, first);
        *a.get_mut() = std::ptr::null_mut();
        assert!(a.into_inner().is_null());
        assert!(AtomicPtr::<u8>::default().into_inner().is_null());
        assert_eq!(AtomicPtr::from(first).into_inner(), first);
    }

    #[test]
    fn constants_fences_and_hints() {
        assert!(!ATOMIC_BOOL_INIT.into_inner());
        assert_eq!(ATOMIC_USIZE_INIT.into_inner(), 0);
        assert_eq!(ATOMIC_ISIZE_INIT.into_inner(), 0);
        fence(SeqCst);
        compiler_fence(Ordering::Acquire);
        spin_loop_hint();
        hint::spin_loop();
        hint::cold_path();
        assert_eq!(hint::black_box(3), 3);
        assert_eq!(hint::select_unpredictable(true, 1, 2), 1);
        // SAFETY: it holds.
        unsafe { hint::assert_unchecked(true) };
    }

    #[test]
    #[should_panic(expected = "there is no such thing as a release load")]
    fn a_load_with_a_wrong_ordering_panics() {
        AtomicU8::new(0).load(hint::black_box(Release));
    }

    #[test]
    #[should_panic(expected = "there is no such thing as an acquire store")]
    fn a_store_with_a_wrong_ordering_panics() {
        AtomicU8::new(0).store(0, hint::black_box(Acquire));
    }

    #[test]
    fn an_atomic_survives_a_panic_in_its_update() {
        let a = AtomicU32::new(1);
        let update = || a.update(SeqCst, SeqCst, |_| panic!("in the closure"));
        let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(update));
        assert!(panicked.is_err());
        let wrong = std::panic::catch_unwind(|| a.load(hint::black_box(AcqRel)));
        assert!(wrong.is_err());
        assert_eq!(a.fetch_add(1, SeqCst), 1);
    }

    #[test]
    fn an_update_may_use_its_own_atomic() {
        let a = AtomicU32::new(1);
        let mut first = true;
        let before = a.update(SeqCst, SeqCst, |v| {
            if std::mem::take(&mut first) {
                a.store(10, SeqCst);
            }
            v + 1
        });
        assert_eq!((before, a.load(SeqCst)), (10, 11));
    }

    #[test]
    fn nothing_is_lost_under_contention() {
        const THREADS: usize = 4;
        const ROUNDS: usize = 2_000;
        let (add, cas, update) = (AtomicUsize::new(0), AtomicU64::new(0), AtomicI32::new(0));
        let seen = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        let before = add.fetch_add(1, Relaxed);
                        seen.fetch_max(before, Relaxed);
                        let mut old = cas.load(Relaxed);
                        while let Err(now) = cas.compare_exchange_weak(old, old + 1, AcqRel, Relaxed) {
                            old = now;
                            hint::spin_loop();
                        }
                        update.update(AcqRel, Acquire, |v| v + 1);
                    }
                });
            }
        });
        let all = THREADS * ROUNDS;
        assert_eq!(add.into_inner(), all);
        assert_eq!(seen.into_inner(), all - 1);
        assert_eq!(cas.into_inner(), all as u64);
        assert_eq!(update.into_inner(), all as i32);
    }

    #[test]
    fn a_spinning_reader_sees_the_writer() {
        let flag = Arc::new((AtomicBool::new(false), AtomicU32::new(0)));
        let writer = std::thread::spawn({
            let flag = flag.clone();
            move || {
                flag.1.store(42, Relaxed);
                flag.0.store(true, Release);
            }
        });
        while !flag.0.load(Acquire) {
            hint::spin_loop();
            std::thread::yield_now();
        }
        assert_eq!(flag.1.load(Relaxed), 42);
        writer.join().unwrap();
    }

    #[test]
    fn an_atomic_works_in_a_thread_local_destructor() {
        struct Count(Arc<AtomicU32>);
        impl Drop for Count {
            fn drop(&mut self) {
                self.0.fetch_add(1, SeqCst);
                assert!(self.0.load(SeqCst) > 0);
                assert_eq!(AtomicU32::new(1).swap(2, SeqCst), 1);
            }
        }
        thread_local!(static LOCAL: std::cell::RefCell<Option<Count>> = const { std::cell::RefCell::new(None) });
        let count = Arc::new(AtomicU32::new(0));
        let inner = count.clone();
        std::thread::spawn(move || LOCAL.set(Some(Count(inner)))).join().unwrap();
        assert_eq!(count.load(SeqCst), 1);
    }
}
