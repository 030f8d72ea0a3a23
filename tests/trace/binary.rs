//! The binary format: what text cannot say, and what is wrong with a file.

use crate::common::{message, read, resolve, sample_aero, semantics, source, to_aero};
use aerodrome::trace::{
    AeroReader, AeroWriter, BlockId, BlockInfo, Event, Fault, Format, Names, ObjectId, ObjectInfo,
    ObjectKind, Op, Semantics, SiteId, SiteInfo, Source, StrandId, StrandInfo, Update,
};

#[test]
fn a_binary_trace_keeps_what_text_cannot_say() {
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust).unwrap();
    let place = SiteInfo::Source {
        file: "src/bank.rs".into(),
        line: 3,
        column: 9,
    };
    let (object, site, block) = (ObjectId(70_000), SiteId(0xdead_beef), BlockId(0xffff_fff0));
    let info = ObjectInfo {
        kind: ObjectKind::BareLock,
        name: None,
        type_name: Some("Mutex<()>".into()),
        created: site,
    };
    let block_info = BlockInfo {
        name: "transfer".into(),
        site,
    };
    writer
        .define_strand(
            StrandId(3),
            &StrandInfo {
                name: "main".into(),
            },
        )
        .unwrap();
    writer.define_site(site, &place).unwrap();
    writer.define_object(object, &info).unwrap();
    writer.define_block(block, &block_info).unwrap();
    let event = |op, target| Event {
        strand: StrandId(3),
        target,
        site,
        op,
    };
    writer.event(&event(Op::Begin, block.0)).unwrap();
    writer.event(&event(Op::Acquire, object.0)).unwrap();
    let file = writer.finish().unwrap();

    let mut reader = AeroReader::new("a.aero", &file[..]).unwrap();
    assert_eq!(reader.semantics(), Semantics::Rust);
    let mut batch = Vec::new();
    assert!(reader.fill(&mut batch).unwrap());
    assert_eq!(
        batch.iter().map(|event| event.op).collect::<Vec<_>>(),
        [Op::Begin, Op::Acquire]
    );
    assert_eq!((batch[1].strand, batch[1].target), (StrandId(0), 0));
    let names = reader.names();
    let read = names.object(batch[1].object());
    assert_eq!(names.site(read.created), Some(place.clone()));
    assert_eq!(
        (read.kind, read.type_name.as_deref()),
        (ObjectKind::BareLock, Some("Mutex<()>"))
    );
    assert_eq!(names.site(batch[1].site), Some(place));
    assert_eq!(names.block(batch[0].block()).name, "transfer");
    assert!(!reader.fill(&mut batch).unwrap());
    assert!(!reader.fill(&mut batch).unwrap());
}

#[test]
fn a_batch_ends_before_a_number_gets_another_owner() {
    let object = |name: &str| ObjectInfo {
        kind: ObjectKind::Variable,
        name: Some(name.into()),
        type_name: None,
        created: SiteId::NONE,
    };
    let event = |op, target| Event {
        strand: StrandId(0),
        target,
        site: SiteId::NONE,
        op,
    };
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust).unwrap();
    for name in ["first", "second", "second"] {
        writer.define_object(ObjectId(9), &object(name)).unwrap();
        writer.event(&event(Op::Write, 9)).unwrap();
        writer.event(&event(Op::Retire, 9)).unwrap();
    }
    // Used again without a word: it has no name.
    writer.event(&event(Op::Write, 9)).unwrap();
    let file = writer.finish().unwrap();
    let mut reader = AeroReader::new("a.aero", &file[..]).unwrap();
    let (mut batch, mut seen) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch).unwrap() {
        seen.push(
            batch
                .iter()
                .map(|event| resolve(event, reader.names()).target)
                .collect::<Vec<_>>(),
        );
    }
    assert_eq!(seen, [vec!["first"; 2], vec!["second"; 4], vec![""]]);
}

#[test]
fn numbers_too_wide_for_one_word_take_two() {
    let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust).unwrap();
    let event = |strand, op, target, site| Event {
        strand: StrandId(strand),
        target,
        site: SiteId(site),
        op,
    };
    for strand in 0..5000 {
        writer.event(&event(strand, Op::Read, 0, 0)).unwrap();
    }
    let value = -0x1234_5678_9abc_def0_i64;
    let halves = (value as u32, (value as u64 >> 32) as u32);
    writer
        .event(&event(4999, Op::Value, halves.0, halves.1))
        .unwrap();
    writer
        .event(&event(4999, Op::Update(Update::Max), 0, 0))
        .unwrap();
    let file = writer.finish().unwrap();
    let mut reader = AeroReader::new("a.aero", &file[..]).unwrap();
    let (mut batch, mut all) = (Vec::new(), Vec::new());
    while reader.fill(&mut batch).unwrap() {
        all.append(&mut batch);
    }
    assert!(
        all[..5000]
            .iter()
            .enumerate()
            .all(|(index, event)| event.strand.0 == index as u32)
    );
    assert_eq!(
        (all[5000].op, all[5000].value(), all[5000].strand),
        (Op::Value, value, StrandId(4999))
    );
    assert_eq!(all[5001].op, Op::Update(Update::Max));
}

#[test]
fn an_event_takes_at_most_sixteen_bytes() {
    let mut text = String::new();
    for index in 0..100_000 {
        text.push_str(&format!(
            "T{}|r(x{})|{}\n",
            index % 8,
            index % 100,
            index % 1000
        ));
    }
    let aero = to_aero(source("a.std", text.as_bytes()).as_mut()).unwrap();
    assert!(aero.len() < 9 * 100_000, "{}", aero.len());
}

#[test]
fn a_cut_file_is_good_up_to_its_last_whole_frame_and_then_truncated() {
    let file = sample_aero();
    for length in 0..file.len() {
        let error = read("a.aero", &file[..length], Some(Format::Aero)).expect_err("it is cut");
        let truncated = matches!(error.fault, Fault::Truncated { .. });
        assert_eq!(truncated, length >= 8, "{length}: {error}");
    }
    let end = file.len() - 24;
    let error = message("a.aero", &file[..end]);
    assert_eq!(
        error,
        format!(
            "a.aero: byte {end}: the file is cut off: expected a frame or the end marker, found the end of the file"
        )
    );
    let mut source = source("a.aero", &file[..end]);
    let mut batch = Vec::new();
    assert!(source.fill(&mut batch).unwrap());
    assert_eq!(batch.len(), 9);
    assert!(source.fill(&mut batch).is_err());
}

#[test]
fn a_changed_bit_is_found_wherever_it_is() {
    let good = sample_aero();
    for bit in 0..good.len() * 8 {
        let mut bad = good.clone();
        bad[bit / 8] ^= 1 << (bit % 8);
        assert!(
            read("a.aero", &bad, Some(Format::Aero)).is_err(),
            "bit {bit}"
        );
    }
    let error = message("a.aero", &[&good[..], b"more"].concat());
    assert_eq!(
        error,
        format!(
            "a.aero: byte {}: expected the end of the file after the end marker, found more",
            good.len()
        )
    );
    assert_eq!(
        read("a.aero", b"T0|r(x)|1\n", Some(Format::Aero))
            .unwrap_err()
            .to_string(),
        "a.aero: byte 0: expected an .aero file, which begins with `AERO\\r\\n\\x1a\\n`, found `T0|r(x)|`"
    );
    // Files of before the checksum was a CRC-32.
    let mut older = good;
    older[8] = 1;
    assert_eq!(
        message("a.aero", &older),
        "a.aero: byte 8: expected version 2, found version 1"
    );
}

#[test]
fn semantics_are_kept() {
    for semantics_given in [Semantics::Rust, Semantics::Paper] {
        let file = AeroWriter::new(Vec::new(), semantics_given)
            .unwrap()
            .finish()
            .unwrap();
        assert_eq!(semantics(&file), semantics_given);
    }
    assert_eq!(semantics(b"T0|r(x)|1\n"), Semantics::Paper);
}

#[test]
fn an_output_that_fails_is_an_error() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            if bytes.len() == 16 {
                Ok(16)
            } else {
                Err(std::io::Error::other("the disk is full"))
            }
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let event = Event {
        strand: StrandId(0),
        target: 0,
        site: SiteId::NONE,
        op: Op::Read,
    };
    let mut writer = AeroWriter::new(Full, Semantics::Rust).unwrap();
    writer.event(&event).unwrap();
    assert_eq!(writer.flush().unwrap_err().to_string(), "the disk is full");
}
