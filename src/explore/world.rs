//! One explored run: its strands, and whose turn it is.
//!
//! A strand of the run has a *seat*. At most one seat has the turn; the strand in it runs until it
//! announces its next operation. Then it asks which of the pending operations would go through,
//! lets the plan choose among them, wakes the strand that was chosen and sleeps.
//!
//! | status | the strand | goes on |
//! |---|---|---|
//! | `Chosen` | has the turn, and has not woken up yet | to `Running` |
//! | `Running` | has the turn | to `Waiting` with its next announcement, to `Gone` with its end |
//! | `Waiting` | sleeps, with a pending operation | to `Chosen` when it is chosen |
//! | `Outside` | runs or blocks where nobody can tell | to `Waiting` with its next announcement |
//! | `Gone` | has ended | |
//!
//! A strand that blocks in something that is not mirrored would stop the run. A watcher
//! ([`watch`](super::watch)) sees that, and the seat becomes `Outside`.
//!
//! **Freed.** At a limit, at the end of the test's own thread, and where the plan gives a run up,
//! nobody is controlled any more: each strand goes on with its real operation. **Doomed.** Where
//! nobody can go on, real operations would block for ever, so each strand unwinds from where it
//! waits.

use std::num::NonZero;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rustc_hash::{FxHashMap, FxHashSet};

use super::task;
use crate::plan::{Action, Choice, End, How, Intent, Kind, Plan, Recorder};
use crate::record::What;
use crate::record::control::{Announced, Control, Pending, Probe, Thing, Turn};

/// The plan of a run, whose choices are recorded.
pub(super) type Planner = Recorder<Box<dyn Plan + Send>>;

/// A wait that is no longer than this may expire while others can go on. A longer one is there in
/// case that something goes wrong, and expires only when nobody else can go on, as a sleep does.
const SHORT: Duration = Duration::from_millis(20);

/// How often a strand may look at the same thing, while nothing changes, before it is held back.
const LOOKS: u32 = 8;

/// After so many steps in which everybody only looks, and after as many again, some real time
/// passes: somebody whom we do not know may be about to change something.
const IDLE: u32 = 64;

/// After so many, and some time, nobody is going to. A loop that reads and comes to its end must
/// have come there before.
const LIVELOCK: u32 = 4_096;

/// For how long nobody may be able to go on before that counts as a deadlock, because a thread that
/// is not ours may be about to change something.
const GRACE: Duration = Duration::from_secs(1);

/// The same where a deadlock was found in a run before this one.
const GRACE_AGAIN: Duration = Duration::from_millis(10);

/// The same where the test has started threads that are not ours.
const GRACE_AMONG_STRANGERS: Duration = Duration::from_secs(10);

/// The run that seats belong to.
pub(super) struct World {
    state: Mutex<State>,
    limits: Limits,
}

/// What ends a run early.
#[derive(Clone, Debug)]
pub(super) struct Limits {
    pub(super) steps: u64,
    /// Whether a deadlock was found before: then there is no need to wait long for others.
    pub(super) has_waited: bool,
    /// Whether a lock was tried in a run before this one.
    pub(super) has_tries: bool,
    /// The threads that were there before the exploration.
    pub(super) before: Arc<FxHashSet<task::Id>>,
    /// Whether the test reads the clock: then waits take the time that they say.
    pub(super) reads_clock: Arc<AtomicBool>,
    /// On how many processors the test would run.
    pub(super) processors: Option<NonZero<usize>>,
}

struct State {
    /// Nothing once the run is over, or where the plan has failed.
    plan: Option<Planner>,
    seats: Vec<Seat>,
    /// The seat that has the turn.
    turn: Option<usize>,
    end: Option<End>,
    /// Nobody can go on, and this is why.
    stuck: Option<Stuck>,
    numbers: Numbers,
    /// Locks that somebody tries, or waits for with a limit: their releases are steps.
    tried: FxHashSet<Thing>,
    /// Somebody has tried a lock in a run before this one: all releases are steps, from the first
    /// on, so that runs do not differ in that.
    has_tries: bool,
    /// When the run has begun, and how far its time is ahead of what has passed.
    begun: Instant,
    ahead: Duration,
    /// Whether the test reads the clock: then waits take the time that they say.
    reads_clock: Arc<AtomicBool>,
    /// Counts what changes what others can see.
    changes: u64,
    /// How many steps were only looks since something changed.
    idle: u32,
    /// When these were enough for a livelock.
    idle_since: Option<Instant>,
    /// The operations that were performed.
    steps: Vec<Announced>,
    /// How many steps were taken by strands that came back from outside.
    outside: u64,
    panic: Option<Panic>,
}

/// Numbers of objects in the order in which the run meets them.
#[derive(Default)]
struct Numbers {
    known: FxHashMap<Thing, u32>,
    last: u32,
}

impl Numbers {
    fn of(&mut self, thing: Thing) -> u32 {
        if thing == Thing::Nothing {
            return 0;
        }
        *self.known.entry(thing).or_insert_with(|| {
            self.last += 1;
            self.last
        })
    }
}

/// Why a run could not go on.
#[derive(Clone, Debug)]
pub(super) struct Stuck {
    pub(super) kind: StuckKind,
    /// Who waits for what.
    pub(super) waits: Vec<Waits>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StuckKind {
    Deadlock,
    Livelock,
}

/// A strand that cannot go on.
#[derive(Clone, Debug)]
pub(super) struct Waits {
    pub(super) seat: u32,
    pub(super) next: Announced,
    /// Who has what it waits for, and where that was taken.
    pub(super) held: Vec<(u32, u32)>,
}

/// What a strand has panicked with.
#[derive(Clone, Debug)]
pub(super) struct Panic {
    pub(super) message: String,
    pub(super) place: String,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Chosen,
    Running,
    Waiting,
    Outside,
    Gone,
}

struct Seat {
    strand: u32,
    path: Vec<u32>,
    key: u64,
    children: u32,
    status: Status,
    pending: Option<Wanted>,
    /// How the pending operation came to its end.
    turn: Turn,
    nth: u32,
    block: u32,
    blocks: u32,
    /// How often the strand has asked for random bytes.
    randoms: u64,
    looks: Looks,
    /// When it last had the turn.
    ran: u64,
    awake: Arc<Condvar>,
    task: Option<task::Registered>,
    held: Vec<Held>,
}

/// A lock that a strand has.
struct Held {
    thing: Thing,
    /// When it was taken.
    step: usize,
    /// Whether the strand has changed what it guards.
    is_changed: bool,
}

/// What a strand has looked at since something changed.
#[derive(Default)]
struct Looks {
    at: u64,
    seen: Vec<(Announced, u32)>,
    is_held_back: bool,
}

impl Looks {
    fn note(&mut self, next: Announced, changes: u64) {
        if self.at != changes {
            self.at = changes;
            self.seen.clear();
        }
        match self.seen.iter_mut().find(|(seen, _)| *seen == next) {
            Some((_, times)) => *times += 1,
            None => self.seen.push((next, 1)),
        }
        self.is_held_back = self.seen.iter().any(|&(_, times)| times >= LOOKS);
    }

    fn is_held_back(&self, changes: u64) -> bool {
        self.is_held_back && self.at == changes
    }
}

/// A pending operation. The probes live in the frame of the strand that waits, which does not
/// leave it before its seat has none.
struct Wanted {
    next: Announced,
    ready: Option<ProbePointer>,
    deadline: Option<Duration>,
    is_short: bool,
    then: Option<(Announced, ProbePointer)>,
}

impl Wanted {
    fn without_limit(next: Announced, ready: Option<ProbePointer>) -> Self {
        Wanted {
            next,
            ready,
            deadline: None,
            is_short: false,
            then: None,
        }
    }
}

#[derive(Clone, Copy)]
struct ProbePointer(*const (dyn Fn() -> bool + 'static));

// SAFETY: a probe is asked while its strand sleeps and nobody else runs.
unsafe impl Send for ProbePointer {}

impl ProbePointer {
    fn new(probe: Probe<'_>) -> Self {
        type Borrowed<'a> = *const (dyn Fn() -> bool + 'a);
        let probe: Borrowed<'_> = probe;
        // SAFETY: only the lifetime changes; see `Wanted`.
        Self(unsafe { std::mem::transmute::<Borrowed<'_>, Borrowed<'static>>(probe) })
    }

    fn ask(self) -> bool {
        // SAFETY: see `Wanted`.
        unsafe { (*self.0)() }
    }
}

/// What became of a run.
pub(super) struct Outcome {
    /// Nothing where it has failed.
    pub(super) plan: Option<Planner>,
    pub(super) end: End,
    pub(super) stuck: Option<Stuck>,
    /// How many operations were performed.
    pub(super) steps: u64,
    pub(super) outside: u64,
    /// Whether a lock was tried.
    pub(super) has_tries: bool,
    pub(super) panic: Option<Panic>,
    /// The strands' numbers and paths, by seat.
    pub(super) strands: Vec<(u32, Vec<u32>)>,
}

impl World {
    /// A run in which the current thread, the strand `root`, has the turn.
    pub(super) fn new(plan: Planner, root: u32, limits: Limits) -> Arc<World> {
        let mut first = Seat::new(root, vec![0]);
        first.status = Status::Running;
        first.task = task::Registered::new();
        Arc::new(World {
            state: Mutex::new(State {
                plan: Some(plan),
                seats: vec![first],
                turn: Some(0),
                end: None,
                stuck: None,
                numbers: Numbers::default(),
                tried: FxHashSet::default(),
                has_tries: limits.has_tries,
                begun: Instant::now(),
                ahead: Duration::ZERO,
                reads_clock: limits.reads_clock.clone(),
                changes: 1,
                idle: 0,
                idle_since: None,
                steps: Vec::new(),
                outside: 0,
                panic: None,
            }),
            limits,
        })
    }

    /// The control of the first seat.
    pub(super) fn root(self: &Arc<Self>) -> Arc<dyn Control> {
        self.control_of(0)
    }

    fn control_of(self: &Arc<Self>, seat: usize) -> Arc<dyn Control> {
        let world = self.clone();
        Arc::new(SeatOf {
            world,
            seat,
            is_timed: AtomicBool::new(false),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The test's own thread is done. Whoever is left goes on freely.
    pub(super) fn finish(&self) -> Outcome {
        let mut state = self.lock();
        let end = state.free(End::Complete);
        state.with_plan(|plan| plan.end(end));
        let plan = state.plan.take();
        let strands = state.seats.iter();
        let strands = strands.map(|it| (it.strand, it.path.clone())).collect();
        Outcome {
            plan,
            end,
            stuck: state.stuck.take(),
            steps: state.steps.len() as u64,
            outside: state.outside,
            has_tries: state.has_tries || !state.tried.is_empty(),
            panic: state.panic.take(),
            strands,
        }
    }

    /// For the watcher: a number that changes with every step, and the task that has the turn.
    pub(super) fn progress(&self) -> (u64, Option<task::Id>) {
        let state = self.lock();
        // One that has not woken up yet sleeps because of us, however busy the machine is.
        let is_running = |seat: &usize| state.seats[*seat].status == Status::Running;
        let running = state.turn.filter(is_running);
        let running = running.filter(|_| state.end.is_none());
        let task = running.and_then(|seat| Some(state.seats[seat].task.as_ref()?.0));
        (state.steps.len() as u64, task)
    }

    /// For the watcher: nobody has the turn, and somebody may be able to go on by now.
    pub(super) fn look_again(&self) {
        let state = self.lock();
        if state.turn.is_none() && state.end.is_none() {
            self.pass_on(state, None);
        }
    }

    /// For the watcher: the strand that has had the turn since step `since` does not come back.
    pub(super) fn leave_outside(&self, since: u64) {
        let mut state = self.lock();
        if state.steps.len() as u64 != since || state.end.is_some() {
            return;
        }
        let Some(seat) = state.turn else { return };
        if state.seats[seat].status == Status::Running {
            state.turn = None;
            state.seats[seat].status = Status::Outside;
            self.pass_on(state, None);
        }
    }

    /// Gives the turn to the next strand. `me` is the caller's seat if it waits.
    fn pass_on<'a>(&'a self, mut state: MutexGuard<'a, State>, me: Option<usize>) {
        let mut has_rested = false;
        loop {
            let next = state.choose(has_rested);
            // What a stranger changes is seen by looking, so that follows each rest.
            has_rested = matches!(next, Next::Rest | Next::Stuck(StuckKind::Livelock));
            state = match next {
                Next::Seat(next) => {
                    if me != Some(next) {
                        let awake = state.seats[next].awake.clone();
                        drop(state);
                        awake.notify_one();
                    }
                    return;
                }
                Next::Outside => return,
                Next::Stuck(kind) => match self.wait_for_strangers(state, kind) {
                    Some(state) => state,
                    None => return,
                },
                Next::Rest => match self.rest(state) {
                    Some(state) => state,
                    None => return,
                },
                Next::Abandon => {
                    state.free(End::Abandoned);
                    return;
                }
            };
        }
    }

    /// Lets some time pass; nothing if somebody has the turn by then.
    fn rest<'a>(&'a self, state: MutexGuard<'a, State>) -> Option<MutexGuard<'a, State>> {
        drop(state);
        std::thread::sleep(Duration::from_micros(300));
        let state = self.lock();
        (state.turn.is_none() && state.end.is_none()).then_some(state)
    }

    fn grace(&self) -> Duration {
        match self.limits.has_waited {
            true => GRACE_AGAIN,
            false if task::are_strangers(&self.limits.before) => GRACE_AMONG_STRANGERS,
            false => GRACE,
        }
    }

    /// Nobody of ours can go on. Whoever is not ours has a moment to change that; nothing if it
    /// has not changed, and the run is over.
    fn wait_for_strangers<'a>(
        &'a self,
        mut state: MutexGuard<'a, State>,
        kind: StuckKind,
    ) -> Option<MutexGuard<'a, State>> {
        let only_looks = kind == StuckKind::Livelock;
        let since = match only_looks {
            true => *state.idle_since.get_or_insert_with(Instant::now),
            false => Instant::now(),
        };
        let changes = state.changes;
        let grace = self.grace();
        while since.elapsed() < grace {
            state = self.rest(state)?;
            if only_looks || state.changes != changes || state.somebody_can() {
                return Some(state);
            }
        }
        let waits = state.waits();
        state.stuck = Some(Stuck { kind, waits });
        state.free(End::Deadlock);
        None
    }
}

/// What the strands wait for.
#[derive(Default)]
struct Offers {
    /// What can happen.
    ready: Vec<Action>,
    /// What cannot.
    blocked: Vec<Action>,
    /// What could, but is only another look.
    held_back: Vec<Action>,
    /// Where nothing can happen: who could be woken without a reason.
    waking: Vec<Action>,
}

/// What happens where nothing can.
enum Offer {
    /// This, if the plan has nothing against it.
    Choose(Action),
    /// This: the plan has said so.
    Chosen(Action),
}

/// What comes next.
enum Next {
    Seat(usize),
    /// Only strands that are outside could.
    Outside,
    Stuck(StuckKind),
    /// Whoever could change something is not ours: let some time pass.
    Rest,
    /// The plan gives the run up.
    Abandon,
}

impl State {
    /// Others may see something that they have not seen before.
    fn note_change(&mut self) {
        self.changes += 1;
        self.idle = 0;
        self.idle_since = None;
    }

    /// Nobody is controlled from here on.
    fn free(&mut self, end: End) -> End {
        self.turn = None;
        for seat in &self.seats {
            seat.awake.notify_one();
        }
        *self.end.get_or_insert(end)
    }

    /// Asks the plan, unless it has failed. A failure of it must not become the program's.
    fn with_plan<R>(&mut self, ask: impl FnOnce(&mut Planner) -> R) -> Option<R> {
        let plan = self.plan.as_mut()?;
        let answer = catch_unwind(AssertUnwindSafe(|| ask(plan)));
        if answer.is_err() {
            self.plan = None;
        }
        answer.ok()
    }

    /// Which strand goes on.
    fn choose(&mut self, has_rested: bool) -> Next {
        loop {
            self.enter_second_phases();
            let mut offers = self.pending();
            if offers.ready.is_empty() {
                match self.offer(&offers, has_rested) {
                    Ok(Offer::Choose(action)) => offers.ready.push(action),
                    Ok(Offer::Chosen(action)) => match self.perform(action) {
                        Some(seat) => return Next::Seat(seat),
                        None => continue,
                    },
                    Err(next) => return next,
                }
            }
            let Some(action) = self.ask(&offers.ready, &offers.blocked) else {
                return Next::Abandon;
            };
            if let Some(seat) = self.perform(action) {
                return Next::Seat(seat);
            }
        }
    }

    /// What happens where nothing goes through: time passes for whoever waits for it, or one of
    /// those who only look does so again.
    fn offer(&mut self, offers: &Offers, has_rested: bool) -> Result<Offer, Next> {
        let is_outside = |seat: &Seat| seat.status == Status::Outside;
        let somebody_is_outside = self.seats.iter().any(is_outside);
        if somebody_is_outside && !has_rested {
            return Err(Next::Rest);
        }
        if let Some((deadline, action)) = self.earliest() {
            return match self.has_real_time() && deadline > self.now() {
                true => Err(Next::Rest),
                false => Ok(Offer::Choose(action)),
            };
        }
        let ran = |action: &&Action| self.seats[action.seat as usize].ran;
        let Some(&looks_again) = offers.held_back.iter().min_by_key(ran) else {
            if somebody_is_outside {
                return Err(Next::Outside);
            }
            let (waking, blocked) = (&offers.waking, &offers.blocked);
            let woken = self.with_plan(|plan| plan.stuck(waking, blocked)).flatten();
            let woken = woken.and_then(|index| waking.get(index).copied());
            return woken
                .map(Offer::Chosen)
                .ok_or(Next::Stuck(StuckKind::Deadlock));
        };
        self.idle += 1;
        if self.idle % IDLE == 0 && !has_rested {
            return Err(Next::Rest);
        }
        if self.idle > LIVELOCK && !somebody_is_outside && !has_rested {
            return Err(Next::Stuck(StuckKind::Livelock));
        }
        Ok(Offer::Choose(looks_again))
    }

    fn ask(&mut self, ready: &[Action], blocked: &[Action]) -> Option<Action> {
        let chosen = self.with_plan(|plan| plan.choose(ready, blocked))??;
        Some(*ready.get(chosen).unwrap_or(&ready[0]))
    }

    /// Lets an action happen; the seat that has the turn for it, unless nobody needs one.
    fn perform(&mut self, action: Action) -> Option<usize> {
        let (step, now) = (self.steps.len(), self.now());
        let index = action.seat as usize;
        let seat = &mut self.seats[index];
        let wanted = seat.pending.as_mut()?;
        self.steps.push(wanted.next);
        seat.nth += 1;
        seat.ran = step as u64;
        let turn = match action.how {
            How::Proceed => Turn::Proceed,
            How::Expire => Turn::Expired,
            How::Wake => Turn::Woken,
        };
        if action.how != How::Proceed {
            seat.turn = turn;
        }
        if let Some(deadline) = wanted.deadline.filter(|_| action.how == How::Expire) {
            // Past it: whoever asks the time sees that it is up.
            let late = deadline.saturating_sub(now);
            self.ahead += late + Duration::from_nanos(1);
        }
        if let Some((next, ready)) = wanted.then.take() {
            // Woken, it takes its lock as a step of its own.
            *wanted = Wanted::without_limit(next, Some(ready));
            return None;
        }
        seat.looks.note(wanted.next, self.changes);
        seat.pending = None;
        seat.status = Status::Chosen;
        self.turn = Some(index);
        Some(index)
    }

    /// Whoever was notified is about to take its lock again.
    fn enter_second_phases(&mut self) {
        for seat in &mut self.seats {
            let Some(wanted) = &mut seat.pending else {
                continue;
            };
            let is_over = wanted.ready.is_none_or(ProbePointer::ask);
            if let Some((next, ready)) = wanted.then.take_if(|_| is_over) {
                *wanted = Wanted::without_limit(next, Some(ready));
            }
        }
    }

    /// What the strands wait for.
    fn pending(&mut self) -> Offers {
        let mut offers = Offers::default();
        for index in 0..self.seats.len() {
            let Some(wanted) = &self.seats[index].pending else {
                continue;
            };
            let (next, is_short) = (wanted.next, wanted.is_short);
            let action = self.action(index, next, How::Proceed);
            if self.can(index) {
                match self.seats[index].looks.is_held_back(self.changes) {
                    true => offers.held_back.push(action),
                    false => offers.ready.push(action),
                }
                continue;
            }
            offers.blocked.push(action);
            if is_short && !self.has_real_time() {
                let how = How::Expire;
                offers.ready.push(Action { how, ..action });
            }
            if matches!(next.kind, Kind::Wait | Kind::Park) {
                let how = How::Wake;
                offers.ready.push(Action { how, ..action });
            }
        }
        if offers.ready.iter().all(|action| action.how == How::Wake) {
            // Nobody is woken without a reason while there is no other way to go on: otherwise
            // there would be no deadlock.
            offers.waking = std::mem::take(&mut offers.ready);
        }
        offers
    }

    /// Whether a seat's pending operation would go through.
    fn can(&self, index: usize) -> bool {
        let Some(wanted) = &self.seats[index].pending else {
            return false;
        };
        match (wanted.next.kind, wanted.next.thing) {
            (Kind::Join, Thing::Strand(strand)) => !self.is_there(strand),
            _ => wanted.ready.is_none_or(ProbePointer::ask),
        }
    }

    fn somebody_can(&self) -> bool {
        let is_pressing = |&index: &usize| {
            let seat = &self.seats[index];
            !seat.looks.is_held_back(self.changes) && self.can(index)
        };
        (0..self.seats.len()).any(|index| is_pressing(&index))
    }

    fn is_there(&self, strand: u32) -> bool {
        let is_it = |seat: &Seat| seat.strand == strand && seat.status != Status::Gone;
        self.seats.iter().any(is_it)
    }

    fn action(&mut self, index: usize, next: Announced, how: How) -> Action {
        let object = self.numbers.of(next.thing);
        let seat = &self.seats[index];
        Action {
            seat: index as u32,
            path: seat.key,
            nth: seat.nth,
            block: seat.block,
            intent: Intent {
                kind: next.kind,
                object,
                site: next.site,
            },
            how,
        }
    }

    /// The end of the earliest wait for a moment.
    fn earliest(&mut self) -> Option<(Duration, Action)> {
        let deadline = |seat: &Seat| seat.pending.as_ref()?.deadline;
        let times = self.seats.iter().enumerate();
        let (deadline, index) = times
            .filter_map(|(index, seat)| Some((deadline(seat)?, index)))
            .min()?;
        let next = self.seats[index].pending.as_ref()?.next;
        Some((deadline, self.action(index, next, How::Expire)))
    }

    fn site_of(&self, step: usize) -> u32 {
        self.steps.get(step).map_or(0, |step| step.site)
    }

    /// Who waits for what.
    fn waits(&self) -> Vec<Waits> {
        let waiting = self.seats.iter().enumerate();
        waiting
            .filter_map(|(index, seat)| {
                let next = seat.pending.as_ref()?.next;
                let holders = self.seats.iter().enumerate();
                let held = holders.flat_map(|(holder, seat)| {
                    let held = seat.held.iter().filter(|held| held.thing == next.thing);
                    held.map(move |held| (holder as u32, self.site_of(held.step)))
                });
                Some(Waits {
                    seat: index as u32,
                    next,
                    held: held.collect(),
                })
            })
            .collect()
    }
}

impl Seat {
    fn new(strand: u32, path: Vec<u32>) -> Seat {
        Seat {
            strand,
            key: key(&path),
            path,
            children: 0,
            status: Status::Waiting,
            pending: None,
            turn: Turn::Proceed,
            nth: 0,
            block: 0,
            blocks: 0,
            randoms: 0,
            looks: Looks::default(),
            ran: 0,
            awake: Arc::new(Condvar::new()),
            task: None,
            held: Vec::new(),
        }
    }
}

/// FNV-1a of a path.
fn key(path: &[u32]) -> u64 {
    let bytes = path.iter().flat_map(|part| part.to_le_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

/// A seat of a run.
struct SeatOf {
    world: Arc<World>,
    seat: usize,
    /// The last announcement was of a wait with a limit: it may be the real operation that reads
    /// the clock.
    is_timed: AtomicBool,
}

impl SeatOf {
    /// Waits for the turn.
    fn sleep(&self, mut state: MutexGuard<'_, State>) -> Turn {
        let me = self.seat;
        let awake = state.seats[me].awake.clone();
        loop {
            if state.end.is_some() {
                return state.leave(me);
            }
            if state.turn == Some(me) && state.seats[me].pending.is_none() {
                state.seats[me].status = Status::Running;
                return state.seats[me].turn;
            }
            state = awake.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl State {
    /// A strand goes on uncontrolled.
    fn leave(&mut self, seat: usize) -> Turn {
        self.seats[seat].pending = None;
        self.seats[seat].status = Status::Outside;
        match self.stuck {
            Some(_) => Turn::Doomed,
            None => Turn::Free,
        }
    }

    fn has_real_time(&self) -> bool {
        self.reads_clock.load(Ordering::Relaxed)
    }

    /// The time since the run has begun, as the program sees it.
    fn now(&self) -> Duration {
        match self.has_real_time() {
            true => self.ahead + self.begun.elapsed(),
            false => self.ahead,
        }
    }

    /// Whether an announcement needs no turn.
    fn is_passed_over(&self, next: &Announced) -> bool {
        next.kind == Kind::Unlock && !self.has_tries && !self.tried.contains(&next.thing)
    }

    /// A strand announces what it is about to do.
    fn announce(&mut self, me: usize, pending: Pending<'_>) {
        let is_try = match pending.next.kind {
            Kind::TryLock | Kind::TryLockShared => true,
            Kind::Lock | Kind::LockShared => pending.limit.is_some(),
            _ => false,
        };
        if is_try {
            self.tried.insert(pending.next.thing);
        }
        let now = self.now();
        let deadline = pending.limit.map(|limit| now.saturating_add(limit));
        let is_sleep = pending.next.kind == Kind::Sleep;
        let seat = &mut self.seats[me];
        if seat.status == Status::Outside {
            self.outside += 1;
        }
        seat.status = Status::Waiting;
        seat.turn = Turn::Proceed;
        seat.pending = Some(Wanted {
            next: pending.next,
            ready: pending.ready.map(ProbePointer::new),
            deadline,
            is_short: !is_sleep && pending.limit.is_some_and(|limit| limit <= SHORT),
            then: pending
                .then
                .map(|(next, ready)| (next, ProbePointer::new(ready))),
        });
    }
}

impl Control for SeatOf {
    fn proceed(&self, pending: Pending<'_>) -> Turn {
        let (me, world) = (self.seat, &*self.world);
        self.is_timed
            .store(pending.limit.is_some(), Ordering::Relaxed);
        let mut state = world.lock();
        if state.end.is_some() {
            return state.leave(me);
        }
        if state.is_passed_over(&pending.next) && state.turn == Some(me) {
            return Turn::Proceed;
        }
        state.announce(me, pending);
        if state.steps.len() as u64 >= world.limits.steps {
            state.free(End::Abandoned);
        } else if state.turn.is_none() || state.turn == Some(me) {
            state.turn = None;
            world.pass_on(state, Some(me));
            state = world.lock();
        }
        self.sleep(state)
    }

    fn pick(&self, choice: Choice, n: usize) -> usize {
        let mut state = self.world.lock();
        if state.end.is_some() {
            return 0;
        }
        let picked = state.with_plan(|plan| plan.pick(choice, n));
        picked.unwrap_or(0).min(n - 1)
    }

    fn recorded(&self, what: What, target: u32) {
        let mut state = self.world.lock();
        state.recorded(self.seat, what, Thing::Object(target));
    }

    fn in_block(&self, inside: bool) {
        let mut state = self.world.lock();
        let seat = &mut state.seats[self.seat];
        seat.blocks += u32::from(inside);
        seat.block = if inside { seat.blocks } else { 0 };
    }

    fn outside(&self, is_outside: bool) {
        let mut state = self.world.lock();
        if !is_outside || state.end.is_some() || state.turn != Some(self.seat) {
            return;
        }
        state.turn = None;
        state.seats[self.seat].status = Status::Outside;
        self.world.pass_on(state, None);
    }

    fn fork(&self, child: u32) -> Arc<dyn Control> {
        let mut state = self.world.lock();
        let parent = &mut state.seats[self.seat];
        let mut path = parent.path.clone();
        path.push(parent.children);
        parent.children += 1;
        let mut seat = Seat::new(child, path);
        let start = Announced {
            kind: Kind::Start,
            thing: Thing::Strand(child),
            site: 0,
        };
        seat.pending = Some(Wanted::without_limit(start, None));
        state.seats.push(seat);
        self.world.control_of(state.seats.len() - 1)
    }

    fn start(&self) {
        let mut state = self.world.lock();
        state.seats[self.seat].task = task::Registered::new();
        self.sleep(state);
    }

    fn gone(&self) {
        let mut state = self.world.lock();
        let seat = &mut state.seats[self.seat];
        seat.status = Status::Gone;
        seat.task = None;
        seat.pending = None;
        state.note_change();
        if state.end.is_none() && state.turn.is_none_or(|turn| turn == self.seat) {
            state.turn = None;
            self.world.pass_on(state, None);
        }
    }

    fn now(&self) -> Instant {
        let state = self.world.lock();
        state.begun + state.now()
    }

    fn processors(&self) -> Option<NonZero<usize>> {
        self.world.limits.processors
    }

    fn reads_clock(&self) {
        if !self.is_timed.load(Ordering::Relaxed) {
            self.world.limits.reads_clock.store(true, Ordering::Relaxed);
        }
    }

    fn random(&self) -> u64 {
        let mut state = self.world.lock();
        let seat = &mut state.seats[self.seat];
        seat.randoms += 1;
        seat.key.wrapping_mul(seat.randoms | 1)
    }

    fn panics(&self, message: String, place: String) {
        let mut state = self.world.lock();
        // What a strand panics with because another one did says less.
        state.panic.get_or_insert(Panic { message, place });
    }
}

impl State {
    /// A lock is given back, perhaps by another strand than the one that took it; whether what it
    /// guards was changed.
    fn release(&mut self, me: usize, thing: Thing) -> bool {
        let is_it = |held: &Held| held.thing == thing;
        let others = (0..self.seats.len()).filter(|&seat| seat != me);
        for seat in std::iter::once(me).chain(others) {
            let held = &mut self.seats[seat].held;
            if let Some(at) = held.iter().rposition(is_it) {
                return held.swap_remove(at).is_changed;
            }
        }
        true
    }

    fn recorded(&mut self, me: usize, what: What, thing: Thing) {
        let step = self.steps.len().saturating_sub(1);
        match what {
            What::Acquire | What::AcquireShared => self.seats[me].held.push(Held {
                thing,
                step,
                is_changed: false,
            }),
            What::GuardWrite => {
                let mut held = self.seats[me].held.iter_mut();
                if let Some(held) = held.find(|held| held.thing == thing) {
                    held.is_changed = true;
                }
            }
            What::Release | What::ReleaseShared => {
                let has_changed = self.release(me, thing);
                if has_changed || self.tried.contains(&thing) {
                    self.note_change();
                }
                let object = self.numbers.of(thing);
                if self.end.is_none() {
                    self.with_plan(|plan| plan.released(object));
                }
            }
            What::Retire => {
                // The number may come back as another object's.
                self.numbers.known.remove(&thing);
                self.has_tries |= self.tried.remove(&thing);
            }
            _ => {}
        }
        if changes(what) {
            self.note_change();
        }
    }
}

/// Whether others may see something that they have not seen before.
fn changes(what: What) -> bool {
    use What::{
        CompareExchange, Downgrade, Exit, Notify, ReadWrite, Send, Signal, UpdateAdd, UpdateAnd,
        UpdateChannel, UpdateInit, UpdateMax, UpdateMin, UpdateOr, UpdateXor, Write,
    };
    let is_value = matches!(
        what,
        Write | ReadWrite | CompareExchange | UpdateAdd | UpdateAnd | UpdateOr | UpdateXor
    );
    let is_other = matches!(
        what,
        UpdateMax
            | UpdateMin
            | UpdateInit
            | UpdateChannel
            | Downgrade
            | Notify
            | Signal
            | Send
            | Exit
    );
    is_value || is_other
}
