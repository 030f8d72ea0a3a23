//! What the documents show is what the programs do. `AERODROME_BLESS=1` rewrites the sample output.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[cfg(feature = "check")]
mod examples {
    use std::collections::HashMap;
    use std::path::Path;
    use std::process::{Command, Output, Stdio};
    use std::sync::LazyLock;

    use super::{PathBuf, read, root};

    /// Where each example is, as cargo says that it has built it.
    static BUILT: LazyLock<HashMap<String, PathBuf>> = LazyLock::new(build);

    /// Builds the examples as a whole `cargo test` does, after which nothing is left to do. With
    /// `--test documents` nobody else builds them.
    fn build() -> HashMap<String, PathBuf> {
        let this = std::env::current_exe().unwrap();
        let folder = this.ancestors().nth(2).and_then(Path::file_name).unwrap();
        let profile = match folder.to_str().unwrap() {
            "debug" => "test",
            other => other,
        };
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
        let mut command = Command::new(env!("CARGO"));
        command
            .args(["build", "--offline", "--message-format", "json"])
            .args(["--profile", profile, "--target-dir"])
            .arg(target)
            .current_dir(root())
            .stderr(Stdio::inherit());
        for example in all() {
            command.args(["--example", &example]);
        }
        for (feature, is_on) in FEATURES {
            if is_on {
                command.args(["--features", feature]);
            }
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "the examples cannot be built");
        let messages = String::from_utf8(output.stdout).unwrap();
        messages
            .lines()
            .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
            .filter_map(|message| {
                let name = message["target"]["name"].as_str()?;
                let binary = message["executable"].as_str()?;
                Some((name.to_owned(), binary.into()))
            })
            .collect()
    }

    /// The names of all examples.
    fn all() -> Vec<String> {
        let entries = std::fs::read_dir(root().join("examples")).unwrap();
        let files = entries.map(|entry| entry.unwrap().path());
        let sources = files.filter(|path| path.extension().is_some_and(|end| end == "rs"));
        sources
            .map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned())
            .collect()
    }

    macro_rules! features {
        ($($feature:literal)*) => {
            [$(($feature, cfg!(feature = $feature))),*]
        };
    }

    /// All of ours, and whether this test has them: with the same ones the library is not built
    /// again.
    const FEATURES: [(&str, bool); 13] = features! {
        "check" "cli" "crossbeam-channel" "crossbeam-utils" "json" "once_cell" "parking_lot"
        "parking_lot-arc_lock" "parking_lot-hardware-lock-elision" "parking_lot-send_guard"
        "parking_lot-serde" "serde" "trace"
    };

    fn binary(example: &str) -> &'static Path {
        &BUILT[example]
    }

    /// Runs an example as a newcomer would: without settings.
    fn run(example: &str, arguments: &[&str]) -> Output {
        let mut command = Command::new(binary(example));
        command.args(arguments).current_dir(root());
        for (name, _) in std::env::vars() {
            if name.starts_with("AERODROME") || name == "RUST_BACKTRACE" {
                command.env_remove(name);
            }
        }
        command.output().unwrap()
    }

    #[cfg(feature = "cli")]
    #[test]
    fn the_report_file_of_each_example_is_read_by_the_command() {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("report-files");
        let _ = std::fs::remove_dir_all(&folder);
        let mut read_back = std::collections::BTreeSet::new();
        for example in all() {
            let file = folder.join(format!("{example}.json"));
            Command::new(binary(&example))
                .current_dir(root())
                .env("AERODROME_REPORT", &file)
                .output()
                .unwrap();
            if !file.exists() {
                continue;
            }
            for form in ["--text", "--html=-", "--sarif=-"] {
                let output = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
                    .args(["report", form])
                    .arg(&file)
                    .output()
                    .unwrap();
                let errors = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.code(), Some(0), "{example} {form}: {errors}");
            }
            read_back.insert(example);
        }
        for (example, ..) in EXAMPLES {
            assert!(read_back.contains(example), "{example} wrote no report");
        }
    }

    #[test]
    fn stacks_show_the_programs_own_functions_alone() {
        let mut command = Command::new(binary("bank"));
        command
            .current_dir(root())
            .env("AERODROME_BACKTRACE", "1")
            .env_remove("RUST_BACKTRACE");
        let text = String::from_utf8(command.output().unwrap().stderr).unwrap();
        let (_, stacks) = text.split_once("note: the stack of (1)").expect("a stack");
        assert!(
            stacks.contains("withdraw") && stacks.contains("at examples/bank.rs:"),
            "{text}"
        );
        assert!(
            !stacks.contains("at src/") && !stacks.contains("library/std"),
            "{text}"
        );
    }

    /// The report on standard error, from its first line on, and without what the standard library
    /// says after a panic.
    fn report(output: &Output) -> String {
        let text = String::from_utf8_lossy(&output.stderr);
        let report = text
            .find("atomicity violation\n")
            .and_then(|start| text[start..].split("\nnote: run with").next())
            .unwrap_or_else(|| panic!("no report in: {text}"));
        format!("{}\n", report.trim_end())
    }

    /// The example, the block to blame, and the lines to look at.
    const EXAMPLES: [(&str, &str, &[&str]); 3] = [
        (
            "bank",
            "Account::withdraw",
            &[
                "let enough = *self.balance.lock().unwrap() >= amount;",
                "*self.balance.lock().unwrap() -= amount;",
            ],
        ),
        (
            "cache",
            "Cache::get",
            &[
                "if let Some(page) = self.pages.read().unwrap().get(key) {",
                "self.pages.write().unwrap().insert(key, page.clone());",
            ],
        ),
        (
            "stats",
            "Stats::mean",
            &[
                "let sum = self.sum.load(Ordering::Relaxed);",
                "self.sum.fetch_add(value, Ordering::Relaxed);",
                "self.count.fetch_add(1, Ordering::Relaxed);",
                "sum / self.count.load(Ordering::Relaxed)",
            ],
        ),
    ];

    #[test]
    fn each_example_shows_its_bug_and_ends_with_101() {
        for (example, block, lines) in EXAMPLES {
            let output = run(example, &[]);
            let report = report(&output);
            assert_eq!(output.status.code(), Some(101), "{report}");
            let headline =
                format!("\nerror: `{block}` is not atomic\n  --> examples/{example}.rs:");
            assert_eq!(report.matches("error: ").count(), 1, "{report}");
            assert!(report.contains(&headline), "{report}");
            for line in lines {
                assert!(
                    report.contains(&format!(" {line}\n")),
                    "{line} is not in:\n{report}"
                );
            }
            assert!(!report.contains("in test"), "{report}");
            let summary = String::from_utf8_lossy(&output.stderr);
            // What is explored is repeated.
            let last = summary.lines().last().unwrap_or_default();
            let (_, violations) = last.rsplit_once(" transactions, ").unwrap_or_default();
            let is_explored = example == "bank" && violations.ends_with(" violations");
            assert!(is_explored || violations == "1 violation", "{summary}");
        }
    }

    #[test]
    fn each_fixed_example_is_silent_and_ends_with_0() {
        for (example, ..) in EXAMPLES {
            let output = run(example, &["fixed"]);
            let text = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(0), "{text}");
            assert!(
                text.starts_with("aerodrome: ") && text.lines().count() == 1,
                "{text}"
            );
            assert!(text.ends_with(" transactions, 0 violations\n"), "{text}");
        }
    }

    #[test]
    fn the_sample_output_is_that_of_the_example() {
        let report = report(&run("bank", &[]));
        if std::env::var("AERODROME_BLESS").is_ok_and(|value| value == "1") {
            std::fs::write(root().join("docs/bank.txt"), &report).unwrap();
            let readme = read("README.md");
            let (before, rest) = readme.split_once("```text\n").unwrap();
            let (_, after) = rest.split_once("```\n").unwrap();
            let readme = format!("{before}```text\n{report}```\n{after}");
            std::fs::write(root().join("README.md"), readme).unwrap();
        }
        assert_eq!(
            read("docs/bank.txt"),
            report,
            "AERODROME_BLESS=1 takes this as right"
        );
    }
}

#[test]
fn readme_and_crate_page_show_the_sample_output() {
    let sample = format!("```text\n{}```\n", read("docs/bank.txt"));
    assert!(
        read("README.md").contains(&sample),
        "AERODROME_BLESS=1 puts it there"
    );
    let page = read("src/lib.rs");
    let include = "//! ```text\n#![doc = include_str!(\"../docs/bank.txt\")]\n//! ```\n";
    assert!(page.contains(include));
}

/// The lines of the first `impl` block that a page shows.
fn shown_code(page: &str) -> Vec<String> {
    page.lines()
        .map(|line| line.trim_start_matches("//!").trim())
        .skip_while(|line| !line.starts_with("impl "))
        .take_while(|line| !line.starts_with("```") && !line.is_empty())
        .map(str::to_owned)
        .collect()
}

#[test]
fn readme_and_crate_page_show_the_code_of_the_example() {
    let example = read("examples/bank.rs");
    for page in ["README.md", "src/lib.rs"] {
        let shown = shown_code(&read(page));
        assert!(shown.len() > 8, "{page}: {shown:?}");
        let mut lines = example.lines().map(str::trim);
        for line in shown {
            assert!(
                lines.any(|other| other == line),
                "{page}: `{line}` is not in the example"
            );
        }
    }
}

/// The words of a text that look like our settings.
fn settings(text: &str) -> BTreeSet<&str> {
    text.split(|c: char| !(c.is_ascii_uppercase() || c == '_'))
        .filter(|word| word.starts_with("AERODROME"))
        .collect()
}

#[test]
fn every_setting_is_documented_and_every_documented_one_is_there() {
    let code = read("src/collect/config.rs");
    let code = code.split_once("fn from_env").unwrap().1;
    let summary = read("src/collect/deliver.rs") + &read("src/collect/export.rs");
    let known: BTreeSet<&str> = settings(code).union(&settings(&summary)).copied().collect();
    assert!(known.contains("AERODROME") && known.contains("AERODROME_QUIET"));
    let table = read("docs/settings.md");
    assert_eq!(settings(&table), known);
    for page in ["README.md", "docs/ci.md", "src/lib.rs", "CHANGELOG.md"] {
        let text = read(page);
        let unknown: Vec<_> = settings(&text)
            .into_iter()
            .filter(|name| !known.contains(name) && *name != "AERODROME_")
            .collect();
        assert!(unknown.is_empty(), "{page}: {unknown:?}");
    }
}

#[test]
fn links_between_the_documents_lead_somewhere() {
    for page in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "docs/ci.md",
        "docs/settings.md",
        "benches/README.md",
    ] {
        let text = read(page);
        let inline = text
            .match_indices("](")
            .map(|(at, found)| &text[at + found.len()..]);
        let defined = text
            .match_indices("]: ")
            .map(|(at, found)| &text[at + found.len()..]);
        for target in inline.chain(defined) {
            let target = target.split([')', '\n', '#']).next().unwrap();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let folder: PathBuf = root().join(page).parent().unwrap().into();
            assert!(folder.join(target).exists(), "{page}: {target}");
        }
    }
}

#[test]
fn the_clippy_fragment_names_what_is_there() {
    let fragment = read("docs/clippy.toml");
    let mut replacements = 0;
    for line in fragment
        .lines()
        .filter(|line| line.trim_start().starts_with("{ path = "))
    {
        let quoted: Vec<&str> = line.split('"').collect();
        let [_, instead_of, _, replacement, _] = quoted[..] else {
            panic!("{line}")
        };
        let name = replacement.strip_prefix("aerodrome::").unwrap();
        assert_eq!(instead_of, format!("std::{name}"));
        let module: Vec<&str> = name.split("::").collect();
        let (item, module) = module.split_last().unwrap();
        let folder = root().join("src").join(module.join("/"));
        let files: Vec<String> = match std::fs::read_dir(&folder) {
            Ok(entries) => entries
                .filter_map(|entry| std::fs::read_to_string(entry.unwrap().path()).ok())
                .collect(),
            Err(_) => vec![read(folder.with_extension("rs"))],
        };
        assert!(
            files.iter().any(|file| file.contains(item)),
            "{replacement}"
        );
        replacements += 1;
    }
    assert!(replacements > 25);
}
