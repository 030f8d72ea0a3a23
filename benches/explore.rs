//! How many schedules each plan takes to the first bug of each program, beside what was published
//! of RFF and SURW.
//!
//! `cargo bench --bench explore -- mix pos --only reorder`: plans, then options. A cell is the
//! median of 20 seeds, and how often the bug was found within the 1,000 schedules if not always.
//! `README.md` says how the table is read.

#[path = "explore/mod.rs"]
mod programs;

use std::io::{Write, stdout};
use std::time::{Duration, Instant};

use aerodrome::plan::Name;
use aerodrome::{Explore, explore};
use programs::{Is, Program, Published};

/// The numbers of schedules at which the summary counts programs.
const BOUNDS: [u64; 6] = [1, 5, 10, 30, 100, 1_000];

/// What to measure.
struct Wanted {
    plans: Vec<Name>,
    only: String,
    seeds: u64,
    schedules: u64,
    is: Is,
}

impl Wanted {
    fn from_arguments() -> Result<Self, String> {
        let mut wanted = Wanted {
            plans: Vec::new(),
            only: String::new(),
            seeds: 20,
            schedules: 1_000,
            is: Is::Bug,
        };
        let mut arguments = std::env::args().skip(1);
        while let Some(argument) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{argument} needs a value"));
            let number = |value: String| value.parse().map_err(|_| format!("{value}: no number"));
            match argument.as_str() {
                // Cargo says so to every benchmark.
                "--bench" => {}
                "--only" => wanted.only = value()?,
                "--seeds" => wanted.seeds = number(value()?)?,
                "--schedules" => wanted.schedules = number(value()?)?,
                "--marked" => wanted.is = Is::Marked,
                "--fixed" => wanted.is = Is::Fixed,
                plan => wanted.plans.push(plan.parse()?),
            }
        }
        if wanted.plans.is_empty() {
            wanted.plans = ["walk", "pct", "pos", "surw", "rf", "mix"]
                .map(|plan| plan.parse().expect("a plan"))
                .to_vec();
        }
        Ok(wanted)
    }

    fn admits(&self, program: &Program) -> bool {
        program.name.contains(&self.only) && (self.is != Is::Marked || program.is_marked)
    }
}

/// The schedules until the bug was found, of each seed that has found it, in order.
struct Cell {
    found: Vec<u64>,
    seeds: u64,
    schedules: u64,
    time: Duration,
    /// What was strange: runs that were let go, or could not be judged.
    remark: Option<String>,
}

fn measure(program: &Program, plan: Name, wanted: &Wanted) -> Cell {
    let start = Instant::now();
    let mut cell = Cell {
        found: Vec::new(),
        seeds: wanted.seeds,
        schedules: 0,
        time: Duration::ZERO,
        remark: None,
    };
    for seed in 0..wanted.seeds {
        let settings = Explore::new().schedules(wanted.schedules).plan(plan);
        let exploration = explore(settings.seed(seed), || (program.run)(wanted.is));
        cell.schedules += exploration.schedules;
        if exploration.abandoned > 0 {
            cell.remark = Some(format!("{} let go", exploration.abandoned));
        }
        if let Some(reason) = exploration.incomplete {
            cell.remark = Some(reason);
        }
        let Some(found) = exploration.found else {
            continue;
        };
        cell.found.push(found.run);
        if found.replays.0 < found.replays.1 {
            let problem = found.problem;
            cell.remark = Some(format!("seed {seed} does not come back: {problem}"));
        }
    }
    cell.time = start.elapsed();
    cell.found.sort_unstable();
    cell
}

impl Cell {
    /// The median over all seeds, if that many have found it.
    fn median(&self) -> Option<u64> {
        self.found.get(self.seeds as usize / 2).copied()
    }

    fn text(&self) -> String {
        let all = self.found.len() as u64 == self.seeds;
        let share = format!("{}/{}", self.found.len(), self.seeds);
        match self.median() {
            Some(median) if all => median.to_string(),
            Some(median) => format!("{median} ({share})"),
            None if self.found.is_empty() => "never".to_owned(),
            None => format!("({share})"),
        }
    }

    /// The share of seeds that have found it within `bound`.
    fn within(&self, bound: u64) -> f64 {
        let within = self.found.iter().filter(|&&run| run <= bound).count();
        within as f64 / self.seeds as f64
    }
}

fn text_of(published: Published) -> String {
    match published {
        Published::After(median) => median.to_string(),
        Published::Never => "never".to_owned(),
        Published::Unknown => "-".to_owned(),
    }
}

fn row(name: &str, cells: impl IntoIterator<Item = String>) {
    print!("{name:<41}");
    for cell in cells {
        print!("{cell:>13}");
    }
    println!();
}

/// How many programs were found within each bound: the mean over the seeds, and by medians, which
/// is all that can be said of what was published.
fn summarize(programs: &[Program], columns: &[(Name, Vec<Cell>)]) {
    let is_published = |program: &Program| program.published[0] != Published::Unknown;
    let rows: Vec<_> = (0..programs.len())
        .filter(|&row| is_published(&programs[row]))
        .collect();
    println!("\nof the {} with a published figure, within", rows.len());
    row("", BOUNDS.map(|bound| bound.to_string()));
    for (plan, cells) in columns {
        let sum = |bound| {
            rows.iter()
                .map(|&row| cells[row].within(bound))
                .sum::<f64>()
        };
        row(
            &format!("{plan}, mean"),
            BOUNDS.map(|bound| format!("{:.1}", sum(bound))),
        );
        let is_within = |row: usize, bound| cells[row].median().is_some_and(|it| it <= bound);
        let count = |bound| rows.iter().filter(|&&row| is_within(row, bound)).count();
        row(
            &format!("{plan}, by medians"),
            BOUNDS.map(|bound| count(bound).to_string()),
        );
    }
    for (nth, name) in ["RFF", "SURW"].into_iter().enumerate() {
        let is_within = |row: usize, bound| match programs[row].published[nth] {
            Published::After(median) => u64::from(median) <= bound,
            _ => false,
        };
        let count = |bound| rows.iter().filter(|&&row| is_within(row, bound)).count();
        row(
            &format!("{name}, by medians"),
            BOUNDS.map(|bound| count(bound).to_string()),
        );
    }
}

fn main() {
    let wanted = Wanted::from_arguments().unwrap_or_else(|error| {
        eprintln!("{error}");
        std::process::exit(2);
    });
    let mut programs = programs::all();
    programs.retain(|program| wanted.admits(program));
    let heads = wanted.plans.iter().map(Name::to_string);
    row("program", heads.chain(["RFF", "SURW"].map(str::to_owned)));
    let plans = wanted.plans.iter();
    let mut columns: Vec<_> = plans.map(|&plan| (plan, Vec::new())).collect();
    for program in &programs {
        print!("{:<41}", program.name);
        for (plan, cells) in &mut columns {
            let cell = measure(program, *plan, &wanted);
            print!("{:>13}", cell.text());
            let _ = stdout().flush();
            cells.push(cell);
        }
        let [rff, surw] = program.published.map(text_of);
        println!("{rff:>13}{surw:>13}");
        for (plan, cells) in &columns {
            if let Some(remark) = cells.last().and_then(|cell: &Cell| cell.remark.as_ref()) {
                println!("    {plan}: {remark}");
            }
        }
    }
    summarize(&programs, &columns);
    println!();
    let sum = |cells: &[Cell]| {
        let time: Duration = cells.iter().map(|cell| cell.time).sum();
        (cells.iter().map(|cell| cell.schedules).sum::<u64>(), time)
    };
    for (plan, cells) in &columns {
        let (schedules, time) = sum(cells);
        let speed = schedules as f64 / time.as_secs_f64();
        let seconds = time.as_secs_f64();
        println!("{plan}: {schedules} schedules in {seconds:.1} s, {speed:.0} a second");
    }
}
