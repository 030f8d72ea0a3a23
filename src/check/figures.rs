//! The example traces of Mathur and Viswanathan's paper, with the clocks of its figures 5 to 7.

use super::Clock;
use super::{Aerodrome, AerodromeBasic, Engine};
use crate::trace::{Event, Op, SiteId, StrandId};

/// The clocks that the figures show.
pub(super) trait Clocks: Engine + Default {
    /// `C` of a strand, counted from 0.
    fn of_strand(&self, strand: usize) -> &Clock;

    /// `W` of a variable.
    fn of_write(&self, variable: usize) -> &Clock;
}

/// An engine that is fed `t1 begin`, `t1 w(x)` and the like.
#[derive(Default)]
struct Run<E> {
    engine: E,
    position: u64,
}

impl<E: Clocks> Run<E> {
    /// Whether the event is a violation.
    fn step(&mut self, event: &str) -> bool {
        let (strand, op) = event.split_once(' ').unwrap();
        let strand = StrandId(strand[1..].parse::<u32>().unwrap() - 1);
        let variable = || u32::from(op.as_bytes()[2] - b'x');
        let (op, target) = match op {
            "begin" => (Op::Begin, 0),
            "end" => (Op::End, 0),
            _ if op.starts_with('r') => (Op::Read, variable()),
            _ => (Op::Write, variable()),
        };
        self.position += 1;
        let event = Event::new(strand, op, target, SiteId::NONE);
        let found = self.engine.step(event, self.position);
        if let Some(found) = &found {
            assert_eq!((found.event, found.edges.len()), (self.position, 0));
        }
        found.is_some()
    }

    fn pass(&mut self, events: &[&str]) {
        for event in events {
            assert!(!self.step(event), "{event}");
        }
    }

    /// `C` of a strand, counted from 1.
    fn c<const N: usize>(&self, strand: usize) -> [u64; N] {
        components(self.engine.of_strand(strand - 1))
    }

    /// `W` of `x`, `y` or `z`.
    fn w<const N: usize>(&self, variable: char) -> [u64; N] {
        components(self.engine.of_write(variable as usize - 'x' as usize))
    }
}

fn components<const N: usize>(clock: &Clock) -> [u64; N] {
    std::array::from_fn(|slot| clock.get(slot as u32))
}

fn rho1<E: Clocks>() {
    let mut run = Run::<E>::default();
    run.pass(&["t1 begin", "t1 w(x)", "t2 begin", "t2 r(x)", "t2 end"]);
    run.pass(&["t3 begin", "t3 w(z)", "t3 end", "t1 r(z)", "t1 end"]);
    assert_eq!((run.c(1), run.c(3)), ([2, 0, 2], [0, 0, 2]));
}

fn rho2<E: Clocks>() {
    let mut run = Run::<E>::default();
    run.pass(&["t1 begin"]);
    assert_eq!(run.c(1), [2, 0]);
    run.pass(&["t2 begin"]);
    assert_eq!(run.c(2), [0, 2]);
    run.pass(&["t1 w(x)"]);
    assert_eq!(run.w('x'), [2, 0]);
    run.pass(&["t2 r(x)"]);
    assert_eq!(run.c(2), [2, 2]);
    run.pass(&["t2 w(y)"]);
    assert_eq!(run.w('y'), [2, 2]);
    assert!(run.step("t1 r(y)"));
}

fn rho3<E: Clocks>() {
    let mut run = Run::<E>::default();
    run.pass(&["t1 begin", "t2 begin", "t1 w(x)", "t2 w(y)"]);
    assert_eq!((run.w('x'), run.w('y')), ([2, 0], [0, 2]));
    run.pass(&["t1 r(y)"]);
    assert_eq!(run.c(1), [2, 2]);
    run.pass(&["t2 r(x)"]);
    assert_eq!(run.c(2), [2, 2]);
    assert!(run.step("t1 end"));
}

fn rho4<E: Clocks>() {
    let mut run = Run::<E>::default();
    run.pass(&["t1 begin"]);
    assert_eq!(run.c(1), [2, 0, 0]);
    run.pass(&["t1 w(x)"]);
    assert_eq!(run.w('x'), [2, 0, 0]);
    run.pass(&["t2 begin"]);
    assert_eq!(run.c(2), [0, 2, 0]);
    run.pass(&["t2 w(y)"]);
    assert_eq!(run.w('y'), [0, 2, 0]);
    run.pass(&["t2 r(x)"]);
    assert_eq!(run.c(2), [2, 2, 0]);
    run.pass(&["t2 end"]);
    assert_eq!(run.w('y'), [2, 2, 0]);
    run.pass(&["t3 begin"]);
    assert_eq!(run.c(3), [0, 0, 2]);
    run.pass(&["t3 r(y)"]);
    assert_eq!(run.c(3), [2, 2, 2]);
    run.pass(&["t3 w(z)"]);
    assert_eq!(run.w('z'), [2, 2, 2]);
    run.pass(&["t3 end"]);
    assert!(run.step("t1 r(z)"));
}

#[test]
fn rho1_of_figure_1_is_serializable() {
    rho1::<Aerodrome>();
    rho1::<AerodromeBasic>();
}

#[test]
fn rho2_of_figure_2_is_a_violation_at_event_6_with_the_clocks_of_figure_5() {
    rho2::<Aerodrome>();
    rho2::<AerodromeBasic>();
}

#[test]
fn rho3_of_figure_3_is_a_violation_at_event_7_with_the_clocks_of_figure_6() {
    rho3::<Aerodrome>();
    rho3::<AerodromeBasic>();
}

#[test]
fn rho4_of_figure_4_is_a_violation_at_event_11_with_the_clocks_of_figure_7() {
    rho4::<Aerodrome>();
    rho4::<AerodromeBasic>();
}
