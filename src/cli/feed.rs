//! A trace's events, checked: one by one, or run by run.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::Failure;
use super::progress::Progress;
use crate::dense::Dense;
use crate::trace::{
    Admitted, BlockId, Error, Event, Names, Op, Source, StrandId, Tables, WellFormed,
};

/// Hands every event of the trace to `take`: as it stands in the trace; as it counts (nothing where
/// it does not); its position; and the names. Ends with the trace, or when `take` breaks; answers
/// with the number of events taken.
pub(super) fn feed(
    source: &mut dyn Source,
    not_atomic: Option<&mut NotAtomic>,
    progress: Progress,
    mut take: impl FnMut(&Event, Option<Event>, u64, &Tables) -> ControlFlow<()>,
) -> Result<u64, Error> {
    feed_runs(source, not_atomic, progress, |run, names| {
        for (event, index) in run.events[..run.taken].iter().zip(0..) {
            let counts = (index < run.count).then_some(*event);
            if take(event, counts, run.position + index as u64, names).is_break() {
                return ControlFlow::Break(index + 1);
            }
        }
        ControlFlow::Continue(())
    })
}

/// Events that follow one another and count, and perhaps one more that does not.
pub(super) struct Run<'a> {
    /// They, and those after them as far as read.
    pub(super) events: &'a [Event],
    /// How many of them count.
    pub(super) count: usize,
    /// How many are taken: `count`, or one more, which does not count.
    pub(super) taken: usize,
    /// The position of the first.
    pub(super) position: u64,
}

/// Hands the trace to `take` run by run, with the names. Ends with the trace, or when `take`
/// breaks, saying how many of the run's events it took; answers with the number of events taken.
pub(super) fn feed_runs(
    source: &mut dyn Source,
    mut not_atomic: Option<&mut NotAtomic>,
    mut progress: Progress,
    mut take: impl FnMut(Run<'_>, &Tables) -> ControlFlow<usize>,
) -> Result<u64, Error> {
    let mut rules = source.rules();
    let mut batch = Vec::new();
    let mut position = 0;
    while source.fill(&mut batch)? {
        let names = source.names();
        let mut at = 0;
        while at < batch.len() {
            let events = &batch[at..];
            let Admitted { count, next } = match &mut not_atomic {
                None => rules.admit_all(events),
                Some(blocks) => blocks.admit_all(&mut rules, events, names),
            };
            let taken = count + usize::from(matches!(next, Some(Ok(()))));
            if taken > 0 {
                let run = Run {
                    events,
                    count,
                    taken,
                    position: position + 1,
                };
                if let ControlFlow::Break(taken) = take(run, names) {
                    return Ok(position + taken as u64);
                }
            }
            at += taken;
            position += taken as u64;
            if let Some(Err(malformed)) = next {
                return Err(source.malformed(at, &malformed));
            }
        }
        progress.update(source.consumed(), position);
    }
    Ok(position)
}

/// The blocks that are not to count as transactions.
#[derive(Clone)]
pub(super) struct NotAtomic {
    names: HashSet<String>,
    known: HashMap<BlockId, bool>,
    /// For each strand the blocks that are open, and whether each was dropped.
    open: Dense<StrandId, Vec<bool>>,
}

impl NotAtomic {
    /// Reads names, one a line, as they stand in `begin(..)`.
    pub(super) fn read(path: &str) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Error::io(path, error))?;
        let names = text
            .lines()
            .filter(|line| !line.is_empty())
            .map(str::to_owned)
            .collect();
        Ok(Self {
            names,
            known: HashMap::new(),
            open: Dense::new(),
        })
    }

    /// As [`WellFormed::admit_all`]; the begins and ends of such blocks do not count.
    fn admit_all(&mut self, rules: &mut WellFormed, events: &[Event], names: &Tables) -> Admitted {
        Admitted::of(events, |event| {
            Ok(!self.drops(event, names) && rules.take(event)?)
        })
    }

    /// Whether the event is the begin or end of such a block.
    fn drops(&mut self, event: &Event, names: &Tables) -> bool {
        if event.op == Op::Fork {
            // The former owner of the number is gone.
            if let Some(open) = self.open.get_mut(event.other()) {
                open.clear();
            }
        }
        if !matches!(event.op, Op::Begin | Op::End) {
            return false;
        }
        let open = self.open.entry(event.strand);
        match event.op {
            Op::Begin => {
                let drops = *self.known.entry(event.block()).or_insert_with(|| {
                    let name = names.block(event.block()).name;
                    self.names.contains(&name)
                });
                open.push(drops);
                drops
            }
            // An end that has no begin is for the rules to find.
            _ => open.pop().unwrap_or(false),
        }
    }
}
