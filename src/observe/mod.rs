//! The way from tested processes to an observer outside of them.
//!
//! A process that has `AERODROME_OBSERVER` set sends its events and judges none of them; the
//! command `aerodrome observe` receives them. A connection is one process: a line that says who it
//! is, and its trace in the format [`.aero`](crate::trace), as it would stand in a file. So
//! whatever writes a trace to a socket can be observed, and the line may be missing.
//!
//! Connections know nothing of each other, and their frames arrive in any order among them. Within
//! a connection the order is the collector's, in which an event comes after everything that it
//! depends on.

mod address;
mod process;
mod socket;

pub use self::address::{Address, AddressError};
pub(crate) use self::process::Process;
#[cfg(feature = "cli")]
pub(crate) use self::socket::Listener;
pub(crate) use self::socket::Stream;
