//! `cargo aerodrome init`: two entries in each package's manifest, a profile in the workspace's,
//! one line in each root of a library, a program and an integration test.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value, value};

use super::Failure;
use super::arguments;
use super::library::dependency;
use super::project::{Package, members};

const LINE: &str = "extern crate aerodrome as std;";

pub(super) fn run(options: &arguments::Init) -> Result<ExitCode, Failure> {
    let path = fs::canonicalize(&options.manifest_path);
    let path = path.map_err(Failure::at(&options.manifest_path))?;
    let workspace = members(&path)?;
    let is_meant = |package: &&Package| {
        fs::canonicalize(&package.manifest_path).is_ok_and(|manifest| manifest == path)
    };
    let packages: Vec<&Package> = match workspace.packages.iter().find(is_meant) {
        Some(package) => vec![package],
        // A workspace alone.
        None => workspace.packages.iter().collect(),
    };
    for package in packages {
        add_to(package)?;
    }
    add_profile_to(&workspace.workspace_root.join("Cargo.toml"))?;
    println!("`cargo test` now tracks this; mark what is meant to be atomic: `#[std::atomic]`");
    Ok(ExitCode::SUCCESS)
}

/// Adds the entries and the lines to a package.
fn add_to(package: &Package) -> Result<(), Failure> {
    let path = &package.manifest_path;
    let targets = package.targets.iter().filter(|target| {
        let mut kinds = target.kind.iter();
        !kinds.any(|kind| OTHERS.contains(&kind.as_str()))
    });
    let roots: Vec<&Path> = targets.map(|target| &*target.src_path).collect();
    if roots.is_empty() {
        println!("{}: has nothing that is tracked", path.display());
        return Ok(());
    }
    if package.edition == "2015" {
        println!(
            "{}: in edition 2015 `extern crate .. as std` is an error; write `std = {{ package = \
             \"aerodrome\", .. }}` into [dependencies]",
            path.display()
        );
        return Ok(());
    }
    let mut manifest = read(path)?;
    let changed = add_entries(&mut manifest).map_err(Failure::at(path))?;
    if changed.is_empty() {
        println!("{}: has aerodrome already", path.display());
    } else {
        fs::write(path, manifest.to_string()).map_err(Failure::at(path))?;
    }
    for entry in changed {
        println!("{}: {entry}", path.display());
    }
    roots.into_iter().try_for_each(add_line)
}

/// What gets no line: what the compiler runs, and what is run for itself.
const OTHERS: [&str; 4] = ["custom-build", "proc-macro", "example", "bench"];

fn read(path: &Path) -> Result<DocumentMut, Failure> {
    let text = fs::read_to_string(path).map_err(Failure::at(path))?;
    text.parse().map_err(Failure::at(path))
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
    let mut entry = InlineTable::new();
    match dependency() {
        ("version", version) => {
            // As far as versions are compatible.
            let (compatible, _patch) = version.rsplit_once('.').unwrap_or((&version, ""));
            entry.insert("version", compatible.into())
        }
        (key, value) => entry.insert(key, value.into()),
    };
    let mut checked = entry.clone();
    checked.insert("features", Value::Array(Array::from_iter(["check"])));
    let plain = match entry.get("version") {
        Some(version) => value(version.clone()),
        None => value(entry),
    };
    let entries = [
        ("dependencies", plain),
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
        if table.contains_key("aerodrome") {
            continue;
        }
        added.push(format!("[{name}] aerodrome ={entry}"));
        let is_sorted = table.iter().is_sorted_by_key(|(name, _)| name);
        table.insert("aerodrome", entry);
        if is_sorted {
            table.sort_values();
        }
    }
    Ok(added)
}

/// Adds the line behind the inner attributes, unless it is there.
fn add_line(root: &Path) -> Result<(), Failure> {
    let text = fs::read_to_string(root).map_err(Failure::at(root))?;
    let parsed = syn::parse_file(&text).map_err(Failure::at(root))?;
    if text.contains(LINE) {
        println!("{}: has the line already", root.display());
        return Ok(());
    }
    let is_no_std = |attribute: &syn::Attribute| {
        let place = syn::spanned::Spanned::span(attribute).byte_range();
        text[place].contains("no_std")
    };
    if parsed.attrs.iter().any(is_no_std) {
        println!("{}: is without std, and gets no line", root.display());
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
