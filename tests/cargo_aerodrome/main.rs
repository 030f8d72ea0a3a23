//! `cargo aerodrome` on a workspace that knows nothing of aerodrome.
#![cfg(all(feature = "cli", unix))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A copy of the project; its target directory stays from one run of the tests to the next.
fn project() -> &'static Path {
    static PROJECT: OnceLock<PathBuf> = OnceLock::new();
    PROJECT.get_or_init(|| copy_of("project", "cargo_aerodrome"))
}

/// A copy of one of the projects here, under a name.
fn copy_of(project: &str, name: &str) -> PathBuf {
    let originals = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cargo_aerodrome");
    let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    copy_folder(&originals.join(project), &copy);
    copy
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy_folder(&entry.path(), &to);
        } else if fs::read(&to).ok() != fs::read(entry.path()).ok() {
            fs::copy(entry.path(), to).unwrap();
        }
    }
}

fn cargo_aerodrome(folder: &Path, arguments: &[&str]) -> (i32, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_cargo-aerodrome"));
    command.arg("aerodrome").args(arguments).current_dir(folder);
    for variable in [
        "CARGO_TARGET_DIR",
        "RUSTFLAGS",
        "AERODROME",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(variable);
    }
    // The library stays from one run of the tests to the next.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cache");
    command.env("XDG_CACHE_HOME", cache);
    // Compiled in a tenth of the time; nothing here is measured.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    let Output {
        status,
        stdout,
        stderr,
    } = command.output().unwrap();
    let text = String::from_utf8_lossy(&stdout) + String::from_utf8_lossy(&stderr);
    (status.code().unwrap(), text.into_owned())
}

#[test]
fn tests_of_an_unchanged_workspace_are_tracked_and_the_marked_method_is_reported() {
    let (code, text) = cargo_aerodrome(project(), &["test", "--workspace"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("test two_withdrawals_overlap ... ok"),
        "{text}"
    );
    assert!(
        text.contains("test bank/src/lib.rs - (line 3) ... ok"),
        "{text}"
    );
    assert!(
        text.contains("test tests::an_atomic_of_core_counts ... ok"),
        "{text}"
    );
    assert!(text.contains("aerodrome: 3 processes, 3 tests, "), "{text}");
    assert!(text.contains(" 0 transactions, 0 violations"), "{text}");
    assert!(text.contains("test pointers_are_null ... ok"), "{text}");
    assert!(
        text.contains("test layout/src/lib.rs - (line 3) ... ok"),
        "{text}"
    );

    let (code, text) = cargo_aerodrome(project(), &["test", "--workspace"]);
    assert!(code == 0 && !text.contains("Compiling"), "{text}");
    // A crate that cannot be tracked is named every time.
    for name in ["`layout`", "`layout` (its tests)"] {
        let warning = format!(
            "warning: nothing in {name} is tracked, because it does not compile with tracked \
             types: cannot transmute between types of different sizes"
        );
        assert_eq!(text.matches(&warning).count(), 1, "{warning}\n{text}");
    }

    // The lines and columns are those of the file as it is.
    let marked = [
        "test",
        "--atomic",
        "Account::withdraw",
        "--report",
        "html",
        "--test",
        "withdraw",
    ];
    let (code, text) = cargo_aerodrome(project(), &marked);
    assert_eq!(code, 101, "{text}");
    let source = include_str!("project/bank/src/account.rs");
    let line = |what: &str| 1 + source.lines().position(|line| line.contains(what)).unwrap();
    assert!(text.contains("`Account::withdraw` is not atomic"), "{text}");
    for (what, column) in [("fn withdraw", 12), ("-= amount", 13)] {
        let place = format!("bank/src/account.rs:{}:{column}", line(what));
        assert!(text.contains(&place), "no {place} in\n{text}");
    }
    assert!(text.contains("1 violation"), "{text}");
    let page = project().join("target/aerodrome/report.html");
    assert!(
        text.contains(&format!("1 report in {}", page.display())),
        "{text}"
    );
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("Account::withdraw"));

    let (code, text) = cargo_aerodrome(project(), &["suggest", "-p", "bank", "--test", "withdraw"]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("Account::withdraw was not atomic:"), "{text}");
    assert!(
        text.contains("Account::rename was atomic in its only run"),
        "{text}"
    );
    // Whether a wait at a barrier belongs to the method or to the test, the user knows.
    let (_, deposit) = text
        .split_once("Account::deposit waits for others at bank/tests/withdraw.rs:")
        .unwrap();
    assert!(
        deposit.contains("(`std::real`), Account::deposit was not atomic:"),
        "{text}"
    );
    let place = format!("bank/src/account.rs:{}:", line("before + amount"));
    assert!(deposit.contains(&place), "no {place} in\n{text}");
}

#[test]
fn a_crate_between_a_tracked_and_an_untracked_one_is_run_without_tracking() {
    let folder = copy_of("signals", "cargo_aerodrome_signals");
    // Dependencies are those that the other project has built.
    let target = project().join("target").display().to_string();
    let (code, text) = cargo_aerodrome(&folder, &["test", "--target-dir", &target]);
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("test the_flag_is_set ... ok"), "{text}");
    let note = format!(
        "aerodrome: {} compiles neither with tracked types nor beside members that have them",
        folder.join("program").display()
    );
    assert!(text.contains(&note), "{text}");

    // An error of the project's own is no reason to try again.
    let broken = folder.join("program/src/lib.rs");
    fs::write(&broken, "fn broken() { missing() }\n").unwrap();
    let (code, text) = cargo_aerodrome(&folder, &["test", "--target-dir", &target]);
    assert_eq!(code, 101, "{text}");
    assert!(text.contains("cannot find function `missing`"), "{text}");
    assert!(!text.contains("compiles neither"), "{text}");
}

#[test]
fn marks_that_change_are_compiled_and_those_that_do_not_are_not() {
    let shop = copy_of("marks", "cargo_aerodrome_marks");
    let settings = shop.join("aerodrome.toml");
    let _ = fs::remove_file(&settings);
    let cache = "`Cache::price` is not atomic";
    let stock = "`Stock::add` is not atomic";
    let test = |marks: &[&str]| cargo_aerodrome(&shop, &[&["test"], marks].concat());

    // Nothing marked: nothing is found, and that is said.
    let (code, text) = test(&[]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("aerodrome: nothing is marked, so nothing was checked for atomicity"),
        "{text}"
    );
    assert!(
        text.contains("--atomic") && text.contains("aerodrome suggest"),
        "{text}"
    );

    // One file, then another, which a macro declares, then the first again.
    let only_cache = ["--atomic", "Cache::*"];
    let (code, text) = test(&only_cache);
    assert!(
        code == 101 && text.contains(cache) && !text.contains(stock),
        "{text}"
    );
    let marks = "aerodrome: `Cache::*` marks 2 functions: \
                 `shop::cache::Cache::price` (shop/src/cache.rs:9), \
                 `shop::cache::Cache::clear` (shop/src/cache.rs:18)";
    assert!(text.contains(marks), "{text}");
    let checked = "aerodrome: 2 functions are marked, 1 entered; \
                   never entered: `shop::cache::Cache::clear` (shop/src/cache.rs:18)\n";
    assert!(text.contains(checked), "{text}");
    let (code, text) = test(&["--atomic", "Stock::*"]);
    assert!(
        code == 101 && text.contains(stock) && !text.contains(cache),
        "{text}"
    );
    assert!(
        text.contains("aerodrome: 1 function is marked and entered\n"),
        "{text}"
    );
    let (code, text) = test(&only_cache);
    assert!(
        code == 101 && text.contains(cache) && !text.contains(stock),
        "{text}"
    );
    assert!(!text.contains("Compiling"), "{text}");

    // The same from the file, in any order; a pattern more holds at once, and one less, too.
    fs::write(&settings, "atomic = [\"Cache::*\", \"Cache::*\"]\n").unwrap();
    let (_, text) = test(&[]);
    assert!(
        text.contains(cache) && !text.contains("Compiling"),
        "{text}"
    );
    fs::write(&settings, "atomic = [\"Stock::*\", \"Cache::*\"]\n").unwrap();
    let (_, text) = test(&["--no-fail-fast"]);
    assert!(text.contains(cache) && text.contains(stock), "{text}");
    fs::write(&settings, "atomic = [\"Stock::*\"]\n").unwrap();
    let (_, text) = test(&[]);
    assert!(text.contains(stock) && !text.contains(cache), "{text}");
    fs::remove_file(&settings).unwrap();
    let (code, text) = test(&[]);
    assert!(code == 0 && !text.contains("Compiling"), "{text}");
}

#[test]
fn a_function_that_gains_or_loses_its_mark_in_the_source_is_compiled() {
    let shop = copy_of("marks", "cargo_aerodrome_edited");
    let file = shop.join("shop/src/stock.rs");
    let original = fs::read_to_string(&file).unwrap();
    let test = || cargo_aerodrome(&shop, &["test", "--atomic", "price", "--atomic", "*dd*"]);
    let renamed = original.replace("pub fn add", "pub fn put");
    let wrapper =
        "    pub fn add(&self, between: impl FnOnce()) {\n        self.put(between)\n    }\n";
    let unmarked = format!("{renamed}\nimpl Stock {{\n{wrapper}}}\n");
    for (text, line) in [(&original, 9), (&unmarked, 17), (&original, 9)] {
        fs::write(&file, text).unwrap();
        let (code, text) = test();
        let report = format!("`Stock::add` is not atomic\n --> shop/src/stock.rs:{line}:12");
        let text = text.replace("  -->", " -->");
        assert!(code == 101 && text.contains(&report), "{report}\n{text}");
    }
}

#[test]
fn two_projects_share_a_target_directory_and_nothing_else() {
    let one = copy_of("marks", "cargo_aerodrome_one");
    let two = copy_of("marks", "cargo_aerodrome_two");
    let target = one.join("target").display().to_string();
    let file = two.join("shop/src/cache.rs");
    let moved = fs::read_to_string(one.join("shop/src/cache.rs")).unwrap();
    fs::write(&file, "// Moved by two lines.\n\n".to_owned() + &moved).unwrap();
    // Other profiles, which decide how the library is compiled, too.
    let manifest = include_str!("marks/Cargo.toml").to_owned();
    let profile = "\n[profile.dev]\nopt-level = 1\n\n[profile.release]\nlto = true\n";
    fs::write(two.join("Cargo.toml"), manifest + profile).unwrap();
    let test = |folder, options: &[&str]| {
        let all = ["test", "--target-dir", &target, "--atomic", "Cache::price"];
        cargo_aerodrome(folder, &[&all, options].concat())
    };
    for (folder, line, options) in [
        (&one, 9, &[][..]),
        (&two, 11, &[]),
        (&two, 11, &["--release"]),
        (&one, 9, &[]),
    ] {
        let (code, text) = test(folder, options);
        assert_eq!(code, 101, "{text}");
        let place = format!("--> shop/src/cache.rs:{line}:12");
        assert!(text.contains(&place), "{place}\n{text}");
    }
    let (_, text) = test(&two, &[]);
    assert!(!text.contains("Compiling"), "{text}");
}

#[test]
fn dependencies_are_tracked_where_that_is_asked_for() {
    let folder = copy_of("track", "cargo_aerodrome_track");
    let settings = folder.join("aerodrome.toml");
    let _ = fs::remove_file(&settings);
    let test = |options: &[&str]| cargo_aerodrome(&folder, &[&["test"], options].concat());
    let marks = ["--atomic", "Pool::take"];
    let line = 1 + include_str!("track/pool/src/lib.rs")
        .lines()
        .position(|line| line.contains("fn take"))
        .unwrap();
    let place = format!("--> pool/src/lib.rs:{line}:12");

    let (code, text) = test(&marks);
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("`Pool::take` expected to match a function"),
        "{text}"
    );
    // With a crate between that is not tracked and depends on it, too.
    let tracked = [&marks[..], &["--track", "pool,strict"]].concat();
    let (code, text) = test(&tracked);
    assert_eq!(code, 101, "{text}");
    assert!(
        text.contains("`Pool::take` is not atomic") && text.contains(&place),
        "{place}\n{text}"
    );
    // What does not compile with tracked types is named, with the place.
    let untracked = "warning: nothing in `strict` is tracked, because it does not compile with \
                     tracked types: cannot transmute between types of different sizes, or \
                     dependently-sized types\n --> strict/src/lib.rs:7:42";
    assert_eq!(text.matches(untracked).count(), 1, "{text}");

    // Plain builds and this one stand side by side.
    let (code, text) = test(&[]);
    assert!(code == 0 && text.contains("nothing is marked"), "{text}");
    let list = "track = [\"pool\", \"strict\"]\natomic = [\"Pool::take\"]\n";
    fs::write(&settings, list).unwrap();
    let (code, text) = test(&[]);
    assert_eq!(code, 101, "{text}");
    assert!(
        text.contains(&place) && text.contains(untracked) && !text.contains("Compiling"),
        "{text}"
    );
    // Other marks in a dependency are compiled at once.
    fs::write(&settings, list.replace("Pool::take", "Pool::taken")).unwrap();
    let (code, text) = test(&[]);
    assert!(code == 0 && text.contains("marked and entered"), "{text}");
    fs::remove_file(&settings).unwrap();

    // One from a registry, and one whose sources are of a kind that only rustc understands.
    let (code, text) = test(&["--track", "fastrand", "--atomic", "global_rng::seed"]);
    assert_eq!(code, 0, "{text}");
    let checked = "aerodrome: 1 function is marked and entered\n";
    let marked = "marks `fastrand::global_rng::seed` (";
    assert!(text.contains(checked) && text.contains(marked), "{text}");
    let (code, text) = test(&["--track", "signal-hook-registry", "--atomic", "unregister"]);
    let place = "/src/lib.rs:140 is not understood: expected `;`";
    assert!(code == 2 && text.contains(place), "{text}");

    for (name, message) in [
        ("pol", "expected a dependency of the workspace, found `pol`"),
        ("app", "0 violations"),
    ] {
        let (_, text) = test(&["--track", name]);
        assert!(text.contains(message), "{text}");
    }
}

#[test]
fn wrong_marks_are_errors_that_say_so() {
    let (code, text) = cargo_aerodrome(project(), &["test", "--atomic", "Account::withdrw"]);
    assert_eq!(code, 2, "{text}");
    assert!(
        text.contains("`Account::withdrw` expected to match a function"),
        "{text}"
    );
    let (code, text) = cargo_aerodrome(project(), &["test", "--atomic", "Account::"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("expected a path such as `bank::Account::*`, found `Account::`"));
    let (code, text) = cargo_aerodrome(project(), &["test", "--untracked", "bnak"]);
    assert_eq!(code, 2, "{text}");
    let expected = "untracked: expected a member of the workspace (`bank`, `bare`, ";
    assert!(
        text.contains(expected) && text.contains("found `bnak`"),
        "{text}"
    );
    let (code, text) = cargo_aerodrome(project(), &["tset"]);
    assert_eq!(code, 2, "{text}");
    assert!(text.contains("'test'"), "{text}");
}

#[test]
fn init_adds_two_entries_a_profile_and_one_line_once() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo_aerodrome_init");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("src")).unwrap();
    let manifest = "[package]\nname = \"new\"\nedition = \"2024\"\n\n[dependencies]\nlibc = \"0.2\" # Yes.\n\n[workspace]\n";
    fs::write(folder.join("Cargo.toml"), manifest).unwrap();
    fs::write(
        folder.join("src/lib.rs"),
        "//! New.\n#![allow(unused)]\n\nuse std::sync;\n",
    )
    .unwrap();
    let (code, text) = cargo_aerodrome(&folder, &["init"]);
    assert_eq!(code, 0, "{text}");
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    // In the order that the table has.
    let path = env!("CARGO_MANIFEST_DIR");
    let entries =
        format!("\n[dependencies]\naerodrome = {{ path = {path:?} }}\nlibc = \"0.2\" # Yes.\n");
    assert!(manifest.contains(&entries), "{manifest}");
    let entry = format!("aerodrome = {{ path = {path:?}, features = [\"check\"] }}\n");
    assert!(
        manifest.contains(&format!("\n\n[dev-dependencies]\n{entry}")),
        "{manifest}"
    );
    let profile = "[profile.dev.package.aerodrome]\nopt-level = 3\n";
    assert!(manifest.contains(profile), "{manifest}");
    let root = fs::read_to_string(folder.join("src/lib.rs")).unwrap();
    let line = "//! New.\n#![allow(unused)]\n\nextern crate aerodrome as std;\n\nuse std::sync;\n";
    assert_eq!(root, line);
    let (code, text) = cargo_aerodrome(&folder, &["init"]);
    assert!(
        code == 0 && text.contains("has aerodrome already"),
        "{text}"
    );
    assert_eq!(
        fs::read_to_string(folder.join("Cargo.toml")).unwrap(),
        manifest
    );
    assert_eq!(fs::read_to_string(folder.join("src/lib.rs")).unwrap(), root);
}

#[test]
fn init_of_a_member_adds_the_profile_to_its_workspace() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo_aerodrome_init_member");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(folder.join("new/src")).unwrap();
    let root = folder.join("Cargo.toml");
    fs::write(&root, "[workspace]\nmembers = [\"new\"]\n").unwrap();
    let member = folder.join("new/Cargo.toml");
    fs::write(&member, "[package]\nname = \"new\"\nedition = \"2024\"\n").unwrap();
    fs::write(folder.join("new/src/lib.rs"), "use std::sync;\n").unwrap();
    let (code, text) = cargo_aerodrome(&folder.join("new"), &["init"]);
    assert_eq!(code, 0, "{text}");
    let root = fs::read_to_string(root).unwrap();
    assert!(
        root.ends_with("\n[profile.dev.package.aerodrome]\nopt-level = 3\n"),
        "{root}"
    );
    assert!(!fs::read_to_string(member).unwrap().contains("profile"));
}

#[test]
fn init_of_a_workspace_alone_adds_to_all_members_and_tests() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo_aerodrome_init_workspace");
    let _ = fs::remove_dir_all(&folder);
    copy_of("project", "cargo_aerodrome_init_workspace");
    let (code, text) = cargo_aerodrome(&folder, &["init"]);
    assert_eq!(code, 0, "{text}");
    let line = "extern crate aerodrome as std;\n\n";
    for file in [
        "bank/src/lib.rs",
        "bank/tests/withdraw.rs",
        "layout/src/lib.rs",
    ] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert_eq!(text.matches(line).count(), 1, "{file}\n{text}");
    }
    // A macro's crate, one without std, and what is not a root.
    for file in [
        "derive/src/lib.rs",
        "bare/src/lib.rs",
        "bank/src/account.rs",
        "bank/build.rs",
    ] {
        let text = fs::read_to_string(folder.join(file)).unwrap();
        assert!(!text.contains(line), "{file}\n{text}");
    }
    let manifests = ["bank", "bare", "layout", "derive"];
    let manifests = manifests.map(|name| folder.join(name).join("Cargo.toml"));
    let has_entry = |path: PathBuf| fs::read_to_string(path).unwrap().contains("\naerodrome = ");
    assert_eq!(
        manifests.map(has_entry),
        [true, true, true, false],
        "{text}"
    );
    let root = fs::read_to_string(folder.join("Cargo.toml")).unwrap();
    assert!(root.contains("[profile.dev.package.aerodrome]"), "{root}");
}
