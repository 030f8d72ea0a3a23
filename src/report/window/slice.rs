//! The events of a window as a report keeps them, as data.

#[cfg(feature = "json")]
use serde::Deserialize;

use crate::report::{Block, Object, Place};
use crate::trace::Op;

/// A window's events in a report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Slice {
    /// The strands' names.
    pub strands: Vec<String>,
    /// The blocks.
    pub blocks: Vec<Block>,
    /// The objects.
    pub objects: Vec<Object>,
    /// The places.
    pub places: Vec<Place>,
    /// The events, in order.
    pub events: Vec<Row>,
    /// Where events were left out to keep the report small.
    #[cfg_attr(feature = "json", serde(default))]
    pub gaps: Vec<Gap>,
    /// What the window was too small for.
    pub missing: Option<Missing>,
}

/// An event in a [`Slice`]: its position, the index of its strand, the operation, the index of its
/// object, block or strand, and the index of its place. In JSON an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Row(
    pub u64,
    pub usize,
    #[cfg_attr(
        feature = "json",
        serde(deserialize_with = "crate::report::json::operation")
    )]
    pub Op,
    pub Option<usize>,
    pub Option<usize>,
);

/// Events that were left out of a report; none before the first event, where transactions are open
/// already.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Gap {
    /// Before which of the slice's events.
    pub at: usize,
    /// How many.
    pub events: u64,
    /// The transactions that are open at its end.
    pub open: Vec<Inside>,
}

/// An open transaction in a [`Gap`]: the index of its strand, that of its block, and the position
/// of its begin, 0 where that is not known. In JSON an array.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Inside(pub usize, pub usize, pub u64);

/// Events since the oldest open transaction's begin that the window had no room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(Deserialize))]
pub struct Missing {
    /// The first one's position.
    pub from: u64,
    /// The last one's position.
    pub to: u64,
    /// How many.
    pub events: u64,
    /// The window's bound.
    pub bytes: u64,
}

impl Slice {
    pub(in crate::report) fn places_mut(&mut self) -> impl Iterator<Item = &mut Place> {
        self.places
            .iter_mut()
            .chain(
                self.blocks
                    .iter_mut()
                    .filter_map(|block| block.place.as_mut()),
            )
            .chain(
                self.objects
                    .iter_mut()
                    .filter_map(|object| object.created.as_mut()),
            )
    }
}
