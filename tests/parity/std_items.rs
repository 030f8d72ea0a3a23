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
    let source = include_str!("../one_line/items.rs");
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

/// The types whose methods are mirrored, and the files that have them.
const MIRRORED: [(&str, &str); 20] = [
    ("sync/struct.Barrier", "sync/barrier"),
    ("sync/struct.BarrierWaitResult", "sync/barrier"),
    ("sync/struct.Condvar", "sync/condvar"),
    ("sync/struct.LazyLock", "sync/lazy_lock"),
    ("sync/struct.Mutex", "sync/mutex"),
    ("sync/struct.Once", "sync/once"),
    ("sync/struct.OnceLock", "sync/once_lock"),
    ("sync/struct.RwLock", "sync/rwlock"),
    ("sync/struct.RwLockWriteGuard", "sync/rwlock"),
    ("sync/atomic/struct.AtomicBool", "sync/atomic/types"),
    ("sync/atomic/struct.AtomicPtr", "sync/atomic/types"),
    ("sync/atomic/struct.AtomicU32", "sync/atomic/types"),
    ("sync/mpsc/struct.Receiver", "sync/mpsc/channel"),
    ("sync/mpsc/struct.Sender", "sync/mpsc/channel"),
    ("sync/mpsc/struct.SyncSender", "sync/mpsc/channel"),
    ("thread/struct.Builder", "thread/handle"),
    ("thread/struct.JoinHandle", "thread/handle"),
    ("thread/struct.Scope", "thread/scoped"),
    ("thread/struct.ScopedJoinHandle", "thread/scoped"),
    ("thread/struct.Thread", "thread/park"),
];

/// What `aerodrome::sync` says is left out.
const LEFT_OUT: [&str; 1] = ["from_ptr"];

/// The names of a type's own stable methods.
fn stable_methods(page: &str) -> BTreeSet<String> {
    let own = page
        .split("id=\"trait-implementations\"")
        .next()
        .unwrap_or(page);
    let methods = own.split("<section id=\"method.").skip(1);
    methods
        .filter_map(|method| {
            let header = method.split("<section").next()?;
            let is_stable = !header.contains("class=\"stab unstable\"");
            is_stable.then(|| method.split('"').next().unwrap_or("").to_owned())
        })
        .collect()
}

/// Whether a source declares a function, itself or by a macro.
fn declares(source: &str, name: &str) -> bool {
    source.match_indices(name).any(|(at, _)| {
        let before = source[..at].chars().next_back();
        let after = source[at + name.len()..].chars().next();
        before == Some(' ') && matches!(after, Some('(' | '<' | ','))
    })
}

#[test]
fn every_stable_method_of_a_mirrored_type_is_there() {
    let Some(documentation) = documentation() else {
        eprintln!("skipped: this toolchain has no documentation of std");
        return;
    };
    let mut count = 0;
    for (page, file) in MIRRORED {
        let page = documentation.join(format!("{page}.html"));
        let methods = stable_methods(&std::fs::read_to_string(&page).expect("a type has a page"));
        assert!(
            !methods.is_empty(),
            "{}: no method is found",
            page.display()
        );
        let source = |file: &str| {
            let file = format!("{}/../../src/{file}.rs", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(file).expect("a mirror has a file")
        };
        let mut declarations = source(file);
        if declarations.contains("poison::unrecorded!") {
            declarations += &source("sync/poison");
        }
        let missing: Vec<_> = methods
            .iter()
            .filter(|name| !LEFT_OUT.contains(&name.as_str()) && !declares(&declarations, name))
            .collect();
        assert!(
            missing.is_empty(),
            "{file}: {missing:?} of {}",
            page.display()
        );
        count += methods.len();
    }
    assert!(
        count > 120,
        "the pages are read in a wrong way: {count} methods"
    );
}
