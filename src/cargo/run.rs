//! Runs Cargo with the wrapper, and sums up what the processes of the run have said.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::arguments::{Form, Options, Predict, Verb, value_of, with_options};
use super::marks::{Found, Marks};
use super::plan::{Plan, Programs};
use super::project::{Project, cargo};
use super::settings::{self, Settings};
use super::summary::{Totals, several};
use super::wrapper::{FAILED, untracked_file};
use super::{Failure, library, sources};
use crate::report::{Report, html, json, sarif};

/// A project that is ready to be run.
pub(super) struct Prepared {
    pub(super) project: Project,
    pub(super) found: Found,
    plan: Plan,
    programs: Programs,
}

/// Builds what is needed for the project that Cargo's arguments speak of. `more` may add marks.
pub(super) fn prepare(
    verb: Verb,
    options: &Options,
    more: impl FnOnce(&mut Marks),
) -> Result<Prepared, Failure> {
    let mut project = Project::find(&options.cargo)?;
    let Settings {
        mut marks,
        untracked,
        track,
    } = settings::find(&project.root, options)?;
    project.add_members(&track)?;
    for note in &project.notes {
        eprintln!("aerodrome: {note}");
    }
    project.leave_out_named(&untracked)?;
    more(&mut marks);
    let found = sources::find(&project, &marks)?;
    for line in sources::describe(&project, &found) {
        eprintln!("aerodrome: {line}");
    }
    let library = library::build(&project, &options.cargo)?;
    let plan = Plan::new(&project, library, &marks, verb.is_for_tests());
    let programs = plan.write(&project, &found)?;
    Ok(Prepared {
        project,
        found,
        plan,
        programs,
    })
}

/// One of Cargo's commands, checked.
pub(super) fn run(verb: Verb, options: &Options) -> Result<ExitCode, Failure> {
    let mut prepared = prepare(verb, options, |_| ())?;
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
    prepared.name_untracked_dependencies();
    let totals = &outcome.totals;
    eprintln!("aerodrome: {totals}");
    if !options.cargo.iter().any(|argument| argument == "--no-run") {
        let coverage = totals.coverage(&prepared.project, &prepared.found);
        eprintln!("aerodrome: {coverage}");
    }
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
        command.arg(verb.name());
        command.args(with_options(&options.cargo, self.profiles(options)));
        command.env("RUSTC_WORKSPACE_WRAPPER", &self.programs.rustc);
        if self.project.dependencies().next().is_some() {
            command.env("RUSTC_WRAPPER", &self.programs.wrapper);
        }
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
    /// Cargo's options that keep a tracked dependency, and what depends on it, apart from those of
    /// plain builds and of other plans. Cargo knows a dependency by its profile, and not by the
    /// program that compiles it; the number of codegen units is what matters least there.
    fn profiles(&self, options: &Options) -> Vec<OsString> {
        let given = ["--profile", "--cargo-profile"].iter();
        let given = given.filter_map(|option| value_of(&options.cargo, option)?.into_string().ok());
        let profiles: BTreeSet<String> = ["dev".to_owned(), "release".to_owned()]
            .into_iter()
            .chain(given)
            .collect();
        // More than any crate has, and no more than Cargo takes.
        let units = (1 << 20) + self.programs.number % (1 << 30);
        let mut arguments = Vec::new();
        for member in self.project.dependencies() {
            for profile in &profiles {
                let package = format!("profile.{profile}.package.{:?}", member.name);
                arguments.extend([
                    "--config".into(),
                    format!("{package}.codegen-units={units}").into(),
                ]);
            }
        }
        arguments
    }

    /// Cargo shows no warnings of dependencies from a registry.
    fn name_untracked_dependencies(&self) {
        let others = self.project.dependencies().filter(|it| !it.is_local);
        for (name, _) in others.flat_map(|it| &it.crates) {
            let file = self.programs.folder.join(untracked_file(name));
            if let Ok(message) = fs::read_to_string(file) {
                eprintln!("aerodrome: {message}");
            }
        }
    }

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
        self.programs = self.plan.write(&self.project, &self.found)?;
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
