//! Reading `.aero`.

mod definitions;

use std::io::{self, Read};

use crate::trace::{
    Error, Event, Op, Place, Semantics, SiteId, Source, StrandId, TABLE, Tables, Target,
};

/// For each of the 64 codes: the operation, and whose limit its target has.
const DECODE: [(Op, u8); 64] = {
    let mut table = [(Op::Read, LIMIT_INVALID); 64];
    let mut code = 0;
    while code < TABLE.len() {
        let limit = match TABLE[code].target {
            Target::Object(_) => LIMIT_OBJECTS,
            Target::Strand => LIMIT_STRANDS,
            Target::Block => LIMIT_BLOCKS,
            Target::Nothing => LIMIT_NOTHING,
            Target::Value => LIMIT_INVALID,
        };
        table[code] = (TABLE[code].op, limit);
        code += 1;
    }
    table
};

const LIMIT_INVALID: u8 = 0;
const LIMIT_NOTHING: u8 = 1;
const LIMIT_OBJECTS: u8 = 2;
const LIMIT_STRANDS: u8 = 3;
const LIMIT_BLOCKS: u8 = 4;
const LIMIT_SITES: u8 = 5;

/// Reads the `.aero` format; the module's page says what that is.
pub struct AeroReader<R> {
    file: String,
    input: R,
    semantics: Semantics,
    tables: Tables,
    /// Numbers below are known: the indices are the `LIMIT_` constants. There are eight, so that no
    /// index needs a check.
    limits: [u32; 8],
    payload: Vec<[u8; 8]>,
    /// Where the next record begins, in words of the payload.
    next: usize,
    /// Where the last batch begins.
    first: usize,
    /// The payload's place in the file.
    offset: u64,
    consumed: u64,
    frames: u64,
    /// Events that the frame has announced and not yet given.
    owed: u32,
    events: u64,
    ended: bool,
}

/// A record that is not right: where, in words of the payload, what was expected and what was
/// found.
struct Wrong {
    word: usize,
    expected: String,
    found: String,
}

impl Wrong {
    #[cold]
    fn new(word: usize, expected: impl Into<String>, found: impl Into<String>) -> Self {
        Wrong {
            word,
            expected: expected.into(),
            found: found.into(),
        }
    }
}

/// Reads and checks the header; it says under which semantics the trace was recorded.
fn read_header(file: &str, input: &mut impl Read) -> Result<Semantics, Error> {
    let mut header = [0; super::HEADER];
    let got = read_full(input, &mut header).map_err(|error| Error::io(file, error))?;
    let wrong = |offset, expected: String, found| {
        let place = Place::Offset(offset);
        Err(Error::mismatch(file, place, expected, found))
    };
    if got < super::MAGIC.len() || header[..8] != super::MAGIC {
        let magic = super::MAGIC.escape_ascii();
        let expected = format!("an .aero file, which begins with `{magic}`");
        let found = header[..got.min(8)].escape_ascii();
        return wrong(0, expected, format!("`{found}`"));
    }
    if got < header.len() {
        let (place, found) = (Place::Offset(got as u64), format!("{got}"));
        return Err(Error::truncated(file, place, "a header of 16 bytes", found));
    }
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    let (version, flags) = (half(8), half(10));
    if version != super::VERSION {
        let expected = format!("version {}", super::VERSION);
        return wrong(8, expected, format!("version {version}"));
    }
    let stored = u32::from_le_bytes([header[12], header[13], header[14], header[15]]);
    let sum = super::header_checksum(&header[..12]);
    if sum != stored {
        let expected = format!("the header's checksum {sum:08x}");
        return wrong(12, expected, format!("{stored:08x}"));
    }
    match flags {
        0 => Ok(Semantics::Rust),
        super::FLAG_PAPER => Ok(Semantics::Paper),
        _ => wrong(10, "flags 0 or 1".to_owned(), flags.to_string()),
    }
}

impl<R: Read> AeroReader<R> {
    /// Reads the header of `input`; `file` is its name in errors.
    pub fn new(file: &str, mut input: R) -> Result<Self, Error> {
        let semantics = read_header(file, &mut input)?;
        let mut limits = [0; 8];
        limits[usize::from(LIMIT_NOTHING)] = 1;
        limits[usize::from(LIMIT_SITES)] = 1;
        Ok(Self {
            file: file.to_owned(),
            input,
            semantics,
            tables: Tables::new(),
            limits,
            payload: Vec::new(),
            next: 0,
            first: 0,
            offset: super::HEADER as u64,
            consumed: super::HEADER as u64,
            frames: 0,
            owed: 0,
            events: 0,
            ended: false,
        })
    }

    fn wrong(&self, offset: u64, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::mismatch(&self.file, Place::Offset(offset), expected, found)
    }

    fn cut(&self, expected: impl Into<String>, found: impl Into<String>) -> Error {
        Error::truncated(&self.file, Place::Offset(self.consumed), expected, found)
    }

    /// Reads the next frame; false at the end marker.
    fn frame(&mut self) -> Result<bool, Error> {
        if self.owed > 0 {
            let found = format!("{} fewer", self.owed);
            return Err(self.wrong(self.offset, "as many events as the frame says", found));
        }
        let at = self.consumed;
        let mut header = [0; super::FRAME_HEADER];
        let got = read_full(&mut self.input, &mut header)
            .map_err(|error| Error::io(&self.file, error))?;
        if got == 0 {
            return Err(self.cut("a frame or the end marker", "the end of the file"));
        }
        self.consumed += got as u64;
        if got < header.len() {
            return Err(self.cut(
                format!("the {} bytes of a frame's header", header.len()),
                format!("the end of the file after {got}"),
            ));
        }
        let half = |at: usize| {
            u32::from_le_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]])
        };
        let (length, events) = (half(0) as usize, half(4));
        let stored = u64::from(half(8)) | u64::from(half(12)) << 32;
        if length > super::MAX_PAYLOAD || length % 8 != 0 {
            let expected = format!(
                "a frame's length, a multiple of 8 up to {}",
                super::MAX_PAYLOAD
            );
            return Err(self.wrong(at, expected, length.to_string()));
        }
        let got = self
            .read_payload(length)
            .map_err(|error| Error::io(&self.file, error))?;
        self.offset = self.consumed;
        self.consumed += got as u64;
        if got < length {
            let found = format!("the end of the file after {got}");
            return Err(self.cut(format!("the {length} bytes of a frame"), found));
        }
        let sum = super::frame_checksum(self.frames, events, self.payload.as_flattened());
        if sum != stored {
            let expected = format!("the checksum {sum:016x} of frame {}", self.frames);
            return Err(self.wrong(at, expected, format!("{stored:016x}")));
        }
        self.frames += 1;
        self.next = 0;
        self.first = 0;
        if events != super::END {
            self.owed = events;
            return Ok(true);
        }
        self.end()?;
        Ok(false)
    }

    /// Reads a payload of this length, as far as there is one; how much there was. Memory is
    /// reserved step by step, because the length may be wrong.
    fn read_payload(&mut self, length: usize) -> io::Result<usize> {
        let mut got = 0;
        while got < length {
            let end = length.min(got + super::PAYLOAD);
            self.payload.resize(self.payload.len().max(end / 8), [0; 8]);
            let step = &mut self.payload.as_flattened_mut()[got..end];
            let count = read_full(&mut self.input, step)?;
            got += count;
            if got < end {
                break;
            }
        }
        self.payload.truncate(length / 8);
        Ok(got)
    }

    /// The frame that was read is the end marker: it counts the events, and nothing follows.
    fn end(&mut self) -> Result<(), Error> {
        let total = match self.payload[..] {
            [total] => u64::from_le_bytes(total),
            _ => u64::MAX,
        };
        if total != self.events {
            let found = format!("an end marker that counts {total}");
            return Err(self.wrong(self.offset, format!("{} events", self.events), found));
        }
        let rest =
            read_full(&mut self.input, &mut [0]).map_err(|error| Error::io(&self.file, error))?;
        if rest > 0 {
            let expected = "the end of the file after the end marker";
            return Err(self.wrong(self.consumed, expected, "more"));
        }
        self.payload.clear();
        self.ended = true;
        Ok(())
    }

    /// Decodes records until the frame ends or a number is to be redefined.
    fn decode(&mut self, batch: &mut Vec<Event>) -> Result<(), Wrong> {
        batch.reserve(self.payload.len().min(self.owed as usize));
        let payload = std::mem::take(&mut self.payload);
        let outcome = self.decode_words(&payload, batch);
        self.payload = payload;
        outcome
    }

    fn decode_words(&mut self, words: &[[u8; 8]], batch: &mut Vec<Event>) -> Result<(), Wrong> {
        let mask = |bits: u32| (1u64 << bits) - 1;
        let numbers = |word: u64| {
            let strand = (word >> super::STRAND_SHIFT & mask(super::STRAND_BITS)) as u32;
            let target = (word >> super::TARGET_SHIFT & mask(super::TARGET_BITS)) as u32;
            (strand, target, (word >> super::SITE_SHIFT) as u32)
        };
        while self.next < words.len() {
            let limits = self.limits;
            let sites = limits[usize::from(LIMIT_SITES)];
            let strands = limits[usize::from(LIMIT_STRANDS)];
            let mut stopped = None;
            let run = words[self.next..].iter().map_while(|bytes| {
                let word = u64::from_le_bytes(*bytes);
                let (op, limit) = DECODE[(word & 63) as usize];
                let (strand, target, site) = numbers(word);
                if (target >= limits[usize::from(limit & 7)])
                    | (strand >= strands)
                    | (site >= sites)
                {
                    stopped = Some(word);
                    return None;
                }
                Some(Event::new(StrandId(strand), op, target, SiteId(site)))
            });
            let before = batch.len();
            batch.extend(run);
            self.next += batch.len() - before;
            let Some(word) = stopped else { break };
            match word & 63 {
                super::WIDE => {
                    batch.push(self.wide(words)?);
                    self.next += 2;
                }
                super::DEFINITION => {
                    if !self.define(words, batch.len())? {
                        break;
                    }
                }
                code => {
                    let (strand, target, site) = numbers(word);
                    return Err(self.invalid(code, strand, target, site));
                }
            }
        }
        Ok(())
    }

    /// Why an event of these numbers cannot be.
    #[cold]
    fn invalid(&self, code: u64, strand: u32, target: u32, site: u32) -> Wrong {
        let (op, limit) = DECODE[(code & 63) as usize];
        let checks = [
            ("strand", strand, LIMIT_STRANDS),
            ("site", site, LIMIT_SITES),
            (
                match limit {
                    LIMIT_OBJECTS => "object",
                    LIMIT_STRANDS => "strand",
                    LIMIT_BLOCKS => "block",
                    _ => "target",
                },
                target,
                limit,
            ),
        ];
        if limit == LIMIT_INVALID {
            return Wrong::new(self.next, "the code of an operation", format!("{code}"));
        }
        let bad = checks
            .iter()
            .find(|(_, number, limit)| *number >= self.limits[usize::from(*limit)]);
        let (what, number, limit) = bad.unwrap_or(&checks[0]);
        let known = self.limits[usize::from(*limit)];
        Wrong::new(
            self.next,
            format!("a {what} below {known}"),
            format!("{what} {number} in {op:?}"),
        )
    }

    fn wide(&self, words: &[[u8; 8]]) -> Result<Event, Wrong> {
        let first = u64::from_le_bytes(words[self.next]);
        let Some(second) = words.get(self.next + 1) else {
            let expected = "the second word of an event";
            return Err(Wrong::new(self.next, expected, "the end of the frame"));
        };
        let second = u64::from_le_bytes(*second);
        let (code, strand) = (first >> 6 & 63, (first >> 32) as u32);
        let (target, site) = (second as u32, (second >> 32) as u32);
        let Some(op) = TABLE.get(code as usize).map(|row| row.op) else {
            let found = code.to_string();
            return Err(Wrong::new(self.next, "the code of an operation", found));
        };
        let limit = |limit: u8| self.limits[usize::from(limit)];
        let fits =
            op == Op::Value || target < limit(DECODE[code as usize].1) && site < limit(LIMIT_SITES);
        if strand >= limit(LIMIT_STRANDS) {
            let expected = format!("a strand below {}", limit(LIMIT_STRANDS));
            let found = format!("strand {strand} in {op:?}");
            return Err(Wrong::new(self.next, expected, found));
        }
        if fits {
            Ok(Event::new(StrandId(strand), op, target, SiteId(site)))
        } else {
            Err(self.invalid(code, strand, target, site))
        }
    }
}

impl<R: Read> Source for AeroReader<R> {
    fn fill(&mut self, batch: &mut Vec<Event>) -> Result<bool, Error> {
        batch.clear();
        while batch.is_empty() && !self.ended {
            if self.next >= self.payload.len() && !self.frame()? {
                break;
            }
            self.first = self.next;
            self.decode(batch).map_err(|wrong| {
                let offset = self.offset + wrong.word as u64 * 8;
                self.wrong(offset, wrong.expected, wrong.found)
            })?;
            let count = batch.len() as u32;
            let Some(owed) = self.owed.checked_sub(count) else {
                return Err(self.wrong(self.offset, "as many events as the frame says", "more"));
            };
            self.owed = owed;
            self.events += u64::from(count);
        }
        Ok(!batch.is_empty())
    }

    /// A recorded program may send guards; that its own recorder errs is not what the rules are
    /// for.
    fn guards_move(&self) -> bool {
        true
    }

    fn names_late(&self) -> bool {
        true
    }

    fn names(&self) -> &Tables {
        &self.tables
    }

    fn semantics(&self) -> Semantics {
        self.semantics
    }

    fn file(&self) -> &str {
        &self.file
    }

    fn place(&self, index: usize) -> Place {
        let (mut at, mut left) = (self.first, index);
        while let Some(word) = self.payload.get(at).map(|bytes| u64::from_le_bytes(*bytes)) {
            let (length, events) = match word & 63 {
                super::DEFINITION => (1 + (word >> 16 & 0xffff).div_ceil(8) as usize, 0),
                super::WIDE => (2, 1),
                _ => (1, 1),
            };
            if events > left {
                break;
            }
            left -= events;
            at += length;
        }
        Place::Offset(self.offset + at as u64 * 8)
    }

    fn consumed(&self) -> u64 {
        self.consumed
    }
}

/// Reads until the buffer is full or the input ends; says how much there was.
fn read_full(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut got = 0;
    while got < buffer.len() {
        match input.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(count) => got += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(got)
}

#[cfg(test)]
mod tests {
    use super::super::{AeroWriter, END, frame_checksum};
    use super::*;

    /// A file whose only frame says that it has this length and so many events, and this payload.
    fn file(length: u32, events: u32, payload: &[u8]) -> Vec<u8> {
        let mut file = AeroWriter::new(Vec::new(), Semantics::Rust)
            .and_then(AeroWriter::finish)
            .expect("memory");
        file.truncate(super::super::HEADER);
        file.extend(length.to_le_bytes());
        file.extend(events.to_le_bytes());
        file.extend(frame_checksum(0, events, payload).to_le_bytes());
        file.extend(payload);
        file
    }

    #[test]
    fn what_a_frame_announces_reserves_no_memory() {
        for file in [file(1 << 20, 1, &[]), file(8, END - 1, &[0; 8])] {
            let mut reader = AeroReader::new("a.aero", &file[..]).expect("a header");
            let mut batch = Vec::new();
            assert!(reader.fill(&mut batch).is_err());
            assert!(reader.payload.capacity() * 8 <= super::super::PAYLOAD);
            assert!(batch.capacity() <= 4, "{}", batch.capacity());
        }
    }
}
