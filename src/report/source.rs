//! Source lines and paths: what of the files on disk goes into a report.
//!
//! The compiler names a file as Cargo called it: relative to the workspace's root for the
//! workspace's own crates, absolute for others. A test runs in its package's folder, which is
//! somewhere below that root. So a relative path is looked for in the current folder, in
//! `CARGO_MANIFEST_DIR`, and in every folder above them.
//!
//! A trace or a report from elsewhere may name any file of this machine, and the page that is made
//! of it may be published. So only sources are read: files of the workspace and of libraries.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

use super::{Place, Report};

/// Lines of context before and after each line that a report names.
const CONTEXT: u32 = 3;
/// A longer line is generated code, and is not shown.
const LONGEST_LINE: usize = 400;
/// A larger file is not read.
const LARGEST_FILE: u64 = 16 << 20;

/// Consecutive lines of a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "json", derive(serde::Deserialize))]
pub struct Excerpt {
    /// As in the report's places.
    pub file: String,
    /// The first line's number, from 1.
    pub line: u32,
    /// The lines.
    pub text: Vec<String>,
}

/// How the paths of libraries' sources go on, in Cargo's home and in the sysroot, and how many
/// folders of what follows say nothing to a reader.
const LIBRARIES: [(&str, usize); 3] = [
    ("/registry/src/", 1),
    ("/git/checkouts/", 0),
    ("/lib/rustlib/src/rust/", 0),
];

/// Where relative paths may start, and which files may be read.
#[derive(Clone, Debug, Default)]
pub struct Workspace {
    roots: Vec<PathBuf>,
    /// Folders whose files are read, beside those of libraries. Nothing where any file is.
    bounds: Option<Vec<PathBuf>>,
}

impl Workspace {
    /// The current folder, the package's folder, and all above them. Files are read below the
    /// nearest of these that has a `Cargo.lock`, or else below the two; and in Cargo's registry
    /// and the standard library. Hidden files are not.
    pub fn find() -> Workspace {
        let bound = |start: PathBuf| {
            let is_locked = |folder: &&Path| folder.join("Cargo.lock").is_file();
            let nearest = start.ancestors().find(is_locked);
            let folder = nearest.unwrap_or(&start);
            // Below the root is everything.
            folder.parent().and(folder.canonicalize().ok())
        };
        Workspace {
            bounds: Some(starts().filter_map(bound).collect()),
            ..Workspace::of_this_program()
        }
    }

    /// The same for the program that runs, which knows its own files, wherever they are.
    pub(crate) fn of_this_program() -> Workspace {
        Workspace::above(starts())
    }

    /// The given folders and all above them. Any file is read that a report names.
    pub fn above(starts: impl IntoIterator<Item = PathBuf>) -> Workspace {
        let mut roots: Vec<PathBuf> = Vec::new();
        for start in starts {
            for folder in start.ancestors() {
                if !roots.iter().any(|known| known == folder) {
                    roots.push(folder.to_path_buf());
                }
            }
        }
        let bounds = None;
        Workspace { roots, bounds }
    }

    /// No file is read, and no path is resolved.
    pub fn none() -> Workspace {
        Workspace::default()
    }

    /// The file on disk, if it is there and may be read.
    fn locate(&self, file: &str) -> Option<PathBuf> {
        // An absolute path is the same from each of them.
        let mut candidates = self.roots.iter().map(|root| root.join(file));
        candidates.find(|path| path.is_file() && self.admits(path))
    }

    /// Whether a file may be read, wherever links lead.
    fn admits(&self, path: &Path) -> bool {
        let Some(bounds) = &self.bounds else {
            return true;
        };
        let Ok(path) = path.canonicalize() else {
            return false;
        };
        let slashed = path.to_string_lossy().replace('\\', "/");
        let is_hidden = |part: Component<'_>| part.as_os_str().as_encoded_bytes().starts_with(b".");
        let mut inside = bounds.iter().filter_map(|it| path.strip_prefix(it).ok());
        LIBRARIES.iter().any(|(marker, _)| slashed.contains(marker))
            || inside.any(|rest| !rest.components().any(is_hidden))
    }

    /// What the file says, if it is there.
    #[cfg(feature = "check")]
    pub(crate) fn text(&self, file: &str) -> Option<String> {
        self.locate(file).and_then(|path| read(&path))
    }

    /// A path as a reader wants it: relative to the innermost folder that has a `Cargo.lock` or
    /// `.git` and holds it, to its crate in Cargo's registry, or to the standard library.
    fn shorten(&self, file: &str) -> String {
        let slashed = file.replace('\\', "/");
        for (marker, skip) in LIBRARIES {
            if let Some(at) = slashed.find(marker) {
                let rest = &slashed[at + marker.len()..];
                return rest
                    .splitn(skip + 1, '/')
                    .last()
                    .unwrap_or(rest)
                    .to_string();
            }
        }
        if let Some(at) = slashed
            .find("/library/")
            .filter(|_| slashed.starts_with("/rustc/") || slashed.contains("/rust/library/"))
        {
            return slashed[at + 1..].to_string();
        }
        let path = Path::new(file);
        if path.is_absolute() {
            let holds =
                |root: &&PathBuf| root.join("Cargo.lock").is_file() || root.join(".git").exists();
            // The outermost of the nested candidates is the workspace.
            if let Some(rest) = self
                .roots
                .iter()
                .filter(holds)
                .filter_map(|root| path.strip_prefix(root).ok())
                .next_back()
            {
                return rest.to_string_lossy().into_owned();
            }
        }
        file.to_string()
    }
}

/// Where relative paths start first.
fn starts() -> impl Iterator<Item = PathBuf> {
    let package = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    std::env::current_dir().ok().into_iter().chain(package)
}

/// The reports with their source lines.
#[cfg(any(feature = "check", feature = "cli"))]
pub(crate) fn attach_all(
    reports: impl IntoIterator<Item = Report>,
    workspace: &Workspace,
) -> Vec<Report> {
    let reports = reports.into_iter();
    reports.map(|it| it.with_sources(workspace)).collect()
}

/// Reads the lines around every place that a reader looks at, and shortens all paths.
pub(crate) fn attach(report: &mut Report, workspace: &Workspace) {
    let mut excerpts: Vec<Excerpt> = Vec::new();
    for run in places(report).chunk_by(|a, b| a.0 == b.0) {
        let file = &run[0].0;
        // A report that was read from a file may have its lines already.
        if report.excerpts.iter().any(|excerpt| excerpt.file == *file) {
            continue;
        }
        if let Some(text) = workspace.locate(file).and_then(|path| read(&path)) {
            excerpts.extend(cut_out(file, &text, run.iter().map(|&(_, line)| line)));
        }
    }

    let mut short: HashMap<String, String> = HashMap::new();
    let mut shorten = |file: &mut String| {
        let path = std::mem::take(file);
        *file = short
            .entry(path)
            .or_insert_with_key(|path| workspace.shorten(path))
            .clone();
    };
    excerpts
        .iter_mut()
        .for_each(|excerpt| shorten(&mut excerpt.file));
    for place in report.places_mut() {
        if let Place::Source { file, .. } = place {
            shorten(file);
        }
    }
    report.excerpts.append(&mut excerpts);
}

/// The files and lines that a reader looks at, in order.
fn places(report: &Report) -> Vec<(String, u32)> {
    let of_accesses = report.accesses.iter().flat_map(|access| {
        let frames = access.backtrace.iter().map(|frame| &frame.place);
        frames.chain([&access.place])
    });
    let of_transactions = report.transactions.iter().flat_map(|transaction| {
        let block = transaction.block.iter().map(|block| &block.place);
        block.chain([&transaction.place])
    });
    let mut places: Vec<_> = of_accesses
        .chain(of_transactions)
        .filter_map(|place| match place {
            Some(Place::Source { file, line, .. }) => Some((file.clone(), *line)),
            _ => None,
        })
        .collect();
    places.sort();
    places.dedup();
    places
}

/// The parts of a file's text around some lines, which are in order.
fn cut_out(file: &str, text: &str, wanted: impl Iterator<Item = u32>) -> Vec<Excerpt> {
    let lines: Vec<&str> = text.lines().collect();
    let mut excerpts: Vec<Excerpt> = Vec::new();
    let mut next = 1;
    for line in wanted {
        let first = line.saturating_sub(CONTEXT).max(next);
        let last = line.saturating_add(CONTEXT).min(lines.len() as u32);
        // There may be no line, and the file may have changed since it was compiled.
        if line == 0 || line as usize > lines.len() || last < first {
            continue;
        }
        let text = lines[first as usize - 1..last as usize]
            .iter()
            .map(|line| clip(line));
        match excerpts.last_mut() {
            Some(open) if open.line + open.text.len() as u32 == first => open.text.extend(text),
            _ => excerpts.push(Excerpt {
                file: file.to_owned(),
                line: first,
                text: text.collect(),
            }),
        }
        next = last + 1;
    }
    excerpts
}

fn read(path: &Path) -> Option<String> {
    let size = std::fs::metadata(path).ok()?.len();
    if size > LARGEST_FILE {
        return None;
    }
    String::from_utf8(std::fs::read(path).ok()?).ok()
}

fn clip(line: &str) -> String {
    match line.char_indices().nth(LONGEST_LINE) {
        Some((at, _)) => format!("{}...", &line[..at]),
        None => line.to_string(),
    }
}

impl Report {
    /// A source line, if the report has it.
    pub fn line(&self, file: &str, line: u32) -> Option<&str> {
        self.excerpts
            .iter()
            .filter(|excerpt| excerpt.file == file)
            .find_map(|excerpt| {
                let at = line.checked_sub(excerpt.line)?;
                excerpt.text.get(at as usize).map(String::as_str)
            })
    }
}

/// The part of a line to underline, given the column (from 1, in characters) at which the compiler
/// says an operation starts: the name with its arguments, the attribute, the head of the function.
/// Byte offsets into the line.
pub fn span(line: &str, column: u32) -> std::ops::Range<usize> {
    let end = line.trim_end().len();
    let start = line
        .char_indices()
        .nth(column.saturating_sub(1) as usize)
        .map_or(end, |(at, _)| at);
    let rest = &line[start.min(end)..end];
    let Some(first) = rest.chars().next() else {
        // The file has changed since: the whole line.
        let begin = line.len() - line.trim_start().len();
        return begin.min(end)..end;
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let word: &str = &rest[..rest.find(|c: char| !is_word(c)).unwrap_or(rest.len())];
    let length = if ["pub", "fn", "async", "const", "unsafe", "impl"].contains(&word) {
        rest.find('{')
            .map_or(rest.len(), |brace| rest[..brace].trim_end().len())
    } else if first == '#' {
        balanced(rest, 1)
    } else {
        // A method is named alone, `fetch_add(1, Relaxed)`; an operator takes all it applies to,
        // `*self.balance.lock()`.
        let operators = rest
            .find(|c: char| !matches!(c, '*' | '&' | '!'))
            .unwrap_or(0);
        let mut end = operators;
        loop {
            let is_path = |c: char| is_word(c) || matches!(c, '.' | ':' | '!' | '?');
            end = rest[end..]
                .find(|c: char| !is_path(c))
                .map_or(rest.len(), |n| end + n);
            if !rest[end..].starts_with(['(', '[']) {
                break;
            }
            end = balanced(rest, end);
            if operators == 0 || !rest[end..].starts_with(['.', '?']) {
                break;
            }
        }
        rest[..end]
            .trim_end_matches(['.', ':', '?'])
            .len()
            .max(first.len_utf8())
    };
    start..start + length
}

/// The end of the bracket that opens at `open`, or the end of the text.
fn balanced(text: &str, open: usize) -> usize {
    let mut depth = 0_usize;
    for (at, c) in text[open..].char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return open + at + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_underline_covers_the_operation() {
        let cases = [
            (
                "    let b = *self.balance.lock().unwrap();",
                13,
                "*self.balance.lock().unwrap()",
            ),
            ("    let b = self.balance.lock().unwrap();", 26, "lock()"),
            (
                "    self.n.fetch_add(f(1), Ordering::AcqRel);",
                12,
                "fetch_add(f(1), Ordering::AcqRel)",
            ),
            (
                "    pub fn withdraw(&self) -> bool {",
                5,
                "pub fn withdraw(&self) -> bool",
            ),
            ("    #[atomic(name = \"x\")]", 5, "#[atomic(name = \"x\")]"),
            ("    atomic_block! {", 5, "atomic_block!"),
            ("    größe.store(1)", 11, "store(1)"),
            ("    x.store(", 7, "store("),
            ("    short", 40, "short"),
            ("", 1, ""),
        ];
        for (line, column, expected) in cases {
            assert_eq!(&line[span(line, column)], expected, "{line}");
        }
    }

    #[test]
    fn paths_lose_what_only_this_machine_knows() {
        let workspace = Workspace::none();
        let cases = [
            ("src/lib.rs", "src/lib.rs"),
            (
                "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/serde-1.0.2/src/lib.rs",
                "serde-1.0.2/src/lib.rs",
            ),
            (
                "/rustc/abc/library/std/src/sync/mutex.rs",
                "library/std/src/sync/mutex.rs",
            ),
            (
                "/rust/toolchains/stable/lib/rustlib/src/rust/library/core/src/ops/function.rs",
                "library/core/src/ops/function.rs",
            ),
        ];
        for (long, short) in cases {
            assert_eq!(workspace.shorten(long), short);
        }
        let here = Workspace::find();
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(
            here.shorten(root.join("src/lib.rs").to_str().unwrap()),
            "src/lib.rs"
        );
    }
}
