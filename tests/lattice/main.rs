//! The lattice against definitions: the causal order, the linear extensions, the formulas' meaning.
#![cfg(feature = "trace")]

mod bounds;
mod exhaustive;
mod oracle;
mod paper;
mod properties;
mod theorem;
mod traces;
