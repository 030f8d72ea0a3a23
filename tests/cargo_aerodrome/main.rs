//! `cargo aerodrome` on a workspace that knows nothing of aerodrome.
#![cfg(all(feature = "cli", unix))]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A copy of the project; its target directory stays from one run of the tests to the next.
fn project() -> &'static Path {
    static PROJECT: OnceLock<PathBuf> = OnceLock::new();
    PROJECT.get_or_init(|| {
        let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cargo_aerodrome/project");
        let copy = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo_aerodrome");
        copy_folder(&original, &copy);
        copy
    })
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
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo_aerodrome_signals");
    copy_folder(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cargo_aerodrome/signals"),
        &folder,
    );
    // The library is the one that the other project has built.
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
    assert!(
        manifest.contains("[dependencies]\nlibc = \"0.2\" # Yes.\naerodrome = \"0.1\""),
        "{manifest}"
    );
    let entry = "aerodrome = { version = \"0.1\", features = [\"check\"] }";
    assert!(
        manifest.contains(&format!("[dev-dependencies]\n{entry}")),
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
