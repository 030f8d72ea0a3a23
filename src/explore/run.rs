//! Running a test again and again.

use std::any::Any;
use std::num::NonZero;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, resume_unwind};
use std::process::{ExitCode, Termination};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use rustc_hash::FxHashSet;

use super::found::{Exploration, Found, Problem};
use super::settings::Explore;
use super::task::{self, Pinned};
use super::watch::Watcher;
use super::world::{Limits, Outcome, Panic, Planner, World};
use crate::collect::{self, check_run};
use crate::plan::{
    Action, Choice, Coverage, End, Name, Plan, Recorder, Recording, Replay, Schedule, shrink,
};
use crate::record::control::{Controlled, Doomed, note_panic};
use crate::record::{self, Pen, untracked};
use crate::report::Report;
use crate::thread::scope_parts::{ExitHere, Forked};

/// How often a failing schedule is repeated before it is told.
const REPLAYS: u32 = 2;

/// How many runs, and for how long, a failing schedule is made simpler.
const SHRINKS: usize = 300;

/// See [`SHRINKS`].
const SHRINKING: Duration = Duration::from_secs(3);

/// Runs `f` under many schedules, until one goes wrong. See the [module](mod@crate::explore).
///
/// What counts as going wrong: a violation, a panic of `f`, an error that it returns, a deadlock,
/// and a livelock. `AERODROME_REPLAY` has it run that schedule alone.
pub fn explore<R: Termination>(mut settings: Explore, f: impl Fn() -> R + Sync) -> Exploration {
    settings.replay = settings.replay.or_else(|| collect::config().replay);
    let explorer = Explorer::new(&settings, f);
    match explorer {
        Some(explorer) => explorer.explore(),
        None => Exploration::default(),
    }
}

/// Explores one test.
struct Explorer<'a, F> {
    settings: &'a Explore,
    f: F,
    watcher: Watcher,
    _pinned: Option<Pinned>,
    exploration: Exploration,
    coverage: Coverage,
    has_waited: bool,
    has_tries: bool,
    before: Arc<FxHashSet<task::Id>>,
    reads_clock: Arc<AtomicBool>,
    processors: Option<NonZero<usize>>,
}

/// A run, judged.
struct Run {
    outcome: Outcome,
    problem: Option<Problem>,
    reports: Vec<Report>,
    incomplete: Option<String>,
}

impl Default for Exploration {
    fn default() -> Self {
        Exploration {
            found: None,
            schedules: 0,
            different: 0,
            last_different: 0,
            is_exhaustive: false,
            is_sequential: false,
            abandoned: 0,
            steps: 0,
            outside: 0,
            time: std::time::Duration::ZERO,
            incomplete: None,
        }
    }
}

impl<'a, R: Termination, F: Fn() -> R + Sync> Explorer<'a, F> {
    /// Nothing where this thread is not tracked.
    fn new(settings: &'a Explore, f: F) -> Option<Self> {
        hook_panics();
        record::pen()?;
        let watcher = untracked(Watcher::start);
        let processors = std::thread::available_parallelism().ok();
        Some(Explorer {
            settings,
            f,
            watcher,
            _pinned: untracked(Pinned::new),
            exploration: Exploration::default(),
            coverage: Coverage::default(),
            has_waited: false,
            has_tries: false,
            before: untracked(|| Arc::new(task::all().into_iter().collect())),
            reads_clock: Arc::default(),
            processors,
        })
    }

    fn explore(mut self) -> Exploration {
        let start = Instant::now();
        let name = self.settings.plan;
        let plan: Box<dyn Plan + Send> = match &self.settings.replay {
            Some(schedule) => Box::new(Replay::new(schedule.clone())),
            None => name.plan(self.settings.seed, self.settings.schedules),
        };
        let limit = match self.settings.replay {
            // A second time if it turns out that locks are tried.
            Some(_) => 2,
            None => self.settings.schedules,
        };
        let mut planner = Recorder::new(plan, name, self.settings.seed);
        while self.exploration.schedules < limit {
            let is_late = |time| start.elapsed() >= time;
            if self.settings.time.is_some_and(is_late) {
                break;
            }
            if !planner.begin() {
                self.exploration.is_exhaustive = self.exploration.abandoned == 0;
                break;
            }
            self.exploration.schedules += 1;
            let mut run = self.run(planner);
            self.count(&run);
            let Some(next) = run.outcome.plan.take() else {
                let reason = "the plan has failed".to_owned();
                self.exploration.incomplete.get_or_insert(reason);
                break;
            };
            self.coverage.add(next.actions());
            if run.problem.is_some() {
                self.exploration.found = self.confirm(run, next.recording());
                break;
            }
            if run.outcome.strands.len() == 1 {
                // There is nobody to give the turn to.
                self.exploration.is_sequential = true;
                break;
            }
            planner = next;
            let learns_of_tries = run.outcome.has_tries && !self.has_tries;
            if self.settings.replay.is_some() && !learns_of_tries {
                break;
            }
            if learns_of_tries {
                self.has_tries = true;
                if name == Name::All {
                    // What it has seen is another program's.
                    let plan = name.plan(self.settings.seed, self.settings.schedules);
                    planner = Recorder::new(plan, name, self.settings.seed);
                }
            }
        }
        self.exploration.different = self.coverage.different() as u64;
        self.exploration.last_different = self.coverage.last_new();
        self.exploration.time = start.elapsed();
        self.exploration
    }

    fn count(&mut self, run: &Run) {
        let Outcome {
            end,
            steps,
            outside,
            stuck,
            ..
        } = &run.outcome;
        let exploration = &mut self.exploration;
        // A plan cuts short what it has explored already.
        let is_cut = *end == End::Abandoned && *steps >= self.settings.steps;
        exploration.abandoned += u64::from(is_cut);
        exploration.steps += steps;
        exploration.outside += outside;
        if let Some(reason) = &run.incomplete {
            exploration.incomplete.get_or_insert(reason.clone());
        }
        self.has_waited |= stuck.is_some();
    }

    /// Runs the test once.
    fn run(&mut self, planner: Planner) -> Run {
        let limits = Limits {
            steps: self.settings.steps,
            has_waited: self.has_waited,
            has_tries: self.has_tries,
            before: self.before.clone(),
            reads_clock: self.reads_clock.clone(),
            processors: self.processors,
        };
        let (f, watcher) = (&self.f, &self.watcher);
        on_new_thread(|| {
            let root = record::pen().map_or(u32::MAX, Pen::strand);
            let world = untracked(|| World::new(planner, root, limits));
            untracked(|| watcher.watch(Some(world.clone())));
            let judged = check_run(true, || {
                let controlled = Controlled::new(world.root());
                let result = catch_unwind(AssertUnwindSafe(f));
                drop(controlled);
                (result, untracked(|| world.finish()))
            });
            untracked(|| watcher.watch(None));
            let (result, outcome) = judged.value;
            let reports = judged.violations;
            let problem = problem(result, &outcome, &reports);
            Run {
                outcome,
                problem,
                reports,
                incomplete: judged.incomplete,
            }
        })
    }

    /// Repeats a run.
    fn replay(&mut self, recording: &Recording) -> (Run, Option<Recording>) {
        let Recording {
            schedule, actions, ..
        } = recording.clone();
        self.run_by(&mut Replay::expecting(schedule, actions))
    }

    /// Runs the test once, by a plan that is only lent.
    fn run_by(&mut self, plan: &mut (dyn Plan + Send)) -> (Run, Option<Recording>) {
        type Borrowed<'a> = *mut (dyn Plan + Send + 'a);
        let lent: Borrowed<'_> = plan;
        // SAFETY: only the lifetime changes; see `Lent`.
        let lent = Lent(unsafe { std::mem::transmute::<Borrowed<'_>, Borrowed<'static>>(lent) });
        let mut planner: Planner = Recorder::new(Box::new(lent), Name::Mix, self.settings.seed);
        planner.begin();
        let mut run = self.run(planner);
        let recording = run.outcome.plan.take().map(|planner| planner.recording());
        (run, recording)
    }

    /// Repeats a run that went wrong, and makes its schedule simpler.
    fn confirm(&mut self, run: Run, recording: Recording) -> Option<Found> {
        let problem = run.problem?;
        let is_like = |run: &Run| run.problem.as_ref().is_some_and(|it| it.is_like(&problem));
        let again = |explorer: &mut Self, recording: &Recording| {
            let (run, _) = explorer.replay(recording);
            is_like(&run).then_some(run)
        };
        let repeated = (0..REPLAYS).filter_map(|_| again(self, &recording)).count();
        let mut found = Found {
            problem: problem.clone(),
            reports: run.reports,
            schedule: recording.schedule.clone(),
            run: self.exploration.schedules,
            replays: (repeated as u32, REPLAYS),
            switches: recording.switches(),
        };
        if repeated as u32 == REPLAYS && self.settings.replay.is_none() {
            let start = Instant::now();
            let shrunk = shrink(recording, SHRINKS, |plan| {
                start.elapsed() < SHRINKING && is_like(&self.run_by(plan).0)
            });
            if let Some(simpler) = again(self, &shrunk.recording) {
                found.problem = simpler.problem.unwrap_or(problem);
                found.reports = simpler.reports;
                found.switches = shrunk.recording.switches();
                found.schedule = Schedule {
                    plan: found.schedule.plan,
                    seed: found.schedule.seed,
                    run: found.schedule.run,
                    ..shrunk.recording.schedule
                };
            }
        }
        Some(found)
    }
}

/// A plan that is lent for one run. Whoever lends it waits for the end of the run, when its world
/// gives the plan back, and asks it for nothing meanwhile.
struct Lent(*mut (dyn Plan + Send));

// SAFETY: what it points to is `Send`, and nobody else has it.
unsafe impl Send for Lent {}

impl Lent {
    fn plan(&mut self) -> &mut (dyn Plan + Send) {
        // SAFETY: see `Lent`.
        unsafe { &mut *self.0 }
    }
}

impl Plan for Lent {
    fn begin(&mut self) -> bool {
        self.plan().begin()
    }

    fn choose(&mut self, ready: &[Action], blocked: &[Action]) -> Option<usize> {
        self.plan().choose(ready, blocked)
    }

    fn pick(&mut self, choice: Choice, n: usize) -> usize {
        self.plan().pick(choice, n)
    }

    fn released(&mut self, object: u32) {
        self.plan().released(object);
    }

    fn stuck(&mut self, waking: &[Action], blocked: &[Action]) -> Option<usize> {
        self.plan().stuck(waking, blocked)
    }

    fn end(&mut self, end: End) {
        self.plan().end(end);
    }
}

/// Runs `f` on a thread that nothing has run on before, so that its thread-local variables, the
/// keys of its hash tables among them, are the same in each run.
fn on_new_thread<R: Send>(f: impl FnOnce() -> R + Send) -> R {
    let here = std::thread::current();
    let name = here.name().unwrap_or("main");
    let (forked, child) = Forked::new(Some(name));
    let main = move || {
        let _exit = child.map(|child| {
            child.start();
            ExitHere
        });
        f()
    };
    let result = std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name(name.to_owned());
        let thread = thread.spawn_scoped(scope, main);
        thread.expect("failed to spawn thread").join()
    });
    forked.joined_quietly();
    result.unwrap_or_else(|payload| resume_unwind(payload))
}

/// What is wrong with a run, if anything.
fn problem<R: Termination>(
    result: std::thread::Result<R>,
    outcome: &Outcome,
    reports: &[Report],
) -> Option<Problem> {
    if let Some(stuck) = &outcome.stuck {
        let panic = outcome.panic.as_ref();
        return Some(Problem::of_stuck(stuck, panic, |seat| {
            name_of(outcome, seat)
        }));
    }
    if !reports.is_empty() {
        return Some(Problem::Violation);
    }
    match result {
        Ok(value) => (value.report() != ExitCode::SUCCESS).then_some(Problem::Error),
        Err(payload) => {
            let panic = outcome.panic.clone();
            Some(Problem::of_panic(&panic.unwrap_or_else(|| Panic {
                message: text_of(payload.as_ref()),
                place: String::new(),
            })))
        }
    }
}

/// A strand by the way in which it was forked.
fn name_of(outcome: &Outcome, seat: u32) -> String {
    match outcome.strands.get(seat as usize) {
        Some((_, path)) if path.len() > 1 => {
            let path: Vec<_> = path.iter().map(u32::to_string).collect();
            format!("thread {}", path.join("."))
        }
        _ => "the test's own thread".to_owned(),
    }
}

fn text_of(payload: &dyn Any) -> String {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    let text = text.or(payload.downcast_ref::<&str>().copied());
    text.unwrap_or("a panic without words").to_owned()
}

/// From here on, the panics of strands under control are not printed, but noted: many runs may
/// panic in the same way before one is told.
fn hook_panics() {
    static HOOKED: Once = Once::new();
    HOOKED.call_once(|| {
        let before = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            if !note(info) {
                before(info);
            }
        }));
    });
}

/// Whether the panic is that of a strand under control.
fn note(info: &PanicHookInfo<'_>) -> bool {
    if info.payload().is::<Doomed>() {
        return true;
    }
    let place = info
        .location()
        .map_or_else(String::new, |it| it.to_string());
    note_panic(|| (text_of(info.payload()), place))
}
