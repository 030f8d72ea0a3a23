//! What fork, join, signals and messages order.

use aerodrome::predict::{Order, Period};
use aerodrome::trace::{Event, Op, SiteId, StrandId};

fn step(order: &mut Order, strand: u32, op: Op, target: u32) -> Period {
    order.step(Event {
        strand: StrandId(strand),
        target,
        site: SiteId::NONE,
        op,
    });
    order.period(StrandId(strand))
}

#[test]
fn what_a_parent_does_before_the_fork_is_before_the_child_and_what_it_does_after_is_parallel() {
    let mut order = Order::default();
    let early = order.period(StrandId(0));
    let late = step(&mut order, 0, Op::Fork, 1);
    let child = order.period(StrandId(1));
    assert!(order.before(early, child) && !order.parallel(early, child));
    assert!(order.parallel(late, child));
    let joined = step(&mut order, 0, Op::Join, 1);
    assert!(order.before(child, joined));
    assert!(
        order.before(early, joined) && order.before(late, joined) && !order.before(joined, late)
    );
}

#[test]
fn a_message_orders_its_send_before_its_receive_and_nothing_else() {
    let mut order = Order::default();
    let sender = order.period(StrandId(0));
    let receiver = order.period(StrandId(1));
    let after_send = step(&mut order, 0, Op::Send, 7);
    let after_receive = step(&mut order, 1, Op::Recv, 7);
    assert!(order.before(sender, after_receive));
    assert!(order.parallel(sender, receiver));
    assert!(order.parallel(after_send, after_receive));
    // The number is free again: another message's receive learns only from its own send.
    let third = step(&mut order, 2, Op::Send, 7);
    let fourth = step(&mut order, 3, Op::Recv, 7);
    assert!(order.parallel(sender, fourth));
    assert!(order.parallel(third, fourth));
}

#[test]
fn a_barrier_puts_all_that_came_before_it_before_all_that_comes_after() {
    let mut order = Order::default();
    let before: Vec<Period> = (0..3)
        .map(|strand| order.period(StrandId(strand)))
        .collect();
    for strand in 0..3 {
        step(&mut order, strand, Op::Signal, 9);
    }
    let after: Vec<Period> = (0..3)
        .map(|strand| step(&mut order, strand, Op::Await, 9))
        .collect();
    for &a in &before {
        for &b in &after {
            assert!(order.before(a, b));
        }
    }
    assert!(order.parallel(after[0], after[1]));
}

#[test]
fn order_is_passed_on() {
    let mut order = Order::default();
    let first = order.period(StrandId(0));
    step(&mut order, 0, Op::Send, 1);
    step(&mut order, 1, Op::Recv, 1);
    step(&mut order, 1, Op::Signal, 2);
    let last = step(&mut order, 2, Op::Await, 2);
    assert!(order.before(first, last));
}
