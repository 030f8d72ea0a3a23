//! The formats: what goes in comes out, and what is wrong is named.

use std::io::Read;

use crate::common::{message, read, resolve, sample_aero, source, terse, to_aero, to_std};
use aerodrome::trace::{
    AeroWriter, Event, Fault, Format, Names, ObjectId, ObjectInfo, ObjectKind, Op, Place,
    Semantics, SiteId, SiteInfo, Source, StdReader, StrandId, Update, from_reader, open,
};
use proptest::prelude::*;

#[test]
fn std_is_read_as_rapid_reads_it() {
    let text = "T0|begin|1\nT0|begin(m)|2\r\nT 1|r(a(b),c)|3\nT0|acq(a)|4\nT0|w(a)|5\nT0|end(m)|6\nT0|end()|\n\nT0|fork(T9)|9";
    let events = read("a.std", text.as_bytes(), None).expect("it is a trace");
    let terse: Vec<_> = events.iter().map(terse).collect();
    assert_eq!(
        terse,
        [
            "T0 begin()",
            "T0 begin(m)",
            "T 1 r(a(b),c)",
            "T0 acq(a)",
            "T0 w(a)",
            "T0 end(m)",
            "T0 end()",
            "T0 fork(T9)"
        ]
    );
    let sites: Vec<_> = events.iter().map(|event| event.site.clone()).collect();
    assert_eq!(sites[1], Some(SiteInfo::Label("2".into())));
    assert_eq!(sites[6], None);
}

#[test]
fn locks_and_variables_of_one_name_are_two_objects() {
    let mut source = StdReader::new(
        "a.std",
        &b"T0|acq(a)|1\nT0|w(a)|2\nT0|r(a)|3\nT0|rel(a)|4\n"[..],
    );
    let mut batch = Vec::new();
    source.fill(&mut batch).expect("it is a trace");
    assert_eq!(batch[0].target, batch[3].target);
    assert_eq!(batch[1].target, batch[2].target);
    assert_ne!(batch[0].target, batch[1].target);
    assert_eq!(source.names().kind(batch[0].object()), ObjectKind::Lock);
    assert_eq!(source.names().kind(batch[1].object()), ObjectKind::Variable);
}

#[test]
fn a_location_is_a_number_a_place_or_a_label() {
    let text = "T|r(x)|2147483647\nT|r(x)|2147483648\nT|r(x)|007\nT|r(x)|-1\nT|r(x)|src/a b.rs:10:2\nT|r(x)|99999999999999999999999\nT|r(x)|0\n";
    let events = read("a.std", text.as_bytes(), None).expect("it is a trace");
    let label = |text: &str| Some(SiteInfo::Label(text.into()));
    let sites: Vec<_> = events.into_iter().map(|event| event.site).collect();
    let place = SiteInfo::Source {
        file: "src/a b.rs".into(),
        line: 10,
        column: 2,
    };
    assert_eq!(
        sites,
        [
            label("2147483647"),
            label("2147483648"),
            label("007"),
            label("-1"),
            Some(place),
            label("99999999999999999999999"),
            None
        ]
    );
}

#[test]
fn a_retired_name_is_another_object_and_its_number_is_used_again() {
    let mut text = String::new();
    for round in 0..20_000 {
        text.push_str(&format!("T|w(x{round})|1\nT|retire(x{round})|1\n"));
    }
    let mut source = StdReader::new("a.std", text.as_bytes());
    let (mut batch, mut events) = (Vec::new(), Vec::new());
    while source.fill(&mut batch).expect("it is a trace") {
        events.extend_from_slice(&batch);
    }
    for pair in events.chunks(2) {
        assert_eq!(pair[0].target, pair[1].target);
    }
    let most = events.iter().map(|event| event.target).max();
    // A number comes back with the next batch.
    assert!(most < Some(8_192), "{most:?}");

    let mut source = StdReader::new("a.std", &b"T|w(x)|1\nT|retire(x)|1\nT|w(x)|1\n"[..]);
    source.fill(&mut batch).expect("it is a trace");
    assert_ne!(batch[0].target, batch[2].target);
}

#[test]
fn csv_has_a_column_a_thread() {
    let text = "T0,T1,T2\n# a comment\nstart(T2),,\n,,enter(m)\n,,r(x)\n,,exit(m)\n,sync(y),\r\njoin(T2),,\n,begin,\n";
    let events = read("a.csv", text.as_bytes(), None).expect("it is a trace");
    let terse: Vec<_> = events.iter().map(terse).collect();
    assert_eq!(
        terse,
        [
            "T0 fork(T2)",
            "T2 begin(m)",
            "T2 r(x)",
            "T2 end(m)",
            "T1 acq(VARLOCK-y-KCOLRAV)",
            "T1 r(y)",
            "T1 w(y)",
            "T1 rel(VARLOCK-y-KCOLRAV)",
            "T0 join(T2)",
            "T1 begin()"
        ]
    );
    assert_eq!(events[4].site, Some(SiteInfo::Label("7".into())));
}

#[test]
fn the_log_of_roadrunner_is_read_as_rapid_reads_it() {
    let text = "[main: RoadRunner Agent Loaded.]\n\
        the program's own line, with a Rd(0,x) in it\n\
        @  main[tid = 0] started .\n\
        @  Enter(0,shop/Till.main([Ljava/lang/String;)V) from null\n\
        @   Start(0,1)\n\
        @\tAcquire(1,@03)\r\n\
        @     ARd(1,@05[13])  Final  Till.java:16:53\r\n\
        @     Wr(1,@03)  Final  Till.java:17:9\n\
        @     VWr(1,null.shop/Till.open_Z)  Volatile  null\n\
        @     Rd(1,@03)\n\
        @   Release(1,@03)  Final  Till.java:18:1\n\
        @   Join(0,1)\n\
        @  Exit(0,shop/Till.main([Ljava/lang/String;)V) from Till.java:20:1";
    let events = read("a.rr", text.as_bytes(), None).expect("it is a trace");
    let told: Vec<_> = events.iter().map(terse).collect();
    assert_eq!(
        told,
        [
            "0 begin(shop/Till.main([Ljava/lang/String;)V)",
            "0 fork(1)",
            "1 acq(@03)",
            "1 r(@05[13])",
            "1 w(@03)",
            "1 w(null.shop/Till.open_Z)",
            "1 r(@03)",
            "1 rel(@03)",
            "0 join(1)",
            "0 end(shop/Till.main([Ljava/lang/String;)V)",
        ]
    );
    let place = |line, column| {
        Some(SiteInfo::Source {
            file: "Till.java".into(),
            line,
            column,
        })
    };
    let sites: Vec<_> = events.iter().map(|event| event.site.clone()).collect();
    let unknown = None;
    assert_eq!(
        sites,
        [
            unknown.clone(),
            unknown.clone(),
            unknown.clone(),
            place(16, 53),
            place(17, 9),
            unknown.clone(),
            unknown.clone(),
            unknown.clone(),
            unknown,
            place(20, 1),
        ]
    );
    let (mut source, mut batch) = (source("a.rr", text.as_bytes()), Vec::new());
    assert!(source.fill(&mut batch).unwrap());
    assert_ne!(batch[2].target, batch[4].target, "a lock and a variable");
    assert_eq!(batch[4].target, batch[6].target);
    assert_eq!(source.semantics(), Semantics::Paper);
    assert_eq!(source.place(0), Place::Line(4));
    assert_eq!(source.place(3), Place::Line(7));
}

#[test]
fn lines_of_roadrunner_that_do_not_parse_are_named() {
    let operation = "an operation (Rd Wr ARd AWr VRd VWr Acquire Release Start Join Enter Exit) \
                     and its two arguments";
    for line in [
        "@ ",
        "@  Rd",
        "@  Rd(0)",
        "@  Rd(0,)",
        "@  Rd(,x)",
        "@  Rd(0,x",
        "@  Rd(0, x)",
        "@  Rd(0,x,y)",
        "@  Rd(0,x)y  Final  A.java:1:1",
        "@  BRd(0,x)",
        "@  Wait(0,@03)",
        "@  rd(0,x)",
    ] {
        let text = format!("@  Rd(0,x)\nnot an event\n{line}\n@  Rd(0,x)\n");
        assert_eq!(
            message("a.rr", text.as_bytes()),
            format!("a.rr:3: expected {operation}, found `{line}`")
        );
    }
    let long = "x".repeat(5000);
    for (line, what) in [
        (format!("@  Rd({long},x)"), "a thread's name of at most"),
        (format!("@  Rd(0,{long})"), "a name of at most"),
        (format!("@  Rd(0,x) Final {long}"), "a name of at most"),
    ] {
        let message = message("a.rr", line.as_bytes());
        let start = format!("a.rr:1: expected {what} 4096 bytes, found `xxx");
        assert!(message.starts_with(&start), "{message}");
    }
}

#[test]
fn lines_of_text_that_do_not_parse_are_named() {
    let known = "r w rw acq rel begin end fork join acqs rels up down split restart signal await send recv retire val upd.add \
                 upd.sub upd.and upd.or upd.xor upd.max upd.min upd.send quit born upd.init cas cas.failed pause busy \
                 vain.add vain.and vain.or vain.xor vain.max vain.min vain.swap vain.init notify vain.cas \
                 reach leave retire.lock";
    let long = "x".repeat(5000);
    let cases = [
        (
            "T0|r(x)",
            "three fields, thread|operation|location, found `T0|r(x)`".to_owned(),
        ),
        (
            "T0",
            "three fields, thread|operation|location, found `T0`".to_owned(),
        ),
        (
            "T0|r(x)|1|2",
            "three fields, thread|operation|location, found `T0|r(x)|1|2`".to_owned(),
        ),
        ("|r(x)|1", "the name of a thread, found nothing".to_owned()),
        (
            "T0|fly(x)|1",
            format!("an operation ({known}), found `fly(x)`"),
        ),
        (
            "T0| r(x)|1",
            format!("an operation ({known}), found ` r(x)`"),
        ),
        ("T0|R(x)|1", format!("an operation ({known}), found `R(x)`")),
        ("T0||1", format!("an operation ({known}), found ``")),
        (
            "T0|r|1",
            "the name of a variable in parentheses, found `r`".to_owned(),
        ),
        (
            "T0|r()|1",
            "the name of a variable in parentheses, found `r()`".to_owned(),
        ),
        (
            "T0|acq()|1",
            "the name of a lock in parentheses, found `acq()`".to_owned(),
        ),
        (
            "T0|fork|1",
            "the name of a thread in parentheses, found `fork`".to_owned(),
        ),
        (
            "T0|r(x|1",
            "`)` at the end of the operation, found `r(x`".to_owned(),
        ),
        ("T0|split(x)|1", "no argument, found `split(x)`".to_owned()),
        (
            "T0|val(x)|1",
            "a whole number of 64 bits in parentheses, found `val(x)`".to_owned(),
        ),
        (
            &format!("{long}|r(x)|1"),
            format!(
                "a name of at most 4096 bytes, found `{}...`, which has 5000",
                "x".repeat(80)
            ),
        ),
        (
            &"x".repeat(70_000),
            "a line of at most 65536 bytes, found a longer one".to_owned(),
        ),
        (
            &format!("T0|r(x)|{}", "y".repeat(70_000)),
            "a line of at most 65536 bytes, found a longer one".to_owned(),
        ),
    ];
    for (line, expected) in cases {
        for end in ["", "\n", "\nT0|r(x)|1\n"] {
            let text = format!("T0|r(x)|1\n\n{line}{end}");
            assert_eq!(
                message("a.std", text.as_bytes()),
                format!("a.std:3: expected {expected}")
            );
        }
    }
    let csv = "r w acq rel start join enter exit sync, or an operation of the STD format";
    for (line, expected) in [
        (
            ",,",
            "an event in one of the columns, found `,,`".to_owned(),
        ),
        (
            "r(x),w(x)",
            "one event in a line, found `r(x),w(x)`".to_owned(),
        ),
        (",fly(x)", format!("an operation ({csv}), found `fly(x)`")),
        (
            ",sync()",
            "the name of a variable in parentheses, found `sync()`".to_owned(),
        ),
        (
            "start,",
            "the name of a thread in parentheses, found `start`".to_owned(),
        ),
    ] {
        assert_eq!(
            message("a.csv", format!("r(x),\n{line}\n").as_bytes()),
            format!("a.csv:2: expected {expected}")
        );
    }
}

#[test]
fn the_format_is_told_by_the_magic_number_then_the_name_then_the_text() {
    let aero = sample_aero();
    assert!(read("misnamed.std", &aero, None).is_ok());
    assert!(message("a.csv", b"T|x,r(x)\n").contains("one event in a line"));
    assert_eq!(
        terse(&read("a.trace", b"\n,r(x),\n", None).unwrap()[0]),
        "T1 r(x)"
    );
    assert_eq!(
        terse(&read("a.trace", b"T,2|r(x,y)|1\n", None).unwrap()[0]),
        "T,2 r(x,y)"
    );
    assert_eq!(
        terse(&read("a.csv", b"T|r(x)|1\n", Some(Format::Std)).unwrap()[0]),
        "T r(x)"
    );
    for log in [
        &b"\n@  Rd(0,x)\n"[..],
        b"[main: RoadRunner Agent Loaded.]\n@  Rd(0,x)\n",
    ] {
        assert_eq!(terse(&read("a.trace", log, None).unwrap()[0]), "0 r(x)");
    }
    assert_eq!(
        terse(&read("a.trace", b"@ T|r(x)|1\n", None).unwrap()[0]),
        "@ T r(x)"
    );
    assert_eq!(read("-", b"", None).unwrap().len(), 0);
    let missing = open("no/such/file.std", None)
        .err()
        .expect("there is no such file");
    assert!(matches!(missing.fault, Fault::Io(_)));
    assert!(
        missing.to_string().starts_with("no/such/file.std: "),
        "{missing}"
    );
}

#[test]
fn names_that_std_cannot_hold_are_made_to_fit_and_stay_apart() {
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust).unwrap();
    let event = |op, target| Event {
        strand: StrandId(0),
        target,
        site: SiteId::NONE,
        op,
    };
    let object = |name: Option<&str>| ObjectInfo {
        kind: ObjectKind::Lock,
        name: name.map(str::to_owned),
        type_name: None,
        created: SiteId::NONE,
    };
    writer
        .define_object(ObjectId(0), &object(Some("a|b c")))
        .unwrap();
    writer
        .define_object(ObjectId(1), &object(Some("a_b_c")))
        .unwrap();
    writer.define_object(ObjectId(2), &object(None)).unwrap();
    writer
        .define_object(ObjectId(3), &object(Some("queue")))
        .unwrap();
    for number in [0, 1, 2] {
        writer.event(&event(Op::Write, number)).unwrap();
    }
    // A lock around data is a lock and a variable, and retires as both.
    for op in [Op::Acquire, Op::Write, Op::Release, Op::Retire] {
        writer.event(&event(op, 3)).unwrap();
    }
    let file = writer.finish().unwrap();
    let text = to_std(source("a.aero", &file).as_mut()).unwrap();
    assert_eq!(
        String::from_utf8(text).unwrap(),
        "T0|w(a_b_c)|0\nT0|w(a_b_c#1)|0\nT0|w(V2)|0\nT0|acq(queue)|0\nT0|w(queue)|0\nT0|rel(queue)|0\nT0|retire(queue)|0\nT0|retire.lock(queue)|0\n"
    );
}

#[test]
fn a_text_in_many_pieces_is_the_same_text() {
    struct Drip<'a>(&'a [u8], usize);
    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            self.1 = self.1 % 7 + 1;
            let count = self.1.min(self.0.len()).min(buffer.len());
            buffer[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let text: String = (0..3000)
        .map(|index| format!("T{}|w(some.Class.field{index})|{index}\n", index % 10))
        .collect();
    for bytes in [
        text.clone().into_bytes(),
        to_aero(source("a.std", text.as_bytes()).as_mut()).unwrap(),
    ] {
        let mut source = from_reader("a", Drip(&bytes, 0), None).unwrap();
        let (mut batch, mut all) = (Vec::new(), Vec::new());
        while source.fill(&mut batch).unwrap() {
            all.extend(batch.iter().map(|event| resolve(event, source.names())));
        }
        assert_eq!(all, read("a", text.as_bytes(), None).unwrap());
    }
}

#[test]
fn an_event_is_found_where_it_stands() {
    let text = "\nT|r(x)|1\n\n\nT|r(x)|1\nT|r(x)|1\n";
    let mut texts = source("a.std", text.as_bytes());
    let mut batch = Vec::new();
    texts.fill(&mut batch).unwrap();
    let places: Vec<_> = (0..3).map(|index| texts.place(index)).collect();
    assert_eq!(places, [Place::Line(2), Place::Line(5), Place::Line(6)]);

    let aero = to_aero(source("a.std", b"T|val(7)|0\nT|w(x)|1\n").as_mut()).unwrap();
    let mut binary = source("a.aero", &aero);
    binary.fill(&mut batch).unwrap();
    let Place::Offset(first) = binary.place(0) else {
        panic!("a byte")
    };
    let Place::Offset(second) = binary.place(1) else {
        panic!("a byte")
    };
    // A header, a frame's header, and the strand's definition stand before; the two words of the
    // value, a site and an object between.
    assert_eq!((first, second), (32 + 16, 32 + 16 + 16 + 16 + 24));
}

/// Any line of STD that the writer gives back as it is.
fn line() -> impl Strategy<Value = String> {
    let name = || {
        prop_oneof![
            "[A-Z][0-9]{0,3}",
            "[a-z.$<>;/()#]{1,30}",
            "[^|\\s\\p{C}]{1,12}"
        ]
    };
    let plain = prop::sample::select(vec![
        "r", "w", "acq", "rel", "fork", "join", "rw", "acqs", "rels", "up", "down",
    ]);
    let more = prop::sample::select(vec![
        "upd.add",
        "upd.init",
        "vain.or",
        "vain.swap",
        "cas",
        "cas.failed",
        "upd.and",
        "upd.or",
        "upd.xor",
        "upd.max",
        "upd.min",
        "upd.send",
        "signal",
        "await",
        "send",
        "recv",
        "retire",
        "retire.lock",
    ]);
    let operation = prop_oneof![
        5 => (plain, name()).prop_map(|(op, name)| format!("{op}({name})")),
        2 => (more, name()).prop_map(|(op, name)| format!("{op}({name})")),
        1 => (prop::sample::select(vec!["begin", "end"]), name()).prop_map(|(op, name)| format!("{op}({name})")),
        1 => prop::sample::select(vec!["begin", "end", "split", "restart", "pause", "quit"]).prop_map(str::to_owned),
    ];
    let site = prop_oneof![
        "0|[1-9][0-9]{0,12}",
        "[a-z]{1,9}\\.rs:[1-9][0-9]?:[1-9]",
        "[^|\\s\\p{C}]{1,12}"
    ];
    let value =
        (name(), any::<i64>()).prop_map(|(strand, value)| format!("{strand}|val({value})|0\n"));
    prop_oneof![
        12 => (name(), operation, site).prop_map(|(strand, operation, site)| format!("{strand}|{operation}|{site}\n")),
        1 => value,
    ]
}

proptest! {
    #[test]
    fn text_to_binary_to_text_gives_the_same_text(lines in prop::collection::vec(line(), 0..60)) {
        let text = lines.concat();
        let aero = to_aero(source("a.std", text.as_bytes()).as_mut()).unwrap();
        let back = to_std(source("a.aero", &aero).as_mut()).unwrap();
        prop_assert_eq!(String::from_utf8(back).unwrap(), text.clone());
        // And once more: the numbers of the second file are those of the first.
        let again = to_aero(source("a.std", text.as_bytes()).as_mut()).unwrap();
        prop_assert_eq!(aero, again);
    }

    #[test]
    fn binary_to_text_to_binary_gives_the_same_events(lines in prop::collection::vec(line(), 0..60)) {
        let text = lines.concat();
        let aero = to_aero(source("a.std", text.as_bytes()).as_mut()).unwrap();
        let there = to_std(source("a.aero", &aero).as_mut()).unwrap();
        let back = to_aero(source("a.std", &there).as_mut()).unwrap();
        prop_assert_eq!(read("a", &aero, None).unwrap(), read("a", &back, None).unwrap());
    }
}

#[test]
fn a_subtraction_of_an_older_text_is_an_update_like_an_addition() {
    let mut source = StdReader::new("old.std", "T0|upd.sub(x)|1\n".as_bytes());
    let mut batch = Vec::new();
    assert!(source.fill(&mut batch).unwrap());
    assert_eq!(batch[0].op, Op::Update(Update::Add));
}
