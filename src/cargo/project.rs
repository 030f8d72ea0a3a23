//! The user's workspace, as Cargo describes it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;
use toml_edit::{DocumentMut, Item};

use super::Failure;
use super::arguments::value_of;

/// A crate that is mirrored, and the versions that the mirror stands for.
pub(super) struct Mirror {
    /// The package's name.
    pub(super) package: &'static str,
    /// The version up to its compatible part, with a dot behind.
    pub(super) version: &'static str,
    /// The feature of aerodrome.
    pub(super) feature: &'static str,
    /// The path in aerodrome.
    pub(super) module: &'static str,
    /// Features of the package that have one of aerodrome's.
    pub(super) features: &'static [(&'static str, &'static str)],
}

impl Mirror {
    /// The name by which the compiler knows the crate.
    pub(super) fn crate_name(&self) -> String {
        self.package.replace('-', "_")
    }
}

pub(super) const MIRRORS: [Mirror; 6] = [
    Mirror {
        features: &[
            ("arc_lock", "parking_lot-arc_lock"),
            ("hardware-lock-elision", "parking_lot-hardware-lock-elision"),
            ("send_guard", "parking_lot-send_guard"),
            ("serde", "parking_lot-serde"),
        ],
        ..mirror("parking_lot", "0.12.", "parking_lot", "parking_lot")
    },
    // Not tracked: it has the traits of the raw locks, which have to be the same crate's.
    mirror("lock_api", "0.4.", "parking_lot", "parking_lot::lock_api"),
    mirror(
        "parking_lot_core",
        "0.9.",
        "parking_lot",
        "parking_lot_core",
    ),
    mirror(
        "crossbeam-channel",
        "0.5.",
        "crossbeam-channel",
        "crossbeam_channel",
    ),
    mirror(
        "crossbeam-utils",
        "0.8.",
        "crossbeam-utils",
        "crossbeam_utils",
    ),
    mirror("once_cell", "1.", "once_cell", "once_cell"),
];

const fn mirror(
    package: &'static str,
    version: &'static str,
    feature: &'static str,
    module: &'static str,
) -> Mirror {
    Mirror {
        package,
        version,
        feature,
        module,
        features: &[],
    }
}

/// A workspace.
pub(super) struct Project {
    pub(super) root: PathBuf,
    /// The folder of everything that is made here: below Cargo's target directory.
    pub(super) folder: PathBuf,
    pub(super) members: Vec<Member>,
    /// Which mirrors there are to build, and with which features of aerodrome.
    pub(super) mirrors: Vec<&'static Mirror>,
    pub(super) features: BTreeSet<&'static str>,
    /// What is left out, for the user to know.
    pub(super) notes: BTreeSet<String>,
}

pub(super) struct Member {
    /// The package's name.
    name: String,
    /// The folder of its Cargo.toml.
    pub(super) folder: PathBuf,
    /// The crates that are replaced by their mirrors.
    pub(super) mirrors: Vec<String>,
    /// The folders of the members that it depends on.
    pub(super) dependencies: Vec<PathBuf>,
    /// The names and root files of its crates, build scripts and procedural macros left out.
    pub(super) crates: Vec<(String, PathBuf)>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    manifest_path: PathBuf,
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    dependencies: Vec<String>,
    features: Vec<String>,
}

/// Cargo itself: the one that runs this command, or the one in the path.
pub(super) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.env_remove("RUSTC_WORKSPACE_WRAPPER");
    command
}

/// Options of Cargo that say how dependencies are found, which hold for every call of it.
pub(super) fn network(arguments: &[OsString]) -> Vec<OsString> {
    let all = ["--offline", "--locked", "--frozen"];
    let given = arguments.iter().take_while(|argument| *argument != "--");
    given
        .filter(|argument| all.iter().any(|option| argument == option))
        .cloned()
        .collect()
}

fn metadata(arguments: &[OsString]) -> Result<Metadata, Failure> {
    let mut command = cargo();
    command.args(["metadata", "--format-version", "1"]);
    command.args(network(arguments));
    if let Some(path) = value_of(arguments, "--manifest-path") {
        command.arg("--manifest-path").arg(path);
    }
    let host = host_triple()?;
    command.arg("--filter-platform").arg(&host);
    let output = command
        .stderr(std::process::Stdio::inherit())
        .output()
        .map_err(|error| Failure::new(format!("cargo cannot be run: {error}")))?;
    if !output.status.success() {
        return Err(Failure::new("`cargo metadata` failed, as it says above"));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| {
        Failure::new(format!(
            "`cargo metadata` says what was not expected: {error}"
        ))
    })
}

/// The machine that the compiler runs on, as it calls it.
pub(super) fn host_triple() -> Result<String, Failure> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .output()
        .map_err(|error| Failure::new(format!("rustc cannot be run: {error}")))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines()
        .find_map(|line| line.strip_prefix("host: "))
        .map(str::to_owned)
        .ok_or_else(|| Failure::new(format!("`rustc -vV` expected to name a host, found {text}")))
}

impl Project {
    /// Asks Cargo, with the arguments that it is going to be run with.
    pub(super) fn find(arguments: &[OsString]) -> Result<Project, Failure> {
        let metadata = metadata(arguments)?;
        let target_directory = match value_of(arguments, "--target-dir") {
            Some(given) => std::path::absolute(&given).map_err(Failure::at(Path::new(&given)))?,
            None => metadata.target_directory.clone(),
        };
        let mut project = Project {
            root: metadata.workspace_root.clone(),
            folder: target_directory.join("aerodrome"),
            members: Vec::new(),
            mirrors: Vec::new(),
            features: BTreeSet::new(),
            notes: BTreeSet::new(),
        };
        for id in &metadata.workspace_members {
            project.add_member(&metadata, id);
        }
        Ok(project)
    }

    fn add_member(&mut self, metadata: &Metadata, id: &str) {
        let Some(package) = metadata.packages.iter().find(|package| package.id == id) else {
            return;
        };
        let node = metadata.resolve.nodes.iter().find(|node| node.id == id);
        let mut mirrors = Vec::new();
        let mut dependencies = Vec::new();
        for dependency in node.into_iter().flat_map(|node| &node.dependencies) {
            mirrors.extend(self.add_mirror(metadata, package, dependency));
            if metadata.workspace_members.contains(dependency) {
                let member = metadata.packages.iter().find(|it| it.id == *dependency);
                dependencies.extend(member.map(|it| folder_of(&it.manifest_path)));
            }
        }
        let is_ours = |target: &&Target| {
            let kinds = ["custom-build", "proc-macro"];
            !target
                .kind
                .iter()
                .any(|kind| kinds.contains(&kind.as_str()))
        };
        let crates = package.targets.iter().filter(is_ours);
        self.members.push(Member {
            name: package.name.clone(),
            folder: folder_of(&package.manifest_path),
            mirrors,
            dependencies,
            crates: crates
                .map(|target| (target.name.replace('-', "_"), target.src_path.clone()))
                .collect(),
        });
    }

    /// Whether a profile of the workspace's manifest optimises when it links.
    pub(super) fn has_lto(&self) -> bool {
        let manifest = fs::read_to_string(self.root.join("Cargo.toml")).unwrap_or_default();
        let Ok(manifest) = manifest.parse::<DocumentMut>() else {
            return false;
        };
        let profiles = manifest.get("profile").and_then(Item::as_table_like);
        let mut profiles = profiles.into_iter().flat_map(|table| table.iter());
        profiles.any(|(_, profile)| {
            let lto = profile.get("lto");
            lto.is_some_and(|lto| lto.as_bool() != Some(false) && lto.as_str() != Some("off"))
        })
    }

    /// Leaves the members of these names untracked, and those that they depend on.
    pub(super) fn leave_out_named(&mut self, names: &[String]) -> Result<(), Failure> {
        let find = |name: &String| {
            let found = self.members.iter().find(|member| member.name == *name);
            found.map(|it| it.folder.clone()).ok_or_else(|| {
                let names: Vec<&str> = self.members.iter().map(|it| &*it.name).collect();
                let names = names.join("`, `");
                Failure::new(format!(
                    "untracked: expected a member of the workspace (`{names}`), found `{name}`"
                ))
            })
        };
        let folders: Result<Vec<PathBuf>, Failure> = names.iter().map(find).collect();
        for folder in folders? {
            self.leave_out(&folder);
        }
        Ok(())
    }

    /// Leaves a member untracked, and the members that it depends on, because their types are
    /// std's for it; how many were tracked.
    pub(super) fn leave_out(&mut self, folder: &Path) -> usize {
        let Some(at) = self.members.iter().position(|it| it.folder == folder) else {
            return 0;
        };
        let member = self.members.remove(at);
        let dependencies = member.dependencies.iter();
        1 + dependencies.map(|it| self.leave_out(it)).sum::<usize>()
    }

    /// Notes a member's dependency, if it is mirrored: the name of its crate.
    fn add_mirror(&mut self, metadata: &Metadata, member: &Package, id: &str) -> Option<String> {
        let package = metadata.packages.iter().find(|package| package.id == id)?;
        // A project may have taken the mirror's own package.
        let own = package.name.strip_prefix("aerodrome-");
        let name = own.unwrap_or(&package.name);
        let mirror = MIRRORS.iter().find(|mirror| mirror.package == name)?;
        if own.is_none() && !package.version.starts_with(mirror.version) {
            self.notes.insert(format!(
                "`{}` uses {} {}, which is not tracked: the mirror is of {}x",
                member.name, package.name, package.version, mirror.version,
            ));
            return None;
        }
        if !self
            .mirrors
            .iter()
            .any(|known| known.package == mirror.package)
        {
            self.mirrors.push(mirror);
        }
        self.features.insert(mirror.feature);
        let node = metadata.resolve.nodes.iter().find(|node| node.id == id)?;
        let wanted = mirror.features.iter();
        let wanted = wanted.filter(|(own, _)| node.features.iter().any(|name| name == own));
        self.features.extend(wanted.map(|(_, feature)| feature));
        Some(mirror.crate_name())
    }
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new(".")).to_owned()
}
