//! Families: which test a strand, an object or a violation belongs to.
//!
//! A family is a strand that the mirror did not fork, its *first* strand, and all its descendants.
//! Most are tests, or `main`. But a library's threads (a pool's, those of `std::thread::scope`)
//! were not forked by the mirror either: such a strand is a *guest*. It has no test of its own,
//! nobody hears it panic, and others may wait for it for ever if it does. What goes wrong with a
//! guest is the business of the test whose strands or objects it met.
//!
//! | standing | who | how it is known |
//! |---|---|---|
//! | host | a test's own thread, `main`, the thread in [`check`](crate::check()) | a harness is on its stack |
//! | guest | any other thread | there is none |
//! | unknown | either | the program has no symbols, and the thread's name is not known yet |
//!
//! Symbols are looked up when the first violation is found, or where predictions are made. Without
//! them the name decides: a harness names a test's thread after the test, by a path. It is asked
//! for at a block's begin, at a join and at the thread's end, because asking allocates.
//!
//! A violation belongs to the only family of its strands, if there is but one; else to a host among
//! them; else to a host that owns one of its objects, which is to say touched it first. Where there
//! is none it is *unclaimed* until a host touches one of its objects, a strand of unknown standing
//! among those involved turns out to be a host, or the process ends.

use std::cell::Cell;
use std::collections::HashSet;

use rustc_hash::FxHashMap;

use super::live::Live;
use super::predictor::{FamilyPredictor, Ration};
use crate::dense::Dense;
use crate::predict::Forecast;
use crate::record::{Origin, Runner};
use crate::report::Report;
use crate::trace::{Event, ObjectId, Op, Semantics, StrandId};

/// What a family has to tell.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub(super) reports: Vec<Report>,
    pub(super) forecasts: Vec<Forecast>,
    /// A test harness runs on while they are told.
    pub(super) in_test: bool,
}

impl Findings {
    fn new(reports: Vec<Report>, predictor: Option<FamilyPredictor>, names: &Live) -> Findings {
        let forecast = predictor.and_then(|predictor| predictor.predict(names));
        let forecasts = forecast.into_iter().collect();
        Findings {
            reports,
            forecasts,
            in_test: false,
        }
    }

    /// The same, of a family that is a test's or not.
    fn told_in_test(self, is_test: impl FnOnce() -> bool) -> Findings {
        let in_test = !(self.reports.is_empty() && self.forecasts.is_empty()) && is_test();
        Findings { in_test, ..self }
    }
}

/// The test that runs on a thread of this name, which a harness gives it; other threads run none.
pub(super) fn test_of(name: &str) -> Option<String> {
    let is_path = |path: &str| {
        path.split("::").all(|part| {
            let mut letters = part.strip_prefix("r#").unwrap_or(part).chars();
            letters
                .next()
                .is_some_and(|c| c == '_' || c.is_alphabetic())
                && letters.all(|c| c == '_' || c.is_alphanumeric())
        })
    };
    // `src/lib.rs - module::Item (line 12)` is a documentation test.
    let is_documentation = || name.contains(" - ") && name.ends_with(')');
    (name != "main" && (is_path(name) || is_documentation())).then(|| name.to_owned())
}

/// Whether a family is a test's; see the module's page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Standing {
    Guest,
    Unknown,
    Host,
}

impl Standing {
    fn of_name(name: &str) -> Standing {
        if name == "main" || test_of(name).is_some() {
            Standing::Host
        } else {
            Standing::Guest
        }
    }
}

/// An object is gone, though others' records of it are yet to be merged.
#[derive(Debug)]
struct Dropped {
    /// Who has dropped it.
    family: u32,
    /// The records have been merged.
    is_retired: bool,
}

#[derive(Debug, Default)]
struct Family {
    /// Where the first strand came from, and who runs there, when that was looked up.
    origin: Option<Origin>,
    runner: Cell<Option<Runner>>,
    /// The first strand, while it lives.
    first: Option<u32>,
    /// The first strand's name, when it has ended.
    ended: Option<String>,
    reports: Vec<Report>,
    /// The violations that were told or are to be: repeats are not.
    known: HashSet<u64>,
    /// The family's violations are asked for by [`check`](crate::check()), not told.
    collecting: bool,
    /// No predictions are wanted, whatever the settings say: what other schedules show is explored.
    is_explored: bool,
    /// Where predictions are wanted.
    predictor: Option<FamilyPredictor>,
    /// How many events the next one looks at.
    ration: Ration,
    /// The host that this guest is predicted with.
    visits: Option<u32>,
    /// The host has ended while this guest was with it: what the guest is in the middle of is
    /// predicted with nobody.
    is_left: bool,
}

impl Family {
    /// Where its events go.
    fn predictor(&mut self, semantics: Semantics) -> &mut FamilyPredictor {
        let ration = self.ration;
        let new = || FamilyPredictor::new(semantics, ration);
        self.predictor.get_or_insert_with(new)
    }

    fn end(mut self, names: &Live) -> Findings {
        self.name_test(names);
        let reports = std::mem::take(&mut self.reports);
        let found = Findings::new(reports, self.predictor.take(), names);
        found.told_in_test(|| self.is_test(names))
    }

    /// Whether a test harness has named its first strand after a test, and not a program one of its
    /// threads.
    fn is_test(&self, names: &Live) -> bool {
        let is_named = self.name(names).as_deref().and_then(test_of).is_some();
        is_named && self.standing(names) == Standing::Host
    }

    fn standing(&self, names: &Live) -> Standing {
        if self.collecting {
            return Standing::Host;
        }
        if self.runner.get().is_none() {
            self.runner.set(self.origin.and_then(|it| it.runner()));
        }
        match self.runner.get() {
            Some(Runner::Harness) => Standing::Host,
            Some(Runner::Other) => Standing::Guest,
            None => self
                .name(names)
                .map_or(Standing::Unknown, |name| Standing::of_name(&name)),
        }
    }

    /// The first strand's name, where it was asked for.
    fn name(&self, names: &Live) -> Option<String> {
        match self.first {
            Some(first) => names.known_name(StrandId(first)),
            None => self.ended.clone(),
        }
    }

    /// Says in the reports which test they belong to: a report may have been made before the name
    /// was known.
    fn name_test(&mut self, names: &Live) {
        if let Some(test) = self.name(names).as_deref().and_then(test_of) {
            for report in &mut self.reports {
                report.test = Some(test.clone());
            }
        }
    }
}

/// A violation that no test is known to have had.
#[derive(Debug)]
struct Unclaimed {
    report: Report,
    signature: u64,
    /// Its objects that have not retired.
    objects: Vec<ObjectId>,
    /// Families that were involved, and may turn out to be hosts'.
    candidates: Vec<u32>,
}

/// What a violation says of those who were involved.
pub(super) struct Involved {
    /// The strands, the one that closed the cycle first, each with its family.
    pub(super) strands: Vec<(StrandId, u32)>,
    /// The objects that have not retired.
    pub(super) objects: Vec<ObjectId>,
    /// Equal for violations that are the same to a user.
    pub(super) signature: u64,
}

#[derive(Debug, Default)]
pub(super) struct Families {
    /// By strand.
    of_strand: Dense<StrandId, u32>,
    /// By object: the family that touched it first; 0 where nobody has.
    of_object: Dense<ObjectId, u32>,
    all: FxHashMap<u32, Family>,
    unclaimed: Vec<Unclaimed>,
    /// The objects whose drop was merged before other records of theirs, until their numbers have
    /// other owners.
    dropped: FxHashMap<ObjectId, Dropped>,
    /// First strands of families that have something to tell, or may have.
    alarms: Vec<u32>,
    /// Whether any family visits another.
    has_visits: bool,
}

/// More unclaimed violations than this are not kept: these are enough to read.
const UNCLAIMED: usize = 256;

impl Families {
    /// The family of a strand.
    #[inline]
    pub(super) fn of(&self, strand: StrandId) -> u32 {
        self.of_strand.get(strand).copied().unwrap_or(0)
    }

    /// Every strand and its family.
    pub(super) fn strands(&self) -> impl Iterator<Item = (StrandId, u32)> {
        let families = self.of_strand.iter().copied();
        (0..).map(StrandId).zip(families)
    }

    /// The strand is of this family from here on.
    pub(super) fn set(&mut self, strand: u32, family: u32) {
        *self.of_strand.entry(StrandId(strand)) = family;
    }

    /// A strand that the mirror did not fork is the first of its family.
    pub(super) fn begin(&mut self, family: u32, first: u32, origin: Option<Origin>) {
        let family = self.all.entry(family).or_default();
        (family.first, family.origin) = (Some(first), origin);
    }

    /// The strand has dropped an object, which retires later.
    pub(super) fn drops(&mut self, strand: StrandId, object: ObjectId) {
        let family = self.of(strand);
        let is_retired = false;
        self.dropped.insert(object, Dropped { family, is_retired });
        for it in &mut self.unclaimed {
            if it.objects.contains(&object) {
                it.candidates.push(family);
            }
        }
    }

    /// The object has retired.
    pub(super) fn retires(&mut self, object: ObjectId) {
        if let Some(dropped) = self.dropped.get_mut(&object) {
            dropped.is_retired = true;
        }
    }

    /// The family's violations are asked for.
    pub(super) fn collect(&mut self, family: u32, is_explored: bool) {
        let family = self.all.entry(family).or_default();
        family.collecting = true;
        family.is_explored = is_explored;
    }

    /// An object is first touched by this strand.
    pub(super) fn own(&mut self, object: ObjectId, strand: StrandId) {
        // Of a former owner of the number.
        if !self.dropped.is_empty() {
            let dropped = self.dropped.get(&object);
            if dropped.is_some_and(|it| it.is_retired) {
                self.dropped.remove(&object);
            }
        }
        *self.of_object.entry(object) = self.of(strand);
    }

    pub(super) fn take_alarms(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.alarms)
    }

    /// Whether every event is to be seen by [`touch`](Self::touch).
    #[inline]
    pub(super) fn has_unclaimed(&self) -> bool {
        !self.unclaimed.is_empty()
    }

    fn standing(&self, family: u32, names: &Live) -> Standing {
        match self.all.get(&family) {
            Some(family) => family.standing(names),
            None => Standing::Guest,
        }
    }

    /// The family that its first strand is in now: one in [`check`](crate::check()) is in another
    /// for a while.
    fn present(&self, family: u32) -> u32 {
        let first = self.all.get(&family).and_then(|family| family.first);
        first.map_or(family, |first| self.of(StrandId(first)))
    }

    /// Keeps a violation for the family that it belongs to, unless that has it already. `report`
    /// makes the report.
    pub(super) fn add(
        &mut self,
        involved: Involved,
        names: &Live,
        report: impl FnOnce() -> Report,
    ) -> bool {
        let Involved {
            strands,
            objects,
            signature,
        } = involved;
        let mut families: Vec<u32> = strands.iter().map(|&(_, family)| family).collect();
        let one = families.windows(2).all(|pair| pair[0] == pair[1]);
        let owners = objects.iter().map(|object| {
            let owner = self.of_object.get(*object).copied();
            self.present(owner.unwrap_or(0))
        });
        families.extend(owners.filter(|&owner| owner != 0));
        let dropped = objects.iter().filter_map(|object| self.dropped.get(object));
        families.extend(dropped.map(|it| it.family));
        let is_host = |&&family: &&u32| self.standing(family, names) == Standing::Host;
        let host = if one {
            families.first().copied()
        } else {
            families.iter().find(is_host).copied()
        };
        if let Some(host) = host {
            return self.give(host, signature, report);
        }
        let is_known = |it: &Unclaimed| {
            let shares = it.objects.iter().any(|object| objects.contains(object));
            it.signature == signature && (shares || it.objects.is_empty() || objects.is_empty())
        };
        if self.unclaimed.len() == UNCLAIMED || self.unclaimed.iter().any(is_known) {
            return false;
        }
        families.retain(|&family| self.standing(family, names) == Standing::Unknown);
        for family in families.iter().filter_map(|family| self.all.get(family)) {
            self.alarms.extend(family.first);
        }
        self.unclaimed.push(Unclaimed {
            report: report(),
            signature,
            objects,
            candidates: families,
        });
        true
    }

    /// Keeps a violation for a host, unless it has it already.
    fn give(&mut self, host: u32, signature: u64, report: impl FnOnce() -> Report) -> bool {
        let family = self.all.entry(host).or_default();
        let is_new = family.known.insert(signature);
        if is_new {
            family.reports.push(report());
            if !family.collecting {
                self.alarms.extend(family.first);
            }
        }
        is_new
    }

    /// An event, while there are unclaimed violations: whoever touches one's object may be the one
    /// whom it belongs to.
    #[cold]
    pub(super) fn touch(&mut self, event: &Event, names: &Live) {
        let Some(object) = event.its_object() else {
            return;
        };
        let family = self.of(event.strand);
        let standing = self.standing(family, names);
        let mut alarmed = false;
        for it in &mut self.unclaimed {
            if it.objects.contains(&object)
                && standing != Standing::Guest
                && !it.candidates.contains(&family)
            {
                it.candidates.push(family);
                alarmed = true;
            }
            if matches!(event.op, Op::Retire | Op::Recv) {
                it.objects.retain(|&other| other != object);
            }
        }
        if alarmed {
            self.claim(family, names);
            if let Some(family) = self.all.get(&family) {
                self.alarms.extend(family.first);
            }
        }
    }

    /// Gives a host the violations that it is a candidate for.
    fn claim(&mut self, family: u32, names: &Live) {
        if self.unclaimed.is_empty() || self.standing(family, names) != Standing::Host {
            return;
        }
        let host = self.all.entry(family).or_default();
        let unclaimed = std::mem::take(&mut self.unclaimed);
        for it in unclaimed {
            if !it.candidates.contains(&family) {
                self.unclaimed.push(it);
            } else if host.known.insert(it.signature) {
                host.reports.push(it.report);
            }
        }
    }

    /// What the family has to tell, unless it is asked for it.
    pub(super) fn take(&mut self, family: u32, names: &Live) -> Findings {
        self.claim(family, names);
        self.take_over(family, names);
        match self.all.get_mut(&family) {
            Some(family) if !family.collecting => {
                family.name_test(names);
                let predictor = family.predictor.take_if(|it| it.is_at_rest());
                family.ration = predictor.as_ref().map_or(family.ration, |it| it.ration());
                let reports = std::mem::take(&mut family.reports);
                Findings::new(reports, predictor, names).told_in_test(|| family.is_test(names))
            }
            _ => Findings::default(),
        }
    }

    /// What the family was asked for, or has to tell at its end.
    pub(super) fn take_all(&mut self, family: u32, names: &Live) -> Findings {
        self.claim(family, names);
        self.take_over(family, names);
        let is_over = |it: &Family| it.collecting || it.first.is_none();
        match self.all.get_mut(&family) {
            Some(it) if is_over(it) => self
                .remove(family)
                .map_or_else(Findings::default, |it| it.end(names)),
            Some(it) => {
                it.name_test(names);
                let reports = std::mem::take(&mut it.reports);
                let predictor = it.predictor.take();
                let found = Findings::new(reports, predictor, names);
                let found = found.told_in_test(|| it.is_test(names));
                self.leave_guests(family);
                found
            }
            None => Findings::default(),
        }
    }

    /// What nobody has heard; and how many tests there were whose thread has not ended.
    pub(super) fn finish(&mut self, names: &Live) -> (Findings, u64) {
        let (mut findings, mut tests) = (Findings::default(), 0);
        for family in std::mem::take(&mut self.all).into_values() {
            if family.first.is_some() {
                let name = family.name(names);
                tests += u64::from(name.as_deref().and_then(test_of).is_some());
            }
            let found = family.end(names);
            findings.reports.extend(found.reports);
            findings.forecasts.extend(found.forecasts);
        }
        let unclaimed = std::mem::take(&mut self.unclaimed).into_iter();
        findings.reports.extend(unclaimed.map(|it| it.report));
        (findings, tests)
    }

    fn remove(&mut self, family: u32) -> Option<Family> {
        self.leave_guests(family);
        self.all.remove(&family)
    }

    /// A strand is over: whether it was a test's own.
    pub(super) fn exit(&mut self, strand: u32, names: &Live) -> bool {
        let number = self.of(StrandId(strand));
        let Some(family) = self.all.get_mut(&number) else {
            return false;
        };
        if family.first != Some(strand) {
            return false;
        }
        family.name_test(names);
        let name = family.name(names).unwrap_or_default();
        family.first = None;
        let is_test = test_of(&name).is_some();
        family.ended = Some(name);
        let visits = family.visits;
        if family.reports.is_empty() && family.predictor.is_none() && !family.collecting {
            self.remove(number);
        }
        let host = visits.and_then(|host| self.all.get_mut(&host)?.predictor.as_mut());
        if let Some(host) = host {
            host.dismiss();
        }
        is_test
    }

    /// Hands an event to the predictor of the family that it is predicted with: guests are
    /// predicted with the host whose objects they touch.
    pub(super) fn predict(
        &mut self,
        event: Event,
        position: u64,
        semantics: Semantics,
        names: &Live,
    ) {
        let own = self.of(event.strand);
        let object = event.its_object();
        let owner = object.and_then(|object| self.of_object.get(object).copied());
        if owner.is_none_or(|owner| owner == own) {
            if let Some(predictor) = self.predictor_alone(own) {
                return predictor.step(event, position, names);
            }
        }
        let owner = owner.map(|owner| self.visited(self.present(owner)));
        if let Some(owner) = owner.filter(|owner| self.all.contains_key(owner)) {
            self.meet(self.visited(own), owner, semantics, names);
        }
        let its = self.all.entry(own).or_default();
        if its.is_explored {
            return;
        }
        if its.is_left && event.op != Op::Begin {
            return;
        }
        its.is_left = false;
        let family = self.visited(own);
        let family = self.all.entry(family).or_default();
        family.predictor(semantics).step(event, position, names);
    }

    /// The predictor of a family that is predicted with no other, and whose first strand is in it.
    #[inline]
    fn predictor_alone(&mut self, family: u32) -> Option<&mut FamilyPredictor> {
        let its = self.all.get_mut(&family)?;
        let first = its.first.and_then(|it| self.of_strand.get(StrandId(it)));
        let is_alone =
            its.visits.is_none() && !its.is_left && first.is_none_or(|&first| first == family);
        its.predictor.as_mut().filter(|_| is_alone)
    }

    /// Whom a family is predicted with.
    fn visited(&self, family: u32) -> u32 {
        let visits = self.all.get(&family).and_then(|family| family.visits);
        visits.unwrap_or(family)
    }

    /// A strand that is predicted with one family has touched an object of another.
    fn meet(&mut self, own: u32, met: u32, semantics: Semantics, names: &Live) {
        if own == met {
            return;
        }
        let standings = (self.standing(own, names), self.standing(met, names));
        let (guest, host) = match standings {
            // Two tests share a static, say.
            (Standing::Host, Standing::Host) => return,
            (mine, theirs) if mine <= theirs => (own, met),
            _ => (met, own),
        };
        self.has_visits = true;
        let its = self.all.entry(guest).or_default();
        let predictor = its.predictor.take();
        let is_alive = its.first.is_some();
        self.redirect(guest, host);
        let hosts = self.all.entry(host).or_default().predictor(semantics);
        let left = predictor.and_then(|predictor| hosts.absorb(predictor, names).err());
        if is_alive {
            hosts.welcome();
        }
        if left.is_some() {
            // Too late: both have predicted for long. What the guest has had is told by itself.
            self.all.entry(guest).or_default().predictor = left;
        }
    }

    /// The guest, and whoever visits it, visits the host from here on.
    fn redirect(&mut self, guest: u32, host: u32) {
        for (&number, family) in &mut self.all {
            if number == guest || family.visits == Some(guest) {
                family.visits = Some(host).filter(|_| number != host);
            }
        }
    }

    /// A family that has turned out to be a host takes over from the guest that it was predicted
    /// with.
    fn take_over(&mut self, family: u32, names: &Live) {
        let Some(guest) = self.all.get(&family).and_then(|it| it.visits) else {
            return;
        };
        if self.standing(family, names) == Standing::Host
            && self.standing(guest, names) != Standing::Host
        {
            let predictor = self.all.get_mut(&guest).and_then(|it| it.predictor.take());
            self.redirect(guest, family);
            let it = self.all.entry(family).or_default();
            (it.visits, it.predictor) = (None, predictor);
        }
    }

    /// The family has ended: its guests are nobody's.
    fn leave_guests(&mut self, host: u32) {
        if !self.has_visits {
            return;
        }
        for family in self.all.values_mut() {
            if family.visits == Some(host) {
                (family.visits, family.is_left) = (None, true);
            }
        }
    }
}
