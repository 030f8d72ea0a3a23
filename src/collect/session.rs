//! One process's run: every merged event is judged, written and counted.

use std::collections::HashMap;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::ptr::NonNull;

use super::config::{Config, Predict};
use super::live::{Live, Moment};
use super::memory::Memory;
use super::merge::{Definition, Sink};
use super::properties::Properties;
use super::prophet::Prophet;
use crate::check::{Checker, Violation};
use crate::lattice::Property;
use crate::predict::Forecast;
use crate::record::{self, Strand, stacks};
use crate::report::window::Window;
use crate::report::{Extras, Report};
use crate::trace::{AeroWriter, Event, Names, ObjectId, ObjectKind, Op, Semantics, StrandId};

/// Everything that is done with the merged events.
pub(super) struct Session {
    pub(super) config: Config,
    live: Live,
    checker: Checker,
    properties: Properties,
    window: Option<Window>,
    trace: Option<AeroWriter<BufWriter<File>>>,
    /// By strand.
    family_of: Vec<u32>,
    families: HashMap<u32, Family>,
    /// First strands of families that have something to tell.
    alarms: Vec<u32>,
    /// What went wrong without being reason enough to stop.
    complaints: Vec<String>,
    memory: Memory,
    /// Whether events are judged and nothing else: no trace, no window, no stacks, no prediction and no property. Locks that do not order
    /// are then nobody's business.
    lean: bool,
    counts: Counts,
}

/// What the summary at exit says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) events: u64,
    /// How many of the events are a strand's last, which it has whatever it did.
    pub(super) exits: u64,
    pub(super) transactions: u64,
    /// Families whose first strand has a name that is not `main`, which is to say tests: a harness runs each on a thread of its name.
    pub(super) tests: u64,
    pub(super) violations: u64,
}

/// A strand that nobody forked, and its descendants.
#[derive(Debug, Default)]
struct Family {
    /// Who tells the family's violations.
    first: Option<u32>,
    reports: Vec<Report>,
    /// The family's violations are asked for by [`check`](crate::check()), not told.
    collecting: bool,
    /// Where predictions are wanted.
    prophet: Option<Prophet>,
}

/// What a family has to tell.
#[derive(Debug, Default)]
pub(super) struct News {
    pub(super) reports: Vec<Report>,
    pub(super) forecasts: Vec<Forecast>,
}

/// The test that runs on a thread of this name, which a harness gives it; `main` and threads without a name run none.
pub(super) fn test_of(name: &str) -> Option<String> {
    (!matches!(name, "" | "main")).then(|| name.to_owned())
}

impl Family {
    /// Says in the reports which test they belong to. The first strand's name is known when it has begun a block, or joined another one, at the
    /// latest; a report may have been made before.
    fn name_test(&mut self, names: &Live) {
        if let Some(first) = self.first {
            for report in &mut self.reports {
                report.test = test_of(&names.strand(StrandId(first)).name);
            }
        }
    }

    fn end(mut self, names: &Live) -> News {
        self.name_test(names);
        let forecast = self.prophet.and_then(|prophet| prophet.foretell(names));
        News {
            reports: self.reports,
            forecasts: forecast.into_iter().collect(),
        }
    }
}

impl Session {
    pub(super) fn new(config: Config) -> Self {
        stacks::want(config.backtrace);
        // A trace may be predicted from, too.
        record::be_thorough(config.predict != Predict::Off || config.trace.is_some());
        Self {
            live: Live::default(),
            checker: Checker::new(config.engine, config.semantics),
            properties: Properties::default(),
            // The past is shown by the page only, which is made from a report file.
            window: config.report.is_some().then(|| Window::new(config.window)),
            trace: None,
            family_of: Vec::new(),
            families: HashMap::new(),
            alarms: Vec::new(),
            complaints: Vec::new(),
            memory: Memory::default(),
            lean: false,
            counts: Counts::default(),
            config,
        }
    }

    /// Starts under other settings. What is known of strands and objects stays.
    pub(super) fn reconfigure(&mut self, config: Config) {
        let fresh = Self::new(config);
        self.config = fresh.config;
        self.checker = fresh.checker;
        self.window = fresh.window;
        for (strand, &family) in (0..).zip(&self.family_of) {
            self.checker.set_scope(StrandId(strand), family);
        }
    }

    /// Whether an event was taken already, so that the settings cannot change any more.
    pub(super) fn has_begun(&self) -> bool {
        self.counts.events > 0
    }

    pub(super) fn counts(&self) -> Counts {
        self.counts
    }

    pub(super) fn take_alarms(&mut self) -> Vec<u32> {
        std::mem::take(&mut self.alarms)
    }

    pub(super) fn take_complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    /// A family whose violations are asked for.
    pub(super) fn collect_family(&mut self, family: u32) {
        self.families.entry(family).or_default().collecting = true;
    }

    /// What a family has to tell.
    pub(super) fn take(&mut self, family: u32) -> News {
        match self.families.get_mut(&family) {
            Some(family) if !family.collecting => {
                family.name_test(&self.live);
                let prophet = family.prophet.take_if(|prophet| prophet.is_at_rest());
                News {
                    reports: std::mem::take(&mut family.reports),
                    forecasts: prophet
                        .and_then(|prophet| prophet.foretell(&self.live))
                        .into_iter()
                        .collect(),
                }
            }
            _ => News::default(),
        }
    }

    /// What a family was asked for.
    pub(super) fn take_collected(&mut self, family: u32) -> News {
        self.checker.forget_scope(family);
        self.families
            .remove(&family)
            .map_or_else(News::default, |family| family.end(&self.live))
    }

    /// Checks a property on what the family does from here on; the number it is known by.
    pub(super) fn declare(&mut self, property: Property, family: u32) -> u64 {
        self.lean = false;
        self.properties.declare(property, family, &self.live)
    }

    /// Whether an open property of the family speaks of this variable.
    pub(super) fn speaks_of(&self, family: u32, name: &str) -> bool {
        self.properties.speak_of(family, name)
    }

    /// The property's test is over: what is wrong with it, if anything.
    pub(super) fn decide(&mut self, number: u64) -> Option<String> {
        let decided = self.properties.decide(number)?;
        if self.has_begun() {
            self.lean = self.may_be_lean();
        }
        match decided {
            Ok(outcome) if outcome.holds() => None,
            Ok(outcome) => Some(outcome.text(&self.live)),
            Err(error) => Some(error.to_string()),
        }
    }

    /// There are no more events: what nobody has heard.
    pub(super) fn finish(&mut self) -> News {
        while let Some(violation) = self.checker.finish() {
            self.report(&violation);
        }
        if let Some(trace) = self.trace.take()
            && let Err(error) = trace
                .finish()
                .and_then(|buffer| buffer.into_inner().map_err(|error| error.into_error()))
        {
            self.complaints.push(format!(
                "the trace could not be written to its end: {error}"
            ));
        }
        let mut news = News::default();
        for family in std::mem::take(&mut self.families).into_values() {
            family
                .first
                .into_iter()
                .for_each(|first| self.count_test(first));
            let News { reports, forecasts } = family.end(&self.live);
            news.reports.extend(reports);
            news.forecasts.extend(forecasts);
        }
        news
    }

    /// A family's first strand is through.
    fn count_test(&mut self, first: u32) {
        let test = test_of(&self.live.strand(StrandId(first)).name);
        self.counts.tests += u64::from(test.is_some());
    }

    #[cold]
    fn report(&mut self, violation: &Violation) {
        self.counts.violations += 1;
        let closing = violation
            .edges
            .iter()
            .find(|edge| edge.to.position == violation.event);
        let strand = closing.map_or(violation.transactions[violation.blame].strand, |edge| {
            edge.to.strand
        });
        let number = self.family_of(strand);
        let family = self.families.entry(number).or_default();
        let extras = Extras {
            window: self.window.as_ref(),
            backtraces: self.memory.backtraces(violation),
            panicked: self.memory.panicked(violation),
            ..Extras::default()
        };
        family
            .reports
            .push(Report::new(violation, &self.live, &extras));
        if !family.collecting {
            self.alarms.extend(family.first);
        }
    }

    fn open_trace(&mut self) {
        let Some(directory) = self.config.trace.clone() else {
            return;
        };
        match create_trace(&directory)
            .and_then(|file| AeroWriter::new(BufWriter::new(file), self.config.semantics))
        {
            Ok(trace) => self.trace = Some(trace),
            Err(error) => self.complaints.push(format!(
                "AERODROME_TRACE: no trace can be written into `{}`: {error}",
                directory.display()
            )),
        }
    }

    #[cold]
    fn trace_failed(&mut self, error: &std::io::Error) {
        self.trace = None;
        self.complaints.push(format!(
            "the trace ends here, it could not be written: {error}"
        ));
    }
}

impl Session {
    fn now(&self) -> Moment {
        Moment {
            position: self.counts.events,
            is_quiet: self.checker.is_quiet(),
        }
    }

    fn family_of(&self, strand: StrandId) -> u32 {
        self.family_of.get(strand.0 as usize).copied().unwrap_or(0)
    }

    /// Whether nobody but the checker has a use for events now. What properties to come have to know of watched variables is remembered in either
    /// case, and so the answer may change with any property that is declared or decided.
    fn may_be_lean(&self) -> bool {
        let config = &self.config;
        config.semantics == Semantics::Rust
            && self.trace.is_none()
            && self.window.is_none()
            && config.predict == Predict::Off
            && !config.backtrace
            && self.properties.are_idle()
    }

    /// Takes an event when more is done than judging it.
    #[inline(never)]
    fn full_event(&mut self, event: Event) {
        if self.counts.events == 0 {
            self.open_trace();
            self.lean = self.may_be_lean();
        }
        self.counts.events += 1;
        let position = self.counts.events;
        self.counts.transactions += u64::from(event.op == Op::Begin);
        self.memory.event(event.strand, position);
        if let Some(trace) = &mut self.trace
            && let Err(error) = trace.event_with(&event, &self.live)
        {
            self.trace_failed(&error);
        }
        if let Some(window) = &mut self.window {
            window.push(event, position);
        }
        let family = self.family_of(event.strand);
        if self.config.predict != Predict::Off {
            let semantics = self.config.semantics;
            let prophet = &mut self.families.entry(family).or_default().prophet;
            prophet
                .get_or_insert_with(|| Prophet::new(semantics))
                .step(event, position, &self.live);
        }
        self.properties.event(&event, position, family, &self.live);
        if let Some(violation) = self.checker.step(event, position, &self.live) {
            self.report(&violation);
        }
    }
}

/// A new file, named after the program and the process.
fn create_trace(directory: &Path) -> std::io::Result<File> {
    std::fs::create_dir_all(directory)?;
    let program = std::env::current_exe().ok();
    let name = program
        .as_deref()
        .and_then(Path::file_stem)
        .unwrap_or("program".as_ref());
    File::create(directory.join(format!(
        "{}-{}.aero",
        name.to_string_lossy(),
        std::process::id()
    )))
}

impl Sink for Session {
    #[inline]
    fn event(&mut self, event: Event) {
        if !self.lean {
            return self.full_event(event);
        }
        self.counts.events += 1;
        match event.op {
            Op::Acquire
            | Op::Release
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::Upgrade
            | Op::Downgrade
                if self.live.kind(event.object()) == ObjectKind::Lock =>
            {
                return;
            }
            Op::Begin => self.counts.transactions += 1,
            op if self.properties.remember(op) => {
                let family = self.family_of(event.strand);
                self.properties
                    .event(&event, self.counts.events, family, &self.live);
            }
            _ => {}
        }
        if let Some(violation) = self.checker.step(event, self.counts.events, &self.live) {
            self.report(&violation);
        }
    }

    #[inline]
    fn is_quiet(&self) -> bool {
        self.lean && self.checker.is_quiet()
    }

    #[inline]
    fn skip(&mut self, events: u64, transactions: u64) {
        self.counts.events += events;
        self.counts.transactions += transactions;
    }

    fn strand(&mut self, id: u32, strand: NonNull<Strand>, family: u32) {
        let now = self.now();
        self.live.add_strand(id, strand, now);
        self.family(id, family);
        // SAFETY: a strand lives until its exit was merged.
        if !unsafe { strand.as_ref() }.forked {
            self.families.entry(family).or_default().first = Some(id);
        }
    }

    fn strand_exited(&mut self, id: u32) {
        self.live.strand_exited(id);
        self.counts.exits += 1;
        let number = self.family_of[id as usize];
        if let Some(family) = self.families.get_mut(&number)
            && family.first == Some(id)
        {
            family.name_test(&self.live);
            family.first = None;
            if family.reports.is_empty() && family.prophet.is_none() && !family.collecting {
                self.families.remove(&number);
                self.checker.forget_scope(number);
            }
            self.count_test(id);
        }
    }

    fn family(&mut self, strand: u32, family: u32) {
        let at = strand as usize;
        if self.family_of.len() <= at {
            self.family_of.resize(at + 1, 0);
        }
        self.family_of[at] = family;
        self.checker.set_scope(StrandId(strand), family);
    }

    fn object(&mut self, id: u32, definition: Definition) {
        let now = self.now();
        self.live.add_object(id, definition, now);
    }

    fn name(&mut self, object: u32, name: u32) {
        self.live.name(object, name);
        if let Some(trace) = &mut self.trace
            && let Err(error) = trace.name_object(ObjectId(object), &self.live)
        {
            self.trace_failed(&error);
        }
    }

    fn stack(&mut self, strand: u32, stack: u32) {
        self.memory.stack(StrandId(strand), stack);
    }

    fn panicked(&mut self, strand: u32) {
        if let Some(begin) = self.checker.open_since(StrandId(strand)) {
            self.memory.left_by_panic(StrandId(strand), begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::SiteId;

    const X: u32 = 0;

    fn event(strand: u32, op: Op, target: u32) -> Event {
        Event {
            strand: StrandId(strand),
            target,
            site: SiteId::NONE,
            op,
        }
    }

    /// `X` is watched; nothing has been declared.
    fn session() -> Session {
        let mut session = Session::new(Config::default());
        let definition = Definition {
            kind: ObjectKind::Variable,
            type_name: 0,
            created: 0,
        };
        session.family(0, 0);
        session.object(X, definition);
        session.event(Event::of_value(StrandId(0), 1));
        session.event(event(0, Op::Born, X));
        session
    }

    #[test]
    fn whole_transactions_pass_unseen_whenever_no_property_is_open() {
        let mut session = session();
        assert!(session.is_quiet());
        let one = session.declare("true".parse().unwrap(), 0);
        let two = session.declare("true".parse().unwrap(), 0);
        session.event(event(0, Op::Read, X));
        assert!(!session.is_quiet());
        assert_eq!(session.decide(one), None);
        assert!(!session.is_quiet(), "the other one is open");
        assert_eq!(session.decide(two), None);
        assert!(session.is_quiet());
        session.event(event(0, Op::Begin, 0));
        assert!(!session.is_quiet(), "a transaction is open");
        session.event(event(0, Op::End, 0));
        assert!(session.is_quiet());
    }

    #[test]
    fn a_property_decided_before_anything_was_recorded_leaves_the_settings_open() {
        let mut session = Session::new(Config::default());
        let number = session.declare("true".parse().unwrap(), 0);
        assert_eq!(session.decide(number), None);
        assert!(!session.is_quiet() && !session.has_begun());
    }
}
