//! The text formats of the RAPID tool.
//!
//! # STD
//!
//! A line an event, three fields: the thread, the operation with its argument, the location.
//!
//! ```text
//! T0|begin(transfer)|11
//! T0|acq(L1)|12
//! T0|r(V123)|13
//! T0|fork(T2)|14
//! T0|rel(L1)|15
//! T0|end(transfer)|16
//! ```
//!
//! | operation | event | its argument |
//! |---|---|---|
//! | `r w` | read, write | variable |
//! | `acq rel` | acquire, release | lock |
//! | `fork join` | fork, join | thread |
//! | `begin end` | begin, end | block, or nothing |
//!
//! These are RAPID's. Every other event has an operation too, so that any trace can be written as
//! STD, but RAPID does not know it:
//!
//! | operation | event | its argument |
//! |---|---|---|
//! | `acqs rels up down` | shared acquire and release, upgrade, downgrade | lock |
//! | `rw` | read and write in one | variable |
//! | `upd.add`, `.sub`, `.and`, `.or`, `.xor`, `.max`, `.min`, `.send` | update | variable |
//! | `signal await` | signal, await | variable |
//! | `send recv` | send, receive | message (a variable's name) |
//! | `retire retire.lock` | retirement | variable, lock |
//! | `split restart quit` | split, restart, exit | none |
//! | `val` | the value that the next write stores, or the next birth finds | a number |
//! | `born` | birth | variable |
//!
//! What RAPID does, and is done here:
//! - Fields are cut at `|` and there are exactly three; nothing is trimmed, so a blank belongs to
//!   the name beside it. Operations are in lower case.
//! - The argument is everything between the first `(` and the `)` at the end of the field,
//!   parentheses included.
//! - Names are arbitrary. Threads, locks and variables are told apart: `acq(x)` and `r(x)` have
//!   nothing to do with each other.
//! - `begin` and `end` need no argument. RAPID drops it; here it names the block.
//! - A line ends with `\n` or `\r\n`.
//!
//! What is different:
//! - RAPID reads a line that does not parse as the event before it once more; here it is an error.
//!   Empty lines are skipped.
//! - RAPID takes any operation that begins with `begin` or `end`; here the argument must be in
//!   parentheses.
//! - RAPID's location must be a number. Here it may be anything, and 0, or nothing, says that the
//!   location is not known. A location of the form `file:line:column` is a place in the source.
//! - Here an argument may contain blanks.
//!
//! # CSV
//!
//! A line an event and a column a thread: the number of commas before the event is the number of
//! its thread. `,,r(x),` is a read by `T2`. RAPID calls the operations `r w acq rel start join
//! enter exit`, and `sync(x)` stands for a read and a write of `x` under a lock of its own. Here
//! the names that STD has are known as well, so that blocks can be written either way. There are no
//! locations: an event's location is the number of its line, as in RAPID.
//!
//! RAPID passes over every line that it does not understand, because it could be a comment. A trace
//! of which half is silently left out is worse than none: here a line that begins with `#` and a
//! first line without any operation (the columns' titles) are passed over, and everything else is
//! an error, a second event in a line included.
//!
//! # RoadRunner's log
//!
//! What RoadRunner's printing tool writes: `@`, blanks, the operation with the thread's number and
//! its argument, then words of which the second is the location.
//!
//! ```text
//! [main: RoadRunner Agent Loaded.]
//! @  main[tid = 0] started .
//! @  Enter(0,test/Test.main([Ljava/lang/String;)V) from null
//! @   Start(0,1)
//! @   Acquire(1,@03)
//! @     ARd(1,@05[13])  Final  Test.java:116:53
//! ```
//!
//! | operation | event | its argument |
//! |---|---|---|
//! | `Rd ARd VRd`, `Wr AWr VWr` | read, write: of a field, an element, a volatile | variable |
//! | `Acquire Release` | acquire, release | lock |
//! | `Start Join` | fork, join | thread |
//! | `Enter Exit` | begin, end | method: the block |
//!
//! What RAPID does, and is done here:
//! - There are two arguments without blanks or commas; the second goes up to the word's last `)`,
//!   parentheses included.
//! - Threads, locks and variables are told apart, and a volatile is a variable like others.
//! - Accesses, enters and exits have a location; `null` or none says that it is not known.
//! - Lines that do not begin with `@` and a blank are not the tool's: the program and RoadRunner
//!   write to the same stream. They are passed over, and so are the tool's notices about threads
//!   (`[tid = 0]`).
//!
//! What is different:
//! - RAPID passes over a line of the tool that it does not understand; here it is an error.
//! - RAPID leaves out enters and exits of the methods in a file of its own; here `--not-atomic`
//!   does.
//! - RAPID drops the method's name; here it names the block.

mod csv;
mod lines;
mod marks;
mod names;
mod reader;
mod recent;
mod roadrunner;
mod text;
mod writer;

pub use csv::CsvReader;
pub use reader::StdReader;
pub use roadrunner::RoadRunnerReader;
pub(in crate::trace) use roadrunner::is_printed;
pub use writer::StdWriter;

/// The longest line.
pub(crate) const MAX_LINE: usize = 1 << 16;
