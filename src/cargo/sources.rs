//! Copies of the workspace, and of packages outside of it, in which some files have marks.
//!
//! Everything that is not changed is a symbolic link, so that `include!`, `#[path]` and the times
//! of changes, by which Cargo goes, are as in the original.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Failure;
use super::library::write;
use super::marks::{Found, Line, Marks, mark_crate};
use super::plan::link;
use super::project::Project;

/// The name of the file that says what was copied.
const FILE: &str = "copies.json";

/// A folder, and the copy of it in which some files have marks.
#[derive(Serialize, Deserialize)]
pub(super) struct Copy {
    pub(super) original: PathBuf,
    pub(super) copy: PathBuf,
    /// The root files of the crates that have marks, in the original.
    pub(super) roots: Vec<PathBuf>,
}

impl Copy {
    /// The copies that were written into a folder.
    pub(super) fn read(folder: &Path) -> Vec<Copy> {
        let text = fs::read_to_string(folder.join(FILE)).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or_default()
    }

    /// The copy of a crate's root file.
    pub(super) fn of(&self, root: &Path) -> Option<PathBuf> {
        let is_here = self.roots.iter().any(|it| it == root);
        let inside = root.strip_prefix(&self.original).ok()?;
        is_here.then(|| self.copy.join(inside))
    }
}

/// Finds what is marked in the project's crates.
pub(super) fn find(project: &Project, marks: &Marks) -> Result<Found, Failure> {
    let mut found = Found::default();
    let crates = project.members.iter().flat_map(|member| &member.crates);
    for (name, root) in crates {
        mark_crate(name, root, marks, &mut found);
    }
    let mut patterns = marks.atomic.iter().map(|it| &it.text);
    match patterns.find(|text| !found.matched.contains_key(*text)) {
        None => Ok(found),
        Some(first) => Err(Failure::new(format!(
            "`{first}` expected to match a function that is neither `const` nor `async`, \
             found none in the members of {}{}",
            project.root.display(),
            found.why_not(first),
        ))),
    }
}

/// Says which functions the patterns have matched: a name may stand for another than the one that
/// was meant.
pub(super) fn describe(project: &Project, found: &Found) -> Vec<String> {
    let told = found.matched.iter().map(|(pattern, lines)| {
        let names = names(project, found, lines.iter());
        match lines.len() {
            0 => format!("`{pattern}` marks nothing that `not-atomic` leaves"),
            1 => format!("`{pattern}` marks {names}"),
            many => format!("`{pattern}` marks {many} functions: {names}"),
        }
    });
    told.collect()
}

/// How many functions are named in one message.
const NAMED: usize = 10;

/// Functions with their places.
pub(super) fn names<'a>(
    project: &Project,
    found: &Found,
    lines: impl ExactSizeIterator<Item = &'a Line>,
) -> String {
    let others = lines.len().saturating_sub(NAMED);
    let name = |line: &Line| {
        let path = found.functions.get(line).map_or("", |path| path);
        let (file, line) = line;
        let file = file.strip_prefix(&project.root).unwrap_or(file);
        format!("`{path}` ({}:{line})", file.display())
    };
    let mut names: Vec<String> = lines.take(NAMED).map(name).collect();
    if others > 0 {
        names.push(format!("{others} more"));
    }
    names.join(", ")
}

/// Makes or renews the copies below a folder; none where no attribute goes anywhere.
pub(super) fn copy(project: &Project, found: &Found, folder: &Path) -> Result<(), Failure> {
    let mut copies = Vec::new();
    let outside = project.members.iter().map(|member| &*member.folder);
    let outside = outside.filter(|folder| !folder.starts_with(&project.root));
    let originals: BTreeSet<&Path> = outside.chain([&*project.root]).collect();
    for (number, original) in originals.into_iter().enumerate() {
        let files = found.files().filter_map(|(file, text)| {
            let inside = file.strip_prefix(original).ok()?;
            Some((inside.to_owned(), text))
        });
        let changed: BTreeMap<PathBuf, String> = files.collect();
        if changed.is_empty() {
            continue;
        }
        let copy = folder.join(format!("sources-{number}"));
        let tree = Tree {
            original,
            copy: &copy,
            left_out: project.folder.parent().unwrap_or(&project.folder),
            changed: &changed,
        };
        tree.renew(Path::new(""))?;
        let roots = found.roots.iter().filter(|it| it.starts_with(original));
        copies.push(Copy {
            original: original.to_owned(),
            roots: roots.cloned().collect(),
            copy,
        });
    }
    let text = serde_json::to_string_pretty(&copies)
        .map_err(|error| Failure::new(format!("a path of the project: {error}")))?;
    write(&folder.join(FILE), &text)
}

struct Tree<'a> {
    original: &'a Path,
    copy: &'a Path,
    /// The target directory.
    left_out: &'a Path,
    /// The files that have another text, relative to the workspace.
    changed: &'a BTreeMap<PathBuf, String>,
}

impl Tree<'_> {
    /// Brings one folder up to date.
    fn renew(&self, inside: &Path) -> Result<(), Failure> {
        let (original, copy) = (self.original.join(inside), self.copy.join(inside));
        // A link from an earlier run, when nothing in it was marked.
        if copy.is_symlink() {
            fs::remove_file(&copy).map_err(Failure::at(&copy))?;
        }
        fs::create_dir_all(&copy).map_err(Failure::at(&copy))?;
        self.remove_what_is_gone(&original, &copy)?;
        let entries = fs::read_dir(&original).map_err(Failure::at(&original))?;
        for entry in entries.flatten() {
            let inside = inside.join(entry.file_name());
            let (from, to) = (self.original.join(&inside), self.copy.join(&inside));
            if from == self.left_out || entry.file_name() == ".git" {
                continue;
            }
            let mut changed = self.changed.range(inside.clone()..).map(|(file, _)| file);
            let has_changes = changed.next().is_some_and(|file| file.starts_with(&inside));
            if let Some(text) = self.changed.get(&inside) {
                if to.is_symlink() {
                    fs::remove_file(&to).map_err(Failure::at(&to))?;
                }
                write(&to, text)?;
            } else if has_changes && from.is_dir() {
                self.renew(&inside)?;
            } else {
                self.link(&from, &to)?;
            }
        }
        Ok(())
    }

    fn remove_what_is_gone(&self, original: &Path, copy: &Path) -> Result<(), Failure> {
        let entries = fs::read_dir(copy).map_err(Failure::at(copy))?;
        for entry in entries.flatten() {
            if !original.join(entry.file_name()).exists() {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }

    /// A link to what is not changed; what stood there with marks goes.
    fn link(&self, from: &Path, to: &Path) -> Result<(), Failure> {
        if fs::read_link(to).is_ok_and(|target| target == from) {
            return Ok(());
        }
        if to.is_symlink() || to.exists() {
            remove(to)?;
        }
        link(from, to).map_err(Failure::at(to))
    }
}

fn remove(path: &Path) -> Result<(), Failure> {
    let removed = if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    };
    removed.map_err(Failure::at(path))
}
