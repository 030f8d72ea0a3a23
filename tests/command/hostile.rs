//! Traces and reports from elsewhere: what they name is neither obeyed nor given away.

use std::fs;
use std::process::Command;

use crate::{Folder, Ran, finish, run};

/// A name with commands for a terminal, of ASCII and beyond, and a line that nobody wrote.
const NAME: &str = "\u{1b}]0;owned\u{7}\u{1b}[31m\u{9b}1m\u{7f}";

/// No control character but the line's end.
#[track_caller]
fn is_plain(ran: &Ran) {
    let is_command = |c: char| c.is_control() && c != '\n';
    let said = ran.out.clone() + &ran.err;
    assert!(!said.is_empty() && !said.contains(is_command), "{said:?}");
}

#[test]
fn names_in_traces_are_no_commands_for_the_terminal() {
    let folder = Folder::new("terminal");
    let violation = format!(
        "T0{NAME}|begin({NAME}a)|{NAME}\nT0{NAME}|r({NAME}x)|2\nT1|w({NAME}x)|3\nT0{NAME}|w({NAME}x)|4\nT0{NAME}|end|5\n"
    );
    let violation = folder.file("violation.std", violation);
    let split = format!("T0|begin({NAME}a)|1\nT0|r(x)|2\nT0|split|3\nT0|r(x)|4\nT0|end|5\n");
    let split = folder.file("split.std", split);
    let malformed = folder.file("malformed.std", format!("T0|begin(a)|1\nT0{NAME}|end|2\n"));
    let unread = folder.file("unread.std", format!("T0|fly{NAME}(x)|1\n"));
    let values =
        format!("T0{NAME}|val(1)|0\nT0{NAME}|w(x)|{NAME}\nT0{NAME}|val(2)|0\nT0{NAME}|w(x)|1\n");
    let values = folder.file("values.std", values);
    let property = ["--property", "x == 1"];
    for (code, arguments) in [
        (1, vec!["check", &violation]),
        (1, vec!["check", "--json", &violation]),
        (1, vec!["predict", &violation]),
        (1, vec!["predict", "--json", &violation]),
        (0, vec!["report", &violation]),
        (0, vec!["report", "--sarif", "-", &violation]),
        (0, vec!["stats", &violation]),
        (0, vec!["convert", &violation, "-"]),
        (0, vec!["check", "--semantics", "rust", &split]),
        (1, [&["lattice"], &property[..], &[&values]].concat()),
        (
            1,
            [&["lattice", "--dot"], &property[..], &[&values]].concat(),
        ),
        (
            1,
            [&["lattice", "--json"], &property[..], &[&values]].concat(),
        ),
    ] {
        let ran = run(&arguments);
        assert_eq!(ran.code, code, "{arguments:?}: {}", ran.err);
        is_plain(&ran);
    }
    for command in ["check", "predict", "report", "stats"] {
        for file in [&malformed, &unread] {
            let ran = run(&[command, file]);
            assert!(
                ran.code == 2 || command == "stats",
                "{command} {}",
                ran.code
            );
            is_plain(&ran);
        }
    }
}

/// In a binary trace a name may even break lines.
#[test]
fn names_break_no_lines() {
    use aerodrome::trace::{AeroWriter, Event, Op, Semantics, SiteId, StrandId, StrandInfo};

    let folder = Folder::new("lines");
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust).unwrap();
    let name = format!("a\nserializable: 1 event{NAME}");
    writer
        .define_strand(StrandId(0), &StrandInfo { name })
        .unwrap();
    writer
        .event(&Event::new(StrandId(0), Op::End, 0, SiteId::NONE))
        .unwrap();
    let ran = run(&["check", &folder.file("a.aero", writer.finish().unwrap())]);
    assert_eq!((ran.code, ran.err.lines().count()), (2, 1), "{}", ran.err);
    is_plain(&ran);
}

#[test]
fn reports_from_elsewhere_are_no_commands_for_the_terminal() {
    let folder = Folder::new("terminal-report");
    let trace = folder.file(
        "a.std",
        "T0|begin(NAME)|src/NAME.rs:1:1\nT0|r(NAME)|2\nT1|w(NAME)|3\nT0|w(NAME)|4\nT0|end|5\n",
    );
    let json = run(&["check", "--json", &trace]).out;
    let answer: serde_json::Value = serde_json::from_str(&json).unwrap();
    let mut report = answer["violations"][0].clone();
    report["excerpts"] = serde_json::json!([{"file": "src/NAME.rs", "line": 1, "text": ["NAME"]}]);
    let name = serde_json::to_string(NAME).unwrap();
    let text = report.to_string().replace("NAME", name.trim_matches('"'));
    let ran = run(&["report", &folder.file("r.json", text)]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(ran.out.contains("owned"), "{}", ran.out);
    is_plain(&ran);
}

/// A trace with a violation, whose sites are lines of these files.
fn naming(files: [&str; 3]) -> String {
    let [one, two, three] = files;
    format!(
        "T0|begin(a)|{one}:1:1\nT0|r(x)|{one}:1:1\nT1|w(x)|{two}:1:1\nT0|w(x)|{three}:1:1\nT0|end|5\n"
    )
}

#[test]
fn only_sources_are_read() {
    const SECRET: &str = "hidden from everybody";
    let folder = Folder::new("disclosure");
    let workspace = folder.path("workspace/member/src");
    fs::create_dir_all(&workspace).unwrap();
    folder.file("workspace/Cargo.lock", "");
    folder.file("workspace/member/src/lib.rs", "shown to everybody\n");
    folder.file("workspace/.env", SECRET);
    let outside = folder.file("secret", SECRET);
    let registry = folder.path("home/registry/src/index/a-1.0.0");
    fs::create_dir_all(&registry).unwrap();
    let library = folder.file(
        "home/registry/src/index/a-1.0.0/lib.rs",
        "shown of a library\n",
    );
    #[cfg(unix)]
    std::os::unix::fs::symlink(&outside, folder.path("workspace/link")).unwrap();
    let below_root = outside.trim_start_matches('/').to_owned();
    let trace = |name: &str, files| folder.file(name, naming(files));
    let traces = [
        trace("a.std", [&outside, &below_root, "../secret"]),
        trace("b.std", ["link", ".env", "member/src/lib.rs"]),
        trace("c.std", [&library, &library, "member/../../secret"]),
    ];
    let start = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_aerodrome"));
        command.args(arguments).env_remove("CARGO_MANIFEST_DIR");
        command.current_dir(folder.path("workspace/member"));
        finish(command.output().unwrap()).out
    };
    let mut said = String::new();
    for trace in &traces {
        said += &start(&["check", trace]);
        said += &start(&["check", "--json", trace]);
        said += &start(&["report", "--html", "-", trace]);
        said += &start(&["report", "--sarif", "-", trace]);
        said += &start(&["predict", "--html", "-", trace]);
    }
    assert!(said.contains("shown to everybody"), "{said}");
    assert!(said.contains("shown of a library"), "{said}");
    assert!(!said.contains(SECRET), "{said}");
}
