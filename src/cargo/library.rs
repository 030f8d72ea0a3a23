//! Builds aerodrome for a project: once, optimised, with the project's compiler, below its target
//! directory.
//!
//! What is compiled is a small workspace of its own that depends on aerodrome, with a crate for
//! each mirror that re-exports its module: `--extern parking_lot=..` needs a crate, not a module.
//! So does std, whose names are std's and no others: aerodrome's own would come with `use std::*`,
//! and its `test` in the way of std's where a crate says `#[macro_use] extern crate std`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use super::Failure;
use super::arguments::value_of;
use super::project::{Project, cargo, network};

/// What was built.
pub(super) struct Library {
    /// The file of each crate, under the name that a member knows it by.
    pub(super) crates: Vec<(String, PathBuf)>,
    /// Where what they depend on is found.
    pub(super) search: Vec<PathBuf>,
}

/// Where aerodrome's sources are: those that this command was built from, or a registry's.
fn dependency() -> String {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    if sources.join("Cargo.toml").is_file() {
        format!("path = {:?}", sources.display().to_string())
    } else {
        format!("version = {:?}", concat!("=", env!("CARGO_PKG_VERSION")))
    }
}

/// The package that depends on aerodrome. The number of codegen units is one that nobody else has:
/// the compiler must not take a crate of this build for one of the project's.
fn manifest(project: &Project) -> String {
    let features: Vec<_> = project.features.iter().collect();
    let members: Vec<_> = facades(project).into_iter().map(|(name, _)| name).collect();
    format!(
        "[workspace]\nmembers = {members:?}\n\n\
         [workspace.dependencies.aerodrome]\n{}\nfeatures = {features:?}\n\n\
         [package]\nname = \"aerodrome-library\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\naerodrome = {{ workspace = true, features = [\"check\"] }}\n\n\
         [profile.release]\nopt-level = 3\ncodegen-units = 13\ndebug = \"line-tables-only\"\n\
         debug-assertions = true\n",
        dependency(),
    )
}

/// The crates that stand in the place of others: the package's name, and the source.
fn facades(project: &Project) -> Vec<(&'static str, String)> {
    let mut facades = vec![("std", std_facade())];
    facades.extend(project.mirrors.iter().map(|mirror| {
        let source = format!("pub use aerodrome::{}::*;\n", mirror.module);
        (mirror.package, source)
    }));
    facades
}

/// Std, with the mirrors in it, and with a `#[test]` that can be explored.
fn std_facade() -> String {
    let mut std = "pub use ::std::*;\npub use aerodrome::{cell, hint, sync, thread};\n".to_owned();
    std += "pub mod prelude {\n    pub use ::std::prelude::*;\n";
    for prelude in ["v1", "rust_2015", "rust_2018", "rust_2021", "rust_2024"] {
        std += &format!(
            "    pub mod {prelude} {{\n        pub use ::std::prelude::{prelude}::*;\n        \
             pub use aerodrome::__private::plain_test as test;\n    }}\n"
        );
    }
    std + "}\n"
}

fn facade_manifest(package: &str) -> String {
    format!(
        "[package]\nname = \"aerodrome-{package}\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\naerodrome = {{ workspace = true, features = [\"check\"] }}\n"
    )
}

/// Writes a file, unless it has that content: Cargo goes by the time of the last change.
pub(super) fn write(path: &Path, content: &str) -> Result<(), Failure> {
    if fs::read_to_string(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(Failure::at(folder))?;
    fs::write(path, content).map_err(Failure::at(path))
}

/// A line of `cargo build --message-format=json`, as far as it is of interest.
#[derive(Deserialize)]
struct Message {
    reason: String,
    #[serde(default)]
    target: Option<Target>,
    #[serde(default)]
    filenames: Vec<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
}

/// Where that is built. Projects that share a target directory, and ask for other features, may be
/// run at the same time.
fn folder(project: &Project) -> PathBuf {
    let mut name = "library".to_owned();
    for feature in &project.features {
        name = name + "-" + feature;
    }
    project.folder.join(name)
}

/// Builds what a project needs.
pub(super) fn build(project: &Project, arguments: &[OsString]) -> Result<Library, Failure> {
    let folder = folder(project);
    write(&folder.join("Cargo.toml"), &manifest(project))?;
    write(&folder.join("lib.rs"), "")?;
    for (package, source) in facades(project) {
        let sources = folder.join(package);
        write(&sources.join("Cargo.toml"), &facade_manifest(package))?;
        write(&sources.join("lib.rs"), &source)?;
    }
    seed_lock_file(&folder);
    let output = cargo_build(project, &folder, arguments)?;
    let mut crates = Vec::new();
    let mut wanted = vec![("aerodrome".to_owned(), "aerodrome".to_owned())];
    wanted.extend(facades(project).into_iter().map(|(package, _)| {
        let name = package.replace('-', "_");
        (name.clone(), format!("aerodrome_{name}"))
    }));
    let messages: Vec<Message> = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|message: &Message| message.reason == "compiler-artifact")
        .collect();
    for (name, built) in wanted {
        let named = |message: &&Message| {
            let target = message.target.as_ref();
            target.is_some_and(|target| target.name.replace('-', "_") == built)
        };
        let mut files = messages.iter().filter(named).flat_map(|it| &it.filenames);
        let rlib = files.find(|file| file.extension().is_some_and(|end| end == "rlib"));
        let rlib = rlib.ok_or_else(|| {
            Failure::new(format!(
                "Cargo has built no library `{built}` in {}",
                folder.display()
            ))
        })?;
        crates.push((name, rlib.clone()));
    }
    let target = folder.join("target");
    let mut search = vec![target.join("release").join("deps")];
    if let Some(triple) = value_of(arguments, "--target") {
        search.insert(0, target.join(triple).join("release").join("deps"));
    }
    Ok(Library { crates, search })
}

/// The versions that aerodrome was tested with; those of the project may be too old.
fn seed_lock_file(folder: &Path) {
    let own = folder.join("Cargo.lock");
    if !own.exists() {
        // Without one, Cargo chooses versions by itself.
        let _ = fs::copy(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.lock"),
            own,
        );
    }
}

/// What is optimised when it is linked has to be there as bitcode, which Cargo leaves out.
const BITCODE: &str = "-Cembed-bitcode=yes";

fn cargo_build(
    project: &Project,
    folder: &Path,
    arguments: &[OsString],
) -> Result<String, Failure> {
    let mut command = cargo();
    command.current_dir(folder);
    command.args(["build", "--release", "--workspace", "--message-format=json"]);
    command.arg("--target-dir").arg(folder.join("target"));
    command.args(
        network(arguments)
            .iter()
            .filter(|option| *option != "--locked"),
    );
    if let Some(triple) = value_of(arguments, "--target") {
        command.arg("--target").arg(triple);
    }
    let bitcode = if project.has_lto() { BITCODE } else { "" };
    match std::env::var("RUSTFLAGS") {
        // `-D warnings` is meant for the project, not for aerodrome.
        Ok(flags) => {
            command.env("RUSTFLAGS", format!("{flags} --cap-lints=allow {bitcode}"));
        }
        Err(_) if !bitcode.is_empty() => {
            let flags = format!("build.rustflags = [{bitcode:?}]");
            command.arg("--config").arg(flags);
        }
        Err(_) => {}
    }
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("cargo cannot be run: {error}")))?;
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let message = "aerodrome could not be built for this project; see above";
        Err(Failure::new(message))
    }
}
