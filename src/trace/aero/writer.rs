//! Writing `.aero`.

use std::io::{self, Write};

use rustc_hash::FxHashMap;

use crate::dense::Dense;
use crate::trace::op::Row;
use crate::trace::{
    BlockId, BlockInfo, Event, MAX_NAME, Names, ObjectId, ObjectInfo, ObjectKind, Op, Semantics,
    SiteId, SiteInfo, StrandId, StrandInfo, Target,
};

/// Writes the `.aero` format.
///
/// Numbers are the caller's; the writer gives its own, dense ones to the file. What is to be known
/// of a number is defined before the number is used; a number that is used without has no name.
/// After [`Op::Retire`] or [`Op::Recv`] an object's number is undefined again. Without
/// [`finish`](AeroWriter::finish) the file lacks its end marker and what was written since the last
/// whole frame.
///
/// ```
/// use aerodrome::trace::{AeroReader, AeroWriter, Event, Names, Op, Semantics, SiteId, Source, StrandId, StrandInfo};
///
/// let mut writer = AeroWriter::new(Vec::new(), Semantics::Rust)?;
/// writer.define_strand(StrandId(7), &StrandInfo { name: "main".into() })?;
/// writer.event(&Event { strand: StrandId(7), target: 3, site: SiteId::NONE, op: Op::Write })?;
/// let file = writer.finish()?;
///
/// let mut reader = AeroReader::new("a.aero", &file[..])?;
/// let mut batch = Vec::new();
/// assert!(reader.fill(&mut batch)?);
/// assert_eq!(batch[0].op, Op::Write);
/// assert_eq!(reader.names().strand(batch[0].strand).name, "main");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct AeroWriter<W: Write> {
    out: W,
    payload: Vec<u8>,
    /// Events in the payload.
    events: u32,
    frames: u64,
    total: u64,
    strands: Numbers,
    objects: Numbers,
    sites: Codes,
    blocks: Codes,
    free_objects: Vec<u32>,
    next_object: u32,
    next_strand: u32,
}

impl<W: Write> AeroWriter<W> {
    /// Writes the header.
    pub fn new(mut out: W, semantics: Semantics) -> io::Result<Self> {
        let flags = match semantics {
            Semantics::Rust => 0,
            Semantics::Paper => super::FLAG_PAPER,
        };
        let mut header = super::MAGIC.to_vec();
        header.extend(super::VERSION.to_le_bytes());
        header.extend(flags.to_le_bytes());
        header.extend(super::header_checksum(&header).to_le_bytes());
        out.write_all(&header)?;
        Ok(Self {
            out,
            payload: Vec::with_capacity(super::PAYLOAD + 4 * MAX_NAME),
            events: 0,
            frames: 0,
            total: 0,
            strands: Numbers::default(),
            objects: Numbers::default(),
            sites: Codes::new(1),
            blocks: Codes::new(0),
            free_objects: Vec::new(),
            next_object: 0,
            next_strand: 0,
        })
    }

    /// Names a strand; or names it anew.
    pub fn define_strand(&mut self, id: StrandId, info: &StrandInfo) -> io::Result<()> {
        self.write_strand(id, info, super::SAME_OWNER)
    }

    fn write_strand(&mut self, id: StrandId, info: &StrandInfo, owner: u64) -> io::Result<()> {
        let number = self.strands.get(id.0).unwrap_or_else(|| {
            self.strands.set(id.0, self.next_strand);
            self.next_strand += 1;
            self.next_strand - 1
        });
        let what = super::DEFINE_STRAND << 6 | owner;
        self.definition(what, number, &[cut(&info.name)])
    }

    /// The strand is gone without a join (a detached thread); its number may be given to another.
    pub fn retire_strand(&mut self, id: StrandId) {
        self.strands.unset(id.0);
    }

    /// Describes an object; or describes it anew.
    pub fn define_object(&mut self, id: ObjectId, info: &ObjectInfo) -> io::Result<()> {
        let known = self.objects.get(id.0);
        let owner = known.map_or(0, |_| super::SAME_OWNER);
        let number = known.unwrap_or_else(|| {
            let number = self.free_objects.pop().unwrap_or(self.next_object);
            self.next_object = self.next_object.max(number + 1);
            self.objects.set(id.0, number);
            number
        });
        let created = self.sites.get(info.created.0).unwrap_or(0);
        let kind = u64::from(info.kind.code());
        let length = |name: Option<&[u8]>| name.map_or(super::NO_NAME, |name| name.len() as u16);
        let (name, type_name) = (
            info.name.as_deref().map(cut),
            info.type_name.as_deref().map(cut),
        );
        let body = [
            &created.to_le_bytes()[..],
            &length(name).to_le_bytes(),
            &length(type_name).to_le_bytes(),
            name.unwrap_or_default(),
            type_name.unwrap_or_default(),
        ];
        let what = super::DEFINE_OBJECT << 6 | kind << 9 | owner;
        self.definition(what, number, &body)
    }

    /// Describes an object anew that the file knows already: it has got a name.
    pub fn name_object(&mut self, id: ObjectId, names: &dyn Names) -> io::Result<()> {
        if self.objects.get(id.0).is_some() {
            self.object_from(id, names)?;
        }
        Ok(())
    }

    /// Describes a site, once: a second definition of the same code changes nothing.
    pub fn define_site(&mut self, id: SiteId, info: &SiteInfo) -> io::Result<()> {
        if id == SiteId::NONE || self.sites.get(id.0).is_some() {
            return Ok(());
        }
        let number = self.sites.add(id.0);
        match info {
            SiteInfo::Source { file, line, column } => {
                let body = [&line.to_le_bytes()[..], &column.to_le_bytes(), cut(file)];
                self.definition(super::DEFINE_SOURCE << 6, number, &body)
            }
            SiteInfo::Label(label) => {
                self.definition(super::DEFINE_LABEL << 6, number, &[cut(label)])
            }
        }
    }

    /// Names a block, once: a second definition of the same code changes nothing.
    pub fn define_block(&mut self, id: BlockId, info: &BlockInfo) -> io::Result<()> {
        if self.blocks.get(id.0).is_some() {
            return Ok(());
        }
        let site = self.sites.get(info.site.0).unwrap_or(0);
        let number = self.blocks.add(id.0);
        let body = [&site.to_le_bytes()[..], &[0; 4], cut(&info.name)];
        self.definition(super::DEFINE_BLOCK << 6, number, &body)
    }

    /// Writes an event. Numbers that are not defined have no name; a site that is not defined is
    /// none.
    #[inline]
    pub fn event(&mut self, event: &Event) -> io::Result<()> {
        self.event_with(event, &Unnamed)
    }

    /// Writes an event, and before it the definitions of its numbers that the file does not know
    /// yet. A fork defines the forked strand in any case, as the number may have got a new owner.
    #[inline]
    pub fn event_with(&mut self, event: &Event, names: &dyn Names) -> io::Result<()> {
        let strand = match self.strands.get(event.strand.0) {
            Some(strand) => strand,
            None => self.strand_from(event.strand, names)?,
        };
        let row = event.op.row();
        let target = match row.target {
            Target::Object(_) => match self.objects.get(event.target) {
                Some(object) => object,
                None => self.object_from(event.object(), names)?,
            },
            Target::Strand => match self.strands.get(event.target) {
                Some(strand) if event.op == Op::Join => strand,
                _ => self.strand_from(event.other(), names)?,
            },
            Target::Block => match self.blocks.get(event.target) {
                Some(block) => block,
                None => self.block_from(event.block(), names)?,
            },
            Target::Nothing => 0,
            Target::Value => event.target,
        };
        let site = match row.target {
            Target::Value => event.site.0,
            _ => match self.sites.get(event.site.0) {
                Some(site) => site,
                None => self.site_from(event.site, names)?,
            },
        };
        self.record(row, strand, target, site);
        if matches!(event.op, Op::Retire | Op::Recv) {
            self.objects.unset(event.target);
            self.free_objects.push(target);
        }
        if self.payload.len() >= super::PAYLOAD {
            self.close_frame()
        } else {
            Ok(())
        }
    }

    #[inline]
    fn record(&mut self, row: &Row, strand: u32, target: u32, site: u32) {
        let code = u64::from(row.code);
        let narrow = strand >> super::STRAND_BITS == 0
            && target >> super::TARGET_BITS == 0
            && site >> super::SITE_BITS == 0
            && row.target != Target::Value;
        let (strand, target, site) = (u64::from(strand), u64::from(target), u64::from(site));
        if narrow {
            let word = code
                | strand << super::STRAND_SHIFT
                | target << super::TARGET_SHIFT
                | site << super::SITE_SHIFT;
            self.payload.extend_from_slice(&word.to_le_bytes());
        } else {
            let words = [super::WIDE | code << 6 | strand << 32, target | site << 32];
            self.payload
                .extend_from_slice(words.map(u64::to_le_bytes).as_flattened());
        }
        self.events += 1;
    }

    #[cold]
    fn strand_from(&mut self, id: StrandId, names: &dyn Names) -> io::Result<u32> {
        self.write_strand(id, &names.strand(id), 0)?;
        Ok(self.strands.get(id.0).unwrap_or(0))
    }

    #[cold]
    fn object_from(&mut self, id: ObjectId, names: &dyn Names) -> io::Result<u32> {
        let info = names.object(id);
        self.site_from(info.created, names)?;
        self.define_object(id, &info)?;
        Ok(self.objects.get(id.0).unwrap_or(0))
    }

    #[cold]
    fn block_from(&mut self, id: BlockId, names: &dyn Names) -> io::Result<u32> {
        let info = names.block(id);
        self.site_from(info.site, names)?;
        self.define_block(id, &info)?;
        Ok(self.blocks.get(id.0).unwrap_or(0))
    }

    #[cold]
    fn site_from(&mut self, id: SiteId, names: &dyn Names) -> io::Result<u32> {
        if let Some(info) = names.site(id) {
            self.define_site(id, &info)?;
        }
        Ok(self.sites.get(id.0).unwrap_or(0))
    }

    /// Writes a definition; `what` is the low half of its head without the length.
    fn definition(&mut self, what: u64, number: u32, body: &[&[u8]]) -> io::Result<()> {
        let length = body.iter().map(|part| part.len()).sum::<usize>();
        let head = super::DEFINITION | what | (length as u64) << 16 | u64::from(number) << 32;
        self.payload.extend_from_slice(&head.to_le_bytes());
        for part in body {
            self.payload.extend_from_slice(part);
        }
        self.payload
            .resize(self.payload.len().next_multiple_of(8), 0);
        if self.payload.len() >= super::PAYLOAD {
            self.close_frame()
        } else {
            Ok(())
        }
    }

    #[cold]
    fn close_frame(&mut self) -> io::Result<()> {
        if self.payload.is_empty() {
            return Ok(());
        }
        self.total += u64::from(self.events);
        self.write_frame(self.events)
    }

    fn write_frame(&mut self, events: u32) -> io::Result<()> {
        let mut header = [0; super::FRAME_HEADER];
        header[..4].copy_from_slice(&(self.payload.len() as u32).to_le_bytes());
        header[4..8].copy_from_slice(&events.to_le_bytes());
        header[8..].copy_from_slice(
            &super::frame_checksum(self.frames, events, &self.payload).to_le_bytes(),
        );
        self.frames += 1;
        self.events = 0;
        let written = self
            .out
            .write_all(&header)
            .and_then(|()| self.out.write_all(&self.payload));
        self.payload.clear();
        written
    }

    /// Closes the frame and hands it to the system: what was written so far survives the process.
    pub fn flush(&mut self) -> io::Result<()> {
        self.close_frame()?;
        self.out.flush()
    }

    /// Writes what is left and the end marker, and gives the output back.
    pub fn finish(mut self) -> io::Result<W> {
        self.close_frame()?;
        self.payload.extend_from_slice(&self.total.to_le_bytes());
        self.write_frame(super::END)?;
        self.out.flush()?;
        Ok(self.out)
    }
}

/// A name is as long as may be, cut between two characters.
fn cut(name: &str) -> &[u8] {
    let end = (0..=name.len().min(MAX_NAME)).rfind(|&at| name.is_char_boundary(at));
    &name.as_bytes()[..end.unwrap_or(0)]
}

/// From the caller's dense numbers to the file's.
#[derive(Default)]
struct Numbers(Dense<u32, u32>);

impl Numbers {
    /// The file's number and one; 0 where there is none.
    #[inline]
    fn get(&self, id: u32) -> Option<u32> {
        self.0.get(id).and_then(|number| number.checked_sub(1))
    }

    fn set(&mut self, id: u32, number: u32) {
        *self.0.entry(id) = number + 1;
    }

    fn unset(&mut self, id: u32) {
        if let Some(number) = self.0.get_mut(id) {
            *number = 0;
        }
    }
}

/// From the caller's opaque codes to the file's numbers. Entries are never removed.
struct Codes {
    numbers: FxHashMap<u32, u32>,
    next: u32,
    /// Numbers begin there: 1 where code 0 stands for number 0.
    first: u32,
}

impl Codes {
    fn new(first: u32) -> Self {
        Self {
            numbers: FxHashMap::default(),
            next: first,
            first,
        }
    }

    #[inline]
    fn get(&self, code: u32) -> Option<u32> {
        if code < self.first {
            return Some(code);
        }
        self.numbers.get(&code).copied()
    }

    fn add(&mut self, code: u32) -> u32 {
        let number = self.next;
        self.numbers.insert(code, number);
        self.next += 1;
        number
    }
}

/// Names for a caller that has defined what is worth a name.
struct Unnamed;

impl Names for Unnamed {
    fn strand(&self, _: StrandId) -> StrandInfo {
        StrandInfo::default()
    }

    fn object(&self, _: ObjectId) -> ObjectInfo {
        ObjectInfo::default()
    }

    fn kind(&self, _: ObjectId) -> ObjectKind {
        ObjectKind::default()
    }

    fn site(&self, _: SiteId) -> Option<SiteInfo> {
        None
    }

    fn block(&self, _: BlockId) -> BlockInfo {
        BlockInfo::default()
    }
}
