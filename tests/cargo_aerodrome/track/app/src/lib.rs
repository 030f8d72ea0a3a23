//! Depends on a pool, directly and through a crate between.

pub use between::double;
pub use pool::Pool;
pub use strict::flags;
