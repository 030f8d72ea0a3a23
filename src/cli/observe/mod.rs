//! `aerodrome observe`: judges what processes do while they run, from outside of them.

mod judge;
mod report;

use std::collections::HashMap;
use std::ffi::OsString;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::{Child, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::Duration;

use clap::Args;

use self::judge::{Judge, Judged};
use self::report::Observed;
use super::check::Check;
use super::report::Pages;
use super::{Failure, Terminal, Verdict, complain, print, say};
use crate::observe::{Address, Listener, Stream};

/// Judge what processes do while they run
///
/// Judges what processes do while they run: every process that has AERODROME_OBSERVER set sends its
/// events, and one report tells what all of them have done.
#[derive(Args)]
#[command(after_help = "\
With a COMMAND, AERODROME_OBSERVER is set for it, and the report is written when it and all
processes that report here have ended. Without, after --processes, or at SIGINT or SIGTERM.
A process that was killed is judged up to the last event that it has sent.

Exit code: 0 serializable, 1 a violation, 2 a process was cut off, or the input or the usage is
wrong; the command's own where that failed and nothing else is wrong.

Examples:
  aerodrome observe -- cargo nextest run
  aerodrome observe --predict --html page.html /tmp/observer.sock")]
pub(super) struct Arguments {
    /// Where to listen: the path of a Unix socket, or a loopback address such as 127.0.0.1:7070;
    /// a socket in the folder for temporary files by default
    address: Option<String>,
    /// End when so many processes have ended
    #[arg(long, value_name = "N", conflicts_with = "command")]
    processes: Option<u64>,
    /// Say what other schedules of each process would show
    #[arg(long)]
    predict: bool,
    /// What must hold in every state of every run that is consistent with a process's; may be given
    /// several times. `aerodrome lattice --help` has the language
    #[arg(long, value_name = "FORMULA")]
    property: Vec<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    pages: Pages,
    #[command(flatten)]
    check: Check,
    /// What to run and observe
    #[arg(last = true)]
    command: Vec<OsString>,
}

pub(super) fn run(arguments: Arguments, terminal: &Terminal) -> Result<Verdict, Failure> {
    let Arguments {
        address,
        processes,
        predict,
        property,
        json,
        pages,
        check,
        command,
    } = arguments;
    let judge = Judge::new(check, predict, &property, &pages, terminal)?;
    let stop = Stop::install()?;
    let listener = listen(address)?;
    let command = start(command, listener.address())?;
    if command.is_none() && !terminal.quiet {
        say(&format!(
            "observing: AERODROME_OBSERVER={}",
            listener.address()
        ));
    }
    let end = End {
        command,
        processes,
        stop,
        signals: 0,
    };
    let (judged, status) = thread::scope(|scope| Observer::new(scope, &judge).run(listener, end))?;
    let observed = Observed::new(judged, &property);
    if json {
        print(&super::json(&observed))?;
    } else if !pages.wanted() {
        terminal.tell(&observed.text(&terminal.style()))?;
    }
    pages.write(&observed.reports())?;
    Ok(verdict(&observed, status))
}

fn verdict(observed: &Observed, command: Option<ExitStatus>) -> Verdict {
    let wrong = observed.wrong();
    wrong.iter().for_each(|reason| complain(reason));
    if observed.has_violations() {
        return Verdict::Violation;
    }
    if !wrong.is_empty() {
        return Verdict::Code(2);
    }
    match command {
        Some(status) if !status.success() => {
            // A signal is no code.
            let code = status.code().and_then(|code| code.try_into().ok());
            Verdict::Code(code.unwrap_or(2))
        }
        _ => Verdict::Clean,
    }
}

fn listen(address: Option<String>) -> Result<Listener, Failure> {
    let address = match address {
        Some(address) => address
            .parse()
            .map_err(|error| Failure::Usage(format!("ADDRESS: {error}")))?,
        None => {
            let name = format!("aerodrome-{}.sock", std::process::id());
            Address::Unix(std::env::temp_dir().join(name))
        }
    };
    Listener::bind(&address).map_err(|error| Failure::Output(address.to_string(), error))
}

/// Starts the command, if there is one.
fn start(command: Vec<OsString>, address: &Address) -> Result<Option<Child>, Failure> {
    let mut words = command.into_iter();
    let Some(program) = words.next() else {
        return Ok(None);
    };
    let child = std::process::Command::new(&program)
        .args(words)
        .env("AERODROME_OBSERVER", address.to_string())
        .spawn()
        .map_err(|error| Failure::Output(program.to_string_lossy().into_owned(), error))?;
    Ok(Some(child))
}

/// Whether the observer was told to stop.
struct Stop(Arc<AtomicBool>);

impl Stop {
    fn install() -> Result<Self, Failure> {
        use signal_hook::consts::{SIGINT, SIGTERM};

        let stop = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM] {
            signal_hook::flag::register(signal, Arc::clone(&stop))
                .map_err(|error| Failure::Output(format!("signal {signal}"), error))?;
        }
        Ok(Self(stop))
    }

    /// Whether it was told since the last call.
    fn is_asked(&self) -> bool {
        self.0.swap(false, Ordering::Relaxed)
    }
}

/// When there is nothing more to observe.
struct End {
    command: Option<Child>,
    processes: Option<u64>,
    stop: Stop,
    /// How often the observer was told to stop.
    signals: u32,
}

impl End {
    /// Whether to stop at once.
    fn is_stopped(&mut self) -> bool {
        self.signals += u32::from(self.stop.is_asked());
        // A terminal tells the command, too, which may take its time.
        let enough = if self.command.is_some() { 2 } else { 1 };
        self.signals >= enough
    }

    /// How the command ended, if it has.
    fn command_ended(&mut self) -> io::Result<Option<ExitStatus>> {
        match &mut self.command {
            None => Ok(None),
            Some(command) => command.try_wait(),
        }
    }
}

/// How long a new connection, the command's end or a signal may wait.
const TICK: Duration = Duration::from_millis(10);

/// Takes connections, and has each judged on a thread of its own.
struct Observer<'scope, 'env> {
    scope: &'scope thread::Scope<'scope, 'env>,
    judge: &'scope Judge,
    sender: Sender<(u64, Option<Judged>)>,
    receiver: Receiver<(u64, Option<Judged>)>,
    /// How many connections there were.
    accepted: u64,
    /// The connections that have not ended, by number, to be ended from here.
    open: HashMap<u64, Stream>,
    judged: Vec<(u64, Judged)>,
    /// That connections cannot be accepted is said once.
    has_complained: bool,
}

impl<'scope, 'env> Observer<'scope, 'env> {
    fn new(scope: &'scope thread::Scope<'scope, 'env>, judge: &'scope Judge) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            scope,
            judge,
            sender,
            receiver,
            accepted: 0,
            open: HashMap::new(),
            judged: Vec::new(),
            has_complained: false,
        }
    }

    /// Observes until there is nothing more: what each process did, in the order of connecting, and
    /// how the command ended.
    fn run(
        mut self,
        listener: Listener,
        mut end: End,
    ) -> Result<(Vec<Judged>, Option<ExitStatus>), Failure> {
        let status = loop {
            let status = end
                .command_ended()
                .map_err(|error| Failure::Output("the command".to_owned(), error))?;
            // Whatever the command has started has connected before it ended.
            self.accept(&listener, end.processes);
            let are_all_there = end.processes == Some(self.ended());
            if self.open.is_empty() && (status.is_some() || are_all_there) {
                break status;
            }
            if end.is_stopped() {
                break status;
            }
            if let Ok(ended) = self.receiver.recv_timeout(TICK) {
                self.end(ended);
            }
        };
        // A process that connects from now on is refused, and judges by itself.
        drop(listener);
        for stream in self.open.values() {
            let _ = stream.close();
        }
        while !self.open.is_empty() {
            let Ok(ended) = self.receiver.recv() else {
                break;
            };
            self.end(ended);
        }
        self.judged.sort_by_key(|&(number, _)| number);
        let judged = self.judged.into_iter().map(|(_, judged)| judged);
        Ok((judged.collect(), status))
    }

    /// How many processes have ended.
    fn ended(&self) -> u64 {
        let are_processes = self.judged.iter().filter(|(_, judged)| judged.is_process);
        are_processes.count() as u64
    }

    /// Takes the connections that wait, up to this many processes in all.
    fn accept(&mut self, listener: &Listener, processes: Option<u64>) {
        let begun = |this: &Self| this.open.len() as u64 + this.ended();
        while processes.is_none_or(|processes| begun(self) < processes) {
            match listener.accept() {
                Ok(Some(stream)) => self.begin(stream),
                Ok(None) => return,
                // It may get better when others have ended; those who connect wait until then.
                Err(error) => {
                    if !std::mem::replace(&mut self.has_complained, true) {
                        let address = listener.address().to_string();
                        complain(&Failure::Output(address, error));
                    }
                    return;
                }
            }
        }
    }

    fn begin(&mut self, stream: Stream) {
        self.accepted += 1;
        let number = self.accepted;
        self.open.insert(number, stream.clone());
        let (judge, sender) = (self.judge, self.sender.clone());
        let work = move || {
            let judged = catch_unwind(AssertUnwindSafe(|| judge.judge(stream, number)));
            let failed = |_| Some(Judged::failed(number, "internal failure"));
            // Nobody receives where the observer has failed.
            let _ = sender.send((number, judged.unwrap_or_else(failed)));
        };
        let thread = thread::Builder::new().spawn_scoped(self.scope, work);
        if let Err(error) = thread {
            self.end((number, Some(Judged::failed(number, error))));
        }
    }

    fn end(&mut self, (number, judged): (u64, Option<Judged>)) {
        self.open.remove(&number);
        self.judged.extend(judged.map(|judged| (number, judged)));
    }
}
