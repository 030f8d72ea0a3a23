//! What all observed processes did, as one report.

use std::collections::BTreeSet;

use super::judge::{Decided, Judged};
use crate::json::{Text, ToJson, object, objects};
use crate::lattice;
use crate::report::text::{self, Style};
use crate::report::{Report, groups};
use crate::trace::{Error, Fault};

/// What was observed.
pub(super) struct Observed<'a> {
    processes: Vec<Judged>,
    /// The properties' texts.
    properties: &'a [String],
}

impl<'a> Observed<'a> {
    pub(super) fn new(processes: Vec<Judged>, properties: &'a [String]) -> Self {
        Self {
            processes,
            properties,
        }
    }

    fn events(&self) -> u64 {
        self.processes.iter().map(|it| it.checked.events).sum()
    }

    fn violations(&self) -> impl Iterator<Item = &Report> {
        self.processes.iter().flat_map(|it| &it.checked.reports)
    }

    /// The violations and what was predicted.
    pub(super) fn reports(&self) -> Vec<Report> {
        let predicted = self.processes.iter().flat_map(|it| &it.predicted);
        self.violations().chain(predicted).cloned().collect()
    }

    /// The processes that have decided a property of this index, and how. One that has no such
    /// variables has nothing to say of it.
    fn decided(
        &self,
        property: usize,
    ) -> impl Iterator<Item = (&str, &Result<Decided, lattice::Error>)> {
        self.processes.iter().filter_map(move |it| {
            let decided = it.properties.get(property)?;
            let is_unknown = matches!(decided, Err(lattice::Error::UnknownVariable { .. }));
            (!is_unknown).then_some((it.name.as_str(), decided))
        })
    }

    /// Whether anything was found that fails.
    pub(super) fn has_violations(&self) -> bool {
        let is_predicted = |it: &Judged| it.forecast.as_ref().is_some_and(|it| it.fails());
        let is_broken = |it: &Judged| {
            let mut decided = it.properties.iter().flatten();
            decided.any(|decided| !decided.holds)
        };
        self.violations().next().is_some()
            || self
                .processes
                .iter()
                .any(|it| is_predicted(it) || is_broken(it))
    }

    /// Why not everything could be judged.
    pub(super) fn wrong(&self) -> Vec<String> {
        let cut_off = self.processes.iter().filter_map(|it| {
            let error = it.checked.cut_off.as_ref()?;
            Some(explain(error, it.checked.events))
        });
        let mut wrong: Vec<String> = cut_off.collect();
        for (index, property) in self.properties.iter().enumerate() {
            let mut is_decided = false;
            for (name, decided) in self.decided(index) {
                is_decided = true;
                if let Err(error) = decided {
                    wrong.push(format!("{name}: {error}"));
                }
            }
            if !is_decided {
                wrong.push(format!(
                    "no process has variables of the names in the property `{property}`"
                ));
            }
        }
        wrong
    }

    /// The report for people.
    pub(super) fn text(&self, style: &Style) -> String {
        let mut out: String = self
            .processes
            .iter()
            .flat_map(|process| groups(&process.checked.reports))
            .map(|group| text::render_group(&group, style) + "\n")
            .collect();
        for process in &self.processes {
            let told = process.forecast.as_ref().filter(|it| !it.is_empty());
            if let Some(forecast) = told {
                out += &format!("other schedules of {}:\n\n{forecast}\n", process.name);
            }
        }
        for index in 0..self.properties.len() {
            for (name, decided) in self.decided(index) {
                if let Ok(decided) = decided {
                    out += &format!("{name}\n{}\n", decided.text);
                }
            }
        }
        let splits = self.processes.iter().flat_map(|it| &it.checked.splits);
        let notes: BTreeSet<String> = splits.map(|split| split.to_string()).collect();
        let left_out = self.processes.iter().filter_map(|it| {
            let note = it.checked.note()?;
            Some(format!("{}: {note}", it.name))
        });
        for note in notes.into_iter().chain(left_out).chain(self.wrong()) {
            out += &format!("note: {note}\n");
        }
        out + &self.summary()
    }

    fn summary(&self) -> String {
        let processes = match self.processes.len() {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        let events = self.events();
        let is_cut = self.processes.iter().any(|it| it.checked.cut_off.is_some());
        let violations = self.processes.iter().map(|it| it.checked.violations());
        match (violations.sum::<u64>(), is_cut) {
            (0, false) => format!("serializable: {processes}, {events} events\n"),
            (0, true) => format!("serializable as far as judged: {processes}, {events} events\n"),
            (1, _) => format!("violation: {processes}, {events} events read\n"),
            (count, _) => format!("{count} violations: {processes}, {events} events read\n"),
        }
    }
}

/// Why a process was judged only up to an event.
fn explain(error: &Error, events: u64) -> String {
    let judged = format!("what it had sent is judged, {events} events");
    match &error.fault {
        Fault::Truncated { .. } => {
            format!("{} was cut off before its end; {judged}", error.file)
        }
        Fault::Io(_) | Fault::Mismatch { .. } => format!("{error}; {judged}"),
    }
}

impl ToJson for Observed<'_> {
    fn write(&self, out: &mut String) {
        let violations: Vec<&Report> = self.violations().collect();
        let verdict = if violations.is_empty() {
            "serializable"
        } else {
            "violation"
        };
        object(
            out,
            &[
                ("verdict", &verdict),
                ("events", &self.events()),
                ("violations", &violations),
                ("processes", &self.processes),
                ("wrong", &self.wrong()),
            ],
        );
    }
}

objects! {
    Judged {
        process: |it| &it.name,
        events: |it| it.checked.events,
        violations: |it| it.checked.violations(),
        left_out: |it| (it.checked.left_out > 0).then_some(it.checked.left_out),
        cut_off: |it| it.checked.cut_off.as_ref().map(Text),
        forecast,
        properties: |it| it.properties.iter().flatten().collect::<Vec<&Decided>>(),
    }
}

impl ToJson for Decided {
    fn write(&self, out: &mut String) {
        *out += &self.json;
    }
}
