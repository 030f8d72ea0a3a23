//! The events of this process go to an observer outside of it, which judges them.
//!
//! The collector writes the trace to the socket. Where the observer is slow, the collector waits
//! for it and the strands for the collector, so the program runs as fast as it is observed. An
//! observer that takes nothing for [`PATIENCE`], or has closed the connection, is given up.

use std::io;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use crate::observe::{Address, Process, Stream};
use crate::trace::{AeroWriter, Semantics};

/// For how long an observer may take nothing.
const PATIENCE: Duration = Duration::from_secs(10);

/// The connection to the observer.
pub(super) struct Observer {
    // First, so that what it names is still open.
    inheritance: Inheritance,
    pub(super) writer: AeroWriter<Stream>,
}

impl Observer {
    pub(super) fn connect(address: &Address, semantics: Semantics) -> io::Result<Self> {
        use io::Write;

        let mut stream = Stream::connect(address, PATIENCE)?;
        stream.set_patience(PATIENCE)?;
        stream.write_all(Process::this().greeting().as_bytes())?;
        Ok(Self {
            inheritance: Inheritance::new(&stream),
            writer: AeroWriter::new(stream, semantics)?,
        })
    }

    /// There are no more events.
    pub(super) fn finish(self) -> io::Result<()> {
        drop(self.inheritance);
        // The end marker is written: an observer that has it may have gone.
        let _ = self.writer.finish()?.close();
        Ok(())
    }
}

/// The descriptor that a forked process inherits, or -1.
static INHERITED: AtomicI32 = AtomicI32::new(-1);

/// While it lives, forked processes close the connection that they inherit. They send nothing, and
/// with theirs the observer would wait for this process though it was killed.
struct Inheritance;

impl Inheritance {
    fn new(stream: &Stream) -> Self {
        INHERITED.store(stream.descriptor(), Ordering::Relaxed);
        Self
    }
}

impl Drop for Inheritance {
    fn drop(&mut self) {
        INHERITED.store(-1, Ordering::Relaxed);
    }
}

/// This is a forked process, in which nobody will use the connection.
#[cfg(unix)]
pub(super) fn close_inherited() {
    use std::os::fd::FromRawFd;

    let descriptor = INHERITED.swap(-1, Ordering::Relaxed);
    if descriptor >= 0 {
        // SAFETY: the stream that owns it lives in the collector, which does not run here and is
        // never dropped.
        drop(unsafe { std::os::fd::OwnedFd::from_raw_fd(descriptor) });
    }
}

/// Why the observer has to be given up.
pub(super) fn explain(error: &io::Error) -> String {
    match error.kind() {
        // What the system calls a write that had to wait for too long.
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => {
            format!("it took nothing for {} seconds", PATIENCE.as_secs())
        }
        _ => error.to_string(),
    }
}
