//! A violation written by hand: objects, transactions and accesses by name, places by what stands
//! in the fixture.

use std::cell::RefCell;
use std::path::PathBuf;

use aerodrome::check::{Access, Edge, Transaction, Violation};
use aerodrome::trace::*;

/// The names and the accesses so far.
#[derive(Default)]
pub(crate) struct Tale {
    strands: RefCell<Vec<String>>,
    objects: RefCell<Vec<ObjectInfo>>,
    sites: RefCell<Vec<SiteInfo>>,
    blocks: RefCell<Vec<BlockInfo>>,
    clock: RefCell<u64>,
}

/// A transaction of the tale.
#[derive(Clone, Copy)]
pub(crate) struct Who {
    pub(crate) strand: StrandId,
    pub(crate) block: Option<BlockId>,
    pub(crate) begin: u64,
    pub(crate) site: SiteId,
}

impl Tale {
    /// The place in a fixture at which `needle` starts; a `^` in it moves the place.
    pub(crate) fn at(&self, fixture: &str, needle: &str) -> SiteId {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("tests/report/fixtures")
            .join(fixture);
        let text = std::fs::read_to_string(path).unwrap();
        let (before, after) = needle.split_once('^').unwrap_or(("", needle));
        let whole = format!("{before}{after}");
        let found = text
            .find(&whole)
            .unwrap_or_else(|| panic!("`{whole}` is not in {fixture}"))
            + before.len();
        let line = text[..found].matches('\n').count() as u32 + 1;
        let column = text[..found]
            .chars()
            .rev()
            .take_while(|c| *c != '\n')
            .count() as u32
            + 1;
        self.site(SiteInfo::Source {
            file: format!("tests/report/fixtures/{fixture}"),
            line,
            column,
        })
    }

    pub(crate) fn site(&self, site: SiteInfo) -> SiteId {
        self.sites.borrow_mut().push(site);
        SiteId(self.sites.borrow().len() as u32)
    }

    pub(crate) fn object(
        &self,
        kind: ObjectKind,
        name: Option<&str>,
        type_name: Option<&str>,
        created: SiteId,
    ) -> ObjectId {
        let (name, type_name) = (name.map(str::to_string), type_name.map(str::to_string));
        self.objects.borrow_mut().push(ObjectInfo {
            kind,
            name,
            type_name,
            created,
        });
        ObjectId(self.objects.borrow().len() as u32 - 1)
    }

    fn tick(&self) -> u64 {
        *self.clock.borrow_mut() += 1;
        *self.clock.borrow()
    }

    pub(crate) fn strand(&self, name: &str) -> StrandId {
        let mut strands = self.strands.borrow_mut();
        let at = strands
            .iter()
            .position(|known| known == name)
            .unwrap_or_else(|| {
                strands.push(name.to_string());
                strands.len() - 1
            });
        StrandId(at as u32)
    }

    pub(crate) fn begin(&self, strand: &str, block: &str, site: SiteId) -> Who {
        self.blocks.borrow_mut().push(BlockInfo {
            name: block.to_string(),
            site,
        });
        let block = Some(BlockId(self.blocks.borrow().len() as u32 - 1));
        Who {
            strand: self.strand(strand),
            block,
            begin: self.tick(),
            site,
        }
    }

    pub(crate) fn unary(&self, strand: &str) -> Who {
        Who {
            strand: self.strand(strand),
            block: None,
            begin: self.tick(),
            site: SiteId::NONE,
        }
    }

    pub(crate) fn access(
        &self,
        who: Who,
        op: Op,
        object: impl Into<Option<ObjectId>>,
        site: SiteId,
    ) -> Access {
        Access {
            position: self.tick(),
            strand: who.strand,
            op,
            object: object.into(),
            site,
        }
    }

    /// The cycle through the given transactions, each with its edge to the next; the first is to
    /// blame.
    pub(crate) fn cycle(&self, steps: &[(Who, Access, Access)]) -> Violation {
        Violation {
            event: *self.clock.borrow(),
            blame: 0,
            transactions: steps
                .iter()
                .map(|(who, _, _)| Transaction {
                    strand: who.strand,
                    block: who.block,
                    begin: Some(who.begin),
                    site: who.site,
                })
                .collect(),
            edges: steps
                .iter()
                .map(|(_, from, to)| Edge {
                    from: *from,
                    to: *to,
                })
                .collect(),
        }
    }
}

impl Names for Tale {
    fn strand(&self, id: StrandId) -> StrandInfo {
        StrandInfo {
            name: self.strands.borrow()[id.0 as usize].clone(),
        }
    }

    fn object(&self, id: ObjectId) -> ObjectInfo {
        self.objects.borrow()[id.0 as usize].clone()
    }

    fn kind(&self, id: ObjectId) -> ObjectKind {
        self.objects.borrow()[id.0 as usize].kind
    }

    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        Some(
            self.sites
                .borrow()
                .get((id.0 as usize).checked_sub(1)?)?
                .clone(),
        )
    }

    fn block(&self, id: BlockId) -> BlockInfo {
        self.blocks.borrow()[id.0 as usize].clone()
    }
}
