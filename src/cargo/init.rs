//! `cargo aerodrome init`: two entries in the manifest, a profile in the workspace's, one line in
//! each root of the package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::Failure;
use super::arguments;
use super::project::cargo;

const LINE: &str = "extern crate aerodrome as std;";

pub(super) fn run(options: &arguments::Init) -> Result<ExitCode, Failure> {
    let path = &options.manifest_path;
    let mut manifest = read(path)?;
    let Some(package) = manifest.get("package") else {
        let message = "expected a package, found a workspace alone: name a member's Cargo.toml";
        return Err(Failure::at(path)(message));
    };
    let edition = package
        .get("edition")
        .and_then(Item::as_str)
        .unwrap_or("2015");
    let inherits = package
        .get("edition")
        .is_some_and(|it| it.as_str().is_none());
    if edition == "2015" && !inherits {
        return Err(Failure::at(path)(
            "in edition 2015 `extern crate .. as std` is an error; write \
             `std = { package = \"aerodrome\", version = \"0.1\" }` into [dependencies]",
        ));
    }
    let changed = add_entries(&mut manifest).map_err(Failure::at(path))?;
    if changed.is_empty() {
        println!("{}: has aerodrome already", path.display());
    } else {
        fs::write(path, manifest.to_string()).map_err(Failure::at(path))?;
    }
    for entry in changed {
        println!("{}: {entry}", path.display());
    }
    add_profile_to(&workspace_of(path))?;
    for root in roots(&manifest, path) {
        add_line(&root)?;
    }
    println!(
        "`cargo test` now tracks this package; mark what is meant to be atomic: `#[std::atomic]`"
    );
    Ok(ExitCode::SUCCESS)
}

fn read(path: &Path) -> Result<DocumentMut, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::at(path))?;
    text.parse().map_err(Failure::at(path))
}

/// The manifest that profiles are read from: the workspace's, which may be the package's own.
fn workspace_of(path: &Path) -> PathBuf {
    let mut command = cargo();
    command.args(["locate-project", "--workspace", "--message-format=plain"]);
    let output = command.arg("--manifest-path").arg(path).output().ok();
    let found = output.filter(|output| output.status.success());
    let root = found.and_then(|output| String::from_utf8(output.stdout).ok());
    root.map_or_else(|| path.to_owned(), |root| root.trim_end().into())
}

fn add_profile_to(path: &Path) -> Result<(), Failure> {
    let mut manifest = read(path)?;
    if add_profile(&mut manifest).map_err(Failure::at(path))? {
        fs::write(path, manifest.to_string()).map_err(Failure::at(path))?;
        println!(
            "{}: [profile.dev.package.aerodrome] opt-level = 3",
            path.display()
        );
    }
    Ok(())
}

/// Has aerodrome optimised in tests that are not; whether that was missing.
fn add_profile(manifest: &mut DocumentMut) -> Result<bool, String> {
    let mut table: &mut dyn TableLike = manifest.as_table_mut();
    for name in ["profile", "dev", "package", "aerodrome"] {
        let item = table.entry(name).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let inner = item.as_table_like_mut();
        table = inner.ok_or_else(|| format!("`{name}` of a profile expected to be a table"))?;
    }
    let is_missing = !table.contains_key("opt-level");
    if is_missing {
        table.insert("opt-level", value(3));
    }
    Ok(is_missing)
}

/// Adds what is missing; says what that is.
fn add_entries(manifest: &mut DocumentMut) -> Result<Vec<String>, String> {
    let (major, minor) = (
        env!("CARGO_PKG_VERSION_MAJOR"),
        env!("CARGO_PKG_VERSION_MINOR"),
    );
    let version = format!("{major}.{minor}");
    let mut checked = InlineTable::new();
    checked.insert("version", version.as_str().into());
    checked.insert("features", Value::Array(Array::from_iter(["check"])));
    let entries = [
        ("dependencies", value(version)),
        ("dev-dependencies", value(checked)),
    ];
    let mut added = Vec::new();
    for (name, entry) in entries {
        let table = manifest
            .entry(name)
            .or_insert_with(|| Item::Table(Table::new()));
        let table = table
            .as_table_like_mut()
            .ok_or_else(|| format!("[{name}] expected to be a table"))?;
        if !table.contains_key("aerodrome") {
            added.push(format!("[{name}] aerodrome ={entry}"));
            table.insert("aerodrome", entry);
        }
    }
    Ok(added)
}

/// The root files of the library and of the program, given or by custom.
fn roots(manifest: &DocumentMut, path: &Path) -> Vec<PathBuf> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let library = manifest
        .get("lib")
        .and_then(|lib| lib.get("path")?.as_str());
    let mut files = vec![library.unwrap_or("src/lib.rs").to_owned()];
    let programs = manifest.get("bin").and_then(Item::as_array_of_tables);
    let given = programs.into_iter().flatten();
    files.extend(given.filter_map(|table| table.get("path")?.as_str().map(str::to_owned)));
    files.push("src/main.rs".to_owned());
    files.dedup();
    let files = files.iter().map(|file| folder.join(file));
    files.filter(|file| file.is_file()).collect()
}

/// Adds the line behind the inner attributes, unless it is there.
fn add_line(root: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(root).map_err(Failure::at(root))?;
    let parsed = syn::parse_file(&text).map_err(Failure::at(root))?;
    if text.contains(LINE) {
        println!("{}: has the line already", root.display());
        return Ok(());
    }
    let Some(first) = parsed.items.first() else {
        return Ok(());
    };
    let start = syn::spanned::Spanned::span(first).byte_range().start;
    let text = format!("{}{LINE}\n\n{}", &text[..start], &text[start..]);
    fs::write(root, text).map_err(Failure::at(root))?;
    println!("{}: {LINE}", root.display());
    Ok(())
}
