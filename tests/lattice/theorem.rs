//! Theorem 3 of the paper: the clocks are the causal order.

use crate::oracle::Order;
use crate::traces::{VARIABLES, actions, build};
use aerodrome::lattice::{Causality, Lattice, Limits, Message, Relevant};
use aerodrome::trace::{Event, Op};
use proptest::prelude::*;

/// What Algorithm A sends to the observer.
fn messages(trace: &[Event]) -> Vec<Message> {
    let mut causality = Causality::default();
    let mut born = [false; 3];
    let mut value = [0; 4];
    let mut messages = Vec::new();
    for (event, position) in trace.iter().zip(1..) {
        let variable = event.target as usize;
        if event.op == Op::Value {
            value[event.strand.0 as usize] = event.value();
        }
        if event.op == Op::Born {
            born[variable] = true;
        }
        let writes = matches!(event.op, Op::Write | Op::ReadWrite | Op::Update(_)) && variable < 3;
        if writes && !std::mem::replace(&mut born[variable], true) {
            continue;
        }
        if let Some((chain, clock)) = causality.step(event, writes) {
            let value = value[event.strand.0 as usize];
            let event = Relevant {
                position,
                strand: event.strand,
                site: event.site,
                variable,
                value,
            };
            messages.push(Message {
                event,
                chain,
                clock,
            });
        }
    }
    messages
}

/// The trace with writes of the paper's dummy variable of a condition, each by a strand that holds
/// the lock: Java's `notify` throws otherwise, and `wait` returns with it.
fn with_conditions(trace: &[Event], chosen: &[bool]) -> Vec<Event> {
    const CONDITION: u32 = 100;
    let mut holder = None;
    let mut all = Vec::new();
    for (event, &is_chosen) in trace.iter().zip(chosen.iter().cycle()) {
        match event.op {
            Op::Acquire => holder = Some(event.strand),
            Op::Release => holder = None,
            _ => {}
        }
        all.push(*event);
        // A value stays with its write.
        if let (Some(holder), true) = (holder, is_chosen && event.op != Op::Value) {
            all.push(crate::traces::event(holder.0, Op::Write, CONDITION));
        }
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn jmpax_wait_and_notify_order_no_more_than_their_lock(
        actions in actions(60),
        chosen in prop::collection::vec(any::<bool>(), 1..60),
    ) {
        let clocks = |trace: &[Event]| -> Vec<_> {
            let sent = messages(trace).into_iter();
            sent.map(|message| (message.chain, message.clock)).collect()
        };
        let trace = build(&actions, 40);
        prop_assert_eq!(clocks(&with_conditions(&trace, &chosen)), clocks(&trace));
    }

    #[test]
    fn jmpax_theorem_3_clocks_tell_the_causal_order(actions in actions(60)) {
        let trace = build(&actions, 40);
        let order = Order::new(&trace, &[true; 3]);
        let messages = messages(&trace);
        prop_assert_eq!(messages.len(), order.writes.len());
        for (a, first) in messages.iter().enumerate() {
            prop_assert_eq!(first.event.position, order.writes[a].position);
            for (b, second) in messages.iter().enumerate().filter(|(b, _)| *b != a) {
                let own = first.clock.get(first.chain) <= second.clock.get(first.chain);
                prop_assert_eq!(order.before[a][b], own, "{:?} and {:?}", first, second);
                prop_assert_eq!(order.before[a][b], first.clock < second.clock, "{:?} and {:?}", first, second);
            }
        }
    }

    #[test]
    fn the_order_of_delivery_does_not_matter(
        (actions, order) in actions(40).prop_flat_map(|actions| {
            let indices: Vec<usize> = (0..9).collect();
            (Just(actions), Just(indices).prop_shuffle())
        })
    ) {
        let trace = build(&actions, 9);
        let messages = messages(&trace);
        let limits = Limits { graph: usize::MAX, ..Limits::default() };
        let lattice = || {
            let mut lattice = Lattice::new("x <= y + 1 -> [z == 0, start(y > z))".parse().unwrap(), limits);
            (0..3).for_each(|variable| lattice.initial(variable, 0));
            lattice
        };
        let mut shuffled = lattice();
        for message in order.iter().filter_map(|index| messages.get(*index)) {
            shuffled.receive(message.clone()).unwrap();
        }
        let mut fed = Lattice::new("x <= y + 1 -> [z == 0, start(y > z))".parse().unwrap(), limits);
        for (event, position) in trace.iter().zip(1..) {
            fed.step(event, position, &*VARIABLES).unwrap();
        }
        prop_assert_eq!(shuffled.finish().unwrap(), fed.finish().unwrap());
    }
}

#[test]
fn strands_that_come_and_go_do_not_widen_the_clocks() {
    use crate::traces::{event, write};
    let mut causality = Causality::default();
    for round in 0..100 {
        let child = 1 + round % 2;
        causality.step(&event(0, Op::Fork, child), false);
        let (chain, _) = causality.step(&write(child, 0, 1)[1], true).unwrap();
        causality.step(&event(0, Op::Join, child), false);
        assert_eq!(chain, 0, "round {round}");
    }
}
