//! Takes the test suites of the mirrored crates from their packages and swaps the crates' paths.
//!
//! A suite is what is in the package's `tests` folder, and every `#[cfg(test)] mod` of its `src`.
//! Of each suite `OUT_DIR` gets a file of that name, for a test target to include: one module for
//! each source file. Examples are taken as well, for the tests that start them.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use serde_json::Value;

/// The suites: package, and the files that need a process of their own.
const SUITES: [(&str, &[&str]); 3] = [
    // It installs an allocator that counts what the process has allocated.
    ("crossbeam-channel", &["golang"]),
    ("once_cell", &[]),
    ("parking_lot", &[]),
];

/// What does not hold with `check`: package, file, the line of the item, and why.
const LEFT_OUT_WITH_CHECK: [(&str, &str, &str, &str); 2] = [
    (
        "crossbeam-channel",
        "golang.rs",
        "mod select2 {",
        "it bounds what the process allocates, and the collector allocates meanwhile",
    ),
    (
        "once_cell",
        "imp_std.rs",
        "fn test_size() {",
        "a tracked cell is larger than once_cell's",
    ),
];

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../Cargo.lock");
    let metadata = metadata();
    for (package, alone) in SUITES {
        let root = package_root(&metadata, package);
        let suite = Suite::new(package);
        let modules = [suite.integration_tests(&root), suite.unit_tests(&root)].concat();
        assert!(
            !modules.is_empty(),
            "{package}: no tests in {}",
            root.display()
        );
        for example in sorted(&root.join("examples")) {
            suite.write_swapped(&example, "examples");
        }
        let (own, shared): (Vec<_>, Vec<_>) = modules
            .into_iter()
            .partition(|(name, _)| alone.contains(&name.as_str()));
        suite.write_index(&suite.krate, &shared);
        for module in own {
            let target = format!("{}_{}", suite.krate, module.0);
            suite.write_index(&target, &[module]);
        }
    }
}

/// What Cargo knows of this workspace. The packages have been fetched: this script is being built.
fn metadata() -> Value {
    let target = env::var("TARGET").expect("cargo sets it");
    let output = Command::new(env::var_os("CARGO").expect("cargo sets it"))
        .args([
            "metadata",
            "--format-version=1",
            "--filter-platform",
            &target,
        ])
        .output()
        .expect("cargo runs");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "cargo metadata failed:\n{errors}");
    serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON")
}

/// Where the package is that aerodrome depends on by this name.
fn package_root(metadata: &Value, name: &str) -> PathBuf {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let packages = list(&metadata["packages"]);
    let with_id = |id: &Value| packages.iter().find(|package| package["id"] == *id);
    list(&metadata["resolve"]["nodes"])
        .iter()
        .filter(|node| with_id(&node["id"]).is_some_and(|package| package["name"] == "aerodrome"))
        .flat_map(|node| list(&node["dependencies"]))
        .filter_map(|id| with_id(&id))
        .find(|package| package["name"] == name)
        .and_then(|package| Path::new(package["manifest_path"].as_str()?).parent())
        .unwrap_or_else(|| panic!("cargo metadata: aerodrome has no dependency {name}"))
        .to_owned()
}

/// A module's name and the file that it is in.
type Module = (String, PathBuf);

struct Suite {
    package: &'static str,
    /// The package as a path in Rust, and the mirror's.
    krate: String,
    mirror: String,
    out: PathBuf,
}

impl Suite {
    fn new(package: &'static str) -> Suite {
        let krate = package.replace('-', "_");
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
        Suite {
            package,
            mirror: format!("aerodrome::{krate}"),
            out: out.join(&krate),
            krate,
        }
    }

    /// The files of `tests`, and its folders, of which each has a `main.rs`.
    fn integration_tests(&self, root: &Path) -> Vec<Module> {
        let mut modules = Vec::new();
        for path in sorted(&root.join("tests")) {
            let name = stem(&path);
            if path.is_dir() {
                let files = sorted(&path);
                for file in &files {
                    self.write_swapped(file, &name);
                }
                modules.push((name.clone(), self.out.join(name).join("main.rs")));
            } else {
                modules.push((name, self.write_swapped(&path, "")));
            }
        }
        modules
    }

    /// Writes the file to a folder of ours, its paths swapped.
    fn write_swapped(&self, file: &Path, folder: &str) -> PathBuf {
        let source = swap_paths(&read(file), &self.krate, &self.mirror);
        self.write(&self.out.join(folder).join(file_name(file)), &source)
    }

    /// The `#[cfg(test)]` modules of the files of `src`.
    fn unit_tests(&self, root: &Path) -> Vec<Module> {
        let mut modules = Vec::new();
        for file in sorted(&root.join("src"))
            .into_iter()
            .filter(|path| path.is_file())
        {
            let lifted = test_modules(&read(&file));
            if lifted.is_empty() {
                continue;
            }
            let source = swap_paths(&lifted, &self.krate, &self.mirror);
            let source = swap_paths(&source, "crate", &self.mirror);
            // What the modules use of their private parents is in the test target's `private`.
            let source = format!("use crate::private::*;\n{source}");
            modules.push((
                stem(&file),
                self.write(&self.out.join(file_name(&file)), &source),
            ));
        }
        modules
    }

    fn write(&self, path: &Path, source: &str) -> PathBuf {
        let mut source = source.to_owned();
        for (package, file, line, why) in LEFT_OUT_WITH_CHECK {
            if (package, file) == (self.package, &file_name(path)) {
                match source.lines().find(|other| other.trim() == line) {
                    Some(item) => {
                        let unless = format!("#[cfg(not(feature = \"check\"))] // {why}\n{item}");
                        source = source.replacen(item, &unless, 1);
                    }
                    None => println!("cargo::warning={package}: {file} has no `{line}` any more"),
                }
            }
        }
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("OUT_DIR exists");
        fs::write(path, source).expect("OUT_DIR can be written to");
        path.to_owned()
    }

    fn write_index(&self, target: &str, modules: &[Module]) {
        let index: String = modules
            .iter()
            .map(|(name, path)| {
                format!("#[allow(warnings, clippy::all)]\n#[path = {path:?}]\nmod {name};\n")
            })
            .collect();
        let path = self.out.with_file_name(format!("{target}.rs"));
        fs::write(path, index).expect("OUT_DIR can be written to");
    }
}

/// The modules under `#[cfg(test)]`, which end, as rustfmt has it, at the next `}` in column 0.
fn test_modules(source: &str) -> String {
    let mut lines = source.lines();
    let mut lifted = String::new();
    while lines.any(|line| line == "#[cfg(test)]") {
        for line in lines.by_ref() {
            lifted += line;
            lifted.push('\n');
            if line.starts_with("mod ") && line.ends_with('{') {
                lifted += "    use super::*;\n";
            }
            if line == "}" {
                break;
            }
        }
    }
    lifted
}

/// The text with every path that begins with `krate` beginning with `mirror` instead.
fn swap_paths(text: &str, krate: &str, mirror: &str) -> String {
    let in_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut swapped = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(krate) {
        let (before, after) = (&rest[..at], &rest[at + krate.len()..]);
        let whole = !before.ends_with(in_word) && !after.starts_with(in_word);
        let path = before.ends_with("use ") || after.starts_with("::");
        swapped += before;
        swapped += if whole && path { mirror } else { krate };
        rest = after;
    }
    swapped + rest
}

/// What is in the folder, if there is one.
fn sorted(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths
}

fn read(file: &Path) -> String {
    fs::read_to_string(file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}

fn stem(path: &Path) -> String {
    path.file_stem()
        .expect("a name")
        .to_string_lossy()
        .into_owned()
}
