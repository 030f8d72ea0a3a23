//! What Cargo runs in place of rustc and rustdoc.
//!
//! rustc is called as `wrapper rustc ARGUMENTS`, rustdoc as `wrapper ARGUMENTS`. Where dependencies
//! are tracked, Cargo runs the wrapper under a second name for everything that it compiles; for a
//! member that name is followed by the first. A member's crates
//! get `--extern std=..` and the rest; everything else passes unchanged: questions about the
//! compiler, build scripts, procedural macros, and what tests compile by themselves. So do crates
//! without std, but for tests, which link std in any case: a program may do without it, and brings
//! a panic handler of its own then.
//!
//! A crate that does not compile with tracked types, and does without, is compiled without: it
//! hands a type of std to a dependency, say, or relies on the layout of an atomic. A warning says
//! so, and a file beside the wrapper, by which its documentation tests know. A crate with marks is
//! to be tracked, so its errors are errors.
//!
//! A crate may compile neither way: it has an `Arc<AtomicBool>` from a dependency, say, and hands
//! it to a member that is tracked. A file says so, too, and the command runs Cargo again without
//! tracking either.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Output, Stdio};

use serde::Deserialize;
use serde_json::json;

use super::plan::{Member, Plan, WRAPPER};
use super::sources::Copy;

/// How the names of files begin that are about a crate which compiles neither way.
pub(super) const FAILED: &str = "failed-";

/// A call by Cargo.
pub(super) struct Call {
    plan: Plan,
    /// The wrapper's folder, which belongs to the plan.
    folder: PathBuf,
    program: OsString,
    arguments: Vec<OsString>,
    /// Whether the program is this one again, under the name by which it compiles members.
    is_member: bool,
}

impl Call {
    /// Whether this process is the wrapper: a plan lies beside the name that it was called by.
    pub(super) fn of_this_process() -> Option<Call> {
        let mut arguments = env::args_os();
        let name = PathBuf::from(arguments.next()?);
        let plan = Plan::beside(&name)?;
        let folder = name.parent()?.to_owned();
        let kind = name.file_stem()?.to_str()?;
        let mut program = match kind {
            "rustdoc" => plan.rustdoc.clone(),
            _ => arguments.next()?,
        };
        let mut arguments: Vec<OsString> = arguments.collect();
        let is_member = kind == WRAPPER && Path::new(&program).parent() == Some(&folder);
        if kind == WRAPPER {
            if let Some(wrapper) = plan.wrapper.clone() {
                arguments.insert(0, std::mem::replace(&mut program, wrapper));
            }
        }
        Some(Call {
            plan,
            folder,
            program,
            arguments,
            is_member,
        })
    }

    pub(super) fn run(self) -> ExitCode {
        if self.is_member {
            return self.replace_this_process(&self.arguments);
        }
        let changed = self.unit().map(|(member, unit)| {
            let marked = self.marked(&unit);
            (self.changed(member, &unit, marked.as_ref()), unit, marked)
        });
        match changed {
            None => self.replace_this_process(&self.untracked()),
            Some((arguments, unit, _)) if self.is_rustdoc() => {
                if self.folder.join(untracked_file(&unit.name)).exists() {
                    self.replace_this_process(&self.untracked())
                } else {
                    self.replace_this_process(&arguments)
                }
            }
            Some((arguments, _, Some(_))) => self.replace_this_process(&arguments),
            Some((arguments, unit, None)) => self.compile(&arguments, &unit),
        }
    }

    /// Runs the real program in the place of this one.
    fn replace_this_process(&self, arguments: &[OsString]) -> ExitCode {
        let mut command = Command::new(&self.program);
        command.args(arguments);
        #[cfg(unix)]
        let error = {
            use std::os::unix::process::CommandExt;
            command.exec()
        };
        #[cfg(not(unix))]
        let error = match command.status() {
            Ok(status) => return code_of(status.code()),
            Err(error) => error,
        };
        self.cannot_run(&error)
    }

    fn cannot_run(&self, error: &std::io::Error) -> ExitCode {
        eprintln!("error: {}: {error}", Path::new(&self.program).display());
        ExitCode::from(super::FAILED)
    }

    /// Compiles a crate with tracked types, or, where only that succeeds, without.
    fn compile(&self, arguments: &[OsString], unit: &Unit) -> ExitCode {
        let attempt = |arguments: &[OsString]| {
            let mut command = Command::new(&self.program);
            command.args(arguments).stdout(Stdio::inherit()).output()
        };
        let tracked = match attempt(arguments) {
            Ok(output) => output,
            Err(error) => return self.cannot_run(&error),
        };
        let file = self.folder.join(untracked_file(&unit.name));
        if tracked.status.success() {
            if !unit.is_test {
                let _ = fs::remove_file(file);
            }
            return pass_on(&tracked);
        }
        let errors = errors_in(&tracked);
        match attempt(&self.untracked()) {
            Ok(plain) if plain.status.success() => {
                let message = untracked_message(unit, errors.first());
                if !unit.is_test {
                    // Without it, documentation tests are compiled with tracked types.
                    let _ = fs::write(file, &message);
                }
                eprintln!("{}", warning(&message));
                pass_on(&plain)
            }
            Ok(plain) if errors_in(&plain) != errors => {
                // Without it, the errors stand.
                let _ = self.note_failure(unit);
                pass_on(&tracked)
            }
            _ => pass_on(&tracked),
        }
    }

    /// Notes that a crate compiles neither with tracked types nor beside tracked members.
    fn note_failure(&self, unit: &Unit) -> std::io::Result<()> {
        let folder = env::var("CARGO_MANIFEST_DIR").unwrap_or_default();
        let file = format!("{FAILED}{}-{}", unit.name, std::process::id());
        fs::write(self.folder.join(file), folder)
    }

    fn is_rustdoc(&self) -> bool {
        Path::new(&self.program).file_stem() == Some(OsStr::new("rustdoc"))
    }

    /// The member whose crate is compiled, and the crate, where that is to be tracked.
    fn unit(&self) -> Option<(&Member, Unit)> {
        let folder = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR")?);
        let member = self.plan.members.iter().find(|it| it.folder == folder)?;
        let unit = Unit::read(&self.arguments)?;
        (self.plan.for_tests || unit.has_std()).then_some((member, unit))
    }

    /// Where tracked crates find what they depend on.
    fn search(&self) -> impl Iterator<Item = OsString> {
        self.plan.search.iter().flat_map(|folder| {
            let mut value = OsString::from("dependency=");
            value.push(folder);
            [OsString::from("-L"), value]
        })
    }

    /// The arguments for a crate that is not tracked. It may depend on one that is.
    fn untracked(&self) -> Vec<OsString> {
        let mut arguments = self.arguments.clone();
        if arguments.iter().any(|argument| argument == "--crate-name") {
            arguments.extend(self.search());
        }
        arguments
    }

    /// The arguments for a crate that is tracked.
    fn changed(
        &self,
        member: &Member,
        unit: &Unit,
        marked: Option<&(Copy, PathBuf)>,
    ) -> Vec<OsString> {
        let replaced =
            |name: &str| name == "aerodrome" || member.mirrors.iter().any(|it| it == name);
        let mut changed = Vec::new();
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            changed.push(argument.clone());
            if argument == "--extern" {
                let value = arguments.next();
                changed.extend(value.map(|value| self.replacement(value, &replaced)));
            }
        }
        for (name, facade) in [("std", "std"), ("core", "std"), ("aerodrome", "aerodrome")] {
            // A project may have aerodrome for its std. Two files would be two candidates.
            let start = format!("{name}=");
            let is_given = |it: &OsString| it.to_str().is_some_and(|it| it.starts_with(&start));
            let found = self.plan.crates.iter().find(|(known, _)| known == facade);
            if let (Some((_, file)), false) = (found, changed.iter().any(is_given)) {
                let mut value = OsString::from(start);
                value.push(file);
                changed.extend([OsString::from("--extern"), value]);
            }
        }
        changed.extend(self.search());
        // Lints see tracked types, and what is denied is denied of the program as it is.
        if !changed
            .iter()
            .any(|it| it.to_string_lossy().starts_with("--cap-lints"))
        {
            changed.push("--cap-lints=warn".into());
        }
        if let Some((copy, root)) = marked {
            read_copy(unit, copy, root, &mut changed);
        }
        changed
    }

    /// The value of `--extern`, with the mirror's file in the place of a crate that is mirrored.
    /// The name may be the user's own; the file has the crate's.
    fn replacement(&self, value: &OsStr, replaced: &dyn Fn(&str) -> bool) -> OsString {
        let Some((name, file)) = value.to_str().and_then(|text| text.split_once('=')) else {
            return value.to_owned();
        };
        let stem = Path::new(file).file_stem().and_then(OsStr::to_str);
        let stem = stem.and_then(|stem| stem.strip_prefix("lib"));
        let Some((crate_name, _hash)) = stem.and_then(|stem| stem.rsplit_once('-')) else {
            return value.to_owned();
        };
        // A project may have taken the mirror's own package.
        let crate_name = match crate_name.strip_prefix("aerodrome_") {
            Some(mirrored) => mirrored,
            None if !replaced(crate_name) => return value.to_owned(),
            None => crate_name,
        };
        let found = self
            .plan
            .crates
            .iter()
            .find(|(known, _)| known == crate_name);
        match found {
            Some((_, file)) => {
                let mut replacement = OsString::from(format!("{name}="));
                replacement.push(file);
                replacement
            }
            None => value.to_owned(),
        }
    }

    /// Where the crate's sources have marks: the copies, and its root file there.
    fn marked(&self, unit: &Unit) -> Option<(Copy, PathBuf)> {
        if self.is_rustdoc() {
            return None;
        }
        let original = std::path::absolute(&unit.root).ok()?;
        let mut copies = Copy::read(&self.folder).into_iter();
        copies.find_map(|copy| copy.of(&original).map(|root| (copy, root)))
    }
}

/// Has the compiler read the copy with marks, and speak of the original.
fn read_copy(unit: &Unit, copy: &Copy, root: &Path, arguments: &mut Vec<OsString>) {
    for argument in arguments.iter_mut() {
        if Path::new(argument) == unit.root {
            *argument = root.into();
        }
    }
    // As Cargo gives it: relative to the workspace, or absolute.
    let mut remap = OsString::from("--remap-path-prefix=");
    remap.push(&copy.copy);
    remap.push("=");
    if unit.root.is_absolute() {
        remap.push(&copy.original);
    }
    arguments.push(remap);
}

#[cfg(not(unix))]
fn code_of(code: Option<i32>) -> ExitCode {
    let code = code.and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(super::FAILED))
}

/// Says what a compiler has said, and ends as it has.
fn pass_on(output: &Output) -> ExitCode {
    let _ = std::io::stderr().write_all(&output.stderr);
    let code = output
        .status
        .code()
        .and_then(|code| u8::try_from(code).ok());
    ExitCode::from(code.unwrap_or(super::FAILED))
}

/// A message of the compiler, as far as it is of interest.
#[derive(PartialEq, Deserialize)]
struct Diagnostic {
    level: String,
    message: String,
    /// With the types that the message leaves out.
    rendered: Option<String>,
    spans: Vec<Span>,
}

/// A part of a source file.
#[derive(PartialEq, Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    column_start: u32,
    is_primary: bool,
}

impl Diagnostic {
    /// The message, and where it is about.
    fn text(&self) -> String {
        let place = self.spans.iter().find(|span| span.is_primary);
        let place = place.map_or_else(String::new, |span| {
            let (line, column) = (span.line_start, span.column_start);
            format!("\n --> {}:{line}:{column}", span.file_name)
        });
        format!("{}{place}", self.message)
    }
}

/// The errors, in the order of the compiler.
fn errors_in(output: &Output) -> Vec<Diagnostic> {
    let said = String::from_utf8_lossy(&output.stderr);
    let diagnostics = said
        .lines()
        .filter_map(|line| serde_json::from_str::<Diagnostic>(line).ok());
    diagnostics
        .filter(|diagnostic| diagnostic.level == "error")
        .collect()
}

/// The name of the file that is there while a library is compiled without tracked types: it says
/// so, and why.
pub(super) fn untracked_file(name: &str) -> String {
    format!("untracked-{name}")
}

fn untracked_message(unit: &Unit, error: Option<&Diagnostic>) -> String {
    let reason = error.map_or_else(String::new, |error| format!(": {}", error.text()));
    let tests = if unit.is_test { " (its tests)" } else { "" };
    format!(
        "nothing in `{}`{tests} is tracked, because it does not compile with tracked types{reason}",
        unit.name
    )
}

/// A warning in the compiler's format: Cargo shows it again when nothing has to be compiled.
fn warning(message: &str) -> String {
    json!({
        "$message_type": "diagnostic",
        "message": message,
        "code": null,
        "level": "warning",
        "spans": [],
        "children": [],
        "rendered": format!("warning: {message}\n\n"),
    })
    .to_string()
}

/// What is compiled, as the arguments say.
struct Unit {
    name: String,
    root: PathBuf,
    is_test: bool,
    /// The values of `--cfg`: `has_std`, `feature="std"`.
    conditions: Vec<String>,
}

impl Unit {
    /// A crate of Rust code that runs on the target: no question, build script or procedural macro.
    fn read(arguments: &[OsString]) -> Option<Unit> {
        let text: Vec<&str> = arguments
            .iter()
            .map(|it| it.to_str().unwrap_or(""))
            .collect();
        let value = |option: &str| {
            let at = text.iter().position(|argument| *argument == option)?;
            text.get(at + 1).copied()
        };
        let name = value("--crate-name")?;
        let is_macro = text
            .windows(2)
            .any(|pair| pair == ["--crate-type", "proc-macro"])
            || text
                .windows(2)
                .any(|pair| pair == ["--extern", "proc_macro"]);
        if is_macro || name == "___" || name.starts_with("build_script_") {
            return None;
        }
        let root = text.iter().find(|argument| argument.ends_with(".rs"))?;
        let conditions = text.windows(2).filter(|pair| pair[0] == "--cfg");
        Some(Unit {
            name: name.to_owned(),
            root: PathBuf::from(root),
            is_test: text.contains(&"--test"),
            conditions: conditions.map(|pair| pair[1].to_owned()).collect(),
        })
    }

    /// Whether the crate has std: by default, or by an `extern crate std` in its root.
    fn has_std(&self) -> bool {
        let Ok(text) = fs::read_to_string(&self.root) else {
            return false;
        };
        let Ok(file) = syn::parse_file(&text) else {
            return true;
        };
        let names_std = file
            .items
            .iter()
            .any(|item| matches!(item, syn::Item::ExternCrate(it) if it.ident == "std"));
        names_std
            || !file
                .attrs
                .iter()
                .any(|attribute| self.is_no_std(&attribute.meta))
    }

    /// Whether an attribute is `no_std`, on its own or under a condition that holds.
    fn is_no_std(&self, attribute: &syn::Meta) -> bool {
        let syn::Meta::List(list) = attribute else {
            return attribute.path().is_ident("no_std");
        };
        if !list.path.is_ident("cfg_attr") {
            return false;
        }
        let Some(parts) = parts(list) else {
            return false;
        };
        let Some((condition, attributes)) = parts.split_first() else {
            return false;
        };
        attributes.iter().any(|it| self.is_no_std(it)) && self.holds(condition)
    }

    /// Whether a condition of `cfg` holds, as far as tests and `--cfg` go; others do not.
    fn holds(&self, condition: &syn::Meta) -> bool {
        let is_given = |text: &str| self.conditions.iter().any(|given| given == text);
        match condition {
            syn::Meta::Path(path) => path
                .get_ident()
                .is_some_and(|name| name == "test" && self.is_test || is_given(&name.to_string())),
            syn::Meta::NameValue(pair) => match (pair.path.get_ident(), &pair.value) {
                (
                    Some(name),
                    syn::Expr::Lit(syn::ExprLit {
                        lit: syn::Lit::Str(value),
                        ..
                    }),
                ) => is_given(&format!("{name}={:?}", value.value())),
                _ => false,
            },
            syn::Meta::List(list) => {
                let parts = parts(list).unwrap_or_default();
                let mut parts = parts.iter().map(|part| self.holds(part));
                match list.path.get_ident().map(ToString::to_string).as_deref() {
                    Some("not") => !parts.any(|holds| holds),
                    Some("all") => parts.all(|holds| holds),
                    _ => parts.any(|holds| holds),
                }
            }
        }
    }
}

/// What is between the parentheses, separated by commas.
fn parts(list: &syn::MetaList) -> Option<Vec<syn::Meta>> {
    let parser = syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated;
    Some(list.parse_args_with(parser).ok()?.into_iter().collect())
}
