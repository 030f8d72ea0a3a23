//! The buffers: records, the chunks that they are written into, and the pool that chunks come from
//! and go back to.
//!
//! A [`Buffer`](chunk::Buffer) belongs to the thread that writes it, and knows nothing of strands
//! and blocks: a strand that moves between threads would be lent the buffer of the one that it runs
//! on.

pub(crate) mod chunk;
pub(crate) mod code;
pub(crate) mod pool;
pub(crate) mod prim;
pub(crate) mod record;
