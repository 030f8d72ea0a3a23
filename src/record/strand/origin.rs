//! Where a thread came from that the mirror did not spawn: from a test harness, or from anywhere
//! else.

use once_cell::sync::Lazy;
use parking_lot::Mutex;
use std::collections::HashMap;

/// The outermost frames of a thread's stack at its first record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin([usize; Self::FRAMES]);

/// Who runs on a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Runner {
    /// A test harness runs a test there, or it is `main`'s thread.
    Harness,
    /// Somebody else.
    Other,
}

impl Origin {
    /// From the thread's entry to a test's function, and some more for harnesses to come.
    const FRAMES: usize = 32;

    /// That of the current thread. Allocates nothing and takes no lock of ours: a thread's first
    /// record may come from the allocator.
    pub(in crate::record) fn capture() -> Origin {
        let (mut frames, mut count) = ([0; Self::FRAMES], 0);
        let keep = |frame: &backtrace::Frame| {
            frames[count % Self::FRAMES] = frame.ip() as usize;
            count += 1;
            true
        };
        // SAFETY: what it is not synchronized with is the resolution of symbols on Windows, where
        // the other one is used.
        #[cfg(not(windows))]
        unsafe {
            backtrace::trace_unsynchronized(keep);
        }
        #[cfg(windows)]
        backtrace::trace(keep);
        Origin(frames)
    }

    /// Who runs there; nothing where the program has no symbols.
    pub(crate) fn runner(&self) -> Option<Runner> {
        static KNOWN: Lazy<Mutex<HashMap<usize, Option<Frame>>>> = Lazy::new(Mutex::default);
        let mut known = KNOWN.lock();
        let frames: Vec<Frame> = self
            .0
            .iter()
            .filter(|&&address| address != 0)
            .filter_map(|&address| *known.entry(address).or_insert_with(|| resolve(address)))
            .collect();
        if frames.contains(&Frame::Harness) {
            Some(Runner::Harness)
        } else if frames.contains(&Frame::Spawned) {
            Some(Runner::Other)
        } else {
            None
        }
    }
}

/// What the name of a function says of its thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frame {
    /// Of libtest, or what runs `main`.
    Harness,
    /// What std runs a new thread by.
    Spawned,
    Any,
}

impl Frame {
    fn of_name(name: &str) -> Frame {
        // `<std::sys::thread::unix::Thread>::new::thread_start`
        let name = name.trim_start_matches('<');
        if name.starts_with("test::") || name.starts_with("std::rt::lang_start") {
            Frame::Harness
        } else if name.starts_with("std::") && name.contains("thread_start") {
            Frame::Spawned
        } else {
            Frame::Any
        }
    }
}

/// The function that a call returns to.
fn resolve(address: usize) -> Option<Frame> {
    let mut found = None;
    backtrace::resolve(address.wrapping_sub(1) as *mut _, |symbol| {
        if let Some(name) = symbol.name() {
            let frame = Frame::of_name(&format!("{name:#}"));
            // Several, where functions were inlined.
            found = found.filter(|&frame| frame != Frame::Any).or(Some(frame));
        }
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_runs_on_a_harness_thread_and_its_threads_do_not() {
        assert_eq!(Origin::capture().runner(), Some(Runner::Harness));
        let named = std::thread::Builder::new().name("as::a::test".to_owned());
        let origin = named.spawn(Origin::capture).unwrap().join().unwrap();
        assert_eq!(origin.runner(), Some(Runner::Other));
        assert_eq!(Origin([0; Origin::FRAMES]).runner(), None);
    }
}
