//! The user's workspace, as Cargo describes it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

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
    /// Features that aerodrome needs for this project, and for no other.
    pub(super) features: BTreeSet<&'static str>,
    /// What is left out, for the user to know.
    pub(super) notes: BTreeSet<String>,
    metadata: Metadata,
}

/// A package that is tracked: a member of the workspace, or a dependency that was asked for.
pub(super) struct Member {
    /// The package's name.
    pub(super) name: String,
    pub(super) is_dependency: bool,
    /// Whether it is in a folder of the user's, and not from a registry: Cargo shows its warnings.
    pub(super) is_local: bool,
    /// The folder of its Cargo.toml.
    pub(super) folder: PathBuf,
    /// The crates that are replaced by their mirrors.
    pub(super) mirrors: Vec<String>,
    /// The folders of the members that it depends on.
    pub(super) dependencies: Vec<PathBuf>,
    /// The names and root files of its crates, build scripts and procedural macros left out.
    pub(super) crates: Vec<(String, PathBuf)>,
}

#[derive(Default, Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    workspace_root: PathBuf,
    target_directory: PathBuf,
    resolve: Resolve,
}

#[derive(Deserialize)]
pub(super) struct Package {
    id: String,
    pub(super) name: String,
    version: String,
    pub(super) edition: String,
    /// None for a folder.
    source: Option<String>,
    pub(super) manifest_path: PathBuf,
    pub(super) targets: Vec<Target>,
}

#[derive(Deserialize)]
pub(super) struct Target {
    name: String,
    pub(super) kind: Vec<String>,
    pub(super) src_path: PathBuf,
}

/// The members of a workspace, without what they depend on.
#[derive(Deserialize)]
pub(super) struct Members {
    pub(super) packages: Vec<Package>,
    pub(super) workspace_root: PathBuf,
}

#[derive(Default, Deserialize)]
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
    let mut options = network(arguments);
    if let Some(path) = value_of(arguments, "--manifest-path") {
        options.extend(["--manifest-path".into(), path]);
    }
    options.extend(["--filter-platform".into(), host_triple()?.into()]);
    ask(&options)
}

/// The workspace of a manifest.
pub(super) fn members(manifest: &Path) -> Result<Members, Failure> {
    let options = ["--no-deps", "--manifest-path"].map(OsString::from);
    ask(&[&options[..], &[manifest.into()]].concat())
}

/// What Cargo says of a workspace.
fn ask<T: serde::de::DeserializeOwned>(options: &[OsString]) -> Result<T, Failure> {
    let output = cargo()
        .args(["metadata", "--format-version", "1"])
        .args(options)
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

/// What the compiler says of itself.
pub(super) fn compiler() -> Result<String, Failure> {
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .arg("-vV")
        .output()
        .map_err(|error| Failure::new(format!("rustc cannot be run: {error}")))?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The machine that the compiler runs on, as it calls it.
fn host_triple() -> Result<String, Failure> {
    let text = compiler()?;
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
        Ok(Project {
            root: metadata.workspace_root.clone(),
            folder: target_directory.join("aerodrome"),
            members: Vec::new(),
            features: BTreeSet::new(),
            notes: BTreeSet::new(),
            metadata,
        })
    }

    /// Adds the packages that are to be tracked: the members, and dependencies of these names.
    pub(super) fn add_members(&mut self, dependencies: &[String]) -> Result<(), Failure> {
        let metadata = std::mem::take(&mut self.metadata);
        let mut tracked = metadata.workspace_members.clone();
        for name in dependencies {
            let named = metadata.packages.iter().filter(|it| it.name == *name);
            let found: Vec<&Package> = named.collect();
            if found.is_empty() {
                return Err(Failure::new(format!(
                    "track: expected a dependency of the workspace, found `{name}`"
                )));
            }
            if let Some(mirror) = found.iter().find_map(|package| mirror_of(package)) {
                return Err(Failure::new(format!(
                    "track: `{name}` {}x is mirrored: members, and what `track` names, use the \
                     mirror in its place",
                    mirror.version
                )));
            }
            tracked.extend(found.into_iter().map(|package| package.id.clone()));
        }
        tracked.sort();
        tracked.dedup();
        for id in &tracked {
            self.add_member(&metadata, id, &tracked);
        }
        Ok(())
    }

    fn add_member(&mut self, metadata: &Metadata, id: &str, tracked: &[String]) {
        let Some(package) = metadata.packages.iter().find(|package| package.id == id) else {
            return;
        };
        let is_dependency = !metadata.workspace_members.iter().any(|member| member == id);
        let node = metadata.resolve.nodes.iter().find(|node| node.id == id);
        let mut mirrors = Vec::new();
        let mut dependencies = Vec::new();
        for dependency in node.into_iter().flat_map(|node| &node.dependencies) {
            if tracked.contains(dependency) {
                let member = metadata.packages.iter().find(|it| it.id == *dependency);
                dependencies.extend(member.map(|it| folder_of(&it.manifest_path)));
            } else {
                mirrors.extend(self.add_mirror(metadata, package, dependency));
            }
        }
        // Of a dependency, nothing but its library is compiled.
        let others: &[&str] = match is_dependency {
            true => &[
                "custom-build",
                "proc-macro",
                "bin",
                "test",
                "example",
                "bench",
            ],
            false => &["custom-build", "proc-macro"],
        };
        let is_ours = |target: &&Target| {
            let mut kinds = target.kind.iter();
            !kinds.any(|kind| others.contains(&kind.as_str()))
        };
        let crates = package.targets.iter().filter(is_ours);
        self.members.push(Member {
            name: package.name.clone(),
            is_dependency,
            is_local: package.source.is_none(),
            folder: folder_of(&package.manifest_path),
            mirrors,
            dependencies,
            crates: crates
                .map(|target| (target.name.replace('-', "_"), target.src_path.clone()))
                .collect(),
        });
    }

    /// The dependencies that are tracked.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = &Member> {
        self.members.iter().filter(|member| member.is_dependency)
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
        let Some(mirror) = mirror_of(package) else {
            let mirror = MIRRORS
                .iter()
                .find(|mirror| mirror.package == package.name)?;
            self.notes.insert(format!(
                "`{}` uses {} {}, which is not tracked: the mirror is of {}x",
                member.name, package.name, package.version, mirror.version,
            ));
            return None;
        };
        let node = metadata.resolve.nodes.iter().find(|node| node.id == id)?;
        let wanted = mirror.features.iter();
        let wanted = wanted.filter(|(own, _)| node.features.iter().any(|name| name == own));
        self.features.extend(wanted.map(|(_, feature)| feature));
        Some(mirror.crate_name())
    }
}

/// The mirror that takes a package's place.
fn mirror_of(package: &Package) -> Option<&'static Mirror> {
    // A project may have taken the mirror's own package.
    let own = package.name.strip_prefix("aerodrome-");
    let name = own.unwrap_or(&package.name);
    let mut mirrors = MIRRORS.iter().filter(|mirror| mirror.package == name);
    mirrors.find(|mirror| own.is_some() || package.version.starts_with(mirror.version))
}

/// The folder that a file is in.
fn folder_of(file: &Path) -> PathBuf {
    file.parent().unwrap_or(Path::new(".")).to_owned()
}
