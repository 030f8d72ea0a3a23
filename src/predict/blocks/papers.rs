//! The papers' own tests of two blocks: 1v-blocks (theorem 3) and 2v-blocks (theorem 4), under view
//! equivalence.
//!
//! A 1v-block is a pair of accesses of one variable in one transaction: an access and the last
//! write before it (or else the last read), and each initial read with the final write. A 2v-block
//! is a pair of initial reads and final writes of different variables. Two blocks of different
//! strands are atomic if every interleaving of their four accesses that the locks allow has an
//! equivalent serial order. All four accesses are looked at, not three of them: a read that sees
//! its own transaction's write is no reading of another's, which is what example (15) of RV 2003 is
//! about.

use super::serial::{Equivalence, Item, serializable};
use super::summary::{OneKey, Place, Summaries, disjoint};
use crate::check::Access;
use crate::predict::{AnalysisKind, Hold, Map, Order, Period, Prediction, Step, Tier, word};
use crate::trace::{ObjectId, Op, StrandId};

/// A 1v-block or a 2v-block.
#[derive(Clone, Debug)]
struct Block {
    strand: StrandId,
    accesses: Vec<Part>,
    /// Held from the first access to the second.
    through: Vec<Hold>,
    /// Taken and given back in between: `heldmid`.
    between: Vec<Hold>,
}

#[derive(Clone, Debug)]
struct Part {
    access: Op,
    variable: ObjectId,
    last: bool,
    held: Vec<Hold>,
    period: Period,
    place: Place,
}

/// All pairs of blocks that are not atomic. False if the bound on comparisons was hit.
pub(super) fn pairs(
    kept: &Summaries,
    order: &Order,
    bound: u64,
    found: &mut Vec<Prediction>,
) -> bool {
    let mut left = bound;
    for (object, shared) in kept.contended() {
        let mut blocks: Vec<Block> = shared
            .ones
            .iter()
            .map(|(key, places)| one(kept, object, key, places))
            .collect();
        blocks.sort_unstable_by_key(|block| block.accesses[0].place.position);
        if !compare(&blocks, order, &mut left, found) {
            return false;
        }
    }
    let mut groups: Map<(ObjectId, ObjectId), Vec<Block>> = Map::default();
    for summary in &kept.summaries {
        let accesses = &summary.shape.accesses;
        for (late, &(_, y)) in accesses.iter().enumerate() {
            for (early, &(_, x)) in accesses[..late].iter().enumerate() {
                if x == y || !kept.is_contended(x) || !kept.is_contended(y) {
                    continue;
                }
                let Some(next) = left.checked_sub(1) else {
                    return false;
                };
                left = next;
                let part = |at: usize| {
                    let (access, variable) = accesses[at];
                    let (position, site) = summary.first.accesses[at];
                    let owner = summary.block.map(|block| crate::check::Transaction {
                        strand: summary.strand,
                        block: Some(block),
                        begin: Some(summary.first.begin),
                        site: summary.first.site,
                    });
                    let place = Place {
                        position,
                        site,
                        owner,
                    };
                    let last = access != Op::Read;
                    Part {
                        access,
                        variable,
                        last,
                        held: summary.shape.held(at),
                        period: summary.periods[at],
                        place,
                    }
                };
                groups.entry((x.min(y), x.max(y))).or_default().push(Block {
                    strand: summary.strand,
                    accesses: vec![part(early), part(late)],
                    through: summary.shape.held_throughout(early, late),
                    between: summary.shape.held_between(early, late),
                });
            }
        }
    }
    let mut groups: Vec<_> = groups.into_iter().collect();
    groups.sort_unstable_by_key(|(variables, _)| *variables);
    groups
        .iter()
        .all(|(_, blocks)| compare(blocks, order, &mut left, found))
}

fn one(kept: &Summaries, object: ObjectId, key: &OneKey, (early, late): &(Place, Place)) -> Block {
    let part = |access, last, held, period, place: &Place| Part {
        access,
        variable: object,
        last,
        held: kept.locksets.holds(held).to_vec(),
        period,
        place: place.clone(),
    };
    let mut accesses = vec![part(
        key.early,
        key.finals.0,
        key.held.0,
        key.periods.0,
        early,
    )];
    accesses.extend(
        key.late
            .map(|late_access| part(late_access, key.finals.1, key.held.1, key.periods.1, late)),
    );
    let through = kept.locksets.holds(key.held.2).to_vec();
    Block {
        strand: key.strand,
        accesses,
        through,
        between: Vec::new(),
    }
}

fn compare(blocks: &[Block], order: &Order, left: &mut u64, found: &mut Vec<Prediction>) -> bool {
    for (at, a) in blocks.iter().enumerate() {
        for b in blocks[..at].iter().filter(|b| b.strand != a.strand) {
            let Some(next) = left.checked_sub(1) else {
                return false;
            };
            *left = next;
            if let Some(merge) = unserializable(b, a, order) {
                found.push(report(&merge));
            }
        }
    }
    true
}

/// The first interleaving of two blocks that locks and order allow and that no serial order
/// explains.
fn unserializable<'a>(
    a: &'a Block,
    b: &'a Block,
    order: &Order,
) -> Option<Vec<(StrandId, &'a Part)>> {
    let (m, n) = (a.accesses.len(), b.accesses.len());
    // Bit `i` says whose the i-th access is.
    for turns in 0u32..1 << (m + n) {
        if turns.count_ones() as usize != n {
            continue;
        }
        let (mut i, mut j) = (0, 0);
        let merge: Vec<(bool, &Part)> = (0..m + n)
            .map(|turn| {
                if turns >> turn & 1 == 1 {
                    j += 1;
                    (true, &b.accesses[j - 1])
                } else {
                    i += 1;
                    (false, &a.accesses[i - 1])
                }
            })
            .collect();
        if !allowed(&merge, a, b, order) {
            continue;
        }
        let items: Vec<Item> = merge
            .iter()
            .map(|(second, part)| Item {
                owner: usize::from(*second),
                access: part.access,
                variable: part.variable,
                last: part.last,
            })
            .collect();
        if !serializable(&items, &[], Equivalence::View) {
            return Some(
                merge
                    .into_iter()
                    .map(|(second, part)| (if second { b.strand } else { a.strand }, part))
                    .collect(),
            );
        }
    }
    None
}

/// The papers' can-occur-between, for all four accesses.
fn allowed(merge: &[(bool, &Part)], a: &Block, b: &Block, order: &Order) -> bool {
    let backwards = merge.iter().enumerate().any(|(at, (_, late))| {
        merge[..at]
            .iter()
            .any(|(_, early)| order.before(late.period, early.period))
    });
    !backwards
        && [(a, false), (b, true)].into_iter().all(|(outer, second)| {
            let own: Vec<usize> = (0..merge.len())
                .filter(|&at| merge[at].0 == second)
                .collect();
            let &[first, last] = own.as_slice() else {
                return true;
            };
            let inner = &merge[first + 1..last];
            let whole = inner.len() == 2;
            let other = if second { a } else { b };
            inner
                .iter()
                .all(|(_, part)| disjoint(&outer.through, &part.held))
                && (!whole || disjoint(&outer.through, &other.between))
        })
}

fn report(merge: &[(StrandId, &Part)]) -> Prediction {
    let words: Vec<&str> = merge.iter().map(|(_, part)| word(part.access)).collect();
    let step = |(strand, part): &(StrandId, &Part)| Step {
        access: Access {
            position: part.place.position,
            strand: *strand,
            op: part.access,
            object: Some(part.variable),
            site: part.place.site,
        },
        transaction: part.place.owner.clone(),
        held: part.held.clone(),
    };
    Prediction {
        analysis: AnalysisKind::Blocks,
        tier: Tier::Potential,
        pattern: words.join(", "),
        accesses: merge.iter().map(step).collect(),
        schedule: Vec::new(),
        notes: Vec::new(),
        count: 1,
    }
}
