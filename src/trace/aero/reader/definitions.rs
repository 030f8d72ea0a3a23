//! The definitions of a frame: what its numbers stand for.

use std::io::Read;

use super::{AeroReader, LIMIT_BLOCKS, LIMIT_OBJECTS, LIMIT_SITES, LIMIT_STRANDS, Wrong};
use crate::trace::aero::{
    DEFINE_BLOCK, DEFINE_LABEL, DEFINE_OBJECT, DEFINE_SOURCE, DEFINE_STRAND, NO_NAME, SAME_OWNER,
};
use crate::trace::{
    BlockId, BlockInfo, Description, ObjectId, ObjectKind, SiteId, SiteInfo, StrandId,
};

/// A definition as it stands in the frame.
struct Definition<'a> {
    /// Where, in words of the payload.
    at: usize,
    number: u32,
    kind: usize,
    body: &'a [u8],
    /// The number has not been defined before.
    is_new: bool,
    /// Where the number has an owner, it is another one.
    hands_over: bool,
    /// How many events of the batch come before it.
    pending: usize,
}

impl<'a> Definition<'a> {
    fn too_short(&self) -> Wrong {
        let found = format!("{} bytes", self.body.len());
        Wrong::new(self.at, "a longer definition", found)
    }

    fn field(&self, at: usize) -> Result<u32, Wrong> {
        let bytes = self.body.get(at..at + 4).ok_or_else(|| self.too_short())?;
        Ok(u32::from_le_bytes(bytes.try_into().unwrap_or_default()))
    }

    /// The first `length` bytes of `rest` as a name, which are taken from it.
    fn name(&self, rest: &mut &'a [u8], length: u16) -> Result<Option<&'a [u8]>, Wrong> {
        if length == NO_NAME {
            return Ok(None);
        }
        let (name, after) = rest
            .split_at_checked(usize::from(length))
            .ok_or_else(|| self.too_short())?;
        *rest = after;
        name_in(self.at, name).map(Some)
    }

    /// Whether the batch must end before it: its events mean the number's last owner.
    fn is_for_the_next_batch(&self, differs: bool) -> bool {
        differs && !self.is_new && self.pending > 0
    }
}

impl<R: Read> AeroReader<R> {
    /// Takes the definition at `next`, after `pending` events of the batch; false where the batch has
    /// to end before it.
    pub(super) fn define(&mut self, words: &[[u8; 8]], pending: usize) -> Result<bool, Wrong> {
        let at = self.next;
        let head = u64::from_le_bytes(words[at]);
        let (what, length) = (head >> 6 & 7, (head >> 16 & 0xffff) as usize);
        let number = (head >> 32) as u32;
        let end = at + 1 + length.div_ceil(8);
        let Some(body) = words.get(at + 1..end) else {
            let expected = format!("a definition of {length} bytes");
            return Err(Wrong::new(at, expected, "the end of the frame"));
        };
        let limit = match what {
            DEFINE_STRAND => LIMIT_STRANDS,
            DEFINE_OBJECT => LIMIT_OBJECTS,
            DEFINE_SOURCE | DEFINE_LABEL => LIMIT_SITES,
            DEFINE_BLOCK => LIMIT_BLOCKS,
            _ => {
                let expected = "a definition of a known sort (0 to 4)";
                return Err(Wrong::new(at, expected, what.to_string()));
            }
        };
        let known = self.limits[usize::from(limit)];
        let again = what == DEFINE_STRAND || what == DEFINE_OBJECT;
        if number > known || number == u32::MAX || (number < known && !again) {
            let expected = if again {
                format!("a number up to {known}")
            } else {
                format!("number {known}")
            };
            return Err(Wrong::new(at, expected, number.to_string()));
        }
        let definition = Definition {
            at,
            number,
            kind: (head >> 9 & 7) as usize,
            body: &body.as_flattened()[..length],
            is_new: number == known,
            hands_over: number != known && head & SAME_OWNER == 0,
            pending,
        };
        let taken = match what {
            DEFINE_STRAND => self.define_strand(&definition)?,
            DEFINE_OBJECT => self.define_object(&definition)?,
            DEFINE_BLOCK => self.define_block(&definition)?,
            _ => self.define_site(&definition, what == DEFINE_SOURCE)?,
        };
        if taken {
            self.limits[usize::from(limit)] = known.max(number + 1);
            self.next = end;
        }
        Ok(taken)
    }

    fn define_strand(&mut self, it: &Definition<'_>) -> Result<bool, Wrong> {
        let (id, name) = (StrandId(it.number), name_in(it.at, it.body)?);
        let renames = it.is_new || !self.tables.is_strand(id, name);
        if it.is_for_the_next_batch(renames) {
            return Ok(false);
        }
        if it.hands_over {
            let position = self.events + it.pending as u64;
            self.tables.hand_over_strand(id, position);
        }
        if renames {
            self.tables.name_strand(id, name);
        }
        Ok(true)
    }

    fn define_object(&mut self, it: &Definition<'_>) -> Result<bool, Wrong> {
        let Some(&kind) = ObjectKind::ALL.get(it.kind) else {
            let found = it.kind.to_string();
            return Err(Wrong::new(it.at, "an object's kind (0 to 5)", found));
        };
        let (created, lengths) = (self.site(it.at, it.field(0)?)?, it.field(4)?);
        let mut rest = &it.body[8..];
        let info = Description {
            kind,
            name: it.name(&mut rest, lengths as u16)?,
            type_name: it.name(&mut rest, (lengths >> 16) as u16)?,
            created,
        };
        let id = ObjectId(it.number);
        let differs = it.is_new || !self.tables.is_object(id, &info);
        if it.is_for_the_next_batch(differs) {
            return Ok(false);
        }
        if it.hands_over {
            let position = self.events + it.pending as u64;
            self.tables.hand_over_object(id, position);
        }
        if differs {
            self.tables.describe_object(id, &info);
        }
        Ok(true)
    }

    fn define_block(&mut self, it: &Definition<'_>) -> Result<bool, Wrong> {
        let site = self.site(it.at, it.field(0)?)?;
        it.field(4)?;
        let name = text(it.at, &it.body[8..])?.to_owned();
        self.tables
            .define_block(BlockId(it.number), &BlockInfo { name, site });
        Ok(true)
    }

    fn define_site(&mut self, it: &Definition<'_>, is_source: bool) -> Result<bool, Wrong> {
        let info = if is_source {
            let (line, column) = (it.field(0)?, it.field(4)?);
            let file = text(it.at, &it.body[8..])?.to_owned();
            SiteInfo::Source { file, line, column }
        } else {
            SiteInfo::Label(text(it.at, it.body)?.to_owned())
        };
        self.tables.define_site(SiteId(it.number), &info);
        Ok(true)
    }

    fn site(&self, at: usize, site: u32) -> Result<SiteId, Wrong> {
        let known = self.limits[usize::from(LIMIT_SITES)];
        if site < known {
            return Ok(SiteId(site));
        }
        let found = format!("site {site} in a definition");
        Err(Wrong::new(at, format!("a site below {known}"), found))
    }
}

/// A name in the definition at this word.
fn text(word: usize, bytes: &[u8]) -> Result<&str, Wrong> {
    std::str::from_utf8(bytes).map_err(|_| {
        Wrong::new(
            word,
            "a name in UTF-8",
            format!("`{}`", bytes.escape_ascii()),
        )
    })
}

/// The same as bytes. Most names are ASCII, which is seen at once.
fn name_in(word: usize, bytes: &[u8]) -> Result<&[u8], Wrong> {
    if !bytes.is_ascii() {
        text(word, bytes)?;
    }
    Ok(bytes)
}
