//! A trace's events, one by one, checked.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use super::Failure;
use super::progress::Progress;
use crate::trace::{BlockId, Error, Event, Names, Op, Source, Tables};

/// Hands every event of the trace to `take`: as it stands in the trace, with some of those that follow; as it counts (nothing where it
/// does not); its position; and the names. Ends with the trace, or when `take` breaks; answers with the number of events taken.
pub(super) fn feed(
    source: &mut dyn Source,
    mut not_atomic: Option<&mut NotAtomic>,
    mut progress: Progress,
    mut take: impl FnMut(&[Event], Option<Event>, u64, &Tables) -> ControlFlow<()>,
) -> Result<u64, Error> {
    let mut rules = source.rules();
    let mut batch = Vec::new();
    let mut position = 0;
    while source.fill(&mut batch)? {
        let names = source.names();
        for (index, event) in batch.iter().enumerate() {
            position += 1;
            let dropped = not_atomic
                .as_mut()
                .is_some_and(|blocks| blocks.drops(event, names));
            let counts = match if dropped {
                Ok(None)
            } else {
                rules.admit(event)
            } {
                Ok(counts) => counts,
                Err(malformed) => return Err(source.malformed(index, &malformed)),
            };
            if take(&batch[index..], counts, position, names).is_break() {
                return Ok(position);
            }
        }
        progress.update(source.consumed(), position);
    }
    Ok(position)
}

/// The blocks that are not to count as transactions.
pub(super) struct NotAtomic {
    names: HashSet<String>,
    known: HashMap<BlockId, bool>,
    /// For each strand the blocks that are open, and whether each was dropped.
    open: Vec<Vec<bool>>,
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
            open: Vec::new(),
        })
    }

    /// Whether the event is the begin or end of such a block.
    fn drops(&mut self, event: &Event, names: &Tables) -> bool {
        if event.op == Op::Fork
            && let Some(open) = self.open.get_mut(event.target as usize)
        {
            // Whoever had the number before has left it.
            open.clear();
        }
        if !matches!(event.op, Op::Begin | Op::End) {
            return false;
        }
        let at = event.strand.0 as usize;
        if at >= self.open.len() {
            self.open.resize(at + 1, Vec::new());
        }
        let open = &mut self.open[at];
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
