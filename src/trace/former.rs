//! Who had a number before its present owner.

use std::collections::VecDeque;

use crate::dense::Dense;

use super::{
    BlockId, BlockInfo, Names, ObjectId, ObjectInfo, ObjectKind, SiteId, SiteInfo, StrandId,
    StrandInfo,
};

/// Whose a number was at an earlier event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner<T> {
    /// The present owner's.
    Present,
    /// Another's, which had the number up to the event at `until`. Together with the number this
    /// says who it was.
    Former {
        /// The position of the last event that can be the former owner's.
        until: u64,
        /// What was known of it when it gave the number up.
        info: T,
    },
    /// Another's, of which nothing is known any more.
    Forgotten,
}

impl<T> Owner<T> {
    pub(crate) fn map<U>(self, f: impl FnOnce(T) -> U) -> Owner<U> {
        match self {
            Owner::Present => Owner::Present,
            Owner::Former { until, info } => Owner::Former {
                until,
                info: f(info),
            },
            Owner::Forgotten => Owner::Forgotten,
        }
    }
}

/// The names as they were at an earlier event.
pub(crate) struct Then<'a> {
    pub(crate) names: &'a dyn Names,
    pub(crate) position: u64,
}

impl Names for Then<'_> {
    fn strand(&self, id: StrandId) -> StrandInfo {
        match self.names.owner_of_strand(id, self.position) {
            Owner::Former { info, .. } => info,
            Owner::Present => self.names.strand(id),
            Owner::Forgotten => StrandInfo::default(),
        }
    }

    fn object(&self, id: ObjectId) -> ObjectInfo {
        match self.names.owner_of_object(id, self.position) {
            Owner::Former { info, .. } => info,
            Owner::Present | Owner::Forgotten => self.names.object(id),
        }
    }

    fn kind(&self, id: ObjectId) -> ObjectKind {
        self.object(id).kind
    }

    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        self.names.site(id)
    }

    fn block(&self, id: BlockId) -> BlockInfo {
        self.names.block(id)
    }
}

/// The former owners of recycled numbers.
///
/// A report that is made now may name an access of some while ago, and what has the number now had
/// nothing to do with it. The newest [`KEPT`](Self::KEPT) owners are kept; of an older one it is
/// still known that it was another.
#[derive(Debug)]
pub(crate) struct Former<T> {
    /// By number: the position of the last event before the present owner got it.
    since: Dense<u32, u64>,
    /// In the order in which they gave their numbers up.
    owners: VecDeque<Entry<T>>,
}

#[derive(Debug)]
struct Entry<T> {
    number: u32,
    since: u64,
    until: u64,
    info: T,
}

impl<T> Default for Former<T> {
    fn default() -> Self {
        Self {
            since: Dense::new(),
            owners: VecDeque::new(),
        }
    }
}

impl<T> Former<T> {
    const KEPT: usize = 1 << 16;

    /// The number has a new owner from the event after `position` on. `info` describes the old one;
    /// nothing where nobody will ask for it.
    pub(crate) fn hand_over(&mut self, number: u32, position: u64, info: Option<T>) {
        let since = std::mem::replace(self.since.entry(number), position);
        if let Some(info) = info {
            if self.owners.len() == Self::KEPT {
                self.owners.pop_front();
            }
            self.owners.push_back(Entry {
                number,
                since,
                until: position,
                info,
            });
        }
    }

    /// Nobody will ask for an event that has happened so far.
    #[cfg(feature = "check")]
    pub(crate) fn forget_all(&mut self) {
        self.owners.clear();
    }

    /// Whose the number was at the event at `position`.
    pub(crate) fn owner(&self, number: u32, position: u64) -> Owner<&T> {
        let since = self.since.get(number).copied().unwrap_or(0);
        if position > since || since == 0 {
            return Owner::Present;
        }
        let mut owners = self.owners.iter().rev();
        let found =
            owners.find(|it| it.number == number && (it.since + 1..=it.until).contains(&position));
        found.map_or(Owner::Forgotten, |it| Owner::Former {
            until: it.until,
            info: &it.info,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_its_owners_whoever_has_the_number_now() {
        let mut former = Former::default();
        former.hand_over(3, 10, Some("a"));
        former.hand_over(3, 20, Some("b"));
        former.hand_over(4, 20, None);
        let of = |info, until| Owner::Former { until, info };
        for (number, position, owner) in [
            (3, 1, of(&"a", 10)),
            (3, 10, of(&"a", 10)),
            (3, 11, of(&"b", 20)),
            (3, 20, of(&"b", 20)),
            (3, 21, Owner::Present),
            (4, 20, Owner::Forgotten),
            (4, 21, Owner::Present),
            (5, 1, Owner::Present),
        ] {
            assert_eq!(
                former.owner(number, position),
                owner,
                "{number} at {position}"
            );
        }
    }

    #[test]
    fn an_owner_of_long_ago_is_forgotten_and_not_mistaken_for_another() {
        let mut former = Former::default();
        for position in 1..=Former::<()>::KEPT as u64 + 1 {
            former.hand_over(0, position, Some(position));
        }
        assert_eq!(former.owner(0, 1), Owner::Forgotten);
        let second = Owner::Former { until: 2, info: &2 };
        assert_eq!(former.owner(0, 2), second);
    }
}
