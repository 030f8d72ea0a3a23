//! `once_cell` 1, tracked.
//!
//! Without the `check` feature every name here *is* the one of once_cell. With it, the cells of
//! [`sync`] and [`race`] are types of the same interface that record what is done with them:
//! initialising commutes with itself and with finding it done, `get` is a read, `set` a write.
//! Those of [`unsync`] stay once_cell's own, because no two strands share one.
//!
//! ```
//! use aerodrome::once_cell::sync::Lazy;
//!
//! static NAMES: Lazy<Vec<&str>> = Lazy::new(|| vec!["ada", "bob"]);
//! assert_eq!(NAMES.len(), 2);
//! ```

#[cfg(feature = "check")]
pub mod race;
#[cfg(feature = "check")]
pub mod sync;

pub use ::once_cell::unsync;
#[cfg(not(feature = "check"))]
pub use ::once_cell::{race, sync};
