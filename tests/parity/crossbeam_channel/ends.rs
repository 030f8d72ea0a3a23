mod ends {
    use std::iter::FusedIterator;
    use std::panic::{RefUnwindSafe, UnwindSafe};
    use std::rc::Rc;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::thread;
    use std::time::{Duration, Instant};

    use super::channel::{
        IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender,
        TryIter, TryRecvError, TrySendError, after, at, bounded, never, tick, unbounded,
    };

    const SHORT: Duration = Duration::from_millis(10);

    #[test]
    fn messages_arrive_in_order() {
        for (sender, receiver) in [unbounded(), bounded(100)] {
            let (sender, receiver): (Sender<u32>, Receiver<u32>) = (sender, receiver);
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
            assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
            assert_eq!(
                receiver.recv_deadline(Instant::now()),
                Err(RecvTimeoutError::Timeout)
            );
            for n in 0..100 {
                sender.send(n).unwrap();
            }
            assert_eq!(receiver.recv(), Ok(0));
            assert_eq!(receiver.try_recv(), Ok(1));
            assert_eq!(receiver.recv_timeout(SHORT), Ok(2));
            assert_eq!(receiver.recv_timeout(Duration::MAX), Ok(3));
            assert_eq!(receiver.recv_deadline(Instant::now() + SHORT), Ok(4));
            let mut iter: Iter<'_, u32> = receiver.iter();
            assert_eq!(iter.next(), Some(5));
            let mut some: TryIter<'_, u32> = receiver.try_iter();
            assert_eq!(some.next(), Some(6));
            assert_eq!(format!("{iter:?} {some:?}"), "Iter { .. } TryIter { .. }");
            assert_eq!((&receiver).into_iter().next(), Some(7));
            drop(sender);
            let rest: IntoIter<u32> = receiver.into_iter();
            assert_eq!(format!("{rest:?}"), "IntoIter { .. }");
            assert!(rest.eq(8..100));
        }
    }

    #[test]
    fn the_state_can_be_looked_at() {
        let (sender, receiver) = bounded(2);
        assert_eq!((sender.capacity(), receiver.capacity()), (Some(2), Some(2)));
        assert_eq!((sender.len(), receiver.len()), (0, 0));
        assert!(sender.is_empty() && receiver.is_empty());
        sender.send(1).unwrap();
        assert_eq!((sender.len(), receiver.len()), (1, 1));
        assert!(!sender.is_empty() && !receiver.is_empty());
        assert!(!sender.is_full() && !receiver.is_full());
        sender.send(2).unwrap();
        assert!(sender.is_full() && receiver.is_full());

        let (sender, receiver) = unbounded::<u8>();
        assert_eq!((sender.capacity(), receiver.capacity()), (None, None));
        assert!(!sender.is_full() && !receiver.is_full());

        let (sender, receiver) = bounded::<u8>(0);
        assert_eq!((sender.capacity(), receiver.capacity()), (Some(0), Some(0)));
        assert!(sender.is_full() && receiver.is_full() && sender.is_empty() && receiver.is_empty());
        assert_eq!((sender.len(), receiver.len()), (0, 0));
        assert_eq!(format!("{sender:?} {receiver:?}"), "Sender { .. } Receiver { .. }");
    }

    #[test]
    fn a_full_channel_refuses_waits_and_gives_up() {
        let (sender, receiver) = bounded(1);
        sender.try_send(0).unwrap();
        assert_eq!(sender.try_send(9), Err(TrySendError::Full(9)));
        assert_eq!(sender.send_timeout(9, SHORT), Err(SendTimeoutError::Timeout(9)));
        assert_eq!(
            sender.send_deadline(9, Instant::now()),
            Err(SendTimeoutError::Timeout(9))
        );
        thread::scope(|s| {
            s.spawn(|| {
                for n in 1..4 {
                    sender.send(n).unwrap();
                }
                sender.send_timeout(4, Duration::MAX).unwrap();
                sender.send_deadline(5, Instant::now() + Duration::from_secs(60)).unwrap();
            });
            for n in 0..6 {
                thread::sleep(SHORT / 5);
                assert_eq!(receiver.recv(), Ok(n));
            }
        });
    }

    #[test]
    fn a_rendezvous_needs_both() {
        let (sender, receiver) = bounded(0);
        assert_eq!(sender.try_send(9), Err(TrySendError::Full(9)));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(sender.send_timeout(9, SHORT), Err(SendTimeoutError::Timeout(9)));
        assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
        thread::scope(|s| {
            s.spawn(|| {
                sender.send(1).unwrap();
                sender.send_timeout(2, Duration::from_secs(60)).unwrap();
                sender.send_deadline(3, Instant::now() + Duration::from_secs(60)).unwrap();
                while sender.try_send(4).is_err() {
                    thread::yield_now();
                }
            });
            assert_eq!(receiver.recv(), Ok(1));
            assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(2));
            while receiver.try_recv() != Ok(3) {
                thread::yield_now();
            }
            assert_eq!(receiver.recv(), Ok(4));
        });
    }

    #[test]
    fn many_senders_and_receivers_lose_nothing() {
        for capacity in [None, Some(0), Some(1), Some(7)] {
            let (sender, receiver) = capacity.map_or_else(unbounded, bounded);
            let sum = AtomicUsize::new(0);
            thread::scope(|s| {
                for part in 0..4 {
                    let sender = sender.clone();
                    s.spawn(move || {
                        for n in 0..500 {
                            sender.send(4 * n + part).unwrap();
                        }
                    });
                    let receiver = receiver.clone();
                    let sum = &sum;
                    s.spawn(move || {
                        for n in receiver {
                            sum.fetch_add(n, Ordering::Relaxed);
                        }
                    });
                }
                drop(sender);
            });
            assert_eq!(sum.into_inner(), 1999 * 2000 / 2);
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        }
    }

    #[test]
    fn a_disconnected_channel_says_so() {
        for (sender, receiver) in [unbounded(), bounded(1), bounded(0)] {
            drop(receiver);
            assert_eq!(sender.send(1), Err(SendError(1)));
            assert_eq!(sender.try_send(2), Err(TrySendError::Disconnected(2)));
            assert_eq!(
                sender.send_timeout(3, SHORT),
                Err(SendTimeoutError::Disconnected(3))
            );
            assert_eq!(
                sender.send_deadline(4, Instant::now()),
                Err(SendTimeoutError::Disconnected(4))
            );
        }
        for (sender, receiver) in [unbounded::<u8>(), bounded(1), bounded(0)] {
            drop(sender);
            assert_eq!(receiver.recv(), Err(RecvError));
            assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
            assert_eq!(
                receiver.recv_timeout(SHORT),
                Err(RecvTimeoutError::Disconnected)
            );
            assert_eq!(
                receiver.recv_deadline(Instant::now()),
                Err(RecvTimeoutError::Disconnected)
            );
            assert_eq!(receiver.iter().next(), None);
            assert_eq!(receiver.try_iter().next(), None);
        }
    }

    #[test]
    fn disconnection_wakes_who_waits() {
        for capacity in [0, 1] {
            let (sender, receiver) = bounded(capacity);
            thread::scope(|s| {
                s.spawn(move || {
                    thread::sleep(SHORT);
                    drop(receiver);
                });
                for _ in 0..capacity {
                    sender.send(0).unwrap();
                }
                assert_eq!(sender.send(1), Err(SendError(1)));
            });
            let (sender, receiver) = bounded::<u8>(capacity);
            thread::scope(|s| {
                s.spawn(move || {
                    thread::sleep(SHORT);
                    drop(sender);
                });
                assert_eq!(receiver.recv(), Err(RecvError));
            });
        }
    }

    #[test]
    fn messages_can_be_nothing_large_or_borrowed() {
        let (sender, receiver) = unbounded();
        sender.send(()).unwrap();
        assert_eq!(receiver.recv(), Ok(()));
        let (sender, receiver) = bounded(1);
        sender.send([7_u64; 1000]).unwrap();
        assert_eq!(receiver.recv(), Ok([7; 1000]));
        let text = String::from("borrowed");
        let (sender, receiver) = bounded(1);
        sender.send(&text[..6]).unwrap();
        assert_eq!(receiver.recv(), Ok("borrow"));
        let (sender, receiver) = bounded(1);
        sender.send(Rc::new(1)).unwrap();
        assert_eq!(receiver.recv(), Ok(Rc::new(1)));
    }

    #[test]
    fn a_message_is_dropped_with_its_channel() {
        let message = Arc::new(());
        for (sender, receiver) in [unbounded(), bounded(2)] {
            sender.send(message.clone()).unwrap();
            sender.send(message.clone()).unwrap();
            assert_eq!(Arc::strong_count(&message), 3);
            receiver.recv().unwrap();
            drop(receiver);
            drop(sender);
            assert_eq!(Arc::strong_count(&message), 1);
        }
        let (sender, _receiver) = bounded(0);
        drop(sender.try_send(message.clone()));
        assert_eq!(Arc::strong_count(&message), 1);
    }

    #[test]
    fn ends_know_their_channel() {
        for (sender, receiver) in [unbounded::<u8>(), bounded(1), bounded(0)] {
            let (other_sender, other_receiver) = unbounded();
            assert!(sender.same_channel(&sender.clone()));
            assert!(receiver.same_channel(&receiver.clone()));
            assert!(!sender.same_channel(&other_sender));
            assert!(!receiver.same_channel(&other_receiver));
            assert!(!receiver.same_channel(&never()));
        }
        let (once, ticks) = (after(SHORT), tick(SHORT));
        assert!(once.same_channel(&once.clone()) && ticks.same_channel(&ticks.clone()));
        assert!(!once.same_channel(&ticks) && !once.same_channel(&after(SHORT)));
        assert!(never::<u8>().same_channel(&never()));
    }

    #[test]
    fn time_sends_messages() {
        let start = Instant::now();
        let once: Receiver<Instant> = after(SHORT);
        assert_eq!(once.try_recv(), Err(TryRecvError::Empty));
        assert_eq!((once.capacity(), once.len(), once.is_empty()), (Some(1), 0, true));
        assert!(!once.is_full());
        assert!(once.recv().unwrap() >= start + SHORT);
        assert_eq!(once.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(once.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));

        let when = Instant::now() + SHORT;
        assert_eq!(at(when).recv(), Ok(when));
        assert_eq!(at(when).into_iter().next(), Some(when));

        let ticks: Receiver<Instant> = tick(SHORT);
        let two: Vec<_> = ticks.iter().take(2).collect();
        assert!(two[0] >= start && two[1] > two[0]);
        assert_eq!(ticks.capacity(), Some(1));

        const NEVER: Receiver<u8> = never();
        assert_eq!(NEVER.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(NEVER.recv_deadline(Instant::now()), Err(RecvTimeoutError::Timeout));
        assert_eq!((NEVER.capacity(), NEVER.len(), NEVER.is_full()), (Some(0), 0, true));
        assert!(NEVER.is_empty() && NEVER.try_iter().next().is_none());
        assert_eq!(after(Duration::MAX).try_recv(), Err(TryRecvError::Empty));
        assert_eq!(tick(Duration::MAX).try_recv(), Err(TryRecvError::Empty));
    }

    #[test]
    fn the_types_have_their_traits() {
        fn shared<T: Send + Sync + UnwindSafe + RefUnwindSafe>() {}
        fn fused<T: FusedIterator>() {}
        shared::<Sender<std::cell::Cell<u8>>>();
        shared::<Receiver<std::cell::Cell<u8>>>();
        shared::<Iter<'_, u8>>();
        shared::<TryIter<'_, u8>>();
        shared::<IntoIter<u8>>();
        fused::<Iter<'_, u8>>();
        fused::<IntoIter<u8>>();
    }

    #[test]
    fn errors_are_what_they_were() {
        assert_eq!(SendError(1).into_inner(), 1);
        assert_eq!(TrySendError::Full(1).into_inner(), 1);
        assert!(TrySendError::Full(1).is_full() && TrySendError::Disconnected(1).is_disconnected());
        assert!(SendTimeoutError::Timeout(1).is_timeout());
        assert!(SendTimeoutError::from(SendError(1)).is_disconnected());
        assert!(TryRecvError::from(RecvError).is_disconnected() && TryRecvError::Empty.is_empty());
        assert!(RecvTimeoutError::from(RecvError).is_disconnected());
        assert!(RecvTimeoutError::Timeout.is_timeout());
    }
}
