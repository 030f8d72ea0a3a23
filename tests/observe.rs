//! Processes that send their events to an observer, and what it makes of them.

#![cfg(all(feature = "check", feature = "cli", unix))]

mod process;

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::{Child, Command, Stdio};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use aerodrome::sync::{Condvar, Mutex};
use aerodrome::trace::{AeroReader, AeroWriter, Event, Op, Semantics, SiteId, Source, StrandId};
use aerodrome::watch::Watched;
use aerodrome::{atomic_block, thread};
use serde_json::Value;

use self::process::{Directory, Ended, child, clean, is_child, run};

const OBSERVER: &str = "AERODROME_OBSERVER";

/// The command, told to observe.
fn observe(arguments: &[&str]) -> Command {
    let mut command = clean(env!("CARGO_BIN_EXE_aerodrome"));
    command.arg("observe").args(arguments);
    command
}

/// An observer that runs.
struct Observer {
    process: Child,
    stderr: BufReader<std::process::ChildStderr>,
    /// Where it says that it listens.
    address: String,
}

impl Observer {
    fn start(arguments: &[&str]) -> Self {
        Self::of(observe(arguments))
    }

    fn of(mut command: Command) -> Self {
        let mut process = command
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stderr = BufReader::new(process.stderr.take().unwrap());
        let mut line = String::new();
        stderr.read_line(&mut line).unwrap();
        let address = line.strip_prefix("observing: AERODROME_OBSERVER=");
        let address = address.unwrap_or_else(|| panic!("{line}")).trim();
        Self {
            address: address.to_owned(),
            process,
            stderr,
        }
    }

    fn signal(&self, signal: i32) {
        // SAFETY: it is our own child, and not yet waited for.
        assert_eq!(unsafe { libc::kill(self.process.id() as i32, signal) }, 0);
    }

    /// Waits for its end.
    fn end(mut self) -> Ended {
        let mut stderr = String::new();
        let mut stdout = String::new();
        let mut out = self.process.stdout.take().unwrap();
        out.read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        Ended {
            code: self.process.wait().unwrap().code(),
            stdout,
            stderr,
        }
    }

    fn child(&self, test: &str) -> Command {
        let mut command = child(test);
        command.env(OBSERVER, &self.address);
        command
    }
}

impl Drop for Observer {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn json(ended: &Ended) -> Value {
    serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
}

/// Starts a process, and waits until it says that it is ready.
fn ready(command: &mut Command) -> Child {
    let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
    let out = BufReader::new(process.stdout.take().unwrap());
    let mut lines = out.lines().map_while(Result::ok);
    assert!(lines.any(|line| line.contains("ready")), "{command:?}");
    // What else it says is read, too: it may die of a closed pipe.
    std::thread::spawn(move || lines.for_each(drop));
    process
}

fn kill(mut process: Child) {
    // What it has published is sent within milliseconds; the machine may be busy.
    std::thread::sleep(Duration::from_secs(1));
    process.kill().unwrap();
    process.wait().unwrap();
}

// Programs.

/// Another thread writes between a block's read and its write.
fn lose_an_update(after: impl FnOnce()) {
    let (balance, turn) = (Mutex::new(100), Barrier::new(2));
    thread::scope(|s| {
        s.spawn(|| {
            turn.wait();
            *balance.lock().unwrap() += 1;
            turn.wait();
        });
        atomic_block!(name = "withdraw", {
            let seen = *balance.lock().unwrap();
            turn.wait();
            turn.wait();
            *balance.lock().unwrap() = seen - 30;
            after();
        });
    });
}

fn stay() -> ! {
    println!("ready");
    loop {
        std::thread::sleep(Duration::from_secs(1));
    }
}

#[test]
fn child_loses_an_update() {
    if is_child() {
        lose_an_update(|| {});
    }
}

#[test]
fn child_is_fine() {
    if is_child() {
        let balance = Mutex::new(0);
        thread::scope(|s| {
            for _ in 0..2 {
                s.spawn(|| atomic_block!(*balance.lock().unwrap() += 1));
            }
        });
    }
}

#[test]
fn child_stays_in_a_block() {
    if is_child() {
        let locks = [Mutex::new(0), Mutex::new(0), Mutex::new(0)];
        atomic_block!({
            for lock in &locks {
                *lock.lock().unwrap() += 1;
            }
            stay();
        });
    }
}

#[test]
fn child_forks_and_stays() {
    if is_child() {
        lose_an_update(|| {});
        // Until it is connected.
        std::thread::sleep(Duration::from_secs(1));
        // SAFETY: the new process only sleeps and ends.
        if unsafe { libc::fork() } == 0 {
            std::thread::sleep(Duration::from_secs(30));
            // SAFETY: it ends this process.
            unsafe { libc::_exit(0) };
        }
        stay();
    }
}

#[test]
fn child_loses_an_update_and_stays() {
    if is_child() {
        lose_an_update(|| stay());
    }
}

#[test]
fn child_waits_in_a_block() {
    if is_child() {
        let (is_open, opened) = (Mutex::new(false), Condvar::new());
        thread::scope(|s| {
            s.spawn(|| {
                atomic_block!(name = "enter", {
                    let is_open = is_open.lock().unwrap();
                    drop(opened.wait_while(is_open, |is_open| !*is_open).unwrap());
                })
            });
            // The block has to wait.
            std::thread::sleep(Duration::from_millis(100));
            *is_open.lock().unwrap() = true;
            opened.notify_one();
        });
    }
}

/// Transactions of five events, which take more room than there is on the way.
const COUNT: usize = 40_000;

#[test]
fn child_counts() {
    if is_child() {
        let count = Mutex::new(0);
        for _ in 0..COUNT {
            atomic_block!(*count.lock().unwrap() += 1);
        }
    }
}

/// Many more events than fit between a process and its observer.
#[test]
fn child_goes_on() {
    if is_child() {
        // As in programs that want to end with the pipe that they write to.
        // SAFETY: no handler is installed.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let balance = Mutex::new(0);
        let add = || *balance.lock().unwrap() += 1;
        add();
        println!("ready");
        let start = Instant::now();
        while start.elapsed() < Duration::from_secs(3) {
            (0..10_000).for_each(|_| atomic_block!(add()));
        }
        let outcome = aerodrome::check(add);
        assert!(!outcome.is_complete() && outcome.incomplete.is_some());
        println!("done");
    }
}

#[test]
fn child_claims_nothing() {
    if is_child() {
        let outcome = aerodrome::check(|| lose_an_update(|| {}));
        assert!(outcome.violations.is_empty() && outcome.incomplete.is_none());
        assert!(!outcome.is_complete() && !outcome.is_serializable());
        println!("judged by {}", outcome.observer.unwrap());
    }
}

#[aerodrome::test]
fn child_is_an_aerodrome_test() {
    if is_child() {
        lose_an_update(|| {});
    }
}

static LEFT: Watched<i64> = Watched::<i64>::new("left", 0);
static RIGHT: Watched<i64> = Watched::<i64>::new("right", 0);

/// Nothing that is recorded orders the two.
fn set_left_then_right() {
    let turn = Barrier::new(2);
    thread::scope(|s| {
        s.spawn(|| {
            LEFT.set(1);
            turn.wait();
        });
        s.spawn(|| {
            turn.wait();
            RIGHT.set(1);
        });
    });
}

#[test]
fn child_sets_left_then_right() {
    if is_child() {
        set_left_then_right();
    }
}

#[test]
fn child_declares_a_property() {
    if is_child() {
        aerodrome::property!("right <= left");
        set_left_then_right();
    }
}

#[test]
fn child_withdraws_twice() {
    if is_child() {
        let (balance, turn) = (Mutex::new(100), Barrier::new(2));
        let withdraw = |amount| {
            atomic_block!(name = "withdraw", {
                let seen = *balance.lock().unwrap();
                *balance.lock().unwrap() = seen - amount;
            })
        };
        thread::scope(|s| {
            s.spawn(|| {
                withdraw(60);
                turn.wait();
            });
            s.spawn(|| {
                turn.wait();
                withdraw(30);
            });
        });
    }
}

// What the observer says.

#[test]
fn eight_processes_at_once_have_one_report() {
    let observer = Observer::start(&["--json", "--processes", "8"]);
    let killed = ready(&mut observer.child("child_stays_in_a_block"));
    let killed_id = killed.id();
    let tests = [
        "child_is_fine",
        "child_loses_an_update",
        "child_is_fine",
        "child_loses_an_update",
        "child_is_fine",
        "child_loses_an_update",
        "child_is_fine",
    ];
    let others = tests.map(|test| {
        let mut command = observer.child(test);
        (test, command.stdout(Stdio::null()).spawn().unwrap())
    });
    let others = others.map(|(test, mut process)| {
        // None of them judges itself.
        assert!(process.wait().unwrap().success(), "{test}");
        (test, process.id())
    });
    kill(killed);
    let ended = observer.end().expect_code(1);
    let report = json(&ended);
    assert_eq!(report["verdict"], "violation");
    let processes = report["processes"].as_array().unwrap();
    assert_eq!(processes.len(), 8);
    let of = |id: u32| {
        let end = format!("(process {id})");
        let is = |process: &&Value| process["process"].as_str().unwrap().ends_with(&end);
        processes.iter().find(is).unwrap()
    };
    for (test, id) in others {
        let violations = u64::from(test == "child_loses_an_update");
        assert_eq!(of(id)["violations"], violations, "{test}");
        assert_eq!(of(id)["cut_off"], Value::Null, "{test}");
    }
    // Begin, and three times acquire, write and release.
    assert_eq!(of(killed_id)["events"], 10);
    let cut_off = of(killed_id)["cut_off"].as_str().unwrap();
    assert!(cut_off.contains("found the end of the file"), "{cut_off}");
    let violations = report["violations"].as_array().unwrap();
    assert_eq!(violations.len(), 3);
    for violation in violations {
        let message = violation["message"].as_str().unwrap();
        assert!(message.contains("`withdraw` is not atomic"), "{message}");
    }
    let said = format!("(process {killed_id}) was cut off before its end");
    assert_eq!(ended.stderr.matches(&said).count(), 1, "{}", ended.stderr);
}

#[test]
fn a_killed_process_is_judged_to_the_event_that_it_published_last() {
    let observer = Observer::start(&["--processes=1"]);
    kill(ready(
        &mut observer.child("child_loses_an_update_and_stays"),
    ));
    let ended = observer.end().expect_code(1);
    assert_eq!(ended.stdout.matches("`withdraw` is not atomic").count(), 1);
    assert!(
        ended.stdout.contains("\nviolation: 1 process, "),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("\nnote: observe"), "{}", ended.stdout);
}

#[test]
fn a_killed_process_that_has_forked_another_is_not_waited_for() {
    let observer = Observer::start(&["--processes=1"]);
    let process = ready(&mut observer.child("child_forks_and_stays"));
    kill(process);
    let start = Instant::now();
    let ended = observer.end().expect_code(1);
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "{}",
        ended.output()
    );
}

#[test]
fn what_is_observed_is_not_judged_in_process_and_says_so() {
    let observer = Observer::start(&["--processes=2"]);
    let address = observer.address.clone();
    let mut command = observer.child("child_claims_nothing");
    let ended = run(command.env("AERODROME_QUIET", "0")).expect_code(0);
    assert_eq!(ended.count(&format!("judged by {address}")), 1);
    let said = format!("1 transaction, judged by the observer at `{address}`");
    assert_eq!(ended.count(&said), 1, "{}", ended.output());
    assert_eq!(ended.count("0 violations"), 0, "{}", ended.output());
    run(&mut observer.child("child_is_an_aerodrome_test")).expect_code(0);
    let ended = observer.end().expect_code(1);
    assert!(
        ended.stdout.contains("\n2 violations: 2 processes, "),
        "{}",
        ended.stdout
    );
}

#[test]
fn properties_hold_in_all_runs_that_are_consistent_with_each_process() {
    let observer = Observer::start(&["--processes=2", "--property", "right <= left"]);
    run(&mut observer.child("child_is_fine")).expect_code(0);
    run(&mut observer.child("child_sets_left_then_right")).expect_code(0);
    let ended = observer.end().expect_code(1);
    for text in ["violating run 1 of 1", "serializable: 2 processes, "] {
        assert_eq!(ended.count(text), 1, "{}", ended.output());
    }

    let observer = Observer::start(&["--processes=1", "--property", "right <= left + 1"]);
    run(&mut observer.child("child_sets_left_then_right")).expect_code(0);
    let ended = observer.end().expect_code(0);
    assert_eq!(
        ended.count("holds in every consistent run"),
        1,
        "{}",
        ended.output()
    );

    let observer = Observer::start(&["--processes=1", "--property", "up"]);
    run(&mut observer.child("child_sets_left_then_right")).expect_code(0);
    let ended = observer.end().expect_code(2);
    let said = "error: no process has variables of the names in the property `up`";
    assert_eq!(ended.count(said), 1, "{}", ended.output());

    let ended = run(&mut observe(&["--property", "1 +"])).expect_code(2);
    assert!(
        ended.stderr.starts_with("error: --property: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_property_that_a_test_declares_is_decided_in_process() {
    let observer = Observer::start(&["--processes=1"]);
    let ended = run(&mut observer.child("child_declares_a_property")).expect_code(101);
    assert_eq!(ended.count("violating run 1 of 1"), 1, "{}", ended.output());
    observer.end().expect_code(0);
}

#[test]
fn other_schedules_of_each_process_are_predicted() {
    let observer = Observer::start(&["--processes=1", "--predict"]);
    run(&mut observer.child("child_withdraws_twice")).expect_code(0);
    let ended = observer.end().expect_code(1);
    assert!(
        ended.stdout.starts_with("other schedules of observe-"),
        "{}",
        ended.stdout
    );
    assert!(ended.stdout.contains("`withdraw`"), "{}", ended.stdout);
    assert!(
        ended.stdout.contains("\nserializable: 1 process, "),
        "{}",
        ended.stdout
    );
}

#[test]
fn pages_show_the_violations_of_all_processes() {
    let folder = Directory::new();
    let path = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (page, sarif) = (path("page.html"), path("out.sarif"));
    let observer = Observer::start(&["--processes=2", "--html", &page, "--sarif", &sarif]);
    for _ in 0..2 {
        run(&mut observer.child("child_loses_an_update")).expect_code(0);
    }
    let ended = observer.end().expect_code(1);
    assert_eq!(ended.stdout, "");
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("\"count\":2,"), "the same of two processes");
    let sarif: Value = serde_json::from_str(&std::fs::read_to_string(sarif).unwrap()).unwrap();
    assert_eq!(sarif["runs"][0]["results"].as_array().unwrap().len(), 2);
}

#[test]
fn a_block_that_is_split_in_several_processes_is_noted_once() {
    let observer = Observer::start(&["--processes=2"]);
    for _ in 0..2 {
        run(&mut observer.child("child_waits_in_a_block")).expect_code(0);
    }
    let ended = observer.end().expect_code(0);
    assert_eq!(ended.count("note: "), 1, "{}", ended.output());
    assert_eq!(ended.count("`enter`"), 1, "{}", ended.output());
}

// When it ends.

#[test]
fn a_command_is_observed_to_its_end_and_gives_its_exit_code() {
    let this = std::env::current_exe().unwrap();
    let this = this.to_str().unwrap();
    let observed = |test| run(&mut observe(&["--", this, "--exact", test, "--nocapture"]));
    let ended = observed("child_is_fine").expect_code(0);
    assert!(
        ended.stdout.contains("\nserializable: 1 process, "),
        "{}",
        ended.stdout
    );
    let ended = observed("child_loses_an_update").expect_code(1);
    assert!(
        ended.stdout.contains("\nviolation: 1 process, "),
        "{}",
        ended.stdout
    );
    let ended = run(&mut observe(&["--", "sh", "-c", "exit 7"])).expect_code(7);
    assert_eq!(ended.stdout, "serializable: 0 processes, 0 events\n");
    let ended = run(&mut observe(&["--", "/no/such/program"])).expect_code(2);
    assert!(
        ended.stderr.starts_with("error: /no/such/program: "),
        "{}",
        ended.stderr
    );
}

#[test]
fn a_signal_ends_the_observer_with_a_report_of_what_it_has() {
    for signal in [libc::SIGINT, libc::SIGTERM] {
        let observer = Observer::start(&[]);
        let socket = observer.address.strip_prefix("unix:").unwrap().to_owned();
        let process = ready(&mut observer.child("child_loses_an_update_and_stays"));
        std::thread::sleep(Duration::from_secs(1));
        observer.signal(signal);
        let ended = observer.end().expect_code(1);
        assert!(
            ended.stdout.contains("\nviolation: 1 process, "),
            "{}",
            ended.stdout
        );
        assert!(!std::fs::exists(&socket).unwrap(), "{socket} is left");
        kill(process);
    }
}

// Addresses.

#[test]
fn processes_reach_an_observer_on_the_loopback() {
    let observer = Observer::start(&["--processes=1", "127.0.0.1:0"]);
    assert!(
        observer.address.starts_with("127.0.0.1:"),
        "{}",
        observer.address
    );
    run(&mut observer.child("child_loses_an_update")).expect_code(0);
    observer.end().expect_code(1);
}

#[test]
fn an_address_that_leaves_the_machine_is_refused() {
    for address in ["0.0.0.0:7070", "example.org:7070"] {
        let expected = "expected the path of a Unix socket (`unix:/tmp/observer.sock`) or an \
                        address of the loopback interface (`127.0.0.1:7070`)";
        let ended = run(&mut observe(&[address])).expect_code(2);
        let said = format!("error: ADDRESS: {expected}, found `{address}`\n");
        assert!(ended.stderr.starts_with(&said), "{}", ended.stderr);
        let ended = run(child("child_is_fine").env(OBSERVER, address)).expect_code(2);
        let said = format!("aerodrome: {OBSERVER}: {expected}, found `{address}`\n");
        assert_eq!(ended.count(&said), 1, "{}", ended.output());
    }
}

#[test]
fn a_path_is_taken_unless_something_is_there() {
    let folder = Directory::new();
    let path = folder.path().join("a.sock");
    let path = path.to_str().unwrap();
    std::fs::write(path, "mine").unwrap();
    let ended = run(&mut observe(&[path])).expect_code(2);
    assert_eq!(
        ended.count("expected a path where nothing is, found a file"),
        1
    );
    std::fs::remove_file(path).unwrap();
    let observer = Observer::start(&["--processes=1", path]);
    let ended = run(&mut observe(&[path])).expect_code(2);
    assert_eq!(ended.count("another process listens there"), 1);
    observer.signal(libc::SIGKILL);
    drop(observer);
    assert!(std::fs::exists(path).unwrap());
    let observer = Observer::start(&["--processes=1", path]);
    run(&mut observer.child("child_is_fine")).expect_code(0);
    observer.end().expect_code(0);
}

/// The path of a socket in a folder of its own.
fn socket(folder: &Directory) -> String {
    let path = folder.path().join("o.sock");
    path.to_str().unwrap().to_owned()
}

#[test]
fn an_observer_removes_its_own_socket_only() {
    let folder = Directory::new();
    let path = socket(&folder);
    let first = Observer::start(&[&path]);
    std::fs::remove_file(&path).unwrap();
    let second = Observer::start(&[&path]);
    first.signal(libc::SIGTERM);
    first.end().expect_code(0);
    UnixStream::connect(&path).unwrap();
    second.signal(libc::SIGTERM);
    second.end().expect_code(0);
    assert!(!std::fs::exists(&path).unwrap());
}

#[test]
fn a_socket_is_its_users_alone() {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::CommandExt;

    let folder = Directory::new();
    let path = socket(&folder);
    for mask in [0, 0o777] {
        let mut command = observe(&[&path]);
        // SAFETY: it changes nothing but the umask of the new process.
        unsafe {
            command.pre_exec(move || {
                libc::umask(mask);
                Ok(())
            })
        };
        let observer = Observer::of(command);
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{mode:o}");
        observer.signal(libc::SIGTERM);
        observer.end().expect_code(0);
    }
}

/// Connects as often as the listener's queue has room for.
fn fill_queue(path: &str) -> Vec<std::os::fd::OwnedFd> {
    use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

    let mut address = libc::sockaddr_un {
        sun_family: libc::AF_UNIX as libc::sa_family_t,
        sun_path: [0; 108],
    };
    for (to, from) in address.sun_path.iter_mut().zip(path.bytes()) {
        *to = from as libc::c_char;
    }
    let mut clients = Vec::new();
    loop {
        // SAFETY: a new descriptor, which is ours; the address is as long as is said.
        let (client, connected) = unsafe {
            let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK;
            let client = OwnedFd::from_raw_fd(libc::socket(libc::AF_UNIX, kind, 0));
            let length = size_of_val(&address) as libc::socklen_t;
            let it = (&raw const address).cast();
            let connected = libc::connect(client.as_raw_fd(), it, length);
            (client, connected)
        };
        if connected != 0 {
            let error = std::io::Error::last_os_error();
            assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock, "{error}");
            return clients;
        }
        clients.push(client);
    }
}

#[test]
fn a_second_observer_does_not_wait_for_one_that_is_stopped() {
    let folder = Directory::new();
    let path = socket(&folder);
    let first = Observer::start(&[&path]);
    first.signal(libc::SIGSTOP);
    let waiting = fill_queue(&path);
    assert!(!waiting.is_empty());
    let start = Instant::now();
    let ended = run(&mut observe(&[&path])).expect_code(2);
    assert_eq!(ended.count("another process listens there"), 1, "{ended:?}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn an_observer_without_a_free_descriptor_ends_at_a_signal() {
    use std::os::unix::process::CommandExt;

    let folder = Directory::new();
    let path = socket(&folder);
    // Whatever else it has open, one of these takes its last descriptor.
    for limit in 30..34 {
        let mut command = observe(&[&path]);
        // SAFETY: it changes nothing but a limit of the new process.
        unsafe {
            command.pre_exec(move || {
                let limit = libc::rlimit {
                    rlim_cur: limit,
                    rlim_max: limit,
                };
                libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
                Ok(())
            })
        };
        let mut observer = Observer::of(command);
        let connect = |_| {
            let mut client = UnixStream::connect(&path).unwrap();
            client.write_all(b"p").unwrap();
            client
        };
        let clients: Vec<_> = (0..limit).map(connect).collect();
        std::thread::sleep(Duration::from_millis(500));
        observer.signal(libc::SIGTERM);
        let start = Instant::now();
        while observer.process.try_wait().unwrap().is_none() {
            assert!(start.elapsed() < Duration::from_secs(20), "it hangs");
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(clients);
        // None of them was a process.
        observer.end().expect_code(2);
    }
}

// Observers that are not there, slow, or die.

#[test]
fn where_nobody_listens_the_process_judges_by_itself() {
    let folder = Directory::new();
    let path = folder.path().join("nobody.sock");
    for (make_it, why) in [(false, "No such file"), (true, "Connection refused")] {
        if make_it {
            drop(UnixListener::bind(&path).unwrap());
        }
        let ended = run(child("child_loses_an_update").env(OBSERVER, &path)).expect_code(101);
        let said = format!(
            "no observer can be reached at `unix:{}`: {why}",
            path.display()
        );
        assert_eq!(ended.count(&said), 1, "{}", ended.output());
        assert_eq!(ended.count("; this process judges by itself\n"), 1);
        assert!(
            ended.count("`withdraw` is not atomic") > 0,
            "{}",
            ended.output()
        );
    }
}

/// A listener that takes no connection, and has no room for another.
#[test]
fn an_observer_that_does_not_answer_is_given_up() {
    let folder = Directory::new();
    let path = folder.path().join("full.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let descriptor = std::os::fd::AsRawFd::as_raw_fd(&listener);
    // SAFETY: the descriptor is open.
    assert_eq!(unsafe { libc::listen(descriptor, 0) }, 0);
    let _waits = UnixStream::connect(&path).unwrap();
    let ended = run(child("child_loses_an_update").env(OBSERVER, &path)).expect_code(101);
    let said = "it took nothing for 10 seconds; this process judges by itself\n";
    assert_eq!(ended.count(said), 1, "{}", ended.output());
    assert!(
        ended.count("`withdraw` is not atomic") > 0,
        "{}",
        ended.output()
    );
}

#[test]
fn a_slow_observer_gets_everything() {
    let folder = Directory::new();
    let path = folder.path().join("slow.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let mut command = child("child_counts");
    let process = command.env(OBSERVER, &path).stderr(Stdio::piped());
    let process = process.spawn().unwrap();
    let (stream, _) = listener.accept().unwrap();
    let mut input = BufReader::new(Slow(stream));
    let mut greeting = String::new();
    input.read_line(&mut greeting).unwrap();
    assert!(greeting.starts_with(&format!("process {} observe-", process.id())));
    let mut reader = AeroReader::new("slow", input).unwrap();
    let (mut batch, mut transactions) = (Vec::new(), 0);
    while reader.fill(&mut batch).unwrap() {
        transactions += batch.iter().filter(|event| event.op == Op::Begin).count();
    }
    assert_eq!(transactions, COUNT);
    let output = process.wait_with_output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{output:?}"
    );
}

/// Reads 64 KiB in 20 milliseconds at best.
struct Slow(UnixStream);

impl Read for Slow {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        std::thread::sleep(Duration::from_millis(20));
        let length = buffer.len().min(1 << 16);
        self.0.read(&mut buffer[..length])
    }
}

#[test]
fn an_observer_that_takes_nothing_is_given_up() {
    let folder = Directory::new();
    let path = folder.path().join("slow.sock");
    let listener = UnixListener::bind(&path).unwrap();
    let mut process = child("child_goes_on")
        .env(OBSERVER, &path)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let (_never_read, _) = listener.accept().unwrap();
    let start = Instant::now();
    while process.try_wait().unwrap().is_none() {
        assert!(start.elapsed() < process::TIME_LIMIT, "it hangs");
        std::thread::sleep(Duration::from_millis(20));
    }
    let output = process.wait_with_output().unwrap();
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr),
    );
    assert!(
        output.status.success() && out.contains("done"),
        "{out}{err}"
    );
    let said = "is given up: it took nothing for 10 seconds; checking is off from here on\n";
    assert_eq!(err.matches(said).count(), 1, "{err}");
}

#[test]
fn an_observer_that_is_killed_is_given_up() {
    // It leaves its socket.
    let folder = Directory::new();
    let path = folder.path().join("killed.sock");
    let observer = Observer::start(&[path.to_str().unwrap()]);
    let mut process = ready(observer.child("child_goes_on").stderr(Stdio::piped()));
    std::thread::sleep(Duration::from_secs(1));
    observer.signal(libc::SIGKILL);
    let mut said = String::new();
    let mut stderr = process.stderr.take().unwrap();
    stderr.read_to_string(&mut said).unwrap();
    assert!(process.wait().unwrap().success(), "{said}");
    assert_eq!(
        said.matches("aerodrome: the observer at `unix:").count(),
        1,
        "{said}"
    );
    assert!(said.contains("; checking is off from here on\n"), "{said}");
}

// What else may come over a connection.

/// A trace of so many writes.
fn trace(events: u32) -> Vec<u8> {
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust).unwrap();
    for target in 0..events {
        let event = Event {
            strand: StrandId(0),
            target,
            site: SiteId::NONE,
            op: Op::Write,
        };
        writer.event(&event).unwrap();
        writer.flush().unwrap();
    }
    writer.finish().unwrap()
}

#[test]
fn garbage_is_named_with_its_connection_and_offset_and_others_go_on() {
    // Two of the connections are no process.
    let observer = Observer::start(&["--json", "--processes=3"]);
    let path = observer.address.strip_prefix("unix:").unwrap().to_owned();
    let connect = || UnixStream::connect(&path).unwrap();
    // It says nothing, and so it is nobody.
    drop(connect());
    let good = trace(3);
    let (mut one, mut two, mut three) = (connect(), connect(), connect());
    one.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
    drop(one);
    two.write_all(&good[..good.len() - 24]).unwrap();
    two.write_all(&[0xff; 64]).unwrap();
    drop(two);
    three.write_all(b"process 17 a program\n").unwrap();
    three.write_all(&good).unwrap();
    drop(three);
    let mut four = connect();
    four.write_all(b"process of elimination\n").unwrap();
    drop(four);
    run(&mut observer.child("child_is_fine")).expect_code(0);
    let ended = observer.end().expect_code(2);
    let report = json(&ended);
    assert_eq!(report["verdict"], "serializable");
    let processes = report["processes"].as_array().unwrap();
    let of = |name: &str| {
        let is = |it: &&Value| it["process"].as_str().unwrap().contains(name);
        let process = processes.iter().find(is).unwrap();
        let cut_off = process["cut_off"].as_str().unwrap_or_default();
        (process["events"].as_u64().unwrap(), cut_off)
    };
    let (events, cut_off) = of("connection 2");
    let at_start = "connection 2: byte 0: expected an .aero file, which begins with ";
    assert!(events == 0 && cut_off.starts_with(at_start), "{cut_off}");
    assert!(cut_off.ends_with("found `GET / HT`"), "{cut_off}");
    let (events, cut_off) = of("connection 3");
    let at_end = format!(
        "connection 3: byte {}: expected a frame's length",
        good.len() - 24
    );
    assert!(events == 3 && cut_off.starts_with(&at_end), "{cut_off}");
    assert_eq!(of("a program (process 17)"), (3, ""));
    let (events, cut_off) = of("connection 5");
    assert!(
        events == 0 && cut_off.contains("found `process of elimination"),
        "{cut_off}"
    );
    assert_eq!(of("observe-").1, "");
    assert_eq!(
        ended.stderr.matches("error: ").count(),
        3,
        "{}",
        ended.stderr
    );
}

#[test]
fn nothing_that_comes_over_a_connection_reaches_the_terminal_as_a_command() {
    let observer = Observer::start(&[]);
    let path = observer.address.strip_prefix("unix:").unwrap().to_owned();
    for connection in [
        &b"process 7 \x1b]0;owned\x07\xc2\x9b31m\n"[..],
        b"process 8 \x1b]0;owned\x07\n\x1b[31m\xc2\x9b1m not a trace",
        b"process x \x1b[31m\xc2\x9b1m\n",
        b"\x1b[31m\xc2\x9b1m",
    ] {
        let mut client = UnixStream::connect(&path).unwrap();
        client.write_all(connection).unwrap();
        if connection.ends_with(b"31m\n") {
            client.write_all(&trace(3)[..40]).unwrap();
        }
    }
    std::thread::sleep(Duration::from_millis(500));
    observer.signal(libc::SIGTERM);
    let ended = observer.end().expect_code(2);
    assert_eq!(ended.stderr.matches("error: ").count(), 4, "{ended:?}");
    let is_command = |c: char| c.is_control() && c != '\n';
    assert!(!ended.output().contains(is_command), "{ended:?}");
}
