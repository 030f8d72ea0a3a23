//! What reports tell beside the cycle: stacks, and which transactions a panic has left.

use std::collections::VecDeque;
use std::path::Path;

use crate::check::Violation;
use crate::dense::Dense;
use crate::record::stacks;
use crate::report::{Frame, Place};
use crate::trace::StrandId;

/// How many stacks and panics are remembered, the newest.
const REMEMBERED: usize = 1 << 20;

#[derive(Debug, Default)]
pub(super) struct Memory {
    /// By strand: the stack of its next event.
    announced: Dense<StrandId, Option<u32>>,
    /// Positions, rising, and the stacks of the events there.
    stacks: VecDeque<(u64, u32)>,
    /// Transactions that a panic has left: whose, and where they began.
    panics: VecDeque<(StrandId, u64)>,
}

impl Memory {
    pub(super) fn stack(&mut self, strand: StrandId, stack: u32) {
        *self.announced.entry(strand) = Some(stack);
    }

    pub(super) fn event(&mut self, strand: StrandId, position: u64) {
        if let Some(stack) = self.announced.take(strand) {
            remember(&mut self.stacks, (position, stack));
        }
    }

    /// The strand's transaction that began there is left by a panic.
    pub(super) fn left_by_panic(&mut self, strand: StrandId, begin: u64) {
        remember(&mut self.panics, (strand, begin));
    }

    /// The stacks of the blamed transaction's accesses.
    pub(super) fn backtraces(&self, violation: &Violation) -> Vec<(u64, Vec<Frame>)> {
        let accesses = violation.edges.iter().flat_map(|edge| [edge.from, edge.to]);
        let strand = violation.transactions[violation.blame].strand;
        let stacks = accesses
            .filter(|access| access.strand == strand)
            .filter_map(|access| {
                let at = self
                    .stacks
                    .binary_search_by_key(&access.position, |&(position, _)| position)
                    .ok()?;
                Some((access.position, frames(self.stacks[at].1)))
            });
        stacks.collect()
    }

    /// Which of the violation's transactions were left by a panic.
    pub(super) fn panicked(&self, violation: &Violation) -> Vec<usize> {
        let transactions = violation.transactions.iter().enumerate();
        let panicked = transactions.filter(|(_, transaction)| {
            transaction
                .begin
                .is_some_and(|begin| self.panics.contains(&(transaction.strand, begin)))
        });
        panicked.map(|(index, _)| index).collect()
    }
}

fn remember<T>(memory: &mut VecDeque<T>, thing: T) {
    if memory.len() == REMEMBERED {
        memory.pop_front();
    }
    memory.push_back(thing);
}

/// Whether a source file is the checker's, the standard library's or the unwinder's. Functions
/// alone do not tell: with little debug information an inlined one has no path.
fn is_machinery(file: &Path) -> bool {
    file.starts_with(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))
        || file.starts_with("/rustc")
        || file
            .iter()
            .any(|part| part.to_string_lossy().starts_with("backtrace-"))
}

fn frames(stack: u32) -> Vec<Frame> {
    let mut frames = Vec::new();
    stacks::resolve(stack, |symbol| {
        let file = symbol.filename();
        if file.is_some_and(is_machinery) {
            return;
        }
        let place = file.zip(symbol.lineno()).map(|(file, line)| Place::Source {
            file: file.display().to_string(),
            line,
            column: symbol.colno().unwrap_or(1),
        });
        let function = symbol
            .name()
            .map_or_else(|| "<unknown>".to_owned(), |name| format!("{name:#}"));
        frames.push(Frame { function, place });
    });
    frames
}
