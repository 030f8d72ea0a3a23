//! What Cargo runs in place of rustc and rustdoc.
//!
//! rustc is called as `wrapper rustc ARGUMENTS`, rustdoc as `wrapper ARGUMENTS`. A member's crates
//! get `--extern std=..` and the rest; everything else passes unchanged: questions about the
//! compiler, build scripts, procedural macros, crates without std, and what tests compile by
//! themselves.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use super::plan::Plan;

/// A call by Cargo.
pub(super) struct Call {
    plan: Plan,
    program: OsString,
    arguments: Vec<OsString>,
}

impl Call {
    /// Whether this process is the wrapper: a plan lies beside the name that it was called by.
    pub(super) fn of_this_process() -> Option<Call> {
        let mut arguments = env::args_os();
        let name = PathBuf::from(arguments.next()?);
        let plan = Plan::beside(&name)?;
        let is_rustdoc = name.file_stem().is_some_and(|stem| stem == "rustdoc");
        let program = match is_rustdoc {
            true => plan.rustdoc.clone(),
            false => arguments.next()?,
        };
        Some(Call {
            plan,
            program,
            arguments: arguments.collect(),
        })
    }

    pub(super) fn run(self) -> ExitCode {
        let mut command = Command::new(&self.program);
        command.args(self.changed());
        #[cfg(unix)]
        let error = {
            use std::os::unix::process::CommandExt;
            command.exec()
        };
        #[cfg(not(unix))]
        let error = match command.status() {
            Ok(status) => {
                let code = status.code().and_then(|code| u8::try_from(code).ok());
                return ExitCode::from(code.unwrap_or(super::FAILED));
            }
            Err(error) => error,
        };
        eprintln!("error: {}: {error}", Path::new(&self.program).display());
        ExitCode::from(super::FAILED)
    }

    /// The arguments as the compiler gets them.
    fn changed(&self) -> Vec<OsString> {
        let folder = env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let member =
            folder.and_then(|folder| self.plan.members.iter().find(|it| it.folder == folder));
        let unit = Unit::read(&self.arguments);
        let (Some(member), Some(unit)) = (member, unit) else {
            return self.arguments.clone();
        };
        if !unit.has_std() {
            return self.arguments.clone();
        }
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
        let (_, aerodrome) = &self.plan.crates[0];
        // `--extern` given twice for a name is two candidates of one file.
        for name in ["std", "core", "aerodrome"] {
            let mut value = OsString::from(format!("{name}="));
            value.push(aerodrome);
            changed.extend([OsString::from("--extern"), value]);
        }
        for folder in &self.plan.search {
            let mut value = OsString::from("dependency=");
            value.push(folder);
            changed.extend([OsString::from("-L"), value]);
        }
        self.read_copy(&unit, &mut changed);
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

    /// Has the compiler read the copy with marks, and speak of the original.
    fn read_copy(&self, unit: &Unit, arguments: &mut Vec<OsString>) {
        let Some((root, copy)) = &self.plan.copy else {
            return;
        };
        let Ok(original) = std::path::absolute(&unit.root) else {
            return;
        };
        let Ok(inside) = original.strip_prefix(root) else {
            return;
        };
        let marked = copy.join(inside);
        let is_rustdoc = Path::new(&self.program).file_stem() == Some(OsStr::new("rustdoc"));
        if is_rustdoc || !marked.exists() {
            return;
        }
        for argument in arguments.iter_mut() {
            if Path::new(argument) == unit.root {
                *argument = marked.clone().into();
            }
        }
        // As Cargo gives it: relative to the workspace, or absolute.
        let mut remap = OsString::from("--remap-path-prefix=");
        remap.push(copy);
        remap.push("=");
        if unit.root.is_absolute() {
            remap.push(root);
        }
        arguments.push(remap);
    }
}

/// What is compiled, as the arguments say.
struct Unit {
    root: PathBuf,
    is_test: bool,
    features: Vec<String>,
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
        let feature = |argument: &&str| {
            let name = argument.strip_prefix("feature=\"")?.strip_suffix('"')?;
            Some(name.to_owned())
        };
        Some(Unit {
            root: PathBuf::from(root),
            is_test: text.contains(&"--test"),
            features: text.iter().filter_map(feature).collect(),
        })
    }

    /// Whether the crate has std: by default, or by an `extern crate std` in its root.
    fn has_std(&self) -> bool {
        let Ok(text) = std::fs::read_to_string(&self.root) else {
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

    /// Whether a condition of `cfg` holds, as far as tests and features go; others do not.
    fn holds(&self, condition: &syn::Meta) -> bool {
        match condition {
            syn::Meta::Path(path) => path.is_ident("test") && self.is_test,
            syn::Meta::NameValue(pair) => match &pair.value {
                syn::Expr::Lit(syn::ExprLit {
                    lit: syn::Lit::Str(name),
                    ..
                }) => pair.path.is_ident("feature") && self.features.contains(&name.value()),
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
