//! Theorems 3 and 4 of TSE 2006: 1v-blocks and 2v-blocks, under view equivalence.
//!
//! A 1v-block is a pair of accesses of one variable in one transaction: an access and the last
//! write before it, or else the last read (rule a), and each initial read with the final write
//! (rule b). A 2v-block is a pair of initial reads and final writes of different variables. Two
//! blocks of different strands are atomic if every interleaving of their four accesses that the
//! locks allow has an equivalent serial order. All four accesses are looked at, not three of them:
//! a read that sees its own transaction's write is no reading of another's, which is what example
//! (15) of RV 2003 is about.

use super::serial::{Equivalence, Item, serializable};
use super::transactions::{Held, Moment, Transaction, Whole, disjoint, throughout};
use super::{reads, writes};
use aerodrome::predict::{Order, Period, word};
use aerodrome::trace::{Event, ObjectId, Op, StrandId};
use std::collections::BTreeSet;

/// Two blocks that are not atomic, in an interleaving that shows it.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) pattern: String,
    pub(crate) positions: Vec<u64>,
    /// Each once.
    pub(crate) objects: Vec<ObjectId>,
}

/// What the comparison of all blocks came to.
#[derive(Debug)]
pub(crate) struct Findings {
    pub(crate) found: Vec<Finding>,
    /// Some locks are taken in either order: the theorems assume that no deadlock is possible.
    pub(crate) is_doubtful: bool,
}

/// An access of a block, and whether it is the final write.
#[derive(Clone, Debug)]
struct Part {
    moment: Moment,
    is_final: bool,
}

#[derive(Clone, Debug)]
struct Block {
    strand: StrandId,
    /// Two, but for the dummy: an access that is alone.
    parts: Vec<Part>,
    /// Held from the first access to the second.
    through: Vec<Held>,
    /// Taken and given back in between: `heldmid`.
    between: Vec<Held>,
}

/// What tells blocks apart: of each access the operation, whether it is the final write, the locks
/// and the period, and the locks held throughout.
type Key = (
    Vec<(Op, bool, Vec<(ObjectId, bool)>, Period)>,
    Vec<(ObjectId, bool)>,
);

fn locks(held: &[Held]) -> Vec<(ObjectId, bool)> {
    let mut locks: Vec<_> = held.iter().map(|it| (it.lock, it.is_shared())).collect();
    locks.sort_unstable();
    locks
}

impl Block {
    fn of(transaction: &Transaction, parts: Vec<Part>) -> Block {
        let (through, between) = match &parts[..] {
            [early, late] => (
                throughout(&early.moment, &late.moment),
                held_between(transaction, &early.moment, &late.moment),
            ),
            _ => Default::default(),
        };
        Block {
            strand: transaction.strand,
            parts,
            through,
            between,
        }
    }

    fn key(&self) -> Key {
        let part = |part: &Part| {
            let Moment {
                event,
                held,
                period,
                ..
            } = &part.moment;
            (event.op, part.is_final, locks(held), *period)
        };
        (self.parts.iter().map(part).collect(), locks(&self.through))
    }
}

/// The locks acquired after the one access and released before the other.
fn held_between(transaction: &Transaction, early: &Moment, late: &Moment) -> Vec<Held> {
    let between =
        |moment: &&Moment| early.position < moment.position && moment.position < late.position;
    let moments = transaction.moments.iter().filter(between);
    let mut held: Vec<Held> = moments.flat_map(|moment| moment.held.clone()).collect();
    let is_at = |held: &Held, moment: &Moment| moment.held.iter().any(|it| it.lock == held.lock);
    held.retain(|it| !is_at(it, early) && !is_at(it, late));
    held
}

/// The accesses of a transaction to one variable, with the final write marked.
fn parts(transaction: &Transaction, variable: ObjectId) -> Vec<Part> {
    let own = transaction.moments.iter();
    let own = own.filter(|it| it.is_access() && it.event.object() == variable);
    let mut parts: Vec<Part> = own
        .map(|moment| Part {
            moment: moment.clone(),
            is_final: false,
        })
        .collect();
    if let Some(last) = parts.iter_mut().rfind(|part| writes(part.moment.event.op)) {
        last.is_final = true;
    }
    parts
}

/// The initial reads: what sees the variable before the transaction has changed it.
fn initial(parts: &[Part]) -> impl Iterator<Item = &Part> {
    let changed = parts.iter().position(|part| writes(part.moment.event.op));
    // An update sees the value that it changes.
    let until = changed.map_or(parts.len(), |at| at + 1);
    parts[..until]
        .iter()
        .filter(|part| reads(part.moment.event.op))
}

/// The 1v-blocks of a transaction and a variable, each once.
fn one_variable(transaction: &Transaction, variable: ObjectId) -> Vec<Block> {
    let parts = parts(transaction, variable);
    let mut pairs: Vec<Vec<Part>> = Vec::new();
    for (at, late) in parts.iter().enumerate().skip(1) {
        let write = parts[..at]
            .iter()
            .rfind(|part| writes(part.moment.event.op));
        let early = write.unwrap_or(&parts[at - 1]);
        pairs.push(vec![early.clone(), late.clone()]);
    }
    if let [only] = &parts[..] {
        pairs.push(vec![only.clone()]);
    }
    if let Some(last) = parts.iter().find(|part| part.is_final) {
        let before = |part: &&Part| part.moment.position < last.moment.position;
        let initial = initial(&parts).filter(before);
        pairs.extend(initial.map(|first| vec![first.clone(), last.clone()]));
    }
    let mut known = BTreeSet::new();
    let blocks = pairs.into_iter().map(|parts| Block::of(transaction, parts));
    blocks.filter(|block| known.insert(block.key())).collect()
}

/// The first initial read and the final write of every variable, in order.
fn initial_and_final(transaction: &Transaction) -> Vec<Part> {
    let mut kept: Vec<Part> = Vec::new();
    for variable in variables(&transaction.moments) {
        let parts = parts(transaction, variable);
        kept.extend(initial(&parts).next().cloned());
        kept.extend(parts.iter().find(|part| part.is_final).cloned());
    }
    kept.sort_by_key(|part| part.moment.position);
    kept.dedup_by_key(|part| part.moment.position);
    kept
}

fn variables(moments: &[Moment]) -> BTreeSet<ObjectId> {
    let accesses = moments.iter().filter(|moment| moment.is_access());
    accesses.map(|moment| moment.event.object()).collect()
}

/// Theorem 5.4 of RV 2003, theorem 4 of TSE 2006: all pairs of blocks that are not atomic.
pub(crate) fn compare(trace: &[Event]) -> Findings {
    let whole = Whole::of(trace);
    let mut found = Vec::new();
    let all = one_variable_blocks_of(&whole).chain(two_variable_blocks_of(&whole));
    for blocks in all {
        found.extend(pairs(&blocks).filter_map(|(a, b)| unserializable(a, b, &whole.order).next()));
    }
    Findings {
        found,
        is_doubtful: is_crosswise(&whole),
    }
}

/// The same, each pair with all its interleavings that show it.
pub(crate) fn compare_all(trace: &[Event]) -> Vec<Finding> {
    let whole = Whole::of(trace);
    let mut found = Vec::new();
    let all = one_variable_blocks_of(&whole).chain(two_variable_blocks_of(&whole));
    for blocks in all {
        found.extend(pairs(&blocks).flat_map(|(a, b)| unserializable(a, b, &whole.order)));
    }
    found
}

/// Theorem 5.3 of RV 2003, theorem 3 of TSE 2006, for each variable: the pairs of 1v-blocks that
/// are not atomic.
pub(crate) fn one_variable_pairs(trace: &[Event]) -> Vec<Finding> {
    let whole = Whole::of(trace);
    let mut found = Vec::new();
    for blocks in one_variable_blocks_of(&whole) {
        found.extend(pairs(&blocks).filter_map(|(a, b)| unserializable(a, b, &whole.order).next()));
    }
    found
}

/// Of each contended variable, the 1v-blocks of all transactions.
fn one_variable_blocks_of(whole: &Whole) -> impl Iterator<Item = Vec<Block>> + '_ {
    contended(whole).into_iter().map(|variable| {
        let own = whole.transactions.iter();
        own.flat_map(|it| one_variable(it, variable)).collect()
    })
}

/// Of each two contended variables, the 2v-blocks of all transactions.
fn two_variable_blocks_of(whole: &Whole) -> impl Iterator<Item = Vec<Block>> + '_ {
    let contended = contended(whole);
    let mut pairs = Vec::new();
    for (at, &x) in contended.iter().enumerate() {
        pairs.extend(contended[..at].iter().map(|&y| (x, y)));
    }
    pairs.into_iter().map(|(x, y)| {
        let own = whole.transactions.iter();
        own.flat_map(|it| two_variables(it, x, y)).collect()
    })
}

fn contended(whole: &Whole) -> Vec<ObjectId> {
    let variables = variables(&whole.moments).into_iter();
    variables.filter(|&it| whole.is_contended(it)).collect()
}

/// Do some three accesses of two 1v-blocks match UP1 to UP4 as they stand? A read that sees its own
/// transaction's write counts as any other, so that more is matched than is not atomic.
pub(crate) fn is_matched(trace: &[Event]) -> bool {
    let whole = Whole::of(trace);
    one_variable_blocks_of(&whole).any(|blocks| {
        let mut outer = blocks.iter();
        outer.any(|outer| {
            blocks
                .iter()
                .any(|other| matches(outer, other, &whole.order))
        })
    })
}

/// Can an access of the other block come between the two of this one, in a pattern?
fn matches(outer: &Block, other: &Block, order: &Order) -> bool {
    let [first, second] = &outer.parts[..] else {
        return false;
    };
    let [first_op, second_op] = [first, second].map(|part| part.moment.event.op);
    outer.strand != other.strand
        && other.parts.iter().any(|between| {
            let can_occur_between = disjoint(&outer.through, &between.moment.held)
                && order.parallel(first.moment.period, between.moment.period);
            let is_pattern = match (first_op, between.moment.event.op, second_op) {
                (Op::Write, Op::Read, Op::Write) => true,
                (Op::Read | Op::Write, Op::Write, Op::Read) => true,
                (Op::Read, Op::Write, Op::Write) => between.is_final,
                _ => false,
            };
            can_occur_between && is_pattern
        })
}

fn two_variables(transaction: &Transaction, x: ObjectId, y: ObjectId) -> Vec<Block> {
    let kept = initial_and_final(transaction);
    let of = |part: &Part| part.moment.event.object();
    let mut blocks = Vec::new();
    for (at, late) in kept.iter().enumerate() {
        for early in &kept[..at] {
            if [(x, y), (y, x)].contains(&(of(early), of(late))) {
                blocks.push(Block::of(transaction, vec![early.clone(), late.clone()]));
            }
        }
    }
    blocks
}

/// Is a lock taken under another, and that under the one elsewhere?
fn is_crosswise(whole: &Whole) -> bool {
    let mut nested: BTreeSet<(ObjectId, ObjectId)> = BTreeSet::new();
    for moment in &whole.moments {
        if let Op::Acquire | Op::AcquireShared = moment.event.op {
            let held = moment.held_before.iter();
            nested.extend(held.map(|held| (held.lock, moment.event.object())));
        }
    }
    nested.iter().any(|&(a, b)| nested.contains(&(b, a)))
}

/// All pairs of blocks of different strands.
fn pairs(blocks: &[Block]) -> impl Iterator<Item = (&Block, &Block)> {
    blocks.iter().enumerate().flat_map(move |(at, a)| {
        let others = blocks[..at].iter().filter(|b| b.strand != a.strand);
        others.map(move |b| (b, a))
    })
}

/// The interleavings of two blocks that locks and order allow and that no serial order explains.
fn unserializable<'a>(
    a: &'a Block,
    b: &'a Block,
    order: &'a Order,
) -> impl Iterator<Item = Finding> + 'a {
    let (m, n) = (a.parts.len(), b.parts.len());
    // Bit `i` says whose the i-th access is.
    let turns = (0_u32..1 << (m + n)).filter(move |turns| turns.count_ones() as usize == n);
    turns.into_iter().filter_map(move |turns| {
        let (mut first, mut second) = (a.parts.iter(), b.parts.iter());
        let merge = (0..m + n).map(|turn| match turns >> turn & 1 {
            0 => (false, first.next().expect("m of them")),
            _ => (true, second.next().expect("n of them")),
        });
        let merge: Vec<(bool, &Part)> = merge.collect();
        let items: Vec<Item> = merge.iter().map(|(of_b, part)| item(*of_b, part)).collect();
        let is_found =
            is_allowed(&merge, a, b, order) && !serializable(&items, &[], Equivalence::View);
        is_found.then(|| finding(&merge))
    })
}

fn item(of_b: bool, part: &Part) -> Item {
    Item {
        owner: usize::from(of_b),
        access: part.moment.event.op,
        variable: part.moment.event.object(),
        last: part.is_final,
    }
}

fn finding(merge: &[(bool, &Part)]) -> Finding {
    let words: Vec<&str> = merge
        .iter()
        .map(|(_, part)| word(part.moment.event.op))
        .collect();
    let objects = merge.iter().map(|(_, part)| part.moment.event.object());
    let objects: BTreeSet<ObjectId> = objects.collect();
    Finding {
        pattern: words.join(", "),
        positions: merge.iter().map(|(_, part)| part.moment.position).collect(),
        objects: objects.into_iter().collect(),
    }
}

/// The papers' can-occur-between, for all four accesses.
fn is_allowed(merge: &[(bool, &Part)], a: &Block, b: &Block, order: &Order) -> bool {
    let is_backwards = merge.iter().enumerate().any(|(at, (_, late))| {
        let mut early = merge[..at].iter();
        early.any(|(_, early)| order.before(late.moment.period, early.moment.period))
    });
    let is_apart = |outer: &Block, other: &Block, of_b: bool| {
        let own: Vec<usize> = (0..merge.len()).filter(|&at| merge[at].0 == of_b).collect();
        let &[first, last] = own.as_slice() else {
            return true;
        };
        let inner = &merge[first + 1..last];
        let mut held = inner.iter().map(|(_, part)| &part.moment.held);
        held.all(|held| disjoint(&outer.through, held))
            && (inner.len() < 2 || disjoint(&outer.through, &other.between))
    };
    !is_backwards && is_apart(a, b, false) && is_apart(b, a, true)
}

/// How many different blocks of one and of two variables there are.
pub(crate) fn count(trace: &[Event]) -> usize {
    let whole = Whole::of(trace);
    let contended = contended(&whole);
    let mut keys: BTreeSet<(ObjectId, ObjectId, Key)> = BTreeSet::new();
    for transaction in &whole.transactions {
        for (at, &x) in contended.iter().enumerate() {
            let one = one_variable(transaction, x);
            keys.extend(one.iter().map(|block| (x, x, block.key())));
            for &y in &contended[..at] {
                let two = two_variables(transaction, x, y);
                keys.extend(two.iter().map(|block| (x, y, block.key())));
            }
        }
    }
    keys.len()
}

/// An access of a block and whether it is the final write, the other one unless it is the dummy,
/// and the locks held at the one, at the other and throughout.
pub(crate) type Shown = ((Op, bool), Option<(Op, bool)>, [Vec<ObjectId>; 3]);

/// The 1v-blocks of a variable in all transactions, sorted.
pub(crate) fn one_variable_blocks(trace: &[Event], variable: ObjectId) -> Vec<Shown> {
    let whole = Whole::of(trace);
    let own = whole.transactions.iter();
    let blocks = own.flat_map(|transaction| one_variable(transaction, variable));
    let names = |held: &[Held]| locks(held).into_iter().map(|(lock, _)| lock).collect();
    let shown = blocks.map(|block| {
        let part = |part: &Part| (part.moment.event.op, part.is_final);
        let at = |index: usize| block.parts.get(index).map(|part| names(&part.moment.held));
        (
            part(&block.parts[0]),
            block.parts.get(1).map(part),
            [at(0), at(1), Some(names(&block.through))].map(Option::unwrap_or_default),
        )
    });
    let shown: BTreeSet<Shown> = shown.collect();
    shown.into_iter().collect()
}

/// What 2v-blocks are made of, of each transaction.
pub(crate) fn kept_of_transactions(trace: &[Event]) -> Vec<Vec<(Op, ObjectId)>> {
    let of = |transaction: &Transaction| {
        let kept = initial_and_final(transaction).into_iter();
        let kept = kept.map(|part| (part.moment.event.op, part.moment.event.object()));
        kept.collect()
    };
    Whole::of(trace).transactions.iter().map(of).collect()
}
