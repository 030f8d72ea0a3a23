//! The binary format, `.aero`.
//!
//! Everything is little-endian and aligned to words of 8 bytes. A file is a header, frames, and an
//! end marker.
//!
//! | header | bytes |
//! |---|---|
//! | magic | `AERO\r\n\x1a\n` |
//! | version | `u16`: 2; files of version 1 had another checksum and are refused |
//! | flags | `u16`: 1 where the trace is to be read under the `paper` semantics |
//! | check | `u32`: the CRC-32 (IEEE) of the 12 bytes before |
//!
//! A frame is a length of the payload in bytes (`u32`, a multiple of 8, at most 1 MiB), its number
//! of events (`u32`), a checksum (`u64`: the CRC-32 of the frame's number as `u64`, its number of
//! events, the payload's length and the payload), then the payload. A lost, doubled or exchanged
//! frame is thereby found as well as a changed bit. The end marker is a frame that says `u32::MAX`
//! events; its payload is the number of all events, and nothing comes after it. A process that dies
//! leaves a file without one, which is good up to its last whole frame and then
//! [`Truncated`](crate::trace::Fault::Truncated).
//!
//! The payload is a sequence of records, told apart by the low six bits of their first word:
//!
//! | low bits | record |
//! |---|---|
//! | 0 to 61 | an event in one word: strand (12 bits), target (26 bits), site (20 bits), from low to high |
//! | 62 | an event in two words: its operation (6 bits) and its strand (the high 32 bits), then target and site (32 bits each) |
//! | 63 | a definition: what is defined (bits 6 to 8), an object's kind (bits 9 to 11), whether the number's owner is the same as before (bit 12), the body's length in bytes (bits 16 to 31), the number (the high 32 bits), then the body, padded with zeros |
//!
//! Strands, objects, sites and blocks are numbered densely: a definition is of a number that is
//! known, or of the first that is not, and an event uses known numbers only. So no file, however
//! damaged, makes a reader reserve more than a few times what it has read, and 64 KiB. Site 0 is no
//! site and is known from the start. A strand's or object's definition may come again: the number
//! has got a new owner or, where bit 12 says so, its owner a name. Bodies:
//!
//! | defined | body |
//! |---|---|
//! | 0: strand | name |
//! | 1: object | site of its making (`u32`), length of its name and of its type's name (`u16` each, `u16::MAX` where there is none), both names |
//! | 2: site, a place in a file | line, column (`u32` each), file |
//! | 3: site, a label | label |
//! | 4: block | its site (`u32`), 0 (`u32`), name |

mod reader;
mod writer;

pub use reader::AeroReader;
pub use writer::AeroWriter;

/// How every file begins.
pub(crate) const MAGIC: [u8; 8] = *b"AERO\r\n\x1a\n";
const VERSION: u16 = 2;
const FLAG_PAPER: u16 = 1;
const HEADER: usize = 16;
const FRAME_HEADER: usize = 16;
/// The longest payload that a reader takes.
const MAX_PAYLOAD: usize = 1 << 20;
/// A writer closes a frame at this length.
const PAYLOAD: usize = 1 << 16;
/// The number of events of the end marker.
const END: u32 = u32::MAX;

const STRAND_BITS: u32 = 12;
const TARGET_BITS: u32 = 26;
const SITE_BITS: u32 = 20;
const STRAND_SHIFT: u32 = 6;
const TARGET_SHIFT: u32 = STRAND_SHIFT + STRAND_BITS;
const SITE_SHIFT: u32 = TARGET_SHIFT + TARGET_BITS;
const _: () = assert!(SITE_SHIFT + SITE_BITS == 64);

const WIDE: u64 = 62;
const DEFINITION: u64 = 63;

const DEFINE_STRAND: u64 = 0;
const DEFINE_OBJECT: u64 = 1;
const DEFINE_SOURCE: u64 = 2;
const DEFINE_LABEL: u64 = 3;
const DEFINE_BLOCK: u64 = 4;

/// Set in a definition of a number that its owner keeps.
const SAME_OWNER: u64 = 1 << 12;

/// The length of a name that is not there.
const NO_NAME: u16 = u16::MAX;

/// The checksum of the header's fields.
fn header_checksum(header: &[u8]) -> u32 {
    crc32fast::hash(header)
}

/// The checksum of a frame.
fn frame_checksum(number: u64, events: u32, payload: &[u8]) -> u64 {
    let mut sum = crc32fast::Hasher::new();
    sum.update(&number.to_le_bytes());
    sum.update(&events.to_le_bytes());
    sum.update(&(payload.len() as u32).to_le_bytes());
    sum.update(payload);
    u64::from(sum.finalize())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::{Event, Names, ObjectId, Source, StdReader, WellFormed};
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        let text = "main|begin(transfer)|src/a.rs:3:9\nmain|acq(L)|4\nmain|val(-5)|0\nmain|w(x)|5\nmain|fork(child)|6\n\
                    child|upd.add(a counter with a long name)|7\nmain|rel(L)|8\nmain|end|9\nmain|join(child)|10\n";
        let mut source = StdReader::new("sample.std", text.as_bytes());
        let mut writer = AeroWriter::new(Vec::new(), source.semantics()).unwrap();
        let mut batch = Vec::new();
        while source.fill(&mut batch).unwrap() {
            for event in &batch {
                writer.event_with(event, source.names()).unwrap();
            }
            writer.flush().unwrap();
        }
        writer.finish().unwrap()
    }

    /// Puts the right checksum on every frame.
    fn seal(file: &mut [u8]) {
        let (mut at, mut number) = (HEADER, 0);
        while let Some(header) = file.get(at..at + FRAME_HEADER) {
            let length = u32::from_le_bytes(header[..4].try_into().unwrap()) as usize;
            let events = u32::from_le_bytes(header[4..8].try_into().unwrap());
            let body = at + FRAME_HEADER..at + FRAME_HEADER + length;
            let Some(payload) = file.get(body.clone()) else {
                return;
            };
            let sum = frame_checksum(number, events, payload);
            file[at + 8..at + 16].copy_from_slice(&sum.to_le_bytes());
            (at, number) = (body.end, number + 1);
        }
    }

    fn cases() -> ProptestConfig {
        let cases = std::env::var("AERODROME_FUZZ_CASES")
            .ok()
            .and_then(|cases| cases.parse().ok());
        ProptestConfig {
            cases: cases.unwrap_or(4000),
            failure_persistence: None,
            ..ProptestConfig::default()
        }
    }

    proptest! {
        #![proptest_config(cases())]

        // Checksums find what happens to a file; they do not stop whoever makes one on purpose.
        #[test]
        fn a_false_file_with_true_checksums_is_a_trace_or_an_error(
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        ) {
            let mut file = sample();
            for (at, byte) in damage {
                let at = HEADER + at.index(file.len() - HEADER);
                file[at] = byte;
            }
            seal(&mut file);
            let mut reader = AeroReader::new("a.aero", &file[..]).unwrap();
            let (mut batch, mut rules): (Vec<Event>, _) = (Vec::new(), WellFormed::new());
            while let Ok(true) = reader.fill(&mut batch) {
                for (index, event) in batch.iter().enumerate() {
                    let names = reader.names();
                    let object = event.op.is_on_object();
                    prop_assert!(!object || (event.target as usize) < file.len());
                    prop_assert!((event.strand.0 as usize) < file.len());
                    names.object(ObjectId(event.target));
                    names.strand(event.strand);
                    names.site(event.site);
                    if let Err(malformed) = rules.admit(event) {
                        reader.malformed(index, &malformed);
                        return Ok(());
                    }
                }
            }
        }
    }

    #[test]
    fn every_single_bit_counts_in_the_checksum() {
        let mut bytes: Vec<u8> = (0..200).collect();
        let sum = frame_checksum(7, 1, &bytes);
        assert_ne!(sum, frame_checksum(8, 1, &bytes));
        assert_ne!(sum, frame_checksum(7, 2, &bytes));
        for bit in 0..bytes.len() * 8 {
            bytes[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(sum, frame_checksum(7, 1, &bytes), "bit {bit}");
            bytes[bit / 8] ^= 1 << (bit % 8);
        }
    }
}
