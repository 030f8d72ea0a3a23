//! Builds aerodrome, optimised, once for each compiler: in the user's cache, where all projects
//! find it.
//!
//! The folder is named after whatever the result depends on. Two results in one folder would be two
//! crates of one name and one identity, of which the compiler takes neither.
//!
//! What is compiled is a small workspace of its own that depends on aerodrome, with a crate for
//! each mirror that re-exports its module: `--extern parking_lot=..` needs a crate, not a module.
//! So does std, whose names are std's and no others: aerodrome's own would come with `use std::*`,
//! and its `test` in the way of std's where a crate says `#[macro_use] extern crate std`.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde::Deserialize;

use super::Failure;
use super::arguments::value_of;
use super::project::{MIRRORS, Project, cargo, compiler, network};

/// What was built.
pub(super) struct Library {
    /// The file of each crate, under the name that a member knows it by.
    pub(super) crates: Vec<(String, PathBuf)>,
    /// Where what they depend on is found.
    pub(super) search: Vec<PathBuf>,
}

/// Where aerodrome is: in the folder that this command was built from, or in a registry.
pub(super) fn dependency() -> (&'static str, String) {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR"));
    // Cargo writes the latter into what it publishes.
    let is_folder = sources.join("Cargo.toml").is_file();
    if is_folder && !sources.join(".cargo_vcs_info.json").exists() {
        ("path", sources.display().to_string())
    } else {
        ("version", env!("CARGO_PKG_VERSION").to_owned())
    }
}

/// The package that depends on aerodrome, with all mirrors, whatever the project uses. The number
/// of codegen units is one that nobody else has: the compiler must not take a crate of this build
/// for one of the project's.
fn manifest(project: &Project) -> String {
    let mut features: BTreeSet<_> = MIRRORS.iter().map(|mirror| mirror.feature).collect();
    features.insert("parking_lot-arc_lock");
    features.extend(&project.features);
    let features: Vec<_> = features.into_iter().collect();
    let dependency = match dependency() {
        (key @ "version", version) => format!("{key} = {:?}", format!("={version}")),
        (key, path) => format!("{key} = {path:?}"),
    };
    let members: Vec<_> = facades().into_iter().map(|(name, _)| name).collect();
    format!(
        "[workspace]\nmembers = {members:?}\n\n\
         [workspace.dependencies.aerodrome]\n{dependency}\nfeatures = {features:?}\n\n\
         [package]\nname = \"aerodrome-library\"\nversion = \"0.0.0\"\nedition = \"2021\"\n\n\
         [lib]\npath = \"lib.rs\"\n\n\
         [dependencies]\naerodrome = {{ workspace = true, features = [\"check\"] }}\n\n\
         [profile.release]\nopt-level = 3\ncodegen-units = 13\ndebug = \"line-tables-only\"\n\
         debug-assertions = true\n"
    )
}

/// The crates that stand in the place of others: the package's name, and the source.
fn facades() -> Vec<(&'static str, String)> {
    let mut facades = vec![("std", std_facade())];
    facades.extend(MIRRORS.iter().map(|mirror| {
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

/// What Cargo reads of the environment to decide how something is compiled.
const VARIABLES: [&str; 5] = [
    "RUSTFLAGS",
    "CARGO_ENCODED_RUSTFLAGS",
    "CARGO_BUILD_",
    "CARGO_PROFILE_",
    "CARGO_TARGET_",
];

/// Where it is built. Cargo's own files of settings hold for what it is told to build here, too.
fn folder(project: &Project, manifest: &str) -> Result<PathBuf, Failure> {
    let mut hasher = DefaultHasher::new();
    (compiler()?, manifest).hash(&mut hasher);
    for (name, value) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let is_read = VARIABLES.iter().any(|start| text.starts_with(start));
        if is_read && text != "CARGO_TARGET_DIR" {
            (name, value).hash(&mut hasher);
        }
    }
    let current = std::env::current_dir().unwrap_or_default();
    for folder in current.ancestors() {
        for file in ["config", "config.toml"] {
            let text = fs::read(folder.join(".cargo").join(file));
            text.unwrap_or_default().hash(&mut hasher);
        }
    }
    let name = format!("library-{:016x}", hasher.finish());
    let cached = cache().map(|cache| cache.join("aerodrome").join(&name));
    let usable = cached.filter(|folder| fs::create_dir_all(folder).is_ok());
    Ok(usable.unwrap_or_else(|| project.folder.join(name)))
}

/// Where programs keep what they can make again.
fn cache() -> Option<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let absolute = |path: &PathBuf| path.is_absolute();
    let given = variable("XDG_CACHE_HOME").filter(absolute);
    let home = || variable("HOME").filter(absolute);
    given.or_else(|| match std::env::consts::OS {
        "windows" => variable("LOCALAPPDATA").filter(absolute),
        "macos" => home().map(|home| home.join("Library/Caches")),
        _ => home().map(|home| home.join(".cache")),
    })
}

/// Builds what a project needs.
pub(super) fn build(project: &Project, arguments: &[OsString]) -> Result<Library, Failure> {
    let manifest = manifest(project);
    let folder = folder(project, &manifest)?;
    write(&folder.join("Cargo.toml"), &manifest)?;
    write(&folder.join("lib.rs"), "")?;
    for (package, source) in facades() {
        let sources = folder.join(package);
        write(&sources.join("Cargo.toml"), &facade_manifest(package))?;
        write(&sources.join("lib.rs"), &source)?;
    }
    seed_lock_file(&folder);
    let output = cargo_build(&folder, arguments)?;
    let mut wanted = vec![("aerodrome".to_owned(), "aerodrome".to_owned())];
    wanted.extend(facades().into_iter().map(|(package, _)| {
        let name = package.replace('-', "_");
        (name.clone(), format!("aerodrome_{name}"))
    }));
    let messages: Vec<Message> = output
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .filter(|message: &Message| message.reason == "compiler-artifact")
        .collect();
    let mut crates = Vec::new();
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
    // Libraries for the target and procedural macros for the compiler.
    let files = messages.iter().flat_map(|message| &message.filenames);
    let search: BTreeSet<&Path> = files.filter_map(|file| file.parent()).collect();
    let search = search.into_iter().filter(|it| it.ends_with("deps"));
    Ok(Library {
        crates,
        search: search.map(Path::to_owned).collect(),
    })
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

/// Is there once the library is.
const BUILT: &str = "built";

/// What is optimised when it is linked has to be there as bitcode, which Cargo leaves out. Any
/// project may ask for that, and finds the library that was built for another one.
const BITCODE: &str = "-Cembed-bitcode=yes";

fn cargo_build(folder: &Path, arguments: &[OsString]) -> Result<String, Failure> {
    // In the folder that the user is in, whose compiler and settings are the project's.
    let mut command = cargo();
    command.args(["build", "--release", "--workspace", "--message-format=json"]);
    command
        .arg("--manifest-path")
        .arg(folder.join("Cargo.toml"));
    command.arg("--target-dir").arg(folder.join("target"));
    let stamp = folder.join(BUILT);
    if stamp.exists() {
        command.arg("--quiet");
    } else {
        eprintln!(
            "aerodrome: compiles its own library first, optimised, so that checked tests are not \
             slow. That takes a minute or two, once for this compiler: later runs, and other \
             projects, find it in {}",
            folder.display()
        );
    }
    command.args(
        network(arguments)
            .iter()
            .filter(|option| *option != "--locked"),
    );
    if let Some(triple) = value_of(arguments, "--target") {
        command.arg("--target").arg(triple);
    }
    match std::env::var("RUSTFLAGS") {
        // `-D warnings` is meant for the project, not for aerodrome.
        Ok(flags) => {
            command.env("RUSTFLAGS", format!("{flags} --cap-lints=allow {BITCODE}"));
        }
        Err(_) => {
            let flags = format!("build.rustflags = [{BITCODE:?}]");
            command.arg("--config").arg(flags);
        }
    }
    let output = command
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("cargo cannot be run: {error}")))?;
    if output.status.success() {
        write(&stamp, "")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    } else {
        let message = "aerodrome could not be built for this project; see above";
        Err(Failure::new(message))
    }
}
