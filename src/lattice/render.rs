//! Outcomes for people and for programs.

use super::{Counterexample, Outcome, Relevant, Step};
use crate::json::{objects, to_string};
use crate::trace::{Names, SiteInfo};
use std::fmt::Write;

/// How many steps of a run are shown at its beginning and at its end.
const SHOWN_STEPS: usize = 20;

impl Outcome {
    /// The outcome as text: the verdict, then each violating run beside what was observed instead.
    pub fn text(&self, names: &dyn Names) -> String {
        let mut text = format!("property: {}\n", self.property);
        let _ = writeln!(text, "verdict:  {}", self.verdict());
        let _ = writeln!(text, "explored: {}", self.exploration());
        let shown = self.counterexamples.len();
        for (number, counterexample) in self.counterexamples.iter().enumerate() {
            let _ = writeln!(
                text,
                "\nviolating run {} of {}",
                number + 1,
                count(self.violating.max(shown as u128))
            );
            self.run(&mut text, counterexample, names);
        }
        if self.violating > shown as u128 {
            let _ = writeln!(text, "\nThe other violating runs are not shown.");
        }
        text
    }

    fn verdict(&self) -> String {
        if self.holds() {
            return if self.complete() {
                "holds in every consistent run".to_string()
            } else {
                "holds in every consistent run that was explored".to_string()
            };
        }
        let runs = match (self.violating, self.runs) {
            (u128::MAX, _) => "in too many consistent runs to count".to_string(),
            (violating, 1) => format!("in {violating} of 1 consistent run"),
            (violating, runs) => format!("in {violating} of {} consistent runs", count(runs)),
        };
        let observed = if self.observed_broken {
            "the observed run is one of them"
        } else {
            "the observed run has the property"
        };
        format!("violated {runs}; {observed}")
    }

    fn exploration(&self) -> String {
        let what = format!(
            "{} and {}",
            plural(self.events.into(), "event"),
            plural(self.states.into(), "state")
        );
        if self.complete() {
            return format!("{what}, {}", plural(self.runs, "run"));
        }
        let mut why = Vec::new();
        if self.narrowed {
            why.push("a level of the lattice has more states than are kept");
        }
        if self.late {
            why.push("an event is concurrent with more events than are waited for");
        }
        format!(
            "{what}, the first {}: {}",
            plural(self.runs, "run"),
            why.join(", and ")
        )
    }

    fn run(&self, text: &mut String, counterexample: &Counterexample, names: &dyn Names) {
        let Counterexample {
            before,
            as_observed,
            start,
            steps,
            observed,
        } = counterexample;
        let order = if *as_observed {
            "as observed"
        } else {
            "in some consistent order"
        };
        let shared = match before {
            0 => "in the initial state".to_string(),
            _ => format!("after {}, {order}", plural((*before).into(), "event")),
        };
        let mut rows = vec![self.heading(), self.row(None, start, &shared, names)];
        self.steps(&mut rows, steps, names);
        if let Some(last) = rows.last_mut() {
            last.push("<- broken".to_string());
        }
        if !observed.is_empty() && observed != steps {
            rows.push(vec!["observed instead:".to_string()]);
            rows.push(self.row(None, start, &shared, names));
            self.steps(&mut rows, observed, names);
        }
        table(text, &rows);
    }

    fn heading(&self) -> Vec<String> {
        let fixed = ["event", "strand", "write", "at"].map(str::to_string);
        fixed
            .into_iter()
            .chain(self.variables.iter().cloned())
            .collect()
    }

    fn steps(&self, rows: &mut Vec<Vec<String>>, steps: &[Step], names: &dyn Names) {
        let left_out = steps.len().saturating_sub(2 * SHOWN_STEPS);
        for (number, step) in steps.iter().enumerate() {
            if left_out > 0 && (SHOWN_STEPS..SHOWN_STEPS + left_out).contains(&number) {
                if number == SHOWN_STEPS {
                    rows.push(vec!["...".to_string(), format!("{left_out} more")]);
                }
                continue;
            }
            rows.push(self.row(Some(&step.event), &step.state, "", names));
        }
    }

    fn row(
        &self,
        event: Option<&Relevant>,
        state: &[i64],
        note: &str,
        names: &dyn Names,
    ) -> Vec<String> {
        let mut row = match event {
            None => vec![
                String::new(),
                String::new(),
                note.to_string(),
                String::new(),
            ],
            Some(event) => vec![
                event.position.to_string(),
                strand(event, names),
                format!("{} = {}", self.variables[event.variable], event.value),
                site(event, names).unwrap_or_default(),
            ],
        };
        row.extend(state.iter().map(i64::to_string));
        row
    }

    /// The outcome as one JSON object, without a line's end. Numbers of runs beyond `u64` are given
    /// as the largest `u64`.
    pub fn json(&self, names: &dyn Names) -> String {
        to_string(&Named {
            outcome: self,
            names,
            value: self,
        })
    }
}

/// A part of an outcome, with what it takes to write it.
struct Named<'a, T: ?Sized> {
    outcome: &'a Outcome,
    names: &'a dyn Names,
    value: &'a T,
}

impl<'a, T: ?Sized> Named<'a, T> {
    fn each<U>(&self, parts: &'a [U]) -> Vec<Named<'a, U>> {
        let named = |value| Named {
            outcome: self.outcome,
            names: self.names,
            value,
        };
        parts.iter().map(named).collect()
    }
}

objects! {
    Named<'_, Outcome> {
        property: |it| &it.value.property,
        holds: |it| it.value.holds(),
        observed_holds: |it| !it.value.observed_broken,
        complete: |it| it.value.complete(),
        events: |it| it.value.events,
        states: |it| it.value.states,
        runs: |it| number(it.value.runs),
        violating_runs: |it| number(it.value.violating),
        variables: |it| &it.value.variables,
        initial: |it| &it.value.initial,
        counterexamples: |it| it.each(&it.value.counterexamples),
    }
    Named<'_, Counterexample> {
        before: |it| it.value.before,
        as_observed: |it| it.value.as_observed,
        start: |it| &*it.value.start,
        steps: |it| it.each(&it.value.steps),
        observed: |it| it.each(&it.value.observed),
    }
    Named<'_, Step> {
        event: |it| it.value.event.position,
        strand: |it| strand(&it.value.event, it.names),
        site: |it| site(&it.value.event, it.names),
        variable: |it| &it.outcome.variables[it.value.event.variable],
        value: |it| it.value.event.value,
        state: |it| &*it.value.state,
    }
}

fn number(runs: u128) -> u64 {
    u64::try_from(runs).unwrap_or(u64::MAX)
}

/// The strand's name, or its number where it has none.
pub(super) fn strand(event: &Relevant, names: &dyn Names) -> String {
    let name = names.strand(event.strand).name;
    if name.is_empty() {
        format!("#{}", event.strand.0)
    } else {
        name
    }
}

fn site(event: &Relevant, names: &dyn Names) -> Option<String> {
    Some(match names.site(event.site)? {
        SiteInfo::Source { file, line, column } => format!("{file}:{line}:{column}"),
        SiteInfo::Label(label) => label,
    })
}

fn count(runs: u128) -> String {
    if runs == u128::MAX {
        "more than 10^38".to_string()
    } else {
        runs.to_string()
    }
}

fn plural(number: u128, word: &str) -> String {
    format!(
        "{} {word}{}",
        count(number),
        if number == 1 { "" } else { "s" }
    )
}

/// Columns as wide as their widest cell: numbers to the right, words to the left, rows of one cell
/// as they are.
fn table(text: &mut String, rows: &[Vec<String>]) {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows
            .iter()
            .filter(|row| row.len() > 1)
            .filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let words = (1..=3).contains(&column) || row.len() == 1 || cell.starts_with("<-");
            let pad = " ".repeat(widths[column].saturating_sub(cell.chars().count()));
            let _ = if words {
                write!(line, "  {cell}{pad}")
            } else {
                write!(line, "  {pad}{cell}")
            };
        }
        let _ = writeln!(text, "{}", line.trim_end());
    }
}
