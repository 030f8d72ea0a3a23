//! A test of this binary, run in a process of its own: what it does to the process is the result.
//!
//! Such a test does nothing in the process of the others: it asks [`is_child`] first.

#![allow(dead_code, reason = "each test binary uses its part")]

use std::ffi::OsStr;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Longer than any of them takes, on a busy machine too.
pub(crate) const TIME_LIMIT: Duration = Duration::from_secs(120);

/// Set for processes that tests have started.
pub(crate) const CHILD: &str = "TEST_CHILD";

/// Whether another test has started this process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// What became of a process.
#[derive(Debug)]
pub(crate) struct Ended {
    /// Nothing if a signal ended it.
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ended {
    /// Everything that the process has said.
    pub(crate) fn output(&self) -> String {
        format!("{}\n{}", self.stdout, self.stderr)
    }

    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.output());
        self
    }

    /// How often a text was said.
    pub(crate) fn count(&self, text: &str) -> usize {
        self.output().matches(text).count()
    }
}

/// The test of this name in this binary, to be run by itself with its output shown.
pub(crate) fn child(test: &str) -> Command {
    let mut command = clean(std::env::current_exe().expect("this binary"));
    command.args(["--exact", "--nocapture", "--test-threads=1"]);
    command.arg(test);
    command
}

/// A program that inherits no setting, and knows that a test has started it.
pub(crate) fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("AERODROME") {
            command.env_remove(name);
        }
    }
    command.env("AERODROME_QUIET", "1").env(CHILD, "1");
    command.env_remove("RUST_BACKTRACE");
    command
}

/// Runs a command to its end.
///
/// # Panics
///
/// If it takes longer than [`TIME_LIMIT`].
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Ended {
    let mut process = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = drain(process.stdout.take().expect("piped"));
    let stderr = drain(process.stderr.take().expect("piped"));
    let start = Instant::now();
    let status = loop {
        if let Some(status) = process.try_wait().expect("our own child") {
            break status;
        }
        if start.elapsed() > TIME_LIMIT {
            let _ = process.kill();
            let _ = process.wait();
            panic!(
                "{command:?} did not end\n{}\n{}",
                stdout.join().expect("reads"),
                stderr.join().expect("reads")
            );
        }
        thread::sleep(Duration::from_millis(5));
    };
    Ended {
        code: status.code(),
        stdout: stdout.join().expect("reads"),
        stderr: stderr.join().expect("reads"),
    }
}

fn drain(mut from: impl Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// An empty directory that is removed with everything in it, unless the test fails.
pub(crate) struct Directory(PathBuf);

impl Directory {
    pub(crate) fn new() -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("aerodrome-test-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a temporary directory");
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// The traces that processes have left here.
    pub(crate) fn traces(&self) -> Vec<String> {
        let entries = std::fs::read_dir(&self.0).expect("the directory");
        let paths = entries.map(|entry| entry.expect("an entry").path());
        let traces = paths.filter(|path| path.extension().is_some_and(|it| it == "aero"));
        traces
            .map(|path| path.to_string_lossy().into_owned())
            .collect()
    }

    /// The trace that a process has left here.
    #[track_caller]
    pub(crate) fn trace(&self) -> String {
        let traces = self.traces();
        let [trace] = &traces[..] else {
            panic!("expected one trace of one process, found {traces:?}")
        };
        trace.clone()
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        if thread::panicking() {
            println!("kept: {}", self.0.display());
        } else {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}
