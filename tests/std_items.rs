//! std's items and the list of those that are looked for under `extern crate aerodrome as std`.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

/// The folder of std's documentation, where the toolchain has it.
fn documentation() -> Option<PathBuf> {
    let output = Command::new("rustc").args(["--print", "sysroot"]).output();
    let sysroot = String::from_utf8(output.ok()?.stdout).ok()?;
    let folder = PathBuf::from(sysroot.trim()).join("share/doc/rust/html/std");
    folder.is_dir().then_some(folder)
}

/// The names of a module's stable items, without those of its modules.
fn stable_items(page: &str) -> BTreeSet<String> {
    let rows = page.split("<dt>").skip(1);
    rows.filter_map(|row| {
        let row = row.split("</dt>").next()?;
        let title = row.split("title=\"").nth(1)?.split('"').next()?;
        let (kind, path) = title.split_once(' ')?;
        let is_item = kind != "mod" && !row.contains("Experimental");
        is_item.then(|| path.rsplit("::").next().unwrap_or(path).to_owned())
    })
    .collect()
}

/// The names that `pub use std::module::{..};` has.
fn imported(source: &str, module: &str) -> BTreeSet<String> {
    let (_, rest) = source
        .split_once(&format!("pub use std::{module}::{{"))
        .unwrap_or_else(|| panic!("no import of std::{module}"));
    let names = rest.split_once('}').expect("the import ends").0.split(',');
    names.map(|name| name.trim().to_owned()).collect()
}

#[test]
fn every_stable_item_of_std_is_imported_by_the_one_line_programs() {
    let Some(documentation) = documentation() else {
        eprintln!("skipped: this toolchain has no documentation of std");
        return;
    };
    let source = include_str!("one_line/items.rs");
    for module in [
        "sync",
        "sync::atomic",
        "sync::mpsc",
        "thread",
        "cell",
        "hint",
    ] {
        let page = documentation
            .join(module.replace("::", "/"))
            .join("index.html");
        let page = std::fs::read_to_string(&page).expect("a module has a page");
        let items = stable_items(&page);
        assert!(
            items.len() > 4,
            "{module}: the page is read in a wrong way: {items:?}"
        );
        let missing: Vec<_> = items
            .difference(&imported(source, module))
            .cloned()
            .collect();
        assert!(
            missing.is_empty(),
            "std::{module} has {missing:?}, items.rs has not"
        );
    }
}
