mod channels {
    use std::time::{Duration, Instant};

    use super::sync::mpsc::{
        IntoIter, Iter, Receiver, RecvError, RecvTimeoutError, SendError, Sender, SyncSender,
        TryIter, TryRecvError, TrySendError, channel, sync_channel,
    };

    const SHORT: Duration = Duration::from_millis(10);

    #[test]
    fn messages_arrive_in_order() {
        let (sender, receiver): (Sender<u32>, Receiver<u32>) = channel();
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Timeout));
        for n in 0..100 {
            sender.send(n).unwrap();
        }
        assert_eq!(receiver.recv(), Ok(0));
        assert_eq!(receiver.try_recv(), Ok(1));
        assert_eq!(receiver.recv_timeout(SHORT), Ok(2));
        let mut iter: Iter<'_, u32> = receiver.iter();
        assert_eq!(iter.next(), Some(3));
        let mut some: TryIter<'_, u32> = receiver.try_iter();
        assert_eq!(some.next(), Some(4));
        assert_eq!(format!("{iter:?} {some:?}"), "Iter { rx: Receiver { .. } } TryIter { rx: Receiver { .. } }");
        let mut by_reference = IntoIterator::into_iter(&receiver);
        assert_eq!(by_reference.next(), Some(5));
        drop(sender);
        let rest: IntoIter<u32> = receiver.into_iter();
        assert_eq!(format!("{rest:?}"), "IntoIter { rx: Receiver { .. } }");
        assert!(rest.eq(6..100));
    }

    #[test]
    fn a_closed_channel_says_so() {
        let (sender, receiver) = channel();
        sender.send(1).unwrap();
        drop(receiver);
        assert_eq!(sender.send(2), Err(SendError(2)));
        let (sender, receiver) = channel::<u8>();
        drop(sender);
        assert_eq!(receiver.recv(), Err(RecvError));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Disconnected));
        assert_eq!(receiver.recv_timeout(SHORT), Err(RecvTimeoutError::Disconnected));
        assert_eq!(receiver.try_iter().next(), None);
        for bound in [0, 1] {
            let (sender, receiver) = sync_channel(bound);
            drop(receiver);
            assert_eq!(sender.send(1), Err(SendError(1)));
            assert_eq!(sender.try_send(2), Err(TrySendError::Disconnected(2)));
        }
    }

    #[test]
    fn a_bounded_channel_is_full_and_waits() {
        let (sender, receiver): (SyncSender<u32>, _) = sync_channel(2);
        assert_eq!(format!("{sender:?} {receiver:?}"), "SyncSender { .. } Receiver { .. }");
        sender.try_send(0).unwrap();
        sender.send(1).unwrap();
        assert_eq!(sender.try_send(9), Err(TrySendError::Full(9)));
        std::thread::scope(|scope| {
            let sender = sender.clone();
            scope.spawn(move || {
                for n in 2..200 {
                    sender.send(n).unwrap();
                }
            });
            assert!((0..200).eq(receiver.iter().take(200)));
        });
    }

    #[test]
    fn a_rendezvous_waits_for_the_receiver() {
        let (sender, receiver) = sync_channel(0);
        assert_eq!(sender.try_send(0), Err(TrySendError::Full(0)));
        assert_eq!(receiver.try_recv(), Err(TryRecvError::Empty));
        let start = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                sender.send(1).unwrap();
                assert!(start.elapsed() >= SHORT);
                for n in 2..100 {
                    sender.send(n).unwrap();
                }
                while sender.try_send(100).is_err() {
                    std::thread::yield_now();
                }
                sender.send(101).unwrap();
            });
            std::thread::sleep(SHORT);
            for n in 1..=100 {
                assert_eq!(receiver.recv(), Ok(n));
            }
            while receiver.try_recv() != Ok(101) {
                std::thread::yield_now();
            }
        });
    }

    #[test]
    fn a_rendezvous_that_nobody_keeps_ends_with_the_receiver() {
        let (sender, receiver) = sync_channel(0);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                std::thread::sleep(SHORT);
                drop(receiver);
            });
            assert_eq!(sender.send("back"), Err(SendError("back")));
        });
    }

    #[test]
    fn payloads_are_dropped_once() {
        struct Bomb(std::sync::Arc<std::sync::atomic::AtomicU32>);
        impl Drop for Bomb {
            fn drop(&mut self) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
            }
        }
        let count = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let (sender, receiver) = channel();
        for _ in 0..5 {
            sender.send(Bomb(count.clone())).unwrap();
        }
        drop(receiver.recv());
        drop(receiver);
        assert!(sender.send(Bomb(count.clone())).is_err());
        assert_eq!(count.load(std::sync::atomic::Ordering::SeqCst), 6);
    }

    #[test]
    fn many_senders_lose_nothing() {
        let (sender, receiver) = channel();
        let (bounded, receiver_2) = sync_channel(3);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let (sender, bounded) = (sender.clone(), bounded.clone());
                scope.spawn(move || {
                    for n in 0..1_000_u64 {
                        sender.send(n).unwrap();
                        if n % 2 == 0 {
                            bounded.send(n).unwrap();
                        }
                    }
                });
            }
            drop((sender, bounded));
            scope.spawn(move || assert_eq!(receiver_2.iter().sum::<u64>(), 4 * 249_500));
            let mut sum = 0;
            loop {
                match receiver.try_recv() {
                    Ok(n) => sum += n,
                    Err(TryRecvError::Empty) => std::thread::yield_now(),
                    Err(TryRecvError::Disconnected) => break,
                }
            }
            assert_eq!(sum, 4 * 499_500);
        });
    }

    #[test]
    fn a_message_may_come_from_a_thread_local_destructor() {
        struct Last(Sender<u32>);
        impl Drop for Last {
            fn drop(&mut self) {
                self.0.send(7).unwrap();
            }
        }
        thread_local!(static LOCAL: std::cell::RefCell<Option<Last>> = const { std::cell::RefCell::new(None) });
        let (sender, receiver) = channel();
        std::thread::spawn(move || LOCAL.set(Some(Last(sender)))).join().unwrap();
        assert!(receiver.iter().eq([7]));
    }
}
