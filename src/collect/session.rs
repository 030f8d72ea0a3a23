//! One process's run: every merged event is judged, written and counted.

use std::hash::BuildHasher;
use std::ptr::NonNull;

use rustc_hash::FxBuildHasher;

use super::cancelled::{Cancelled, Torn};
use super::config::{Config, Predict};
use super::export::Export;
use super::families::{Families, Findings, Involved};
use super::live::{Live, Moment};
use super::memory::Memory;
use super::merge::{Definition, Missing, Sink};
use super::properties::Properties;
use super::repeats::Repeats;
use crate::check::{Checker, Violation, Whose};
use crate::lattice::Property;
use crate::record::{self, Strand, stacks};
use crate::report::window::Window;
use crate::report::{Extras, Object, Report, Split};
use crate::trace::{AeroWriter, Event, Names, ObjectId, Op, Owner, Semantics, StrandId};

/// Everything that is done with the merged events.
pub(super) struct Session {
    pub(super) config: Config,
    live: Live,
    checker: Checker,
    pub(super) properties: Properties,
    window: Option<Window>,
    pub(super) export: Export,
    pub(super) families: Families,
    /// What went wrong without being reason enough to stop.
    complaints: Vec<String>,
    memory: Memory,
    cancelled: Cancelled,
    repeats: Repeats,
    /// Whether events are judged, perhaps predicted from, and nothing else: no trace, no window, no
    /// stacks and no property.
    lean: bool,
    pub(super) counts: Counts,
}

/// What the summary at exit says.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) events: u64,
    /// How many of the events are a strand's last, which it has whatever it did.
    pub(super) exits: u64,
    pub(super) transactions: u64,
    /// Families whose first strand has a name that is not `main`, which is to say tests: a harness
    /// runs each on a thread of its name.
    pub(super) tests: u64,
    pub(super) violations: u64,
    /// Violations that are not told because the same ones were.
    pub(super) repeats: u64,
}

impl Session {
    pub(super) fn new(config: Config) -> Self {
        stacks::want(config.backtrace);
        // A trace may be predicted from, too, and by an observer.
        let is_written = config.trace.is_some() || config.observer.is_some();
        record::be_thorough(config.predict != Predict::Off || is_written);
        Self {
            live: Live::default(),
            checker: Checker::new(config.engine, config.semantics).with_repeats(),
            properties: Properties::default(),
            // The past is shown by the page only, which is made from a report file.
            window: config.report.is_some().then(|| Window::new(config.window)),
            export: Export::default(),
            families: Families::default(),
            complaints: Vec::new(),
            memory: Memory::default(),
            cancelled: Cancelled::default(),
            repeats: Repeats::default(),
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
        for (strand, family) in self.families.strands() {
            self.checker.set_group(strand, family);
        }
    }

    /// Whether an event was taken already, so that the settings cannot change any more.
    pub(super) fn has_begun(&self) -> bool {
        self.counts.events > 0
    }

    /// Whether strands do little but spin, since this was asked last.
    pub(super) fn sees_spinning(&mut self) -> bool {
        self.repeats.prevail(self.counts.events)
    }

    /// Something is to be said.
    pub(super) fn complain(&mut self, complaint: String) {
        self.complaints.push(complaint);
    }

    /// Why a verdict cannot be reached.
    pub(super) fn explain(&self, missing: Option<Missing>) -> String {
        let Some(missing) = missing else {
            return "a thread has begun a record and not finished it".to_owned();
        };
        let object = Object::of(missing.object, &self.live);
        let created = object.created.as_ref();
        let created = created.map_or_else(String::new, |place| format!(", created at {place}"));
        let waiter = self.live.strand(missing.waiter).name;
        let waiter = match waiter.as_str() {
            "" => format!("#{}", missing.waiter.0),
            name => name.to_owned(),
        };
        format!(
            "another thread has begun an operation on {} and not recorded it yet{created}; thread `{waiter}` has to wait for that, \
             and what comes after it is not judged",
            object.label()
        )
    }

    pub(super) fn take_complaints(&mut self) -> Vec<String> {
        std::mem::take(&mut self.complaints)
    }

    /// What a family has to tell.
    pub(super) fn take(&mut self, family: u32) -> Findings {
        self.families.take(family, &self.live)
    }

    /// Judges what a family has done, though its blocks may be open: whether nothing waits for what
    /// others have not decided.
    pub(super) fn flush(&mut self, family: u32) -> bool {
        while let Some(violation) = self.checker.flush(family, &self.live) {
            self.report(&violation);
        }
        !self.checker.holds(Whose::Group(family))
    }

    /// What a family was asked for, or has to tell at the end of its first strand.
    pub(super) fn take_all(&mut self, family: u32) -> Findings {
        self.cancelled.forget(family);
        self.families.take_all(family, &self.live)
    }

    /// Checks a property on what the family does from here on; the number it is known by.
    pub(super) fn declare(&mut self, property: Property, family: u32) -> u64 {
        self.lean = false;
        self.properties.declare(property, family, &self.live)
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

    /// The blocks that were split by waits.
    pub(super) fn splits(&self) -> Vec<Split> {
        Split::all(&self.checker, &self.live)
    }

    /// There are no more events: what nobody has heard.
    pub(super) fn finish(&mut self) -> Findings {
        while let Some(violation) = self.checker.finish(&self.live) {
            self.report(&violation);
        }
        let written = self.export.finish_trace();
        self.note(written);
        let sent = self.export.finish_observer();
        self.note(sent);
        let (findings, tests) = self.families.finish(&self.live);
        self.counts.tests += tests;
        findings
    }

    #[cold]
    fn report(&mut self, violation: &Violation) {
        let involved = self.involved(violation);
        let (live, window, memory) = (&self.live, &self.window, &self.memory);
        let report = || {
            let extras = Extras {
                window: window.as_ref(),
                backtraces: memory.backtraces(violation),
                panicked: memory.panicked(violation),
                ..Extras::default()
            };
            Report::new(violation, live, &extras)
        };
        let is_new = self.families.add(involved, live, report);
        self.counts.violations += u64::from(is_new);
        self.counts.repeats += u64::from(!is_new);
    }

    /// Takes what an event, which was counted last, shows of a cancelled run.
    #[inline]
    fn watch_cancelled(&mut self, event: &Event) {
        if self.cancelled.is_watching() {
            for torn in self.cancelled.event(event, self.counts.events) {
                self.report_torn(&torn);
            }
        }
    }

    /// Reports a run that was cancelled half-way.
    #[cold]
    fn report_torn(&mut self, torn: &Torn) {
        let (violation, live) = (&torn.violation, &self.live);
        let mut involved = self.involved(violation);
        involved.signature = FxBuildHasher.hash_one(torn.places);
        let window = self.window.as_ref();
        let report = || {
            let extras = Extras {
                window,
                ..Extras::default()
            };
            Report::cancelled(violation, live, &extras)
        };
        let is_new = self.families.add(involved, live, report);
        self.counts.violations += u64::from(is_new);
        self.counts.repeats += u64::from(!is_new);
    }

    /// Who and what was involved in a violation.
    fn involved(&self, violation: &Violation) -> Involved {
        let blamed = &violation.transactions[violation.blame];
        let edges = violation.edges.iter().rev();
        let accesses = edges.flat_map(|edge| [edge.to, edge.from]);
        let mut strands = Vec::new();
        // The closing edge leads to the blamed transaction, at the last event.
        let mut events: Vec<(StrandId, u64)> = accesses
            .clone()
            .map(|access| (access.strand, access.position))
            .collect();
        events.sort_by_key(|&(_, position)| std::cmp::Reverse(position));
        events.push((blamed.strand, blamed.begin.unwrap_or(violation.event)));
        for (strand, position) in events {
            let family = match self.live.former_family(strand, position) {
                Owner::Present => self.families.of(strand),
                Owner::Former { info, .. } => info,
                Owner::Forgotten => continue,
            };
            if !strands.contains(&(strand, family)) {
                strands.push((strand, family));
            }
        }
        let mut objects: Vec<ObjectId> = accesses
            .filter_map(|access| {
                let object = access.object?;
                let owner = self.live.owner_of_object(object, access.position);
                (owner == Owner::Present).then_some(object)
            })
            .collect();
        objects.sort_unstable();
        objects.dedup();
        Involved {
            strands,
            objects,
            signature: self.checker.signature(violation, &self.live),
        }
    }

    /// Begins what the settings ask for. Where no observer listens, events are judged here.
    fn begin(&mut self) {
        let opened = self.export.open_trace(&self.config);
        self.note(opened);
        if let Err(complaint) = self.export.connect(&self.config) {
            self.complaints.push(complaint);
            let mut config = self.config.clone();
            config.observer = None;
            self.reconfigure(config);
        }
        self.lean = self.may_be_lean();
    }

    /// Whether the events are judged elsewhere.
    pub(super) fn is_observed(&self) -> bool {
        self.config.observer.is_some()
    }

    /// Sends what the observer does not have yet.
    pub(super) fn flush_observer(&mut self) {
        let sent = self.export.send(AeroWriter::flush);
        self.note(sent);
    }

    /// Keeps what went wrong, if anything did.
    #[inline]
    fn note(&mut self, result: Result<(), String>) {
        if let Err(complaint) = result {
            self.complaints.push(complaint);
        }
    }
}

impl Session {
    fn now(&self) -> Moment {
        Moment {
            position: self.counts.events,
            is_quiet: self.checker.is_quiet(),
        }
    }

    /// Whether nobody but the checker and prediction has a use for events now. What properties to
    /// come have to know of watched variables is remembered in either case, and so the answer may
    /// change with any property that is declared or decided.
    fn may_be_lean(&self) -> bool {
        let config = &self.config;
        config.semantics == Semantics::Rust
            && !self.export.has_trace()
            && self.window.is_none()
            && config.observer.is_none()
            && !config.backtrace
            && self.properties.are_idle()
    }

    /// Takes an event when more is done than judging it; that is done if it says anything new.
    #[inline(never)]
    fn full_event(&mut self, event: Event, is_new: bool) {
        if self.counts.events == 0 {
            self.begin();
        }
        self.counts.events += 1;
        let position = self.counts.events;
        self.counts.transactions += u64::from(event.op == Op::Begin);
        self.memory.event(event.strand, position);
        self.watch_cancelled(&event);
        let live = &self.live;
        let written = self.export.write(|trace| trace.event_with(&event, live));
        self.note(written);
        let family = self.families.of(event.strand);
        self.properties.event(&event, position, family, &self.live);
        if self.is_observed() {
            let live = &self.live;
            let sent = self.export.send(|trace| trace.event_with(&event, live));
            return self.note(sent);
        }
        if let Some(window) = &mut self.window {
            window.push(event, position);
        }
        if self.families.has_unclaimed() {
            self.families.touch(&event, &self.live);
        }
        if is_new {
            self.predict(&[event], position);
            self.judge(event);
        }
    }

    fn predicts(&self) -> bool {
        self.config.predict != Predict::Off
    }

    /// Gives events, which follow one another from a position on, to prediction, where that is
    /// wanted.
    #[inline]
    fn predict(&mut self, events: &[Event], first: u64) {
        if self.predicts() {
            let semantics = self.config.semantics;
            for (&event, position) in events.iter().zip(first..) {
                self.families
                    .predict(event, position, semantics, &self.live);
            }
        }
    }

    /// Counts an event, where nobody but the checker, prediction and properties may want to see it.
    #[inline]
    fn lean_event(&mut self, event: &Event) {
        self.counts.events += 1;
        self.watch_cancelled(event);
        if self.families.has_unclaimed() {
            self.families.touch(event, &self.live);
        }
        match event.op {
            Op::Begin => self.counts.transactions += 1,
            op if self.properties.remember(op) => {
                let family = self.families.of(event.strand);
                self.properties
                    .event(event, self.counts.events, family, &self.live);
            }
            _ => {}
        }
    }

    /// Gives the event that was counted last to the checker.
    #[inline]
    fn judge(&mut self, event: Event) {
        let position = self.counts.events;
        let found = self.checker.step(event, position, &self.live);
        self.report_all(found);
    }

    /// Reports a violation and those that were found with it.
    #[inline]
    fn report_all(&mut self, mut found: Option<Box<Violation>>) {
        while let Some(violation) = found {
            self.report(&violation);
            found = self.checker.next_found();
        }
    }
}

impl Sink for Session {
    #[inline]
    fn event(&mut self, event: Event) {
        self.repeats.event(&event, self.counts.events + 1);
        if !self.lean {
            return self.full_event(event, true);
        }
        self.lean_event(&event);
        self.predict(&[event], self.counts.events);
        self.judge(event);
    }

    #[inline]
    fn transaction(&mut self, events: &[Event]) {
        let first = self.counts.events + 1;
        let is_new = !self.repeats.transaction(events, first);
        if !self.lean {
            let full = |&event| self.full_event(event, is_new);
            return events.iter().for_each(full);
        }
        for event in events {
            self.lean_event(event);
        }
        if !is_new {
            return;
        }
        self.predict(events, first);
        let mut taken = 0;
        while taken < events.len() {
            let (rest, position) = (&events[taken..], first + taken as u64);
            let (count, found) = self.checker.run(rest, rest.len(), position, &self.live);
            taken += count;
            self.report_all(found);
        }
    }

    #[inline]
    fn is_quiet(&self) -> bool {
        let is_watched = !self.lean || self.predicts() || self.families.has_unclaimed();
        !is_watched && !self.cancelled.is_watching() && self.checker.is_quiet()
    }

    #[inline]
    fn skip(&mut self, events: u64, transactions: u64) {
        self.counts.events += events;
        self.counts.transactions += transactions;
        if events > 0 {
            self.repeats.forget_all(self.counts.events);
        }
    }

    fn holds(&self, whose: Whose) -> bool {
        self.checker.holds(whose)
    }

    fn strand(&mut self, id: u32, strand: NonNull<Strand>, family: u32) {
        let (now, former) = (self.now(), self.families.of(StrandId(id)));
        self.live.add_strand(id, strand, former, now);
        self.family(id, family);
        // SAFETY: a strand lives until its exit was merged.
        let strand = unsafe { strand.as_ref() };
        if !strand.forked {
            self.families.begin(family, id, strand.origin());
        }
        if strand.is_run.get() && self.config.cancelled && !self.is_observed() {
            self.cancelled.begin(StrandId(id), family);
        }
    }

    fn strand_exited(&mut self, id: u32) {
        self.live.strand_exited(id);
        self.cancelled.exit(StrandId(id));
        self.counts.exits += 1;
        let family = self.families.of(StrandId(id));
        let is_test = self.families.exit(id, &self.live);
        if is_test {
            self.cancelled.forget(family);
        }
        self.counts.tests += u64::from(is_test);
    }

    fn family(&mut self, strand: u32, family: u32) {
        self.families.set(strand, family);
        self.repeats.forget(StrandId(strand));
        self.checker.set_group(StrandId(strand), family);
    }

    fn object(&mut self, id: u32, definition: Definition, strand: StrandId) {
        self.families.own(ObjectId(id), strand);
        let now = self.now();
        self.live.add_object(id, definition, now);
    }

    fn drops(&mut self, strand: StrandId, object: u32) {
        self.families.drops(strand, ObjectId(object));
    }

    fn retires(&mut self, object: u32) {
        self.families.retires(ObjectId(object));
    }

    fn name(&mut self, object: u32, name: u32) {
        self.live.name(object, name);
        let (object, live) = (ObjectId(object), &self.live);
        let written = self.export.write(|trace| trace.name_object(object, live));
        let sent = self.export.send(|trace| trace.name_object(object, live));
        self.note(written);
        self.note(sent);
    }

    fn stack(&mut self, strand: u32, stack: u32) {
        self.memory.stack(StrandId(strand), stack);
    }

    fn cancelled(&mut self, strand: u32) {
        self.cancelled.cancel(StrandId(strand));
    }

    fn panicked(&mut self, strand: u32) {
        self.cancelled.panic(StrandId(strand));
        if let Some(begin) = self.checker.open_since(StrandId(strand)) {
            self.memory.left_by_panic(StrandId(strand), begin);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{ObjectKind, SiteId};

    const X: u32 = 0;

    fn event(strand: u32, op: Op, target: u32) -> Event {
        Event::new(StrandId(strand), op, target, SiteId::NONE)
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
        session.object(X, definition, StrandId(0));
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
