//! `aerodrome stats`: what is in a trace.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::ops::ControlFlow;

use clap::Args;

use super::feed::feed;
use super::{Failure, Input, Terminal, Verdict, print};
use crate::dense::Dense;
use crate::json::objects;
use crate::trace::{Class, Event, Op, op_name};

/// Count what is in a trace
#[derive(Args)]
#[command(after_help = "\
Exit code: 0 the trace is counted, 2 the input or the usage is wrong.

Example:
  aerodrome stats --json run.aero")]
pub(super) struct Arguments {
    /// The trace, or `-`
    file: String,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    input: Input,
}

/// What is in a trace.
#[derive(Debug, Default)]
struct Stats {
    events: u64,
    /// How many events of each kind, by their names in the STD format; nested blocks and re-entrant
    /// acquires included.
    kinds: BTreeMap<&'static str, u64>,
    threads: u64,
    locks: u64,
    variables: u64,
    /// Outermost runs of blocks.
    transactions: u64,
    /// The most events between a transaction's begin and end.
    longest_transaction: u64,
}

objects! {
    Stats { events, kinds, threads, locks, variables, transactions, longest_transaction }
}

#[derive(Clone, Copy, Default)]
struct Strand {
    counted: bool,
    /// Joined, or at its exit.
    gone: bool,
    /// The length of the open transaction so far.
    open: Option<u64>,
}

#[derive(Default)]
struct Counter {
    stats: Stats,
    /// Few, and those that come often come early: a search is faster than a map.
    kinds: Vec<(Op, u64)>,
    strands: Dense<u32, Strand>,
    /// For each object: seen as a lock, seen as a variable.
    objects: Dense<u32, (bool, bool)>,
}

impl Counter {
    fn strand(&mut self, id: u32) -> &mut Strand {
        let strand = self.strands.entry(id);
        self.stats.threads += u64::from(!strand.counted);
        strand.counted = true;
        strand
    }

    fn count(&mut self, event: &Event, counts: Option<Event>) {
        match self.kinds.iter_mut().find(|(op, _)| *op == event.op) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((event.op, 1)),
        }
        let strand = self.strand(event.strand.0);
        match counts.map(|event| event.op) {
            Some(Op::Begin) => {
                strand.open = Some(0);
                self.stats.transactions += 1;
            }
            Some(Op::End) => strand.open = None,
            _ => {
                let length = strand.open.map(|length| length + 1);
                strand.open = length;
                self.stats.longest_transaction =
                    self.stats.longest_transaction.max(length.unwrap_or(0));
            }
        }
        match event.op {
            Op::Fork => {
                let child = self.strand(event.target);
                // A strand that is forked after its join is another.
                let another = std::mem::take(&mut child.gone);
                child.open = None;
                self.stats.threads += u64::from(another);
            }
            Op::Join => self.strand(event.target).gone = true,
            Op::Exit => self.strand(event.strand.0).gone = true,
            op if op.is_on_object() => self.object(op, event.target),
            _ => {}
        }
    }

    fn object(&mut self, op: Op, id: u32) {
        let (lock, variable) = self.objects.entry(id);
        match op.row().class {
            Class::Lock => {
                self.stats.locks += u64::from(!*lock);
                *lock = true;
            }
            Class::Read | Class::Write | Class::Update => {
                self.stats.variables += u64::from(!*variable);
                *variable = true;
            }
            _ if matches!(op, Op::Retire | Op::Recv) => (*lock, *variable) = (false, false),
            Class::Order | Class::Boundary | Class::Note => {}
        }
    }
}

pub(super) fn run(arguments: &Arguments, terminal: &Terminal) -> Result<Verdict, Failure> {
    let file = &arguments.file;
    let mut source = arguments.input.open(file)?;
    let mut counter = Counter::default();
    let events = feed(
        source.as_mut(),
        None,
        terminal.progress(file),
        |event, counts, _, _| {
            counter.count(event, counts);
            ControlFlow::Continue(())
        },
    )?;
    let mut stats = counter.stats;
    stats.events = events;
    stats.kinds = counter
        .kinds
        .into_iter()
        .map(|(op, count)| (op_name(op), count))
        .collect();
    print(&if arguments.json {
        super::json(&stats)
    } else {
        text(&stats)
    })
}

fn text(stats: &Stats) -> String {
    let mut lines = vec![("events", stats.events)];
    lines.extend(stats.kinds.iter().map(|(kind, count)| (*kind, *count)));
    let rest = [
        ("threads", stats.threads),
        ("locks", stats.locks),
        ("variables", stats.variables),
        ("transactions", stats.transactions),
        ("longest transaction", stats.longest_transaction),
    ];
    lines.extend(rest);
    let mut text = String::new();
    for (index, (name, count)) in lines.iter().enumerate() {
        let indent = if (1..=stats.kinds.len()).contains(&index) {
            "  "
        } else {
            ""
        };
        let name = format!("{indent}{name}");
        // Writing to a string does not fail.
        let _ = writeln!(text, "{name:<22}{count:>14}");
    }
    text
}
