//! View consistency (Artho, Havelund and Biere, as RV 2003, section 2 has it), asked of methods as
//! von Praun and Gross do: a baseline that is neither weaker nor stronger than atomicity.
//!
//! A view is the set of variables that a critical section accesses. A method is consistent with
//! another one of another strand if its views, cut down to the variables of that one, form a chain
//! of subsets.

use super::transactions::{Transaction, Whole};
use aerodrome::trace::{Event, ObjectId};
use std::collections::BTreeSet;

type View = BTreeSet<ObjectId>;

/// The transactions, by their number in the trace, that are not consistent with another strand's.
pub(crate) fn inconsistent(trace: &[Event]) -> Vec<usize> {
    let whole = Whole::of(trace);
    let blocks: Vec<&Transaction> = whole.transactions.iter().filter(|it| it.is_block).collect();
    let is_inconsistent = |own: &&Transaction| {
        let others = blocks.iter().filter(|other| other.strand != own.strand);
        let mut maximal = others.map(|other| variables(other));
        maximal.any(|maximal| !is_chain(&views(own), &maximal))
    };
    let numbered = blocks.iter().enumerate();
    let found = numbered.filter(|(_, own)| is_inconsistent(own));
    found.map(|(number, _)| number).collect()
}

/// The variables of each outermost critical section.
fn views(transaction: &Transaction) -> Vec<View> {
    let mut views = Vec::new();
    let mut view = View::new();
    for moment in &transaction.moments {
        if moment.is_access() && !moment.held.is_empty() {
            view.insert(moment.event.object());
        }
        if moment.held.is_empty() && !view.is_empty() {
            views.push(std::mem::take(&mut view));
        }
    }
    views
}

fn variables(transaction: &Transaction) -> View {
    let accesses = transaction.moments.iter().filter(|it| it.is_access());
    accesses.map(|it| it.event.object()).collect()
}

/// Are of any two views, cut down to these variables, one part of the other?
fn is_chain(views: &[View], variables: &View) -> bool {
    let cut = |view: &View| -> View { view.intersection(variables).copied().collect() };
    let cut: Vec<View> = views.iter().map(cut).collect();
    let is_ordered = |a: &View, b: &View| a.is_subset(b) || b.is_subset(a);
    cut.iter().all(|a| cut.iter().all(|b| is_ordered(a, b)))
}
