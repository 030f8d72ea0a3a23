//! The shapes of traces that decide what a check costs. All are serializable.

use std::fmt::Write as _;

use aerodrome::trace::{Event, Op, SiteId, StrandId};

/// Every shape, the small ones first.
#[allow(dead_code, reason = "not every benchmark runs them all")]
pub(crate) const NAMES: [&str; 8] = [
    "locked_by_8_strands",
    "locked_by_64_strands",
    "one_transaction_stays_open",
    "transactions_of_4000_accesses",
    "many_short_strands",
    "read_shared_by_8_strands",
    "read_shared_by_64_strands",
    "thread_local_over_400k_variables",
];

/// Locks have numbers of their own.
pub(crate) const LOCKS: u32 = 1 << 20;

/// A trace without an end, written round by round.
pub(crate) struct Shape {
    round: Box<dyn FnMut(&mut Round)>,
    state: Round,
}

/// What a round writes to, and its randomness.
pub(crate) struct Round {
    events: Vec<Event>,
    noise: u32,
    sites: u32,
}

impl Round {
    fn push(&mut self, strand: u32, op: Op, target: u32) {
        self.sites = (self.sites + 1) % 61;
        self.events.push(Event {
            strand: StrandId(strand),
            target,
            site: SiteId(1 + self.sites),
            op,
        });
    }

    fn noise(&mut self) -> u32 {
        self.noise = self
            .noise
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        self.noise >> 8
    }
}

impl Shape {
    fn new(round: impl FnMut(&mut Round) + 'static) -> Shape {
        Shape {
            round: Box::new(round),
            state: Round {
                events: Vec::new(),
                noise: 1,
                sites: 0,
            },
        }
    }

    /// The next events: `count`, and what is left of the last round.
    pub(crate) fn take(&mut self, count: usize) -> Vec<Event> {
        self.state.events = Vec::with_capacity(count + 64);
        while self.state.events.len() < count {
            (self.round)(&mut self.state);
        }
        std::mem::take(&mut self.state.events)
    }

    /// The shape of this name.
    pub(crate) fn named(name: &str) -> Shape {
        match name {
            "locked_by_8_strands" => two_phase_locking(8, 64),
            "locked_by_64_strands" => two_phase_locking(64, 512),
            "thread_local_over_400k_variables" => thread_local(),
            "read_shared_by_8_strands" => read_shared(8),
            "read_shared_by_64_strands" => read_shared(64),
            "one_transaction_stays_open" => one_stays_open(),
            "transactions_of_4000_accesses" => long_transactions(),
            "many_short_strands" => short_strands(),
            _ => panic!("no shape is called {name}"),
        }
    }
}

/// Transactions that lock two of `locks` accounts in order, move something, and unlock: two-phase
/// locking. Each transaction begins before the one before it has ended.
fn two_phase_locking(strands: u32, locks: u32) -> Shape {
    let mut strand = 0;
    let mut last = None;
    Shape::new(move |round| {
        strand = (strand + 1 + round.noise() % (strands - 1)) % strands;
        let a = round.noise() % (locks - 1);
        let b = a + 1 + round.noise() % (locks - 1 - a);
        round.push(strand, Op::Begin, 0);
        if let Some(last) = last.replace(strand) {
            round.push(last, Op::End, 0);
        }
        for lock in [a, b] {
            round.push(strand, Op::Acquire, LOCKS + lock);
            round.push(strand, Op::Read, lock);
            round.push(strand, Op::Write, lock);
        }
        for lock in [b, a] {
            round.push(strand, Op::Release, LOCKS + lock);
        }
    })
}

/// Eight strands, each at work on its own 50,000 variables, in transactions of ten accesses.
fn thread_local() -> Shape {
    Shape::new(|round| {
        for strand in 0..8 {
            round.push(strand, Op::Begin, 0);
            for _ in 0..5 {
                let variable = strand * 50_000 + round.noise() % 50_000;
                round.push(strand, Op::Read, variable);
                round.push(strand, Op::Write, variable);
            }
            round.push(strand, Op::End, 0);
        }
    })
}

/// Every transaction reads eight of 1,000 variables that all strands read; all transactions of a
/// round are open at once.
fn read_shared(strands: u32) -> Shape {
    Shape::new(move |round| {
        for strand in 0..strands {
            round.push(strand, Op::Begin, 0);
        }
        for _ in 0..8 {
            for strand in 0..strands {
                let variable = round.noise() % 1_000;
                round.push(strand, Op::Read, variable);
            }
        }
        for strand in 0..strands {
            round.push(strand, Op::End, 0);
        }
    })
}

/// One transaction stays open; seven strands pass on what it wrote.
fn one_stays_open() -> Shape {
    let mut at = None;
    Shape::new(move |round| {
        let Some(at) = &mut at else {
            round.push(0, Op::Begin, 0);
            round.push(0, Op::Write, 0);
            at = Some(0);
            return;
        };
        let strand = 1 + *at % 7;
        round.push(strand, Op::Begin, 0);
        round.push(strand, Op::Read, *at % 1_000);
        *at += 1;
        round.push(strand, Op::Write, *at % 1_000);
        round.push(strand, Op::End, 0);
    })
}

/// Transactions of 4,000 accesses each, of four strands by turns, to 64 variables of their own and
/// 64 that all read.
fn long_transactions() -> Shape {
    let mut turns = 0;
    Shape::new(move |round| {
        let all = |round: &mut Round, op| (0..4).for_each(|strand| round.push(strand, op, 0));
        if turns == 0 {
            all(round, Op::Begin);
        }
        for strand in 0..4 {
            let own = 100 + strand * 64;
            let (op, from) = match round.noise() % 4 {
                0 => (Op::Write, own),
                1 => (Op::Read, own),
                _ => (Op::Read, 0),
            };
            let variable = from + round.noise() % 64;
            round.push(strand, op, variable);
        }
        turns = (turns + 1) % 4_000;
        if turns == 0 {
            all(round, Op::End);
        }
    })
}

/// A strand forks short ones that touch a few variables and are joined; their numbers are used
/// again.
fn short_strands() -> Shape {
    let mut at = 0;
    Shape::new(move |round| {
        let strand = 1 + at % 16;
        round.push(0, Op::Fork, strand);
        round.push(strand, Op::Begin, 0);
        round.push(strand, Op::Read, at % 100);
        round.push(strand, Op::Write, at % 100);
        round.push(strand, Op::End, 0);
        round.push(0, Op::Join, strand);
        at += 1;
    })
}

/// The trace as a text: locks and variables have names of their own there.
#[allow(dead_code, reason = "not every benchmark has a file")]
pub(crate) fn text(events: &[Event]) -> String {
    let mut text = String::new();
    for event in events {
        let (op, letter) = match event.op {
            Op::Begin => ("begin", 'm'),
            Op::End => ("end", 'm'),
            Op::Read => ("r", 'V'),
            Op::Write => ("w", 'V'),
            Op::Acquire => ("acq", 'L'),
            Op::Release => ("rel", 'L'),
            Op::Fork => ("fork", 'T'),
            Op::Join => ("join", 'T'),
            op => panic!("no shape has {op:?}"),
        };
        let target = event.target % LOCKS;
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "T{}|{op}({letter}{target})|{}",
            event.strand.0, event.site.0
        );
    }
    text
}
