//! What the processes of a run have said, all together.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::marks::{Found, Line};
use super::project::Project;
use super::sources;

/// What the processes of a run have counted, all together: a line each, of numbers in the order in
/// which they stand here, and a line for each block that was entered.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Totals {
    processes: u64,
    tests: u64,
    events: u64,
    transactions: u64,
    pub(super) violations: u64,
    predictions: u64,
    split: u64,
    empty: u64,
    /// Processes whose events an observer judges.
    observed: u64,
    /// The marks that were entered.
    entered: BTreeSet<Line>,
}

impl Totals {
    pub(super) fn read(text: &str) -> Totals {
        let mut totals = Totals::default();
        for line in text.lines() {
            if let Some(place) = line.strip_prefix("entered ") {
                let place = place.split_once(' ');
                totals.entered.extend(
                    place.and_then(|(line, file)| Some((PathBuf::from(file), line.parse().ok()?))),
                );
                continue;
            }
            if line == "observed" {
                totals.observed += 1;
                continue;
            }
            let mut numbers = line.split(' ').map(|number| number.parse().unwrap_or(0));
            totals.processes += 1;
            for total in [
                &mut totals.tests,
                &mut totals.events,
                &mut totals.transactions,
                &mut totals.violations,
                &mut totals.predictions,
                &mut totals.split,
                &mut totals.empty,
            ] {
                *total += numbers.next().unwrap_or(0);
            }
        }
        totals
    }

    /// Which of the marked functions were entered: what a clean run has checked.
    pub(super) fn coverage(&self, project: &Project, found: &Found) -> String {
        if found.functions.is_empty() && self.entered.is_empty() {
            return "nothing is marked, so nothing was checked for atomicity: name functions with \
                    `--atomic 'Type::*'` or in aerodrome.toml, or mark them in the source; `cargo \
                    aerodrome suggest` names candidates"
                .to_owned();
        }
        // The compiler's paths are relative to the workspace, where they can be.
        let entered = self.entered.iter();
        let entered = entered.map(|(file, line)| (project.root.join(file), *line));
        let entered: BTreeSet<Line> = entered.collect();
        let is_entered = |line: &&Line| entered.contains(line);
        let (known, never): (Vec<_>, Vec<_>) = found.functions.keys().partition(is_entered);
        let are = if found.functions.len() == 1 {
            "is"
        } else {
            "are"
        };
        let marked = several(found.functions.len() as u64, "function");
        let mut text = match (known.len(), never.len()) {
            (0, 0) => "no function is marked".to_owned(),
            (0, _) => format!("{marked} {are} marked, and none was entered"),
            (_, 0) => format!("{marked} {are} marked and entered"),
            (some, _) => format!("{marked} {are} marked, {some} entered"),
        };
        if !never.is_empty() {
            let names = sources::names(project, found, never.into_iter());
            text += &format!("; never entered: {names}");
        }
        let others = entered
            .iter()
            .filter(|it| !found.functions.contains_key(it));
        match others.count() as u64 {
            0 => {}
            others => text += &format!("; entered beside them: {}", several(others, "block")),
        }
        text
    }
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.processes, self.observed) {
            (0, 0) => return f.write_str("no process has recorded anything"),
            (0, _) => {}
            _ => self.counts(f)?,
        }
        if self.observed > 0 {
            let processes = several(self.observed, "process");
            let separator = if self.processes > 0 { "; " } else { "" };
            write!(f, "{separator}an observer judges {processes}")?;
        }
        Ok(())
    }
}

impl Totals {
    fn counts(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let parts = [
            (self.processes, "process", true),
            (self.tests, "test", false),
            (self.events, "event", true),
            (self.transactions, "transaction", true),
            (self.violations, "violation", true),
            (self.predictions, "prediction", false),
            (self.split, "block that a wait has split", false),
            (self.empty, "block in which nothing is tracked", false),
        ];
        let told = parts
            .iter()
            .filter(|(count, _, always)| *always || *count > 0);
        let told: Vec<_> = told.map(|(count, what, _)| several(*count, what)).collect();
        f.write_str(&told.join(", "))
    }
}

pub(super) fn several(count: u64, what: &str) -> String {
    let (noun, rest) = what
        .split_once(' ')
        .map_or((what, ""), |(noun, rest)| (noun, rest));
    let space = if rest.is_empty() { "" } else { " " };
    let ending = match count {
        1 => "",
        _ if noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}{space}{rest}")
}

#[cfg(test)]
mod tests {
    use super::Totals;

    #[test]
    fn processes_are_added_up() {
        let totals = Totals::read("3 100 5 0 0 1 0\n1 20 2 1 0 0 2\n");
        let text = "2 processes, 4 tests, 120 events, 7 transactions, 1 violation, \
                    1 block that a wait has split, 2 blocks in which nothing is tracked";
        assert_eq!(totals.to_string(), text);
        let totals = Totals::read("1 2 3 0 0 0 0\nentered 7 src/a b.rs\nentered 9 src/c.rs\n");
        assert_eq!(totals.processes, 1);
        let observed = Totals::read("observed\nobserved\n").to_string();
        assert_eq!(observed, "an observer judges 2 processes");
        let entered = [("src/a b.rs", 7), ("src/c.rs", 9)];
        assert_eq!(
            totals.entered,
            entered.map(|(file, line)| (file.into(), line)).into()
        );
        assert_eq!(
            Totals::read("").to_string(),
            "no process has recorded anything"
        );
    }
}
