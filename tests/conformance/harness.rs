//! Runs the tests of published crates plain and under `cargo aerodrome test`, and compares.
//!
//! Nothing is marked, so aerodrome has nothing to report: the same tests have to run, with the same
//! results. Each package comes from Cargo's cache and is copied below the target directory.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use serde_json::Value;

/// A line of `crates.txt`, or `NAME@VERSION` on the command line.
struct Package {
    name: String,
    version: String,
    arguments: Vec<String>,
    /// Its dev-dependencies that are left out: those of its benchmarks which are hard to build.
    without: Vec<String>,
    /// Why it differs, where that cannot be helped.
    reason: Option<String>,
    /// Stands before the first empty line.
    is_light: bool,
}

impl Package {
    /// Reads a line, unless it is empty or a comment.
    fn read(line: &str, is_light: bool) -> Option<Package> {
        let (line, reason) = match line.split_once(" # ") {
            Some((line, reason)) => (line, Some(reason.to_owned())),
            None => (line, None),
        };
        if line.starts_with('#') {
            return None;
        }
        let mut words = line.split_whitespace().map(str::to_owned);
        let (name, version) = (words.next()?, words.next()?);
        let (without, arguments): (Vec<_>, Vec<_>) =
            words.partition(|word| word.starts_with("without="));
        let without = without
            .iter()
            .flat_map(|word| word["without=".len()..].split(','));
        Some(Package {
            name,
            version,
            arguments,
            without: without.map(str::to_owned).collect(),
            reason,
            is_light,
        })
    }
}

/// The packages of the list that are wanted, and those that are named with a version.
fn packages(wanted: &[String]) -> Vec<Package> {
    let mut is_light = true;
    let mut packages = Vec::new();
    for line in include_str!("crates.txt").lines() {
        is_light &= !line.is_empty();
        packages.extend(Package::read(line, is_light));
    }
    packages.retain(|package| {
        let named = |name: &String| *name == package.name || name == "light" && package.is_light;
        wanted.is_empty() || wanted.iter().any(named)
    });
    let others = wanted.iter().filter(|name| name.contains('@'));
    packages.extend(others.filter_map(|other| Package::read(&other.replacen('@', " ", 1), false)));
    packages
}

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let Some(target) = arguments.next() else {
        eprintln!("expected the target directory; use tests/conformance/run");
        return ExitCode::from(2);
    };
    let wanted: Vec<String> = arguments.collect();
    println!("| crate | tests | under aerodrome | events | differences | time plain | ratio |");
    println!("|---|---|---|---|---|---|---|");
    let mut differs = false;
    for package in &packages(&wanted) {
        match compare(package, Path::new(&target)) {
            Ok((row, same)) => {
                println!("{row}");
                differs |= !same;
            }
            Err(error) => {
                println!(
                    "| {} {} | {error} | | | | | |",
                    package.name, package.version
                );
                differs = true;
            }
        }
    }
    ExitCode::from(u8::from(differs))
}

/// A row of the table, and whether both runs are the same.
fn compare(package: &Package, target: &Path) -> Result<(String, bool), Box<dyn Error>> {
    let folder = target.join("conformance");
    let sources = fetch(package, &folder)?;
    let both = || -> Result<(Results, Results), Box<dyn Error>> {
        let mut plain = Command::new("cargo");
        plain.arg("test");
        let mut checked = Command::new(target.join("debug/cargo-aerodrome"));
        checked.args(["aerodrome", "test"]);
        Ok((
            run(plain, package, &sources, &folder, "plain")?,
            run(checked, package, &sources, &folder, "aerodrome")?,
        ))
    };
    let (mut plain, mut checked) = both()?;
    if plain.results.is_empty() {
        return Err("no test runs, not even plain".into());
    }
    let mut differences = plain.differences(&checked);
    let mut unsteady = 0;
    if !differences.is_empty() && checked.compile_errors <= plain.compile_errors {
        // Tests that rely on the time of day fail on a busy machine, in either run.
        let (plain_again, checked_again) = both()?;
        plain.take_passes(plain_again);
        checked.take_passes(checked_again);
        let steady = plain.differences(&checked);
        unsteady = differences.len() - steady.len().min(differences.len());
        differences = steady;
    }
    if checked.compile_errors > plain.compile_errors {
        differences.push(format!("{} errors of the compiler", checked.compile_errors));
    }
    for name in &checked.untracked {
        differences.push(format!("{name} is not tracked"));
    }
    if checked.reports > 0 {
        differences.push(format!("{} violations", checked.reports));
    }
    let same = differences.is_empty() || package.reason.is_some();
    let reason = package.reason.iter();
    differences.extend(reason.map(|reason| format!("because it {reason}")));
    let mut shown = match differences.as_slice() {
        [] => "none".to_owned(),
        some if some.len() > 4 => format!("{}; and {} more", some[..3].join("; "), some.len() - 3),
        some => some.join("; "),
    };
    if unsteady > 0 {
        shown += &format!(" ({unsteady} passed the second time)");
    }
    let ratio = checked.time.as_secs_f64() / plain.time.as_secs_f64().max(0.01);
    let row = format!(
        "| {} {} | {} | {} | {} | {shown} | {:.2} s | {ratio:.1} |",
        package.name,
        package.version,
        plain.results.len(),
        checked.results.len(),
        checked.events,
        plain.time.as_secs_f64(),
    );
    Ok((row, same))
}

/// A copy of the package's sources, out of Cargo's cache.
fn fetch(package: &Package, folder: &Path) -> Result<PathBuf, Box<dyn Error>> {
    let copy = folder.join(format!("{}-{}", package.name, package.version));
    if copy.join("Cargo.toml").exists() {
        return Ok(copy);
    }
    let scratch = folder.join("fetch").join(&package.name);
    fs::create_dir_all(scratch.join("src"))?;
    fs::write(scratch.join("src/lib.rs"), "")?;
    let manifest = format!(
        "[workspace]\n[package]\nname = \"fetch\"\nedition = \"2021\"\n\
         [dependencies]\n{} = \"={}\"\n",
        package.name, package.version
    );
    fs::write(scratch.join("Cargo.toml"), manifest)?;
    let mut command = Command::new("cargo");
    command
        .args(["metadata", "--format-version", "1"])
        .current_dir(&scratch);
    let output = command.output()?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr)
            .replace('\n', " ")
            .into());
    }
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let all = metadata["packages"]
        .as_array()
        .ok_or("no packages in Cargo's metadata")?;
    let found = all
        .iter()
        .find(|it| it["name"] == *package.name)
        .ok_or("not found")?;
    let path = found["manifest_path"]
        .as_str()
        .ok_or("no path in Cargo's metadata")?;
    copy_folder(Path::new(path).parent().ok_or("no folder")?, &copy)?;
    // The compiler is the one that runs this.
    for file in ["rust-toolchain", "rust-toolchain.toml"] {
        let _ = fs::remove_file(copy.join(file));
    }
    // Below this project's target directory, but no part of its workspace.
    let manifest = copy.join("Cargo.toml");
    let text = without_dependencies(&fs::read_to_string(&manifest)?, &package.without);
    if !text.contains("[workspace]") {
        fs::write(manifest, text + "\n[workspace]\n")?;
    }
    Ok(copy)
}

/// A published manifest, in which each dependency has a table, without some dev-dependencies.
fn without_dependencies(manifest: &str, names: &[String]) -> String {
    let mut is_kept = true;
    let mut kept = String::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            let is_of = |name: &String| line.ends_with(&format!("dev-dependencies.{name}]"));
            is_kept = !names.iter().any(is_of);
        }
        if is_kept {
            kept += line;
            kept.push('\n');
        }
    }
    kept
}

fn copy_folder(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        match entry.file_type()?.is_dir() {
            true => copy_folder(&entry.path(), &to)?,
            false => fs::copy(entry.path(), to).map(drop)?,
        }
    }
    Ok(())
}

/// What a run of the tests has said.
struct Results {
    /// By the test program and the test's name.
    results: BTreeMap<String, String>,
    /// What the test programs took, without compilation.
    time: Duration,
    compile_errors: usize,
    events: u64,
    reports: u64,
    /// The crates that were compiled without tracked types.
    untracked: BTreeSet<String>,
}

impl Results {
    /// The tests whose results differ.
    fn differences(&self, checked: &Results) -> Vec<String> {
        let mut differences = Vec::new();
        for (test, result) in &self.results {
            let now = checked.results.get(test).map_or("missing", String::as_str);
            if result != now {
                differences.push(format!("{test}: {result}, then {now}"));
            }
        }
        differences
    }

    /// Takes the results of tests that have passed this time.
    fn take_passes(&mut self, again: Results) {
        let passes = again.results.into_iter().filter(|(_, it)| it == "ok");
        self.results.extend(passes);
    }
}

/// The longest that a run of a crate's tests may take, with compilation.
const TIME_LIMIT: Duration = Duration::from_secs(20 * 60);

/// Runs a command to its end, or to the limit; what it has started ends with it.
fn run_to_limit(command: &mut Command) -> Result<(), Box<dyn Error>> {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    let mut child = command.spawn()?;
    let start = Instant::now();
    while child.try_wait()?.is_none() {
        if start.elapsed() > TIME_LIMIT {
            let group = format!("-{}", child.id());
            Command::new("kill").args(["--", &group]).status()?;
            child.wait()?;
            return Err(format!("takes longer than {} s", TIME_LIMIT.as_secs()).into());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

fn run(
    mut command: Command,
    package: &Package,
    sources: &Path,
    folder: &Path,
    kind: &str,
) -> Result<Results, Box<dyn Error>> {
    let log = folder.join(format!("{}-{kind}.log", package.name));
    let file = fs::File::create(&log)?;
    command
        .arg("--no-fail-fast")
        .args(&package.arguments)
        .current_dir(sources);
    command.env("CARGO_TARGET_DIR", folder.join("target"));
    command
        .env_remove("CARGO")
        .env_remove("RUSTFLAGS")
        .env("CARGO_TERM_COLOR", "never");
    command.stdout(file.try_clone()?).stderr(file);
    run_to_limit(&mut command)?;
    Ok(read(&String::from_utf8_lossy(&fs::read(&log)?)))
}

/// Reads what Cargo and libtest print.
fn read(text: &str) -> Results {
    let mut read = Results {
        results: BTreeMap::new(),
        time: Duration::ZERO,
        compile_errors: 0,
        events: 0,
        reports: 0,
        untracked: BTreeSet::new(),
    };
    let mut program = String::new();
    for line in text.lines() {
        let line = line.trim_start();
        if let Some(rest) = line.strip_prefix("Running ") {
            program = rest.split(" (").next().unwrap_or(rest).to_owned();
        } else if line.starts_with("Doc-tests ") {
            program = "doc".to_owned();
        } else if let Some(rest) = line.strip_prefix("warning: nothing in ") {
            let name = rest.split_once(" is tracked").map(|(name, _)| name);
            read.untracked.extend(name.map(str::to_owned));
        } else if line.starts_with("error[E") {
            read.compile_errors += 1;
        } else if let Some((_, after)) = line.split_once("finished in ") {
            let seconds = after.split('s').next().and_then(|text| text.parse().ok());
            read.time += Duration::from_secs_f64(seconds.unwrap_or(0.0));
        } else if let Some(rest) = line.strip_prefix("aerodrome: ") {
            let count = |what: &str| {
                let mut parts = rest.split(", ");
                let number = parts.find_map(|part| part.strip_suffix(what)?.parse::<u64>().ok());
                number.unwrap_or(0)
            };
            read.events += count(" events");
            read.reports += count(" violations");
        }
        // A test that prints has its output between its name and its result.
        let test = line
            .strip_prefix("test ")
            .and_then(|rest| rest.split_once(" ... "));
        if let Some((name, result)) = test {
            let words = ["ok", "FAILED", "ignored"];
            let result = words
                .iter()
                .find(|word| result.contains(**word))
                .unwrap_or(&"unclear");
            read.results
                .insert(format!("{program} {name}"), (*result).to_owned());
        }
    }
    read
}
