//! The command as a user meets it: output, errors and exit codes.
#![cfg(feature = "cli")]

mod hostile;
mod lattice;
#[cfg(unix)]
mod limits;
mod predict;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use aerodrome::trace::{
    AeroWriter, Event, ObjectId, ObjectInfo, ObjectKind, Op, Semantics, SiteId, StrandId,
    StrandInfo,
};

/// The four traces of the AeroDrome paper, and where the exact engine sees the cycle close.
const SERIALIZABLE: &str = "t1|begin|1\nt1|w(x)|2\nt2|begin|3\nt2|r(x)|4\nt2|end|5\nt3|begin|6\nt3|w(z)|7\nt3|end|8\nt1|r(z)|9\nt1|end|10\n";
const VIOLATION: &str = "t1|begin(transfer)|1\nt2|begin(audit)|2\nt1|w(x)|3\nt2|r(x)|4\nt2|w(y)|5\nt1|r(y)|6\nt1|end|7\nt2|end|8\n";

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("command-{test}"));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, content).unwrap();
        path
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

struct Ran {
    code: i32,
    out: String,
    err: String,
}

fn finish(output: Output) -> Ran {
    Ran {
        code: output.status.code().expect("it exits by itself"),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

fn run(arguments: &[&str]) -> Ran {
    finish(
        Command::new(env!("CARGO_BIN_EXE_aerodrome"))
            .args(arguments)
            .output()
            .unwrap(),
    )
}

fn run_with(input: &[u8], arguments: &[&str]) -> Ran {
    let mut child = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(input).unwrap();
    finish(child.wait_with_output().unwrap())
}

#[test]
fn a_serializable_trace_exits_with_0() {
    let folder = Folder::new("serializable");
    let ran = run(&["check", &folder.file("a.std", SERIALIZABLE)]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    assert_eq!(ran.out, "serializable: 10 events\n");
}

#[test]
fn a_violation_exits_with_1_and_shows_the_whole_cycle() {
    let folder = Folder::new("violation");
    let ran = run(&["check", &folder.file("a.std", VIOLATION)]);
    assert_eq!((ran.code, ran.err.as_str()), (1, ""));
    // The renderer's versions indent the arrow differently.
    let out = ran.out.replace("\n --> ", "\n--> ");
    for part in [
        "`transfer` is not atomic",
        "(1) writes `x` in transaction `transfer` on thread `t1`\n--> event 3, site 3",
        "(2) reads `x` in transaction `audit` on thread `t2`\n--> event 4, site 4",
        "(3) writes `y` in transaction `audit` on thread `t2`\n--> event 5, site 5",
        "(4) reads `y` in transaction `transfer` on thread `t1`\n--> event 6, site 6",
        "violation: 6 events read",
    ] {
        assert!(out.contains(part), "{part} in {out}");
    }
}

#[cfg(since = "1.87")]
#[test]
fn a_closed_pipe_changes_no_exit_code() {
    let folder = Folder::new("closed-pipe");
    let violation = folder.file("a.std", VIOLATION);
    let serializable = folder.file("b.std", SERIALIZABLE);
    let wrong = folder.file("c.std", "oops\n");
    for (arguments, code) in [
        (["check", &violation], 1),
        (["check", &serializable], 0),
        (["check", &wrong], 2),
        (["predict", &serializable], 0),
        (["stats", &violation], 0),
        (["report", &violation], 0),
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let status = Command::new(env!("CARGO_BIN_EXE_aerodrome"))
            .args(arguments)
            .stdout(writer)
            .stderr(Stdio::null())
            .status()
            .unwrap();
        assert_eq!(status.code(), Some(code), "{arguments:?}");
    }
}

#[test]
fn json_is_one_object_with_the_promised_keys() {
    let folder = Folder::new("json");
    let file = folder.file("a.std", VIOLATION);
    let ran = run(&["check", "--json", &file]);
    assert_eq!(ran.code, 1);
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(answer["verdict"], "violation");
    assert_eq!(answer["events"], 6);
    let violation = &answer["violations"][0];
    assert_eq!(violation["event"], 6);
    let blamed = violation["blame"].as_u64().unwrap() as usize;
    assert_eq!(violation["transactions"].as_array().unwrap().len(), 2);
    assert!(violation["transactions"][blamed].is_object());
    assert_eq!(violation["edges"].as_array().unwrap().len(), 2);

    let ran = run_with(SERIALIZABLE.as_bytes(), &["check", "-", "--json"]);
    assert_eq!(ran.code, 0);
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        answer,
        serde_json::json!({"verdict": "serializable", "events": 10, "violations": []})
    );
}

#[test]
fn standard_input_is_read_in_every_format() {
    let folder = Folder::new("stdin");
    let (text, binary) = (folder.file("a.std", VIOLATION), folder.path("a.aero"));
    assert_eq!(run(&["convert", &text, &binary]).code, 0);
    assert_eq!(run_with(VIOLATION.as_bytes(), &["check", "-"]).code, 1);
    assert_eq!(
        run_with(&fs::read(&binary).unwrap(), &["check", "-"]).code,
        1
    );
    assert_eq!(
        run_with(
            b"enter(m),\nw(x),\n,w(x)\nr(x),\n",
            &["check", "--format", "csv", "-"]
        )
        .code,
        1
    );
    let ran = run_with(b"T0|rel(L)|1\n", &["check", "-"]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        ran.err,
        "error: standard input:1: expected T0 to hold L, found rel(L) by T0\n"
    );
}

#[test]
fn bad_input_exits_with_2_and_without_a_verdict() {
    let folder = Folder::new("bad");
    let binary = folder.path("a.aero");
    assert_eq!(
        run(&["convert", &folder.file("a.std", SERIALIZABLE), &binary]).code,
        0
    );
    let whole = fs::read(&binary).unwrap();
    let cut = folder.file("cut.aero", &whole[..whole.len() - 1]);
    let mut damaged = whole.clone();
    damaged[40] ^= 1;
    let damaged = folder.file("damaged.aero", damaged);
    let line = folder.file("line.std", format!("{SERIALIZABLE}oops\n"));
    let rule = folder.file("rule.std", format!("{SERIALIZABLE}t1|end|11\n"));
    let missing = folder.path("missing.std");
    for (file, expected) in [
        (
            &cut,
            format!(
                "error: {cut}: byte {}: the file is cut off: expected the 8 bytes of a frame, found the end of the file after 7\n",
                whole.len() - 1
            ),
        ),
        (
            &damaged,
            format!("error: {damaged}: byte 16: expected the checksum "),
        ),
        (
            &line,
            format!(
                "error: {line}:11: expected three fields, thread|operation|location, found `oops`\n"
            ),
        ),
        (
            &rule,
            format!("error: {rule}:11: expected a begin of t1 before its end, found end by t1\n"),
        ),
        (&missing, format!("error: {missing}: ")),
    ] {
        let all = ["check", "--all"];
        for command in [&["check"][..], &["check", "--json"], &all, &["stats"]] {
            // See below.
            if (file, command) == (&cut, &all) {
                continue;
            }
            let ran = run(&[command, &[file]].concat());
            assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{file}");
            assert!(ran.err.starts_with(&expected), "{}", ran.err);
        }
    }
}

#[test]
fn bad_usage_exits_with_2_and_says_what_was_expected() {
    for (arguments, expected) in [
        (&["fly"][..], "unrecognized subcommand 'fly'"),
        (&["chekc", "a"], "a similar subcommand exists: 'check'"),
        (
            &["check"],
            "required arguments were not provided:\n  <FILE>",
        ),
        (&["check", "a", "b"], "unexpected argument 'b' found"),
        (
            &["check", "--engine", "steam", "a"],
            "possible values: exact, aerodrome, aerodrome-basic, velodrome",
        ),
        (
            &["check", "--semantics", "c", "a"],
            "possible values: rust, paper",
        ),
        (
            &["check", "--format", "xml", "a"],
            "possible values: std, csv, rr, aero",
        ),
        (
            &["check", "--jsn", "a"],
            "a similar argument exists: '--json'",
        ),
        (
            &["convert", "a"],
            "required arguments were not provided:\n  <OUT>",
        ),
        (
            &["convert", "a.std", "b.csv"],
            "expected std or aero for OUT, found csv",
        ),
        (
            &["convert", "a.std", "b.rr"],
            "expected std or aero for OUT, found rr",
        ),
        (
            &["convert", "a.std", "b"],
            "expected OUT to end with .std or .aero, or --to, found `b`",
        ),
        (&["man", "fly"], "expected one of check, predict, "),
    ] {
        let ran = run(arguments);
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{arguments:?}");
        assert!(ran.err.starts_with("error: "), "{}", ran.err);
        assert!(ran.err.contains(expected), "{expected}: {}", ran.err);
    }
    // Whoever asks for nothing gets an overview.
    let ran = run(&[]);
    assert_eq!((ran.code, ran.out.as_str()), (2, ""));
    assert!(ran.err.contains("Usage: aerodrome"), "{}", ran.err);
}

const COMMANDS: [&str; 8] = [
    "check",
    "predict",
    "lattice",
    "stats",
    "convert",
    "report",
    "completions",
    "man",
];

#[test]
fn every_command_has_help_with_an_example() {
    for command in COMMANDS {
        for flag in ["--help", "-h"] {
            let ran = run(&[command, flag]);
            assert_eq!((ran.code, ran.err.as_str()), (0, ""));
            let usage = format!("Usage: aerodrome {command}");
            assert!(ran.out.contains(&usage), "{}", ran.out);
        }
        let help = run(&[command, "--help"]).out;
        assert!(help.contains(&format!("  aerodrome {command} ")), "{help}");
        assert!(help.contains("Example"), "{help}");
    }
    assert!(run(&["--help"]).out.contains("Usage: aerodrome"));
    assert!(run(&["--version"]).out.starts_with("aerodrome "));
}

#[test]
fn shells_and_manuals_know_every_command() {
    let page = run(&["man"]).out;
    assert!(page.contains(".TH aerodrome 1"), "{page}");
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(&["completions", shell]).out;
        for command in COMMANDS {
            assert!(script.contains(command), "{shell}: {command}");
        }
        assert!(script.contains("not-atomic"), "{shell}");
    }
    for command in COMMANDS {
        assert!(page.contains(command), "{command} in {page}");
        let page = run(&["man", command]).out;
        assert!(page.starts_with(".ie \\n(.g"), "{command}: {page}");
    }
}

#[test]
fn colour_is_as_asked_for_and_quiet_leaves_the_exit_code() {
    let folder = Folder::new("colour");
    let file = folder.file("a.std", VIOLATION);
    let coloured = |arguments: &[&str]| run(arguments).out.contains("\x1b[");
    assert!(coloured(&["check", "--color", "always", &file]));
    assert!(coloured(&["--color=always", "report", &file]));
    assert!(!coloured(&["check", "--color", "never", &file]));
    assert!(!coloured(&["check", &file]));
    for (arguments, code) in [
        (&["check", "--quiet", &file][..], 1),
        (&["-q", "predict", &file], 1),
        (&["lattice", "-q", "--property", "1 == 2", &file], 1),
    ] {
        let ran = run(arguments);
        assert_eq!(
            (ran.out.as_str(), ran.err.as_str()),
            ("", ""),
            "{arguments:?}"
        );
        assert_eq!(ran.code, code, "{arguments:?}");
    }
    assert!(!run(&["check", "--quiet", "--json", &file]).out.is_empty());
}

#[test]
fn with_all_a_cut_file_is_judged_as_far_as_it_goes() {
    let folder = Folder::new("cut");
    let cut = |name: &str, text: &str| {
        let binary = folder.path(&format!("{name}.aero"));
        assert_eq!(
            run(&["convert", &folder.file("a.std", text), &binary]).code,
            0
        );
        let mut bytes = fs::read(&binary).unwrap();
        bytes.truncate(bytes.len() - 1);
        folder.file(&format!("{name}.cut.aero"), bytes)
    };
    let (good, bad) = (cut("good", SERIALIZABLE), cut("bad", VIOLATION));
    let ran = run(&["check", "--all", &good]);
    assert_eq!(ran.code, 2, "nobody knows what came after");
    assert_eq!(
        ran.out,
        "serializable: 10 events, as far as the file goes\n"
    );
    assert!(
        ran.err.starts_with(&format!("error: {good}: byte ")),
        "{}",
        ran.err
    );
    assert!(ran.err.contains("the file is cut off"), "{}", ran.err);

    let ran = run(&["check", "--all", &bad]);
    assert_eq!(ran.code, 1);
    assert!(
        ran.out.contains("violation: 8 events read\n"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("the file is cut off"), "{}", ran.err);

    let ran = run(&["check", "--all", "--json", &bad]);
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!((ran.code, &answer["verdict"]), (1, &"violation".into()));
    assert!(
        answer["cut_off"]
            .as_str()
            .unwrap()
            .contains("the file is cut off")
    );

    let page = folder.path("page.html");
    let ran = run(&["report", "--html", &page, &bad]);
    assert_eq!(ran.code, 2);
    assert!(
        fs::read_to_string(page)
            .unwrap()
            .contains("`transfer` is not atomic")
    );
}

#[test]
fn blocks_can_be_declared_not_atomic() {
    let folder = Folder::new("not-atomic");
    let file = folder.file("a.std", VIOLATION);
    let one = folder.file("one.txt", "transfer\n");
    let both = folder.file("both.txt", "audit\r\n\ntransfer\n");
    let none = folder.file("none.txt", "trans\n");
    // An event outside any block is a transaction of its own, and t1 reads what it wrote before t2
    // only in one of two.
    assert_eq!(run(&["check", "--not-atomic", &none, &file]).code, 1);
    assert_eq!(run(&["check", "--not-atomic", &one, &file]).code, 0);
    assert_eq!(run(&["check", "--not-atomic", &both, &file]).code, 0);
    let ran = run(&["check", "--not-atomic", &folder.path("missing"), &file]);
    assert_eq!(ran.code, 2);
    // Inside a block that does not count, an inner one does.
    let nested = "t1|begin(outer)|1\nt1|begin(inner)|2\nt1|w(x)|3\nt2|w(x)|4\nt1|w(x)|5\nt1|end|6\nt1|end|7\n";
    let outer = folder.file("outer.txt", "outer\n");
    assert_eq!(
        run_with(nested.as_bytes(), &["check", "--not-atomic", &outer, "-"]).code,
        1
    );
    // An end too many stays an error.
    let ran = run_with(
        b"t1|begin(outer)|1\nt1|end|2\nt1|end|3\n",
        &["check", "--not-atomic", &outer, "-"],
    );
    assert_eq!(
        (ran.code, ran.err.as_str()),
        (
            2,
            "error: standard input:3: expected a begin of t1 before its end, found end by t1\n"
        )
    );
}

#[test]
fn with_all_the_check_goes_on_and_counts_what_repeats() {
    let mut text = String::new();
    for _ in 0..3 {
        text.push_str("t1|begin(m)|1\nt1|r(x)|2\nt2|w(x)|3\nt1|w(x)|4\nt1|end|5\n");
    }
    text.push_str("t1|begin(n)|6\nt1|r(y)|7\nt2|w(y)|8\nt1|w(y)|9\nt1|end|10\n");
    let ran = run_with(text.as_bytes(), &["check", "--all", "--json", "-"]);
    assert_eq!(ran.code, 1);
    let answer: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(answer["events"], 20);
    let violations = answer["violations"].as_array().unwrap();
    let told: Vec<_> = violations
        .iter()
        .map(|found| {
            (
                found["event"].as_u64().unwrap(),
                found["repeats"].as_u64().unwrap(),
            )
        })
        .collect();
    assert_eq!(told, [(4, 2), (19, 0)]);
}

#[test]
fn stats_count_what_is_in_the_trace() {
    let folder = Folder::new("stats");
    let text = "T0|fork(T1)|1\nT0|begin(a)|1\nT0|begin(b)|1\nT0|acq(L)|1\nT0|w(x)|1\nT0|rel(L)|1\nT0|end|1\nT0|end|1\nT1|begin|1\nT1|r(x)|1\nT1|end|1\n\
                T0|join(T1)|1\nT0|fork(T1)|1\nT1|r(y)|1\nT1|retire(y)|1\nT1|r(y)|1\n";
    let file = folder.file("a.std", text);
    let ran = run(&["stats", "--json", &file]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let stats: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(
        stats,
        serde_json::json!({
            "events": 16,
            "kinds": {"fork": 2, "begin": 3, "acq": 1, "w": 1, "rel": 1, "end": 3, "r": 3, "join": 1, "retire": 1},
            "threads": 3, "locks": 1, "variables": 3, "transactions": 2, "longest_transaction": 5,
        })
    );
    let ran = run(&["stats", &file]);
    assert!(
        ran.out.starts_with(
            "events                            16\n  acq                              1\n"
        ),
        "{}",
        ran.out
    );
    assert!(
        ran.out.ends_with("longest transaction                5\n"),
        "{}",
        ran.out
    );
}

#[test]
fn convert_keeps_the_trace_and_leaves_no_half_file() {
    let folder = Folder::new("convert");
    let text = folder.file("a.std", VIOLATION);
    let (binary, back) = (folder.path("a.aero"), folder.path("b.std"));
    assert_eq!(run(&["convert", &text, &binary]).code, 0);
    assert_eq!(run(&["convert", &binary, &back]).code, 0);
    assert_eq!(fs::read_to_string(&back).unwrap(), VIOLATION);
    assert_eq!(run(&["convert", &binary, "-"]).out, VIOLATION);
    assert_eq!(run(&["check", &binary]).code, 1);
    // In place.
    assert_eq!(run(&["convert", "--to", "aero", &back, &back]).code, 0);
    assert_eq!(fs::read(&back).unwrap(), fs::read(&binary).unwrap());

    let bad = folder.file("bad.std", format!("{VIOLATION}t1|end|9\n"));
    let ran = run(&["convert", &bad, &binary]);
    assert_eq!(ran.code, 2);
    assert_eq!(
        run(&["check", &binary]).code,
        1,
        "what was there before is still there"
    );
    let left: Vec<_> = fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    assert_eq!(left.len(), 4, "{left:?}");
}

/// The first object is named between its uses, the second has its number and no name, and the third
/// its name from the beginning.
#[test]
fn a_converted_object_has_its_late_name_from_the_beginning() {
    let event = |op, target| Event {
        strand: StrandId(0),
        target,
        site: SiteId::NONE,
        op,
    };
    let object = |name: Option<&str>| ObjectInfo {
        kind: ObjectKind::Variable,
        name: name.map(str::to_owned),
        type_name: None,
        created: SiteId::NONE,
    };
    let named = |name| object(Some(name));
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust).unwrap();
    let thread = StrandInfo {
        name: "main".to_owned(),
    };
    writer.define_strand(StrandId(0), &thread).unwrap();
    let (x, y) = (ObjectId(0), ObjectId(1));
    writer.define_object(x, &object(None)).unwrap();
    writer.event(&event(Op::Write, 0)).unwrap();
    writer.define_object(x, &named("early")).unwrap();
    writer.event(&event(Op::Read, 0)).unwrap();
    writer.define_object(x, &named("used")).unwrap();
    writer.event(&Event::of_value(StrandId(0), 7)).unwrap();
    writer.event(&event(Op::Born, 0)).unwrap();
    writer.event(&event(Op::Retire, 0)).unwrap();
    writer.define_object(x, &object(None)).unwrap();
    writer.define_object(y, &named("first")).unwrap();
    writer.event(&event(Op::Write, 0)).unwrap();
    writer.event(&event(Op::Write, 1)).unwrap();
    writer.define_object(y, &named("second")).unwrap();
    writer.event(&event(Op::Read, 1)).unwrap();
    let bytes = writer.finish().unwrap();

    let folder = Folder::new("late-names");
    let file = folder.file("a.aero", &bytes);
    let rest = "main|w(V0)|0\nmain|w(first)|0\nmain|r(first)|0\n";
    let lives = |name: &str| {
        format!(
            "main|w({name})|0\nmain|r({name})|0\nmain|val(7)|0\nmain|born({name})|0\nmain|retire({name})|0\n{rest}"
        )
    };
    assert_eq!(run(&["convert", &file, "-"]).out, lives("used"));
    let copy = folder.path("b.aero");
    assert_eq!(run(&["convert", &file, &copy]).code, 0);
    assert_eq!(run(&["convert", &copy, "-"]).out, lives("used"));
    // What cannot be read twice.
    assert_eq!(run_with(&bytes, &["convert", "-", "-"]).out, lives("V0"));

    let text = folder.file("a.std", lives("used"));
    for trace in [&file, &text] {
        let ran = run(&["lattice", "--property", "used == 7", trace]);
        assert_eq!(ran.code, 0, "{}{}", ran.out, ran.err);
    }
    let unvalued = folder.file("unvalued.std", "main|r(x)|0\nmain|w(x)|0\nmain|w(x)|0\n");
    let ran = run(&["lattice", "--property", "x == 7", &unvalued]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("event 2"), "{}", ran.err);
}
