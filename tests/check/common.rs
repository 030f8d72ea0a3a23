//! Random well-formed traces, an oracle that judges them by definition, and shrinking.
//!
//! Used by several test targets; each uses a part of it.

#![allow(dead_code, reason = "each test target uses a part")]

use std::fmt::Write;

use aerodrome::check::Violation;
use aerodrome::trace::{
    BlockId, BlockInfo, Event, Names, ObjectId, ObjectInfo, ObjectKind, Op, SiteId, SiteInfo,
    StrandId, StrandInfo, Update,
};

/// Names where there are none: an object has its kind, by its number.
pub(crate) struct Kinds(pub(crate) fn(u32) -> ObjectKind);

impl Names for Kinds {
    fn strand(&self, _: StrandId) -> StrandInfo {
        StrandInfo::default()
    }
    fn object(&self, id: ObjectId) -> ObjectInfo {
        ObjectInfo {
            kind: self.kind(id),
            name: None,
            type_name: None,
            created: SiteId::NONE,
        }
    }
    fn kind(&self, id: ObjectId) -> ObjectKind {
        self.0(id.0)
    }
    fn site(&self, _: SiteId) -> Option<SiteInfo> {
        None
    }
    fn block(&self, _: BlockId) -> BlockInfo {
        BlockInfo {
            name: String::new(),
            site: SiteId::NONE,
        }
    }
}

/// SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    pub(crate) fn below(&mut self, n: u64) -> u64 {
        self.next() % n
    }
}

pub(crate) fn event(strand: u32, op: Op, target: u32) -> Event {
    Event {
        strand: StrandId(strand),
        target,
        site: SiteId::NONE,
        op,
    }
}

/// Strands below this exist from the start; the others must be forked.
pub(crate) const ROOTS: u32 = 3;
const STRANDS: u32 = 7;
/// Objects from here on are messages.
const MESSAGES: u32 = 100;

/// Which events a random trace is made of.
#[derive(Clone, Copy)]
pub(crate) struct Mix {
    pub(crate) events: usize,
    /// Updates, shared locks, signals, messages, retirement: what the papers do not have.
    pub(crate) extended: bool,
    /// What only the recorder writes: waits, retries, exchanges and vain operations, at a few
    /// sites.
    pub(crate) recorded: bool,
    /// A lock may be given back by another strand than the one that took it.
    pub(crate) guards_move: bool,
}

/// A well-formed trace: whatever the seed gives, with everything impossible left out.
pub(crate) fn random_trace(seed: u64, mix: Mix) -> Vec<Event> {
    let mut random = Random(seed);
    let strands = 2 + random.below(u64::from(STRANDS) - 1) as u32;
    let variables = 1 + random.below(5);
    let locks = 1 + random.below(3);
    let length = 4 + random.below(mix.events as u64 * 3) as usize;
    // Each trace has its own taste, so that rare mixtures occur.
    let weight: Vec<u64> = (0..12)
        .map(|_| [0, 1, 2, 4, 8][random.below(5) as usize])
        .collect();
    let mut events = Vec::new();
    let mut strand = 0;
    let sticky = 1 + random.below(4);
    while events.len() < length {
        if random.below(sticky) == 0 {
            strand = random.below(u64::from(strands)) as u32;
        }
        let variable = random.below(variables) as u32;
        // Locks and variables share numbers now and then.
        let lock = random.below(locks) as u32 + if weight[0] > 2 { 0 } else { 20 };
        let other = random.below(u64::from(strands)) as u32;
        let message = MESSAGES + random.below(2) as u32;
        let mut choices: Vec<(u64, Op, u32)> = vec![
            (2 + weight[1], Op::Begin, 900 + random.below(3) as u32),
            (1 + weight[2], Op::End, 0),
            (3 + weight[3], Op::Read, variable),
            (3 + weight[4], Op::Write, variable),
            (weight[5], Op::Acquire, lock),
            (weight[5] + weight[6], Op::Release, lock),
            (weight[7] / 2 + 1, Op::Fork, other),
            (weight[7] / 2 + 1, Op::Join, other),
        ];
        if mix.extended {
            let kinds = [Update::Add, Update::Or, Update::Max];
            let kind = kinds[random.below(3) as usize];
            choices.extend([
                (weight[8], Op::Update(kind), variable),
                (weight[8] / 4, Op::ReadWrite, variable),
                (weight[9], Op::AcquireShared, lock),
                (weight[9] + weight[6], Op::ReleaseShared, lock),
                (weight[9] / 2, Op::Upgrade, lock),
                (weight[9] / 2, Op::Downgrade, lock),
                (weight[10], Op::Signal, 50 + variable),
                (weight[10], Op::Await, 50 + variable),
                (weight[8] / 2, Op::Reach, variable),
                (weight[8] / 2, Op::Leave, variable),
                (weight[11], Op::Send, message),
                (weight[11], Op::Recv, message),
                (weight[0] / 4, Op::Retire, variable),
                (weight[0] / 8, Op::Retire, 50 + variable),
                (weight[0] / 8, Op::Value, 1),
                (weight[0] / 8, Op::Born, variable),
                (weight[0] / 4, Op::Exit, 0),
            ]);
        }
        if mix.recorded {
            choices.extend([
                (weight[10] / 2 + 1, Op::Split, 0),
                (weight[11] / 2 + 1, Op::Restart, 0),
                (weight[7] + 1, Op::Pause, 0),
                (weight[5] / 4, Op::Busy, lock),
                (weight[3] / 2, Op::CompareExchange, variable),
                (weight[3], Op::CompareExchangeFailed, variable),
                (weight[8] / 2, Op::Vain(Update::Add), variable),
                (weight[8] / 2, Op::Vain(Update::Swap), variable),
                (weight[8] / 2, Op::Vain(Update::Or), variable),
                (weight[8] / 4, Op::Vain(Update::Init), variable),
                (weight[3] / 4, Op::Vain(Update::Exchange), variable),
            ]);
        }
        let site = match mix.recorded {
            true => random.below(4) as u32,
            false => events.len() as u32 + 1,
        };
        let mut ball = random.below(choices.iter().map(|choice| choice.0).sum());
        for (weight, op, target) in choices {
            if ball < weight {
                events.push(Event {
                    site: SiteId(site),
                    ..event(strand, op, target)
                });
                break;
            }
            ball -= weight;
        }
    }
    let mut events = well_formed(&events, mix.guards_move);
    events.truncate(mix.events);
    events
}

#[derive(Clone, Default)]
struct StrandState {
    alive: bool,
    exited: bool,
    depth: u32,
}

/// The events that are possible after those before them; inner blocks and inner acquires left out.
pub(crate) fn well_formed(events: &[Event], guards_move: bool) -> Vec<Event> {
    let mut strands = vec![StrandState::default(); STRANDS as usize + 1];
    for root in &mut strands[..ROOTS as usize] {
        root.alive = true;
    }
    let mut exclusive = vec![None; 256];
    let mut shared: Vec<Vec<StrandId>> = vec![Vec::new(); 256];
    let mut sent = [false; 256];
    let mut result = Vec::new();
    for &event in events {
        let (at, target) = (event.strand.0 as usize, event.target as usize);
        if !strands[at].alive {
            continue;
        }
        let mut keep = true;
        let me = Some(event.strand);
        // A guard that moves may outlive its strand.
        let is_free = |strand: usize| {
            let it = StrandId(strand as u32);
            (guards_move || !exclusive.contains(&Some(it)))
                && !shared.iter().any(|holders| holders.contains(&it))
        };
        match event.op {
            Op::Begin => {
                strands[at].depth += 1;
                keep = strands[at].depth == 1;
            }
            Op::End => {
                keep = strands[at].depth == 1;
                strands[at].depth = strands[at].depth.saturating_sub(1);
            }
            Op::Acquire => {
                keep = exclusive[target].is_none() && shared[target].is_empty();
                if keep {
                    exclusive[target] = me;
                }
            }
            Op::Release => {
                let holder = exclusive[target];
                keep = holder == me || guards_move && holder.is_some();
                if keep {
                    exclusive[target] = None;
                }
            }
            Op::AcquireShared => {
                keep = exclusive[target].is_none() && !shared[target].contains(&event.strand);
                if keep {
                    shared[target].push(event.strand);
                }
            }
            Op::ReleaseShared => {
                keep = shared[target].contains(&event.strand);
                if keep {
                    shared[target].retain(|&holder| holder != event.strand);
                }
            }
            Op::Upgrade => {
                keep = shared[target] == [event.strand];
                if keep {
                    shared[target].clear();
                    exclusive[target] = me;
                }
            }
            Op::Downgrade => {
                keep = exclusive[target] == me;
                if keep {
                    exclusive[target] = None;
                    shared[target].push(event.strand);
                }
            }
            Op::Fork => {
                keep = !strands[target].alive;
                if keep {
                    strands[target] = StrandState {
                        alive: true,
                        ..StrandState::default()
                    };
                }
            }
            Op::Join => {
                let child = &mut strands[target];
                let over = child.exited || child.alive && child.depth == 0 && is_free(target);
                keep = target != at && over;
                if keep {
                    *child = StrandState::default();
                }
            }
            Op::Exit => {
                keep = is_free(at);
                if keep {
                    strands[at] = StrandState {
                        exited: true,
                        ..StrandState::default()
                    };
                }
            }
            Op::Send => {
                keep = !sent[target];
                sent[target] = true;
            }
            Op::Recv => {
                keep = sent[target];
                sent[target] = false;
            }
            Op::Retire => keep = exclusive[target].is_none() && shared[target].is_empty(),
            _ => {}
        }
        if keep {
            result.push(event);
        }
    }
    result
}

/// The trace with all its blocks closed.
pub(crate) fn closed(events: &[Event]) -> Vec<Event> {
    let mut open = [false; STRANDS as usize + 1];
    for event in events {
        match event.op {
            Op::Begin => open[event.strand.0 as usize] = true,
            Op::End | Op::Exit => open[event.strand.0 as usize] = false,
            _ => {}
        }
    }
    let ends = (0..)
        .zip(open)
        .filter(|&(_, open)| open)
        .map(|(strand, _)| event(strand, Op::End, 0));
    events.iter().copied().chain(ends).collect()
}

/// The definitions, applied to the letter.
pub(crate) struct Oracle {
    pub(crate) events: Vec<Event>,
    /// For each event, the numbers of its strand and object among all that had their number before
    /// and after.
    identity: Vec<(u32, u32)>,
    /// For each event, the first event of its transaction.
    transaction: Vec<usize>,
    /// Inside a block.
    in_block: Vec<bool>,
    /// The event that closes the first cycle, counted from 1.
    pub(crate) first: Option<u64>,
}

impl Oracle {
    pub(crate) fn new(events: &[Event]) -> Oracle {
        let mut strand_age = [0; 256];
        let mut object_age = [0; 256];
        let mut open: Vec<Option<usize>> = vec![None; 256];
        let (mut identity, mut transaction, mut in_block) = (Vec::new(), Vec::new(), Vec::new());
        for (i, event) in events.iter().enumerate() {
            let at = event.strand.0 as usize;
            let target = event.target as usize;
            match event.op {
                Op::Begin => open[at] = Some(i),
                Op::Fork => {
                    strand_age[target] += 1;
                    open[target] = None;
                }
                Op::Send => object_age[target] += 1,
                _ => {}
            }
            let age = match event.op {
                Op::Fork | Op::Join => strand_age[target],
                Op::Begin
                | Op::End
                | Op::Split
                | Op::Restart
                | Op::Pause
                | Op::Value
                | Op::Exit => 0,
                _ => object_age[target],
            };
            identity.push((strand_age[at], age));
            transaction.push(open[at].unwrap_or(i));
            in_block.push(open[at].is_some());
            match event.op {
                Op::End | Op::Exit => open[at] = None,
                Op::Retire => object_age[target] += 1,
                _ => {}
            }
        }
        let mut oracle = Oracle {
            events: events.to_vec(),
            identity,
            transaction,
            in_block,
            first: None,
        };
        oracle.first = oracle.first_cycle();
        oracle
    }

    /// No step of a strand at all: names and values only.
    fn is_nothing(&self, i: usize) -> bool {
        matches!(
            self.events[i].op,
            Op::Retire | Op::Value | Op::Born | Op::Exit
        )
    }

    /// The earlier event `i` orders before the later event `j`.
    pub(crate) fn orders(&self, i: usize, j: usize) -> bool {
        if self.is_nothing(i) || self.is_nothing(j) {
            return false;
        }
        let (a, b) = (&self.events[i], &self.events[j]);
        let ((a_strand, a_target), (b_strand, b_target)) = (self.identity[i], self.identity[j]);
        if (a.strand, a_strand) == (b.strand, b_strand) {
            return true;
        }
        if a.op == Op::Fork && (a.target, a_target) == (b.strand.0, b_strand) {
            return true;
        }
        if b.op == Op::Join && (b.target, b_target) == (a.strand.0, a_strand) {
            return true;
        }
        if (a.target, a_target) != (b.target, b_target) {
            return false;
        }
        let access = |op| matches!(op, Op::Read | Op::Write | Op::ReadWrite | Op::Update(_));
        match (a.op, b.op) {
            (Op::Read, Op::Read) => false,
            (Op::Update(k), Op::Update(l)) => k != l,
            (a, b) if access(a) && access(b) => true,
            (Op::Release | Op::Downgrade, Op::Acquire | Op::AcquireShared | Op::Upgrade) => true,
            (Op::ReleaseShared, Op::Acquire | Op::Upgrade) => true,
            (Op::Acquire | Op::Upgrade, Op::Release | Op::Downgrade) => true,
            (Op::Signal, Op::Await) | (Op::Reach, Op::Leave) | (Op::Send, Op::Recv) => true,
            _ => false,
        }
    }

    fn first_cycle(&self) -> Option<u64> {
        // `reach[t]` has bit `u` where a path leads from transaction `t` to transaction `u`.
        assert!(self.events.len() <= 128);
        let mut reach = vec![0_u128; self.events.len()];
        for j in 0..self.events.len() {
            let to = self.transaction[j];
            for i in 0..j {
                let from = self.transaction[i];
                if from != to && self.orders(i, j) && reach[from] & 1 << to == 0 {
                    let new = reach[to] | 1 << to;
                    if new & 1 << from != 0 {
                        return Some(j as u64 + 1);
                    }
                    for (t, row) in reach.iter_mut().enumerate() {
                        if t == from || *row & 1 << from != 0 {
                            *row |= new;
                        }
                    }
                }
            }
        }
        None
    }

    /// The violation is a cycle of this trace, told right in every particular.
    pub(crate) fn verify(&self, violation: &Violation) -> Result<(), String> {
        let n = violation.transactions.len();
        check(n >= 2 && violation.edges.len() == n, || {
            "a cycle has as many edges as transactions".into()
        })?;
        for (i, edge) in violation.edges.iter().enumerate() {
            let (from, to) = (
                &violation.transactions[i],
                &violation.transactions[(i + 1) % n],
            );
            for (access, transaction) in [(&edge.from, from), (&edge.to, to)] {
                let at = (access.position as usize).wrapping_sub(1);
                check(at < self.events.len(), || {
                    format!("no event {}", access.position)
                })?;
                let event = &self.events[at];
                let object = match event.op {
                    Op::Begin | Op::End | Op::Fork | Op::Join => None,
                    _ => Some(ObjectId(event.target)),
                };
                let real = (event.strand, event.op, object, event.site);
                let told = (access.strand, access.op, access.object, access.site);
                check(real == told, || {
                    format!("event {} is {real:?}, not {told:?}", access.position)
                })?;
                let first = self.transaction[at];
                let block = self.in_block[at].then(|| BlockId(self.events[first].target));
                let real = (
                    event.strand,
                    block,
                    Some(first as u64 + 1),
                    self.events[first].site,
                );
                let told = (
                    transaction.strand,
                    transaction.block,
                    transaction.begin,
                    transaction.site,
                );
                check(real == told, || {
                    format!("event {} is in {real:?}, not {told:?}", access.position)
                })?;
            }
            let (i, j) = (
                edge.from.position as usize - 1,
                edge.to.position as usize - 1,
            );
            check(i < j && self.orders(i, j), || {
                format!("event {} does not order before {}", i + 1, j + 1)
            })?;
            check(from != to, || "an edge inside a transaction".into())?;
        }
        let blamed = &violation.transactions[violation.blame];
        check(blamed.block.is_some(), || {
            "blames an event outside any block".into()
        })?;
        let left = violation.edges[violation.blame].from.position;
        let entered = violation.edges[(violation.blame + n - 1) % n].to.position;
        check(left < entered, || {
            "the blamed transaction is not left before it is entered".into()
        })?;
        check(entered == violation.event, || {
            "the closing edge ends in another event".into()
        })
    }
}

pub(crate) fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

/// Leaves out events while the property stays broken, and says what is left.
pub(crate) fn shrink(
    mut events: Vec<Event>,
    guards_move: bool,
    broken: impl Fn(&[Event]) -> Option<String>,
) -> String {
    let mut size = events.len() / 2;
    while size > 0 {
        let mut at = 0;
        while at < events.len() {
            let mut fewer = events.clone();
            fewer.drain(at..(at + size).min(events.len()));
            let fewer = well_formed(&fewer, guards_move);
            if fewer.len() < events.len() && broken(&fewer).is_some() {
                events = fewer;
            } else {
                at += size;
            }
        }
        size /= 2;
    }
    let mut text = broken(&events).unwrap_or_default();
    for (i, event) in events.iter().enumerate() {
        let Event {
            strand,
            op,
            target,
            site,
        } = event;
        let (n, strand, site) = (i + 1, strand.0, site.0);
        write!(text, "\n{n:4}: T{strand} {op:?}({target}) at {site}").expect("a string takes all");
    }
    text
}

/// Tries the property on random traces; a failure is shrunk and printed with its seed.
pub(crate) fn for_random_traces(
    seeds: std::ops::Range<u64>,
    mix: Mix,
    holds: impl Fn(&[Event]) -> Result<(), String>,
) {
    for_traces(
        seeds,
        |seed| random_trace(seed, mix),
        mix.guards_move,
        holds,
    );
}

/// The same, on the traces that `make` gives.
pub(crate) fn for_traces(
    seeds: std::ops::Range<u64>,
    make: impl Fn(u64) -> Vec<Event>,
    guards_move: bool,
    holds: impl Fn(&[Event]) -> Result<(), String>,
) {
    for seed in seeds {
        let events = make(seed);
        if holds(&events).is_err() {
            let told = shrink(events, guards_move, |events| holds(events).err());
            panic!("seed {seed}: {told}");
        }
    }
}
