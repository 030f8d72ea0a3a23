//! A large message needs no more of the stack than with std's channels. Here, because without
//! optimisation std alone needs more.

use std::time::Duration;

const SIZE: usize = 1 << 15;

struct Large([u8; SIZE]);

fn with_room_for_14(f: impl FnOnce() + Send + 'static) {
    let thread = std::thread::Builder::new().stack_size(14 * SIZE);
    thread.spawn(f).unwrap().join().unwrap();
}

macro_rules! large_messages {
    ($test:ident, $($mpsc:ident)::+) => {
        #[test]
        fn $test() {
            let (sender, receiver) = $($mpsc)::+::channel();
            let (bounded, from_bounded) = $($mpsc)::+::sync_channel(2);
            with_room_for_14(move || sender.send(Large([1; SIZE])).ok().unwrap());
            let other = bounded.clone();
            with_room_for_14(move || bounded.send(Large([2; SIZE])).ok().unwrap());
            with_room_for_14(move || other.try_send(Large([3; SIZE])).ok().unwrap());
            with_room_for_14(move || assert_eq!(receiver.recv().unwrap().0[7], 1));
            with_room_for_14(move || {
                assert_eq!(from_bounded.try_recv().ok().unwrap().0[7], 2);
                let last = from_bounded.recv_timeout(Duration::from_millis(10));
                assert_eq!(last.ok().unwrap().0[7], 3);
            });
        }
    };
}

large_messages!(large_messages_of_std_fit_into_the_stack, std::sync::mpsc);
large_messages!(
    large_messages_of_the_mirror_fit_into_the_same_stack,
    aerodrome::sync::mpsc
);
