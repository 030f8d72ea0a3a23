//! Forecasts as text.

use std::collections::HashSet;
use std::fmt;

use super::report::DEPENDS;
use super::{Forecast, ForecastAccess, ForecastDeadlock, ForecastRace, ForecastViolation};
use crate::predict::Tier;
use crate::report::source::{self, Workspace};
use crate::report::{Block, schedule, text};

impl Forecast {
    /// Reads the source lines that its reports name, as far as they can be read.
    pub fn with_sources(mut self, workspace: &Workspace) -> Forecast {
        for found in self.violations.iter_mut().filter(|found| found.is_sure()) {
            source::attach(&mut found.report, workspace);
        }
        self
    }

    /// The text for whoever has the sources: a violation that is more than a hint is told like one
    /// that was observed, where it is `denied` as an error. One hint is enough for a block, and none
    /// where there is more than a hint.
    pub fn render(&self, style: &text::Style, denied: bool) -> String {
        let (sure, hints) = self.by_certainty();
        let mut told: HashSet<Option<&Block>> = sure.iter().map(|found| found.block()).collect();
        let hints = hints.iter().filter(|hint| told.insert(hint.block()));
        let hints = hints.collect();
        let forecast = self;
        let render = |found: &ForecastViolation| {
            let style = text::Style {
                denied: denied && found.fails(),
                ..style.clone()
            };
            text::render(&found.report, &style)
        };
        let mut texts: Vec<String> = sure.iter().map(render).collect();
        texts.push(Rest { forecast, hints }.to_string());
        texts.join("\n")
    }

    /// The violations that are more than hints, and the hints.
    fn by_certainty(&self) -> (&[ForecastViolation], &[ForecastViolation]) {
        let sure = self.violations.partition_point(ForecastViolation::is_sure);
        self.violations.split_at(sure)
    }
}

impl fmt::Display for Forecast {
    /// The surest first, hints last.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (sure, hints) = self.by_certainty();
        sure.iter().try_for_each(|found| write!(f, "{found}"))?;
        let (forecast, hints) = (self, hints.iter().collect());
        write!(f, "{}", Rest { forecast, hints })
    }
}

/// All but the violations that are more than hints.
struct Rest<'a> {
    forecast: &'a Forecast,
    hints: Vec<&'a ForecastViolation>,
}

impl fmt::Display for Rest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Rest { forecast, hints } = self;
        let (deadlocks, races) = (&forecast.deadlocks, &forecast.races);
        deadlocks
            .iter()
            .try_for_each(|found| write!(f, "{found}"))?;
        races.iter().try_for_each(|found| write!(f, "{found}"))?;
        hints.iter().try_for_each(|found| write!(f, "{found}"))?;
        let mut notes = forecast.notes.iter();
        notes.try_for_each(|note| writeln!(f, "note: {note}"))
    }
}

impl fmt::Display for ForecastViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match (self.block(), self.accesses.first()) {
            (Some(block), _) => format!("`{}`", block.name),
            (None, Some(access)) => format!("an atomic block on thread `{}`", access.strand),
            (None, None) => "an atomic block".to_owned(),
        };
        match self.tier {
            Tier::Predicted if self.depends.is_some() => {
                writeln!(f, "predicted, not observed: {what} {DEPENDS}")?
            }
            Tier::Predicted => writeln!(
                f,
                "predicted, not observed: {what} is not atomic under another schedule of this run"
            )?,
            Tier::Potential => writeln!(f, "potential, not observed: {what} may not be atomic")?,
            Tier::Hint => writeln!(f, "hint: {what} may not be atomic")?,
        }
        writeln!(f, "  {} ({})", self.pattern, self.analysis.name())?;
        for (number, access) in (1..).zip(&self.accesses) {
            writeln!(f, "  ({number}) {access}")?;
        }
        if let Some(read) = &self.depends {
            writeln!(
                f,
                "  it depends on what thread `{}` finds under a lock:",
                read.strand
            )?;
            writeln!(f, "      {read}")?;
        }
        if !self.schedule.is_empty() {
            writeln!(f, "  a schedule that shows it:")?;
        }
        let runs = self.schedule.iter().map(|run| (&*run.strand, run.to));
        let accesses = self.accesses.iter().map(|it| (&*it.strand, it.position));
        let lines = schedule::lines(&runs.collect::<Vec<_>>(), &accesses.collect::<Vec<_>>());
        lines
            .iter()
            .try_for_each(|line| writeln!(f, "    {line}"))?;
        self.notes
            .iter()
            .try_for_each(|note| writeln!(f, "  note: {note}"))?;
        again(f, self.count)
    }
}

/// The line that says how often, and the empty line after a finding.
fn again(f: &mut fmt::Formatter<'_>, count: u64) -> fmt::Result {
    if count > 1 {
        writeln!(f, "  found {count} times, with other threads and objects")?;
    }
    writeln!(f)
}

impl fmt::Display for ForecastAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread `{}` {}", self.strand, self.does)?;
        if let Some(place) = &self.place {
            write!(f, " at {place}")?;
        }
        write!(f, " (event {})", self.position)?;
        match &self.block {
            Some(block) if !block.name.is_empty() => {
                write!(f, ", in transaction `{}`", block.name)?
            }
            Some(_) => write!(f, ", in a transaction")?,
            None => {}
        }
        for (number, held) in self.locks.iter().enumerate() {
            let before = if number == 0 { ", holding " } else { ", " };
            let shared = if held.shared { " for reading" } else { "" };
            write!(f, "{before}{}{shared}", held.lock.label())?;
        }
        Ok(())
    }
}

impl fmt::Display for ForecastDeadlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "potential deadlock, not observed: {} threads may wait for each other",
            self.waits.len()
        )?;
        for (number, wait) in (1..).zip(&self.waits) {
            writeln!(f, "  ({number}) {}", wait.held)?;
            writeln!(f, "      then {}", wait.wanted)?;
        }
        again(f, self.count)
    }
}

impl fmt::Display for ForecastRace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "race: nothing keeps these two apart")?;
        for (number, access) in (1..).zip(&self.accesses) {
            writeln!(f, "  ({number}) {access}")?;
        }
        again(f, self.count)
    }
}
