//! Runs Cargo with the wrapper, and sums up what the processes of the run have said.

use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::arguments::{Form, Options, Predict, Verb};
use super::marks::Marks;
use super::plan::{Plan, Programs};
use super::project::{Project, cargo};
use super::settings::{self, Settings};
use super::wrapper::FAILED;
use super::{Failure, library, sources};
use crate::report::{Report, html, json, sarif};

/// A project that is ready to be run.
pub(super) struct Prepared {
    pub(super) project: Project,
    plan: Plan,
    programs: Programs,
}

/// Builds what is needed for the project that Cargo's arguments speak of. `more` may add marks.
pub(super) fn prepare(
    verb: Verb,
    options: &Options,
    more: impl FnOnce(&mut Marks),
) -> Result<(Prepared, Marks), Failure> {
    let mut project = Project::find(&options.cargo)?;
    for note in &project.notes {
        eprintln!("aerodrome: {note}");
    }
    let Settings {
        mut marks,
        untracked,
    } = settings::find(&project.root, options)?;
    project.leave_out_named(&untracked)?;
    more(&mut marks);
    let copy = sources::copy(&project, &marks)?;
    let library = library::build(&project, &options.cargo)?;
    let plan = Plan::new(&project, library, copy, verb.is_for_tests());
    let programs = plan.write(&project)?;
    let prepared = Prepared {
        project,
        plan,
        programs,
    };
    Ok((prepared, marks))
}

/// One of Cargo's commands, checked.
pub(super) fn run(verb: Verb, options: &Options) -> Result<ExitCode, Failure> {
    let (mut prepared, _) = prepare(verb, options, |_| ())?;
    let reports = options
        .report
        .map(|form| (form, prepared.project.folder.join("report.json")));
    let report = reports.as_ref().map(|(_, file)| &**file);
    let mut outcome = prepared.cargo(verb, options, report, |_| ())?;
    while outcome.cargo != Some(0) && prepared.leave_out_failed()? {
        outcome = prepared.cargo(verb, options, report, |_| ())?;
    }
    if let Some((form, file)) = reports {
        render(form, &file)?;
    }
    eprintln!("aerodrome: {}", outcome.totals);
    Ok(outcome.code())
}

/// What became of a run.
pub(super) struct Outcome {
    /// Cargo's exit code.
    pub(super) cargo: Option<i32>,
    pub(super) totals: Totals,
}

impl Outcome {
    /// The worst of what Cargo and the processes said.
    pub(super) fn code(&self) -> ExitCode {
        match self.cargo.map(u8::try_from) {
            Some(Ok(0)) if self.totals.violations > 0 => ExitCode::from(1),
            Some(Ok(code)) => ExitCode::from(code),
            _ => ExitCode::from(super::FAILED),
        }
    }
}

impl Prepared {
    /// Runs Cargo, with what `more` adds; the processes append their reports to a file, if one is
    /// given.
    pub(super) fn cargo(
        &self,
        verb: Verb,
        options: &Options,
        reports: Option<&Path>,
        more: impl FnOnce(&mut Command),
    ) -> Result<Outcome, Failure> {
        // Another run may be on its way in the same target directory.
        let summary = format!("summary-{}.txt", std::process::id());
        let summary = self.project.folder.join(summary);
        for file in [Some(&*summary), reports].into_iter().flatten() {
            fs::write(file, "").map_err(Failure::at(file))?;
        }
        for file in self.failures()? {
            fs::remove_file(&file).map_err(Failure::at(&file))?;
        }
        let mut command = cargo();
        command.arg(verb.name()).args(&options.cargo);
        command.env("RUSTC_WORKSPACE_WRAPPER", &self.programs.rustc);
        command.env("RUSTDOC", &self.programs.rustdoc);
        command.env("AERODROME_SUMMARY", &summary);
        command.envs(options.explore.settings());
        command.env(
            "AERODROME_COMMAND",
            format!("cargo aerodrome {}", verb.name()),
        );
        more(&mut command);
        if let Some(reports) = reports {
            command.env("AERODROME_REPORT", reports);
        }
        match options.predict {
            Some(Predict::Warn) => drop(command.env("AERODROME_PREDICT", "warn")),
            Some(Predict::Deny) => drop(command.env("AERODROME_PREDICT", "deny")),
            None => {}
        }
        let status = command
            .status()
            .map_err(|error| Failure::new(format!("cargo cannot be run: {error}")))?;
        let text = fs::read_to_string(&summary).map_err(Failure::at(&summary))?;
        let _ = fs::remove_file(&summary);
        Ok(Outcome {
            cargo: status.code(),
            totals: Totals::read(&text),
        })
    }
}

impl Prepared {
    /// The files about members that compile neither with tracked types nor beside tracked members.
    fn failures(&self) -> Result<Vec<PathBuf>, Failure> {
        let folder = &self.programs.folder;
        let entries = fs::read_dir(folder).map_err(Failure::at(folder))?;
        let is_failure = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str());
            name.is_some_and(|name| name.starts_with(FAILED))
        };
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        Ok(paths.filter(is_failure).collect())
    }

    /// Leaves such members untracked from here on, and those that they depend on; whether there
    /// are any.
    fn leave_out_failed(&mut self) -> Result<bool, Failure> {
        let mut left_out = 0;
        for file in self.failures()? {
            let member = fs::read_to_string(&file).map_err(Failure::at(&file))?;
            eprintln!(
                "aerodrome: {member} compiles neither with tracked types nor beside members that \
                 have them; once more, without tracking it and the members that it depends on"
            );
            left_out += self.project.leave_out(Path::new(&member));
        }
        self.plan.keep_members_of(&self.project);
        self.programs = self.plan.write(&self.project)?;
        Ok(left_out > 0)
    }
}

/// Writes the page, or what else is wanted, and says where it is.
fn render(form: Form, file: &Path) -> Result<(), Failure> {
    let reports = read_reports(file)?;
    let (path, text): (PathBuf, _) = match form {
        Form::Json => (file.to_owned(), None),
        Form::Html => (file.with_extension("html"), Some(html::render(&reports))),
        Form::Sarif => (file.with_extension("sarif"), Some(sarif::render(&reports))),
    };
    if let Some(text) = text {
        fs::write(&path, text).map_err(Failure::at(&path))?;
    }
    eprintln!(
        "aerodrome: {} in {}",
        several(reports.len() as u64, "report"),
        path.display()
    );
    Ok(())
}

/// The reports of a run.
pub(super) fn read_reports(file: &Path) -> Result<Vec<Report>, Failure> {
    let open = File::open(file).map_err(Failure::at(file))?;
    json::read(BufReader::new(open)).map_err(Failure::at(file))
}

/// What the processes of a run have counted, all together: a line each, of numbers in the order in
/// which they stand here.
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
}

impl Totals {
    fn read(text: &str) -> Totals {
        let mut totals = Totals::default();
        for line in text.lines() {
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
}

impl std::fmt::Display for Totals {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.processes == 0 {
            return f.write_str("no process has recorded anything");
        }
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

fn several(count: u64, what: &str) -> String {
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
        assert_eq!(
            Totals::read("").to_string(),
            "no process has recorded anything"
        );
    }
}
