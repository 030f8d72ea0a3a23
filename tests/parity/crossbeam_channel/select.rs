mod select {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::channel::{
        ReadyTimeoutError, RecvError, Select, SelectTimeoutError, SelectedOperation, SendError,
        TryReadyError, TrySelectError, after, bounded, never, unbounded,
    };

    const SHORT: Duration = Duration::from_millis(10);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn what_is_ready_is_selected_and_completed() {
        let (s1, r1) = unbounded();
        let (s2, r2) = bounded(1);
        let mut select: Select<'_> = Select::new();
        assert_eq!(select.recv(&r1), 0);
        assert_eq!(select.send(&s2), 1);
        assert_eq!(format!("{select:?}"), "Select { .. }");

        let operation: SelectedOperation<'_> = select.select();
        assert_eq!(format!("{operation:?}"), "SelectedOperation { .. }");
        assert_eq!(operation.index(), 1);
        assert_eq!(operation.send(&s2, "two"), Ok(()));
        assert_eq!(select.try_select().map(drop), Err(TrySelectError));
        assert_eq!(select.try_ready(), Err(TryReadyError));

        s1.send(1).unwrap();
        assert_eq!(select.ready(), 0);
        assert_eq!(select.try_ready(), Ok(0));
        let operation = select.select();
        assert_eq!((operation.index(), operation.recv(&r1)), (0, Ok(1)));

        assert_eq!(r2.recv(), Ok("two"));
        assert_eq!(select.ready_timeout(LONG), Ok(1));
        assert_eq!(select.ready_deadline(Instant::now() + LONG), Ok(1));
        assert_eq!(select.try_select().unwrap().send(&s2, "again"), Ok(()));

        let mut copy = select.clone();
        copy.remove(0);
        assert_eq!(r2.recv(), Ok("again"));
        s1.send(2).unwrap();
        assert_eq!(copy.select_timeout(LONG).unwrap().send(&s2, "copy"), Ok(()));
        let operation = select.select_deadline(Instant::now() + LONG).unwrap();
        assert_eq!(operation.recv(&r1), Ok(2));
    }

    #[test]
    fn nothing_is_ready_in_time() {
        let (s1, r1) = unbounded::<u8>();
        let (s2, _r2) = bounded::<u8>(0);
        let mut select = Select::new();
        select.recv(&r1);
        select.send(&s2);
        let start = Instant::now();
        assert_eq!(select.select_timeout(SHORT).map(drop), Err(SelectTimeoutError));
        assert_eq!(select.ready_timeout(SHORT), Err(ReadyTimeoutError));
        assert!(start.elapsed() >= 2 * SHORT);
        assert_eq!(
            select.select_deadline(Instant::now()).map(drop),
            Err(SelectTimeoutError)
        );
        assert_eq!(
            select.ready_deadline(Instant::now()),
            Err(ReadyTimeoutError)
        );
        assert_eq!(Select::new().try_select().map(drop), Err(TrySelectError));
        assert_eq!(Select::default().try_ready(), Err(TryReadyError));
        assert_eq!(
            Select::new().select_timeout(SHORT).map(drop),
            Err(SelectTimeoutError)
        );
        drop(s1);
        assert_eq!(select.select().recv(&r1), Err(RecvError));
    }

    #[test]
    fn a_biased_selection_takes_the_first() {
        let (s1, r1) = unbounded();
        let (s2, r2) = unbounded();
        let mut select = Select::new_biased();
        select.recv(&r1);
        select.recv(&r2);
        for n in 0..50 {
            s1.send(n).unwrap();
            s2.send(n).unwrap();
        }
        for n in 0..50 {
            assert_eq!(select.ready(), 0);
            assert_eq!(select.select().recv(&r1), Ok(n));
        }
        assert_eq!(select.select().recv(&r2), Ok(0));
    }

    #[test]
    fn who_waits_is_woken() {
        let (s1, r1) = bounded(0);
        let (s2, r2) = unbounded::<u8>();
        thread::scope(|s| {
            s.spawn(|| {
                thread::sleep(SHORT);
                let mut select = Select::new();
                select.send(&s1);
                select.recv(&r2);
                let operation = select.select();
                assert_eq!(operation.index(), 0);
                assert_eq!(operation.send(&s1, 5), Ok(()));
                assert_eq!(select.select().recv(&r2), Ok(6));
            });
            let mut select = Select::new();
            select.recv(&r1);
            let never = never::<u8>();
            select.recv(&never);
            let operation = select.select();
            assert_eq!(operation.recv(&r1), Ok(5));
            thread::sleep(SHORT);
            s2.send(6).unwrap();
        });
    }

    #[test]
    fn time_and_disconnection_are_selected() {
        let timer = after(SHORT);
        let (s, r) = bounded::<u8>(1);
        drop(r);
        let mut select = Select::new();
        select.recv(&timer);
        assert!(select.select().recv(&timer).is_ok());
        select.send(&s);
        let operation = select.select();
        assert_eq!(operation.index(), 1);
        assert_eq!(operation.send(&s, 3), Err(SendError(3)));
    }

    #[test]
    fn every_message_is_selected_once() {
        for capacity in [None, Some(0), Some(1), Some(3)] {
            let channels: Vec<_> = (0..3)
                .map(|_| capacity.map_or_else(unbounded, bounded))
                .collect();
            let received = thread::scope(|s| {
                for (sender, _) in &channels {
                    s.spawn(move || {
                        for n in 1..=200_u32 {
                            let mut select = Select::new();
                            select.send(sender);
                            select.select().send(sender, n).unwrap();
                        }
                    });
                }
                let receivers: Vec<_> = (0..2)
                    .map(|_| {
                        s.spawn(|| {
                            let mut sum = 0;
                            let mut select = Select::new();
                            for (_, receiver) in &channels {
                                select.recv(receiver);
                            }
                            for _ in 0..300 {
                                let operation = select.select();
                                sum += operation.recv_from(&channels);
                            }
                            sum
                        })
                    })
                    .collect();
                receivers.into_iter().map(|r| r.join().unwrap()).sum::<u32>()
            });
            assert_eq!(received, 3 * 200 * 201 / 2);
        }
    }

    trait RecvFrom<T> {
        fn recv_from<S>(self, channels: &[(S, super::channel::Receiver<T>)]) -> T;
    }

    impl<T> RecvFrom<T> for SelectedOperation<'_> {
        fn recv_from<S>(self, channels: &[(S, super::channel::Receiver<T>)]) -> T {
            let index = self.index();
            self.recv(&channels[index].1).unwrap()
        }
    }

    #[test]
    #[should_panic(expected = "no operations have been added to `Select`")]
    fn there_must_be_something_to_select() {
        let _ = Select::new().select().index();
    }

    #[test]
    #[should_panic(expected = "no operations have been added to `Select`")]
    fn there_must_be_something_to_be_ready() {
        Select::new().ready();
    }

    #[test]
    #[should_panic(expected = "no operation with this index")]
    fn an_operation_is_removed_once() {
        let (_s, r) = unbounded::<u8>();
        let mut select = Select::new();
        let index = select.recv(&r);
        select.remove(index);
        select.remove(index);
    }

    #[test]
    #[should_panic(expected = "dropped `SelectedOperation` without completing the operation")]
    fn a_selected_operation_must_be_completed() {
        let (s, r) = unbounded();
        s.send(1).unwrap();
        let mut select = Select::new();
        select.recv(&r);
        drop(select.select());
    }

    #[test]
    fn a_selection_can_be_sent_and_shared() {
        fn shared<T: Send + Sync>() {}
        shared::<Select<'_>>();
    }
}
