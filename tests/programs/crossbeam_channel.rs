//! Bugs through crossbeam-channel's interface are reported where they are, and the fixed versions
//! are silent.

use std::sync::Barrier;
use std::time::Duration;

use aerodrome::crossbeam_channel::{
    Receiver, Select, Sender, TryRecvError, after, bounded, select, unbounded,
};
use aerodrome::report::Report;
use aerodrome::sync::Mutex;
use aerodrome::trace::{Op, Update};
use aerodrome::{atomic_block, thread};

use crate::outcome::{accesses, between, only, silent};

fn named<T>(ends: (Sender<T>, Receiver<T>)) -> (Sender<T>, Receiver<T>) {
    aerodrome::name(&ends.0, "orders");
    ends
}

const UPDATE: Op = Op::Update(Update::Channel);

/// The sender means two messages to be one; the receiver sees the first without the second.
fn two_sends(
    (sender, receiver): (Sender<u8>, Receiver<u8>),
    drain: impl Fn(&Receiver<u8>) -> usize + Sync,
) -> (Report, [u32; 2]) {
    let (mut first, mut second) = (0, 0);
    let report = only(|| {
        aerodrome::name(&receiver, "orders");
        between(
            |pause| {
                atomic_block! {
                    first = line!() + 1;
                    sender.send(1).unwrap();
                    pause();
                    second = line!() + 1;
                    sender.send(2).unwrap();
                }
            },
            || assert_eq!(atomic_block!(name = "drain", { drain(&receiver) }), 1),
        );
    });
    (report, [first, second])
}

#[test]
fn two_sends_and_a_racing_receive_are_reported() {
    for ends in [unbounded(), bounded(2)] {
        let line = line!() + 3;
        let (report, [first, second]) = two_sends(ends, |receiver| {
            let mut count = 0;
            while receiver.try_recv().is_ok() {
                count += 1;
            }
            count
        });
        let message = "a message".to_owned();
        let orders = "`orders`".to_owned();
        let found = accesses(&report);
        let expected = [
            (Op::Send, message.clone(), first),
            (Op::Recv, message, line),
            (Op::Read, orders.clone(), line),
            (UPDATE, orders, second),
        ];
        assert_eq!(found, expected);
    }
}

#[test]
fn two_sends_and_a_racing_select_are_reported() {
    let line = line!() + 6;
    let (report, [first, second]) = two_sends(unbounded(), |receiver| {
        let (_sender, other) = bounded::<()>(0);
        let mut count = 0;
        loop {
            select! {
                recv(receiver) -> _ => count += 1,
                recv(other) -> _ => unreachable!(),
                default => break count,
            }
        }
    });
    let found = accesses(&report);
    assert_eq!(found[0], (Op::Send, "a message".to_owned(), first));
    assert_eq!(found[1], (Op::Recv, "a message".to_owned(), line));
    assert_eq!(found[2], (Op::Read, "`orders`".to_owned(), line));
    assert_eq!(found[3], (UPDATE, "`orders`".to_owned(), second));
}

#[test]
fn an_arm_that_sends_is_reported_where_it_stands() {
    let line = line!() + 15;
    let report = only(|| {
        let (sender, receiver) = named(unbounded());
        let (_sender, other) = bounded::<()>(0);
        between(
            |pause| {
                atomic_block! {
                    assert!(receiver.is_empty());
                    pause();
                    assert_eq!(receiver.try_recv(), Ok(1));
                }
            },
            || {
                select! {
                    recv(other) -> _ => unreachable!(),
                    send(sender, 1) -> sent => { sent.unwrap() }
                }
            },
        );
    });
    let found = accesses(&report);
    assert_eq!(found[1], (UPDATE, "`orders`".to_owned(), line));
    assert_eq!(found[2], (Op::Send, "a message".to_owned(), line));
}

#[test]
fn two_messages_sent_as_one_are_silent() {
    for (sender, receiver) in [unbounded(), bounded(1)] {
        silent(|| {
            between(
                |pause| {
                    atomic_block! {
                        sender.send([1, 2]).unwrap();
                    }
                    pause();
                },
                || assert_eq!(receiver.try_iter().count(), 1),
            );
        });
    }
}

#[test]
fn sends_of_several_strands_do_not_disturb_each_other() {
    for (sender, receiver) in [unbounded(), bounded(4)] {
        silent(|| {
            between(
                |pause| {
                    atomic_block! {
                        sender.send(1).unwrap();
                        pause();
                        select! { send(sender, 2) -> sent => sent.unwrap() }
                    }
                },
                || {
                    atomic_block! {
                        sender.send(3).unwrap();
                        sender.try_send(4).unwrap();
                    }
                },
            );
        });
        assert_eq!(receiver.len(), 4);
    }
}

#[test]
fn a_receive_after_a_look_at_the_empty_channel_is_reported() {
    let (mut look, mut send, mut receive) = (0, 0, 0);
    let report = only(|| {
        let (sender, receiver) = named(bounded(1));
        between(
            |pause| {
                atomic_block! {
                    look = line!() + 1;
                    assert!(receiver.is_empty());
                    pause();
                    receive = line!() + 1;
                    assert_eq!(receiver.try_recv(), Ok(1));
                }
            },
            || {
                send = line!() + 1;
                sender.send(1).unwrap();
            },
        );
    });
    let expected = [
        (Op::Read, "`orders`".to_owned(), look),
        (UPDATE, "`orders`".to_owned(), send),
        (Op::Send, "a message".to_owned(), send),
        (Op::Recv, "a message".to_owned(), receive),
    ];
    assert_eq!(accesses(&report), expected);

    silent(|| {
        let (sender, receiver) = named(bounded(1));
        between(
            |pause| {
                pause();
                atomic_block! {
                    assert!(!receiver.is_empty());
                    assert_eq!(receiver.try_recv(), Ok(1));
                }
            },
            || sender.send(1).unwrap(),
        );
    });
}

#[test]
fn what_a_rendezvous_lets_the_sender_do_is_reported() {
    // What the sender does after the rendezvous comes after what the receiver did before it; and
    // yet the receiver's block sees it.
    let run = |in_one_block: bool| {
        let (sender, receiver) = bounded(0);
        let done = Mutex::new(false);
        let written = Barrier::new(2);
        let mut lines = [0; 3];
        let [send, receive, read] = &mut lines;
        let outcome = aerodrome::check(|| {
            aerodrome::name(&done, "done");
            thread::scope(|s| {
                s.spawn(|| {
                    *send = line!() + 1;
                    sender.send(1).unwrap();
                    *done.lock().unwrap() = true;
                    written.wait();
                });
                Select::new_biased().recv_ready(&receiver);
                if in_one_block {
                    atomic_block! {
                        *receive = line!() + 1;
                        assert_eq!(receiver.try_recv(), Ok(1));
                        written.wait();
                        *read = line!() + 1;
                        assert!(*done.lock().unwrap());
                    }
                } else {
                    assert_eq!(receiver.try_recv(), Ok(1));
                    written.wait();
                    atomic_block! {
                        assert!(*done.lock().unwrap());
                    }
                }
            });
        });
        (outcome.violations, lines)
    };
    let (violations, [send, receive, read]) = run(true);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    let found = accesses(&violations[0]);
    let expected = [
        // The answer: from the receiver to the sender.
        (Op::Send, "a message".to_owned(), receive),
        (Op::Recv, "a message".to_owned(), send),
        (Op::Write, "`done`".to_owned(), send + 1),
        (Op::Read, "`done`".to_owned(), read),
    ];
    assert_eq!(found, expected);
    assert!(run(false).0.is_empty());
}

trait RecvReady<'a> {
    fn recv_ready<T>(self, receiver: &'a Receiver<T>);
}

impl<'a> RecvReady<'a> for Select<'a> {
    /// Waits until a sender is there.
    fn recv_ready<T>(mut self, receiver: &'a Receiver<T>) {
        self.recv(receiver);
        assert_eq!(self.ready(), 0);
    }
}

#[test]
fn a_question_and_its_answer_are_no_transaction() {
    for capacity in [0, 1] {
        let served = Mutex::new(0);
        silent(|| {
            let (questions, asked) = bounded::<u32>(capacity);
            let (replies, answers) = bounded(capacity);
            thread::scope(|s| {
                s.spawn(|| {
                    for question in &asked {
                        *served.lock().unwrap() += 1;
                        replies.send(2 * question).unwrap();
                    }
                });
                for question in 0..20 {
                    atomic_block! {
                        let before = *served.lock().unwrap();
                        if question % 2 == 0 {
                            questions.send(question).unwrap();
                            assert_eq!(answers.recv(), Ok(2 * question));
                        } else {
                            select! { send(questions, question) -> sent => sent.unwrap() }
                            select! {
                                recv(answers) -> answer => assert_eq!(answer, Ok(2 * question)),
                                recv(after(Duration::from_secs(60))) -> _ => unreachable!(),
                            }
                        }
                        assert_eq!(*served.lock().unwrap(), before + 1);
                    }
                }
                drop(questions);
            });
        });
    }
}

#[test]
fn time_orders_nothing() {
    silent(|| {
        let value = Mutex::new(0);
        between(
            |pause| {
                atomic_block! {
                    let timer = after(Duration::from_millis(1));
                    assert_eq!(timer.try_recv(), Err(TryRecvError::Empty));
                    pause();
                    assert!(timer.recv().is_ok());
                    assert_eq!(*value.lock().unwrap(), 1);
                }
            },
            || *value.lock().unwrap() = 1,
        );
    });
}

#[test]
fn who_asks_for_room_and_then_sends_is_told_to_try() {
    let ((sender, _receiver), step) = (unbounded(), std::sync::Barrier::new(2));
    let outcome = aerodrome::check(|| {
        aerodrome::thread::scope(|scope| {
            scope.spawn(|| {
                aerodrome::atomic_block! {
                    if sender.is_empty() {
                        step.wait();
                        step.wait();
                        sender.send(1).unwrap();
                    }
                }
            });
            scope.spawn(|| {
                step.wait();
                aerodrome::atomic_block! {
                    if sender.is_empty() {
                        sender.send(2).unwrap();
                    }
                }
                step.wait();
            });
        });
    });
    let help = &outcome.violations[0].help;
    assert!(help[0].contains("`try_send`"), "{help:?}");
}
