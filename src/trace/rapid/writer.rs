//! Writing STD.

use std::collections::HashMap;
use std::io::{self, Write};

use crate::dense::Dense;
use crate::trace::{Event, Names, ObjectKind, Op, SiteId, SiteInfo, Target, op_name};

/// Writes the STD format.
///
/// STD has one name for one thing, and locks beside variables, so some things change on the way:
/// - What has no name when it is first written gets one: `V7`, `L7`. Where two things have the same
///   name, the second gets its number as well: `queue#7`. Bars and blanks in names become
///   underscores.
/// - An object that is locked and accessed, such as a `Mutex<T>`, becomes a lock and a variable of
///   the same name, and its retirement two lines.
/// - A place in a file is written as `file:line:column`, which RAPID does not take for a number; no
///   site is 0.
/// - That a lock guards nothing (`Mutex<()>`), types, and where things were made are not written.
///
/// ```
/// use aerodrome::trace::{Source, StdReader, StdWriter};
///
/// let text = "T0|begin(transfer)|1\nT0|w(x)|0\nT0|end|src/bank.rs:3:9\n";
/// let mut source = StdReader::new("a.std", text.as_bytes());
/// let mut writer = StdWriter::new(Vec::new());
/// let mut batch = Vec::new();
/// while source.fill(&mut batch)? {
///     for event in &batch {
///         writer.event(event, source.names())?;
///     }
/// }
/// assert_eq!(writer.finish()?, text.as_bytes());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct StdWriter<W: Write> {
    out: W,
    buffer: Vec<u8>,
    strands: Written,
    variables: Written,
    locks: Written,
    blocks: HashMap<u32, String>,
    sites: HashMap<u32, String>,
}

const BUFFER: usize = 1 << 16;

impl<W: Write> StdWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self {
            out,
            buffer: Vec::with_capacity(2 * BUFFER),
            strands: Written::default(),
            variables: Written::default(),
            locks: Written::default(),
            blocks: HashMap::new(),
            sites: HashMap::new(),
        }
    }

    /// Writes an event.
    pub fn event(&mut self, event: &Event, names: &dyn Names) -> io::Result<()> {
        match event.op {
            Op::Retire => self.retire(event, names),
            op => {
                let lock = op.row().target == Target::Object(ObjectKind::Lock);
                self.line(op, op_name(op), event, names, lock);
            }
        }
        if self.buffer.len() >= BUFFER {
            self.out.write_all(&self.buffer)?;
            self.buffer.clear();
        }
        Ok(())
    }

    /// Writes what is left, and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.write_all(&self.buffer)?;
        self.out.flush()?;
        Ok(self.out)
    }

    /// What was written as a lock retires as one, and what was written as a variable too.
    fn retire(&mut self, event: &Event, names: &dyn Names) {
        let (variable, lock) = (
            self.variables.has(event.target),
            self.locks.has(event.target),
        );
        let locklike = matches!(
            names.kind(event.object()),
            ObjectKind::Lock | ObjectKind::BareLock
        );
        if variable || !lock && !locklike {
            self.line(Op::Retire, "retire", event, names, false);
            self.variables.forget(event.target);
        }
        if lock || !variable && locklike {
            self.line(Op::Retire, "retire.lock", event, names, true);
            self.locks.forget(event.target);
        }
    }

    fn line(&mut self, op: Op, operation: &str, event: &Event, names: &dyn Names, lock: bool) {
        let Self {
            buffer,
            strands,
            variables,
            locks,
            blocks,
            sites,
            ..
        } = self;
        buffer.extend_from_slice(strand(strands, event.strand.0, names).as_bytes());
        buffer.push(b'|');
        buffer.extend_from_slice(operation.as_bytes());
        match op.row().target {
            Target::Nothing => {}
            Target::Block => {
                let name = blocks
                    .entry(event.target)
                    .or_insert_with(|| clean(&names.block(event.block()).name));
                if !name.is_empty() {
                    argument(buffer, name);
                }
            }
            Target::Strand => {
                if op == Op::Fork {
                    strands.rename(event.target);
                }
                argument(buffer, strand(strands, event.target, names));
            }
            Target::Value => argument(buffer, &event.value().to_string()),
            Target::Object(_) => {
                let (written, prefix) = if lock { (locks, 'L') } else { (variables, 'V') };
                let name = written.name(event.target, || {
                    let name = names.object(event.object()).name.unwrap_or_default();
                    if name.is_empty() {
                        format!("{prefix}{}", event.target)
                    } else {
                        name
                    }
                });
                argument(buffer, name);
            }
        }
        buffer.push(b'|');
        match event.site {
            id if op != Op::Value && id != SiteId::NONE => {
                let site = sites.entry(id.0).or_insert_with(|| site(id, names));
                buffer.extend_from_slice(site.as_bytes());
            }
            _ => buffer.push(b'0'),
        }
        buffer.push(b'\n');
        if op == Op::Recv {
            self.variables.forget(event.target);
        }
    }
}

fn site(id: SiteId, names: &dyn Names) -> String {
    match names.site(id) {
        Some(SiteInfo::Source { file, line, column }) => clean(&format!("{file}:{line}:{column}")),
        Some(SiteInfo::Label(label)) => clean(&label),
        None => "0".to_owned(),
    }
}

fn strand<'a>(strands: &'a mut Written, id: u32, names: &dyn Names) -> &'a str {
    strands.name(id, || {
        let name = names.strand(crate::trace::StrandId(id)).name;
        if name.is_empty() {
            format!("T{id}")
        } else {
            name
        }
    })
}

fn argument(buffer: &mut Vec<u8>, name: &str) {
    buffer.push(b'(');
    buffer.extend_from_slice(name.as_bytes());
    buffer.push(b')');
}

/// A name without what would end its field.
fn clean(name: &str) -> String {
    name.replace(
        |c: char| c == '|' || c.is_whitespace() || c.is_control(),
        "_",
    )
}

/// The names that are in use, by number.
#[derive(Default)]
struct Written {
    names: Dense<u32, Option<Box<str>>>,
    taken: HashMap<Box<str>, u32>,
}

impl Written {
    fn has(&self, id: u32) -> bool {
        self.names.get(id).is_some_and(Option::is_some)
    }

    fn name(&mut self, id: u32, wanted: impl FnOnce() -> String) -> &str {
        self.names.entry(id).get_or_insert_with(|| {
            let wanted = clean(&wanted());
            let mut name = wanted.clone();
            let mut more = u64::from(id);
            while self
                .taken
                .get(name.as_str())
                .is_some_and(|owner| *owner != id)
            {
                name = format!("{wanted}#{more}");
                more += 1;
            }
            let name: Box<str> = name.into();
            self.taken.insert(name.clone(), id);
            name
        })
    }

    /// The number's next owner has another name. The old one stays with the number: in a text, a
    /// name that was joined is joined.
    fn rename(&mut self, id: u32) {
        self.names.take(id);
    }

    fn forget(&mut self, id: u32) {
        if let Some(name) = self.names.take(id) {
            self.taken.remove(&name);
        }
    }
}
