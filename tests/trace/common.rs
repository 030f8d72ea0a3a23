//! What several tests of traces need.
#![allow(
    dead_code,
    missing_docs,
    unreachable_pub,
    reason = "each test takes what it needs"
)]

use aerodrome::trace::{AeroWriter, Format, Semantics, StdWriter};
use aerodrome::trace::{Error, Event, Names, ObjectId, Op, SiteInfo, Source, from_reader, op_name};

/// An event with its numbers resolved: what must survive every conversion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    pub strand: String,
    pub op: Op,
    pub target: String,
    pub site: Option<SiteInfo>,
}

pub fn resolve(event: &Event, names: &dyn Names) -> Resolved {
    let target = match event.op {
        Op::Begin | Op::End => names.block(event.block()).name,
        Op::Fork | Op::Join => names.strand(event.other()).name,
        Op::Split | Op::Restart | Op::Pause | Op::Exit => String::new(),
        Op::Value => event.value().to_string(),
        _ => names
            .object(ObjectId(event.target))
            .name
            .unwrap_or_default(),
    };
    let site = if event.op == Op::Value {
        None
    } else {
        names.site(event.site)
    };
    Resolved {
        strand: names.strand(event.strand).name,
        op: event.op,
        target,
        site,
    }
}

/// Every event of a trace, resolved.
pub fn read(name: &str, bytes: &[u8], format: Option<Format>) -> Result<Vec<Resolved>, Error> {
    let mut source = from_reader(name, bytes, format)?;
    let (mut batch, mut all) = (Vec::new(), Vec::new());
    while source.fill(&mut batch)? {
        all.extend(batch.iter().map(|event| resolve(event, source.names())));
    }
    Ok(all)
}

/// The same, checked for well-formedness: the events that count.
pub fn admitted(name: &str, bytes: &[u8]) -> Result<Vec<String>, Error> {
    let mut source = from_reader(name, bytes, None)?;
    let (mut batch, mut all, mut rules) = (Vec::new(), Vec::new(), source.rules());
    while source.fill(&mut batch)? {
        for (index, event) in batch.iter().enumerate() {
            match rules.admit(event) {
                Ok(Some(event)) => all.push(terse(&resolve(&event, source.names()))),
                Ok(None) => {}
                Err(malformed) => return Err(source.malformed(index, &malformed)),
            }
        }
    }
    Ok(all)
}

pub fn terse(event: &Resolved) -> String {
    format!("{} {}({})", event.strand, op_name(event.op), event.target)
}

pub fn to_aero(source: &mut dyn Source) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut writer = AeroWriter::new(Vec::new(), source.semantics())?;
    let mut batch = Vec::new();
    while source.fill(&mut batch)? {
        for event in &batch {
            writer.event_with(event, source.names())?;
        }
    }
    Ok(writer.finish()?)
}

pub fn to_std(source: &mut dyn Source) -> Result<Vec<u8>, Box<dyn std::error::Error>> {
    let mut writer = StdWriter::new(Vec::new());
    let mut batch = Vec::new();
    while source.fill(&mut batch)? {
        for event in &batch {
            writer.event(event, source.names())?;
        }
    }
    Ok(writer.finish()?)
}

/// A small file with every kind of record.
pub fn sample_aero() -> Vec<u8> {
    let text = "main|begin(transfer)|src/a.rs:3:9\nmain|acq(L)|4\nmain|val(-5)|0\nmain|w(x)|5\nmain|fork(a rather long name of a thread)|6\n\
                a rather long name of a thread|upd.add(counter)|7\nmain|rel(L)|8\nmain|end|9\nmain|join(a rather long name of a thread)|10\n";
    let mut source =
        from_reader("sample.std", text.as_bytes(), None).expect("the sample can be read");
    to_aero(source.as_mut()).expect("the sample can be written")
}

pub fn semantics(bytes: &[u8]) -> Semantics {
    from_reader("x", bytes, None)
        .expect("the file can be opened")
        .semantics()
}

pub(crate) fn source(name: &str, bytes: &[u8]) -> Box<dyn Source> {
    from_reader(name, std::io::Cursor::new(bytes.to_vec()), None).expect("the source can be opened")
}

/// What is wrong with a file.
pub(crate) fn message(name: &str, bytes: &[u8]) -> String {
    read(name, bytes, None)
        .expect_err("it is an error")
        .to_string()
}
