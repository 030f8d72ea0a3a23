//! Blocks that were weakened: split by a wait, and judged in parts.

use std::fmt;

use super::{Block, Place};
use crate::check::Checker;
use crate::trace::Names;

/// A block that has waited for another strand's progress, which cannot be atomic: what came before
/// the wait and what came after it were two transactions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The block's name.
    pub block: String,
    /// Where the block is.
    pub place: Option<Place>,
    /// Where it waited.
    pub wait: Option<Place>,
    /// How often.
    pub count: u64,
}

impl Split {
    /// Every split of a check so far.
    pub fn all(checker: &Checker, names: &dyn Names) -> Vec<Split> {
        let splits = checker.splits().map(|(block, site, count)| {
            let block = Block::of(block, names);
            Split {
                block: block.name,
                place: block.place,
                wait: Place::of(site, names),
                count,
            }
        });
        splits.collect()
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`", self.block)?;
        if let Some(place) = &self.place {
            write!(f, " ({place})")?;
        }
        f.write_str(" waited")?;
        if let Some(wait) = &self.wait {
            write!(f, " at {wait}")?;
        }
        match self.count {
            1 => f.write_str(" once")?,
            count => write!(f, " {count} times")?,
        }
        f.write_str(": what comes before and after a wait is not judged as one")
    }
}
