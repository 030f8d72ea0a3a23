//! The copy of a workspace in which some files have marks.
//!
//! Everything that is not changed is a symbolic link, so that `include!`, `#[path]` and the times
//! of changes, by which Cargo goes, are as in the original.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use super::Failure;
use super::library::write;
use super::marks::{Marks, mark_crate};
use super::plan::link;
use super::project::Project;

/// Makes or renews the copy; none where nothing is to be marked.
pub(super) fn copy(project: &Project, marks: &Marks) -> Result<Option<PathBuf>, Failure> {
    if marks.is_empty() {
        return Ok(None);
    }
    let mut changed = BTreeMap::new();
    let crates = project.members.iter().flat_map(|member| &member.crates);
    for (name, root) in crates {
        for marked in mark_crate(name, root, marks) {
            if let Ok(inside) = marked.file.strip_prefix(&project.root) {
                changed.insert(inside.to_owned(), marked.text);
            }
        }
    }
    if let [first, ..] = marks.unused().as_slice() {
        return Err(Failure::new(format!(
            "`{first}` expected to match a function that is not `const` and returns no future, \
             found none in the members of {}",
            project.root.display()
        )));
    }
    let copy = project.folder.join("sources");
    let tree = Tree {
        original: &project.root,
        copy: &copy,
        left_out: project.folder.parent().unwrap_or(&project.folder),
        changed: &changed,
    };
    tree.renew(Path::new(""))?;
    Ok(Some(copy))
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
