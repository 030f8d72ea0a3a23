//! What the wrapper has to know, in a file beside it.

use std::collections::BTreeSet;
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::Failure;
use super::library::{Library, write};
use super::marks::{Found, Marks};
use super::project::Project;
use super::sources;

const FILE: &str = "plan.json";

/// The name of the program that Cargo runs for dependencies, too.
pub(super) const WRAPPER: &str = "wrapper";

#[derive(Serialize, Deserialize)]
pub(super) struct Plan {
    pub(super) members: Vec<Member>,
    /// The crates that take the place of others: the name, and the file.
    pub(super) crates: Vec<(String, PathBuf)>,
    pub(super) search: Vec<PathBuf>,
    /// Whether everything that is compiled is for tests.
    pub(super) for_tests: bool,
    /// The real rustdoc.
    pub(super) rustdoc: OsString,
    /// What the user has Cargo run in place of rustc.
    pub(super) wrapper: Option<OsString>,
    /// Projects may share a target directory, and members.
    root: PathBuf,
    /// What decides which functions are marked. Cargo does not see that a file gains its first
    /// mark or loses its last one, because it goes by the original then.
    marks: BTreeSet<String>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct Member {
    pub(super) folder: PathBuf,
    /// The crates that are replaced, beside `std`, `core` and `aerodrome`.
    pub(super) mirrors: Vec<String>,
}

/// The programs that Cargo is told to run, and where they are.
pub(super) struct Programs {
    pub(super) folder: PathBuf,
    pub(super) rustc: PathBuf,
    pub(super) rustdoc: PathBuf,
    /// For everything that Cargo compiles, dependencies included.
    pub(super) wrapper: PathBuf,
    /// Another one for each plan.
    pub(super) number: u64,
}

impl Plan {
    pub(super) fn new(project: &Project, library: Library, marks: &Marks, for_tests: bool) -> Plan {
        let members = project.members.iter().map(|member| Member {
            folder: member.folder.clone(),
            mirrors: member.mirrors.clone(),
        });
        Plan {
            members: members.collect(),
            crates: library.crates,
            search: library.search,
            for_tests,
            rustdoc: std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into()),
            wrapper: std::env::var_os("RUSTC_WRAPPER").filter(|it| !it.is_empty()),
            root: project.root.clone(),
            marks: marks.rules(),
        }
    }

    /// Leaves untracked what the project has left out.
    pub(super) fn keep_members_of(&mut self, project: &Project) {
        let is_in = |member: &Member| project.members.iter().any(|it| it.folder == member.folder);
        self.members.retain(is_in);
    }

    /// Of everything on which the result of a compilation depends.
    fn fingerprint(&self, text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        text.hash(&mut hasher);
        for (_, file) in &self.crates {
            let changed = fs::metadata(file).and_then(|data| data.modified());
            changed.unwrap_or(SystemTime::UNIX_EPOCH).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Writes the plan, with the wrapper and the marked sources beside it, into a folder that is
    /// named after its content.
    pub(super) fn write(&self, project: &Project, found: &Found) -> Result<Programs, Failure> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|error| Failure::new(format!("a path of the project: {error}")))?;
        let number = self.fingerprint(&text);
        let folder = format!("wrapper-{number:016x}");
        let folder = project.folder.join(folder);
        write(&folder.join(FILE), &text)?;
        sources::copy(project, found, &folder)?;
        let this = std::env::current_exe()
            .map_err(|error| Failure::new(format!("this program is not found: {error}")))?;
        let name = |name| folder.join(format!("{name}{}", std::env::consts::EXE_SUFFIX));
        let programs = Programs {
            rustc: name("rustc"),
            rustdoc: name("rustdoc"),
            wrapper: name(WRAPPER),
            number,
            folder: folder.clone(),
        };
        for program in [&programs.rustc, &programs.rustdoc, &programs.wrapper] {
            replace(&this, program).map_err(Failure::at(program))?;
        }
        Ok(programs)
    }

    /// The plan beside a program, if there is one.
    pub(super) fn beside(program: &Path) -> Option<Plan> {
        let text = fs::read_to_string(program.with_file_name(FILE)).ok()?;
        serde_json::from_str(&text).ok()
    }
}

/// Puts another name of a file in the place of whatever has that name, in one step: Cargo may be
/// about to run it for another run with the same plan.
fn replace(original: &Path, name: &Path) -> std::io::Result<()> {
    let new = name.with_extension(format!("new-{}", std::process::id()));
    link(original, &new)?;
    fs::rename(&new, name)
}

/// Another name of a file; a copy where symbolic links are not for everybody.
pub(super) fn link(original: &Path, name: &Path) -> std::io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::symlink(original, name);
    #[cfg(not(unix))]
    return fs::copy(original, name).map(drop);
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::replace;

    #[test]
    fn a_program_is_replaced_while_others_open_it() {
        let folder = std::env::temp_dir().join(format!("aerodrome-plan-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (original, name) = (folder.join("original"), folder.join("rustc"));
        fs::write(&original, "program").unwrap();
        replace(&original, &name).unwrap();
        std::thread::scope(|scope| {
            let replaced = scope.spawn(|| {
                for _ in 0..1000 {
                    replace(&original, &name).unwrap();
                }
            });
            while !replaced.is_finished() {
                assert_eq!(fs::read_to_string(&name).unwrap(), "program");
            }
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 2);
        fs::remove_dir_all(&folder).unwrap();
    }
}
