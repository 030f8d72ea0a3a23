mod select_macro {
    use std::thread;
    use std::time::{Duration, Instant};

    use super::channel::{
        Receiver, RecvError, SendError, Sender, after, bounded, never, select, select_biased, tick,
        unbounded,
    };

    const SHORT: Duration = Duration::from_millis(10);

    #[test]
    fn every_form_of_an_arm() {
        let (s, r) = unbounded();
        // An expression, with and without a comma at the end.
        select! { send(s, 1) -> sent => sent.unwrap() }
        select! { send(s, 2) -> sent => sent.unwrap(), }
        // A block, with and without a comma; commas in the arguments.
        select! { send(s, 3,) -> _ => {} }
        let first = select! {
            recv(r,) -> message => { message.unwrap() },
            default(SHORT,) => 0,
        };
        let second = select! {
            default() => { unreachable!() }
            recv(r) -> result @ (Ok(_) | Err(RecvError)) => {
                let message: i32 = result.unwrap();
                message
            }
        };
        assert_eq!((first, second), (1, 2));
        // Nothing but a default.
        assert_eq!(select! { default => 4 }, 4);
        assert_eq!(select_biased! { default(SHORT) => 5 }, 5);
        // Results by any pattern.
        select! { recv(r) -> mut message => { message = message.map(|n| n + 1); assert_eq!(message, Ok(4)); } }
        select! {
            recv(r) -> _ => unreachable!(),
            default => (),
        }
    }

    #[test]
    fn an_arm_can_leave_and_its_channels_are_free() {
        fn first(receivers: Vec<Receiver<u8>>) -> Result<u8, RecvError> {
            let mut left = 2;
            loop {
                select! {
                    recv(receivers[0]) -> message => {
                        drop(receivers);
                        return message;
                    }
                    default => {
                        left -= 1;
                        if left == 0 { break Err(RecvError) } else { continue }
                    }
                }
            }
        }
        let (s, r) = unbounded();
        assert_eq!(first(vec![r.clone()]), Err(RecvError));
        s.send(8).unwrap();
        assert_eq!(first(vec![r]), Ok(8));

        let (mut s, r) = unbounded();
        select! {
            send(s, String::from("moved")) -> sent => { sent.unwrap(); s = unbounded().0; }
        }
        assert_eq!(s.send(String::new()), Err(SendError(String::new())));
        select! { recv(r) -> message => { drop(r); assert_eq!(message.unwrap(), "moved"); } }
    }

    #[test]
    fn an_end_can_be_any_expression() {
        let (s, r) = bounded(3);
        let ends: (Box<Sender<u8>>, Option<&Receiver<u8>>) = (Box::new(s), Some(&r));
        select! { send(ends.0, 1) -> sent => sent.unwrap(), }
        select! { send(&*ends.0, 2) -> sent => sent.unwrap(), }
        select! { send({ ends.0.clone() }, 3) -> sent => sent.unwrap(), }
        for n in 1..4 {
            select! {
                recv(ends.1.unwrap_or(&never())) -> message => assert_eq!(message, Ok(n)),
                recv(never::<()>()) -> _ => unreachable!(),
            }
        }
        select! {
            recv(ends.1.unwrap()) -> _ => unreachable!(),
            recv(after(SHORT)) -> time => assert!(time.unwrap() <= Instant::now()),
        }
        select! { recv(tick(SHORT)) -> time => assert!(time.is_ok()) }
    }

    #[test]
    fn a_message_is_made_for_a_selected_send_only() {
        fn never_made() -> u8 {
            unreachable!()
        }
        let (full, _full) = bounded(0);
        let (s, r) = bounded(1);
        select! {
            send(full, never_made()) -> sent => assert_eq!(sent, Ok(())),
            send(s, { assert_eq!(s.len(), 1); 1 }) -> sent => assert_eq!(sent, Ok(())),
        }
        assert_eq!(r.recv(), Ok(1));
    }

    #[test]
    fn a_default_waits_its_time() {
        let (_s, r) = unbounded::<u8>();
        let start = Instant::now();
        let timed_out = select! {
            recv(r) -> _ => false,
            recv(r) -> _ => false,
            default(2 * SHORT) => true,
        };
        assert!(timed_out && start.elapsed() >= 2 * SHORT);
    }

    #[test]
    fn a_disconnected_channel_is_ready() {
        let (s, r) = unbounded::<u8>();
        drop(s);
        select! { recv(r) -> message => assert_eq!(message, Err(RecvError)), default => panic!() }
        let (s, r) = bounded(0);
        drop(r);
        select! { send(s, 1) -> sent => assert_eq!(sent, Err(SendError(1))), default => panic!() }
    }

    #[test]
    fn fair_and_biased() {
        let (s1, r1) = unbounded();
        let (s2, r2) = unbounded();
        for n in 0..100 {
            s1.send(n).unwrap();
            s2.send(n).unwrap();
        }
        for expected in 0..50 {
            select_biased! {
                recv(r1) -> n => assert_eq!(n, Ok(expected)),
                recv(r2) -> _ => unreachable!(),
            }
        }
        let mut seconds = 0;
        for _ in 0..50 {
            select! {
                recv(r1) -> n => assert!(n.is_ok()),
                recv(r2) -> n => { n.unwrap(); seconds += 1; }
            }
        }
        assert!((1..50).contains(&seconds), "{seconds} of 50");
    }

    #[test]
    fn selections_meet_and_nest() {
        let (s1, r1) = bounded(0);
        let (s2, r2) = bounded(0);
        thread::scope(|s| {
            s.spawn(|| {
                for n in 0..100 {
                    select! {
                        send(s1, n) -> sent => sent.unwrap(),
                        recv(r2) -> got => select! { send(s1, got.unwrap()) -> sent => sent.unwrap() },
                    }
                }
            });
            for n in 0..100 {
                select! {
                    recv(r1) -> got => assert_eq!(got, Ok(n)),
                    send(s2, n) -> sent => {
                        sent.unwrap();
                        select_biased! { recv(r1) -> got => assert_eq!(got, Ok(n)) }
                    }
                }
            }
        });
    }

    #[test]
    fn thirty_two_arms() {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..32).map(|_| unbounded()).unzip();
        for (n, sender) in senders.iter().enumerate() {
            sender.send(n).unwrap();
            let selected = select! {
                recv(receivers[0]) -> message => (0, message),
                recv(receivers[1]) -> message => (1, message),
                recv(receivers[2]) -> message => (2, message),
                recv(receivers[3]) -> message => (3, message),
                recv(receivers[4]) -> message => (4, message),
                recv(receivers[5]) -> message => (5, message),
                recv(receivers[6]) -> message => (6, message),
                recv(receivers[7]) -> message => (7, message),
                recv(receivers[8]) -> message => (8, message),
                recv(receivers[9]) -> message => (9, message),
                recv(receivers[10]) -> message => (10, message),
                recv(receivers[11]) -> message => (11, message),
                recv(receivers[12]) -> message => (12, message),
                recv(receivers[13]) -> message => (13, message),
                recv(receivers[14]) -> message => (14, message),
                recv(receivers[15]) -> message => (15, message),
                recv(receivers[16]) -> message => (16, message),
                recv(receivers[17]) -> message => (17, message),
                recv(receivers[18]) -> message => (18, message),
                recv(receivers[19]) -> message => (19, message),
                recv(receivers[20]) -> message => (20, message),
                recv(receivers[21]) -> message => (21, message),
                recv(receivers[22]) -> message => (22, message),
                recv(receivers[23]) -> message => (23, message),
                recv(receivers[24]) -> message => (24, message),
                recv(receivers[25]) -> message => (25, message),
                recv(receivers[26]) -> message => (26, message),
                recv(receivers[27]) -> message => (27, message),
                recv(receivers[28]) -> message => (28, message),
                recv(receivers[29]) -> message => (29, message),
                recv(receivers[30]) -> message => (30, message),
                recv(receivers[31]) -> message => (31, message),
                default => unreachable!(),
            };
            assert_eq!(selected, (n, Ok(n)));
        }
    }
}
