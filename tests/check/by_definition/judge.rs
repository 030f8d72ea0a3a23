//! The judge: its own words for looks, retries and waits, its own transactions, its own graph.
//!
//! It shares no code with what it judges and takes no shortcut: every rule asks all events before.

use std::collections::HashMap;

use aerodrome::trace::{Event, Op, Semantics, SiteId, Update};

use super::is_for_engine;

// The `rust` semantics.

/// A strand as the table has it. Numbers of transactions are indices into the graph.
#[derive(Clone, Default)]
struct Strand {
    /// Works for this strand's transaction.
    owner: Option<u32>,
    /// Inside a block of its own.
    in_block: bool,
    exited: bool,
    open: Option<usize>,
    /// The transactions that come before whatever it does next.
    before: Vec<usize>,
    /// The transactions that a join of it comes after.
    done: Vec<usize>,
}

/// The transactions of a recorded trace, and their order, under `rust`.
#[derive(Default)]
pub(crate) struct Table {
    strands: HashMap<u32, Strand>,
    after: Vec<Vec<usize>>,
    /// What was done to objects: the transaction, the operation, the object and how often its
    /// number had been given before.
    steps: Vec<(usize, Op, u32, u32)>,
    ages: HashMap<u32, u32>,
    /// Locks that order: who acquired them, and whether shared.
    held: Vec<(u32, u32, bool)>,
    cycle: bool,
}

impl Table {
    /// The position of the event that closes the first cycle.
    pub(crate) fn first_cycle(events: &[(Event, u64)]) -> Option<u64> {
        let mut table = Table::default();
        let mut closes = |event: &Event| {
            table.take(event);
            table.cycle
        };
        let first = events.iter().find(|(event, _)| closes(event));
        first.map(|&(_, position)| position)
    }

    fn strand(&mut self, strand: u32) -> &mut Strand {
        self.strands.entry(strand).or_default()
    }

    /// Whose transactions the strand's events belong to.
    fn owner(&mut self, strand: u32) -> u32 {
        self.strand(strand).owner.unwrap_or(strand)
    }

    fn begin(&mut self, strand: u32) -> usize {
        let new = self.after.len();
        self.after.push(Vec::new());
        let it = self.strand(strand);
        it.done.push(new);
        for before in std::mem::replace(&mut it.before, vec![new]) {
            self.after[before].push(new);
        }
        new
    }

    /// The transaction of an event that the strand does now.
    fn transaction(&mut self, strand: u32) -> usize {
        let owner = self.owner(strand);
        match self.strand(owner).open {
            Some(open) => open,
            None => self.begin(owner),
        }
    }

    fn reaches(&self, from: usize, to: usize) -> bool {
        let mut is_seen = vec![false; self.after.len()];
        let mut rest = vec![from];
        while let Some(at) = rest.pop() {
            if !std::mem::replace(&mut is_seen[at], true) {
                rest.extend(&self.after[at]);
            }
        }
        is_seen[to]
    }

    fn order(&mut self, from: usize, to: usize) {
        if from != to && !self.reaches(from, to) {
            if self.reaches(to, from) {
                self.cycle = true;
            } else {
                self.after[from].push(to);
            }
        }
    }

    /// The worker becomes a strand of its own, after the transaction that it worked for.
    fn release(&mut self, worker: u32) {
        let Some(owner) = self.strand(worker).owner.take() else {
            return;
        };
        let open = self.strand(owner).open.expect("there is work to do");
        let it = self.strand(worker);
        (it.before, it.done) = (vec![open], vec![open]);
        let is_over = it.exited;
        if it.in_block {
            self.strand(worker).open = Some(self.begin(worker));
        }
        // The locks that it holds are handed over.
        let held = self.held.clone().into_iter();
        for (lock, _, shared) in held.filter(|&(_, by, _)| by == worker && !is_over) {
            let (release, acquire) = match shared {
                true => (Op::ReleaseShared, Op::AcquireShared),
                false => (Op::Release, Op::Acquire),
            };
            self.touch(open, release, lock);
            let now = self.transaction(worker);
            self.touch(now, acquire, lock);
        }
    }

    /// A transaction does something to an object, after what it does not commute with.
    fn touch(&mut self, to: usize, op: Op, target: u32) {
        let age = self.ages.get(&target).copied().unwrap_or_default();
        for (from, earlier, object, of) in self.steps.clone() {
            if (object, of) == (target, age) && orders(earlier, op) {
                self.order(from, to);
            }
        }
        self.steps.push((to, op, target, age));
    }

    /// Keeps who holds the locks.
    fn note(&mut self, event: &Event) {
        let (me, lock) = (event.strand.0, event.target);
        match event.op {
            Op::Acquire => self.held.push((lock, me, false)),
            Op::AcquireShared => self.held.push((lock, me, true)),
            Op::Release => self.held.retain(|held| held.0 != lock),
            Op::ReleaseShared => self.held.retain(|held| *held != (lock, me, true)),
            Op::Upgrade | Op::Downgrade => {
                let is_it = |held: &&mut (u32, u32, bool)| (held.0, held.1) == (lock, me);
                if let Some(held) = self.held.iter_mut().find(is_it) {
                    held.2 = event.op == Op::Downgrade;
                }
            }
            // The next owner of its number has none.
            Op::Join | Op::Fork => self.held.retain(|held| held.1 != lock),
            _ => {}
        }
    }

    fn dismiss(&mut self, owner: u32) {
        let mut workers: Vec<u32> = self.strands.keys().copied().collect();
        workers.retain(|&worker| self.strands[&worker].owner == Some(owner));
        for worker in workers {
            self.release(worker);
        }
    }

    /// The transaction ends, and another of the same block begins.
    fn split(&mut self, owner: u32) {
        if self.strand(owner).open.is_some() {
            self.dismiss(owner);
            self.strand(owner).open = Some(self.begin(owner));
        }
    }

    fn take(&mut self, event: &Event) {
        let (me, target) = (event.strand.0, event.target);
        let owner = self.owner(me);
        let is_work = owner != me;
        match event.op {
            Op::Begin => {
                self.strand(me).in_block = true;
                if !is_work {
                    self.strand(me).open = Some(self.begin(me));
                }
            }
            Op::End | Op::Exit => {
                self.strand(me).in_block = false;
                self.strand(me).exited = event.op == Op::Exit;
                if !is_work {
                    self.dismiss(me);
                    self.strand(me).open = None;
                }
            }
            Op::Split => self.split(owner),
            Op::Fork => {
                let child = match self.strand(owner).open {
                    Some(_) => Strand {
                        owner: Some(owner),
                        ..Strand::default()
                    },
                    None => Strand {
                        before: vec![self.transaction(me)],
                        ..Strand::default()
                    },
                };
                *self.strand(target) = child;
                self.note(event);
            }
            Op::Join => {
                if self.strand(target).owner != Some(owner) {
                    self.release(target);
                    self.dismiss(target);
                    self.split(owner);
                    let to = self.transaction(me);
                    for from in self.strand(target).done.clone() {
                        self.order(from, to);
                    }
                }
                *self.strand(target) = Strand::default();
                self.note(event);
            }
            Op::Retire => *self.ages.entry(target).or_default() += 1,
            Op::Value => {}
            op => {
                let to = self.transaction(me);
                if op == Op::Send {
                    *self.ages.entry(target).or_default() += 1;
                }
                if !is_for_engine(event, Semantics::Rust) {
                    return;
                }
                self.touch(to, op, target);
                self.note(event);
            }
        }
    }
}

/// The earlier operation orders before the later one, on the same object.
fn orders(earlier: Op, later: Op) -> bool {
    let is_access = |op| {
        matches!(
            op,
            Op::Read | Op::Write | Op::ReadWrite | Op::Update(_) | Op::Vain(_)
        )
    };
    match (earlier, later) {
        (Op::Read | Op::Vain(_), Op::Read | Op::Vain(_)) => false,
        (Op::Update(a), Op::Update(b)) => a != b,
        (Op::Vain(a), Op::Update(b)) | (Op::Update(a), Op::Vain(b)) => a != b,
        (Op::Release | Op::Downgrade, Op::Acquire | Op::AcquireShared | Op::Upgrade) => true,
        (Op::ReleaseShared, Op::Acquire | Op::Upgrade) => true,
        // Of one strand, or of two where the guard was moved.
        (Op::Acquire | Op::Upgrade, Op::Release | Op::Downgrade) => true,
        (Op::Signal, Op::Await) | (Op::Reach, Op::Leave) | (Op::Send, Op::Recv) => true,
        (a, b) => is_access(a) && is_access(b),
    }
}

// What counts.

/// A strand's event inside a block, and what became of it.
struct Step {
    /// In the trace.
    at: usize,
    event: Event,
    /// A read and write of what a lock guards.
    through_guard: bool,
    /// A join that waits for a strand from outside.
    waits: bool,
    /// Nobody else works for the block.
    is_alone: bool,
    dropped: bool,
    /// A pause or a restart that is a split, or a receive that one comes before.
    splits: bool,
    /// A failed exchange: the step that it answers for, and whether it was retried.
    since: usize,
    retried: bool,
    /// A read of what was found initialised.
    finds: bool,
    /// A vain update that is a read: its block has read what it was to set.
    reads: bool,
}

/// Would it have taken or set something?
fn is_try(op: Op) -> bool {
    let is_setter = matches!(op, Op::Vain(Update::Swap | Update::Or | Update::And));
    is_setter || op == Op::CompareExchangeFailed
}

/// An object's content, or the object as a lock.
type Seen = (u32, bool);

/// All that a strand does in one block, judged step by step against all the steps before.
struct Run(Vec<Step>);

impl Run {
    fn op(&self, i: usize) -> Op {
        self.0[i].event.op
    }

    fn look(&self, i: usize) -> Option<Seen> {
        let object = self.0[i].event.target;
        match self.op(i) {
            Op::Read | Op::CompareExchangeFailed | Op::Vain(_) => Some((object, false)),
            Op::Busy => Some((object, true)),
            _ => None,
        }
    }

    fn writes(&self, i: usize) -> bool {
        let others_see = matches!(self.op(i), Op::Send | Op::Signal);
        others_see || self.writes_to(i).is_some()
    }

    fn writes_to(&self, i: usize) -> Option<u32> {
        let op = self.op(i);
        matches!(
            op,
            Op::Write | Op::ReadWrite | Op::Update(_) | Op::CompareExchange
        )
        .then_some(self.0[i].event.target)
    }

    fn divides(&self, i: usize) -> bool {
        self.op(i) == Op::Split || self.0[i].waits || self.0[i].splits
    }

    fn is_divided(&self, i: usize, k: usize) -> bool {
        (i + 1..k).any(|it| self.divides(it))
    }

    fn same_site(&self, i: usize, k: usize) -> bool {
        let site = self.0[k].event.site;
        site != SiteId::NONE && self.0[i].event.site == site
    }

    /// Before step `k`, the run has written what it looked at in step `i`.
    fn is_overwritten(&self, i: usize, k: usize) -> bool {
        let Some((object, false)) = self.look(i) else {
            return false;
        };
        (i + 1..k).any(|it| self.writes_to(it) == Some(object))
    }

    fn drop_look(&mut self, i: usize, k: usize) {
        if self.look(i).is_some() && !self.is_overwritten(i, k) {
            self.0[i].dropped = true;
        }
    }

    /// What step `k` looks at, again or for the first time.
    fn sees(&self, k: usize) -> Option<Seen> {
        let step = &self.0[k];
        let object = step.event.target;
        match step.event.op {
            Op::CompareExchange => Some((object, false)),
            Op::Acquire | Op::AcquireShared | Op::Upgrade | Op::Busy => {
                let is_read = |i: usize| {
                    self.look(i) == Some((object, false))
                        && !self.0[i].dropped
                        && !self.is_overwritten(i, k)
                        && !self.is_divided(i, k)
                };
                (!(0..k).any(is_read)).then_some((object, true))
            }
            Op::ReadWrite | Op::Update(_) => {
                let is_repeated = |&i: &usize| {
                    let is_open = !self.0[i].dropped && !self.is_overwritten(i, k);
                    self.look(i) == Some((object, false))
                        && self.same_site(i, k)
                        && (is_open || !self.is_divided(i, k))
                };
                let sees = step.through_guard || (0..k).any(|i| is_repeated(&i));
                sees.then_some((object, false))
            }
            _ => self.look(k),
        }
    }

    /// Takes the next step.
    fn judge(&mut self, step: Step) {
        self.0.push(step);
        let k = self.0.len() - 1;
        let op = self.op(k);
        let is_exchange = matches!(
            op,
            Op::CompareExchange | Op::CompareExchangeFailed | Op::Vain(Update::Exchange)
        );
        if let Some(seen) = self.sees(k) {
            self.retry(k, seen, is_exchange);
            self.wait(k, seen);
            for i in (0..k)
                .filter(|&i| self.look(i) == Some(seen))
                .collect::<Vec<_>>()
            {
                let is_retried = (i + 1..k).any(|f| self.0[f].retried && i < self.0[f].since);
                let is_update = matches!(op, Op::Vain(_) | Op::Update(_) | Op::ReadWrite);
                let is_vain =
                    is_update && matches!(self.op(i), Op::Vain(_)) && self.same_site(i, k);
                let is_tried = is_update && (i + 1..k).any(|t| self.is_try(t, k, seen));
                let is_divided = self.is_divided(i, k);
                if is_divided || is_retried || is_vain || is_tried || is_exchange {
                    self.drop_look(i, k);
                }
            }
        }
        self.0[k].finds = self.finds(k);
        self.0[k].reads = self.reads(k);
        if op == Op::CompareExchangeFailed {
            let answers_for = (0..k).rev().find(|&i| self.look(i) == self.look(k));
            let since =
                answers_for.filter(|&i| !self.is_divided(i, k) && !self.is_overwritten(i, k));
            self.0[k].since = since.unwrap_or(k);
        }
        if op == Op::Restart {
            let first = (0..k).rev().find(|&i| self.divides(i)).map_or(0, |i| i + 1);
            if !(first..k).any(|i| self.writes(i)) {
                (first..k).for_each(|i| self.drop_look(i, k));
                self.0[k].splits = self.0[k].is_alone;
            }
        }
    }

    /// Is step `t` a try in vain to set what step `k`, at the same site, tries to set again?
    fn is_try(&self, t: usize, k: usize, seen: Seen) -> bool {
        let is_setter = is_try(self.op(t)) && self.op(t) != Op::CompareExchangeFailed;
        let is_same = self.look(t) == Some(seen) && self.same_site(t, k);
        is_setter && is_same && !self.is_divided(t, k)
    }

    /// Does step `k` read what the block has found initialised, where it would have done it?
    fn finds(&self, k: usize) -> bool {
        let found = (Op::Vain(Update::Init), self.0[k].event.target);
        let is_found = |i: usize| (self.op(i), self.0[i].event.target) == found;
        self.op(k) == Op::Read && (0..k).any(|i| is_found(i) && !self.is_divided(i, k))
    }

    /// Does step `k` set in vain what the block has read before?
    fn reads(&self, k: usize) -> bool {
        let is_read = |i: usize| {
            matches!(self.op(i), Op::Read | Op::CompareExchangeFailed)
                && self.look(i) == self.look(k)
                && !self.0[i].dropped
                && !self.is_overwritten(i, k)
        };
        let is_setter = matches!(self.op(k), Op::Vain(Update::Or | Update::And));
        is_setter && (0..k).any(is_read)
    }

    /// Is a try in vain the only step that counts? Where it is in the trace.
    fn lone_try(&self) -> Option<usize> {
        let is_nothing = |step: &&Step| {
            let op = step.event.op;
            step.dropped
                || matches!(op, Op::Begin | Op::End | Op::Busy | Op::Pause | Op::Restart)
                || matches!(op, Op::Notify | Op::Born | Op::Value | Op::Retire)
                || !is_for_engine(&step.event, Semantics::Rust)
        };
        let mut steps = self.0.iter().filter(|step| !is_nothing(step));
        let only = steps.next().filter(|step| is_try(step.event.op))?;
        steps.next().is_none().then_some(only.at)
    }

    /// Where the present segment began: an index into the trace.
    fn segment(&self) -> Option<usize> {
        let last = (0..self.0.len()).rev().find(|&i| self.divides(i));
        last.map(|i| self.0[i].at)
    }

    /// The failures that step `k` tries again.
    fn retry(&mut self, k: usize, seen: Seen, is_exchange: bool) {
        for f in 0..k {
            let is_failure = self.op(f) == Op::CompareExchangeFailed && !self.0[f].retried;
            if is_failure && !seen.1 {
                self.come_around(f, k);
            }
        }
        for f in 0..k {
            let is_again = self.look(f) == Some(seen) || is_exchange && self.same_site(f, k);
            if self.op(f) != Op::CompareExchangeFailed || self.0[f].retried || !is_again {
                continue;
            }
            self.0[f].retried = true;
            let since = self.0[f].since;
            (since..=f).for_each(|i| self.drop_look(i, k));
            for i in 0..since {
                if (f + 1..k).any(|m| self.look(m).is_some() && self.look(m) == self.look(i)) {
                    self.drop_look(i, k);
                }
            }
        }
    }

    /// What led to a failure, where its loop has come around at step `k`.
    fn come_around(&mut self, f: usize, k: usize) {
        let tried = self.0[f].since..f;
        let is_again = |i: usize| {
            let is_look = self.look(i).is_some_and(|(_, is_lock)| !is_lock);
            let counts = !self.0[i].dropped && !self.is_overwritten(i, k);
            is_look && counts && self.same_site(i, k)
        };
        if tried.clone().any(is_again) {
            tried.for_each(|i| self.drop_look(i, k));
        }
    }

    /// The pause that step `k` makes a wait of.
    fn wait(&mut self, k: usize, seen: Seen) {
        let mut back = (0..k)
            .rev()
            .take_while(|&i| !self.writes(i) && !self.divides(i));
        if let Some(pause) = back.find(|&i| self.op(i) == Op::Pause) {
            let looks: Vec<usize> = (0..pause)
                .filter(|&i| self.look(i) == Some(seen) && !self.is_divided(i, pause))
                .collect();
            let mut here = looks.iter().filter(|&&i| self.same_site(i, k));
            let mut elsewhere = looks.iter().filter(|&&i| !self.is_overwritten(i, k));
            if let Some(&first) = here.next().or(elsewhere.next()) {
                (first..pause).for_each(|i| self.drop_look(i, k));
                self.0[pause].splits = true;
            }
        }
        // A lock word's parked bit.
        for x in 0..k {
            let object = self.0[x].event.target;
            let is_other = |i| {
                self.writes(i)
                    && (self.op(i), self.writes_to(i)) != (Op::CompareExchange, Some(object))
            };
            let is_seen =
                |i| self.look(i) == Some(seen) && self.same_site(i, k) && !self.is_divided(i, x);
            if self.op(x) == Op::CompareExchange
                && seen == (object, false)
                && self.is_divided(x, k)
                && !(x + 1..k).any(is_other)
                && (0..x).any(is_seen)
            {
                self.0[x].dropped = true;
            }
        }
    }
}

/// Where a strand is.
#[derive(Clone, Default)]
struct Whereabouts {
    in_block: bool,
    /// The strand in whose block it was forked.
    root: Option<u32>,
    run: Option<usize>,
    acquired: Option<u32>,
}

/// The runs of a trace.
#[derive(Default)]
struct Runs {
    strands: HashMap<u32, Whereabouts>,
    runs: Vec<Run>,
    /// All events, each with the run of the block that it belongs to.
    trace: Vec<(Event, Option<usize>)>,
    /// Tries in vain outside of blocks, or alone in one, which do not count: where they are in the
    /// trace.
    in_vain: Vec<usize>,
}

impl Runs {
    fn begin(&mut self, strand: u32) {
        self.runs.push(Run(Vec::new()));
        self.strands.entry(strand).or_default().run = Some(self.runs.len() - 1);
    }

    /// The strand is over, or its block.
    fn end(&mut self, strand: u32) {
        self.strands.remove(&strand);
        let mut workers: Vec<u32> = self.strands.keys().copied().collect();
        workers.retain(|worker| self.strands[worker].root == Some(strand));
        for worker in workers {
            let it = self.strands.entry(worker).or_default();
            (it.root, it.run) = (None, None);
            if it.in_block {
                self.begin(worker);
            }
        }
    }

    /// The last event before this one that a strand did, or by which it was forked.
    fn last_of(&self, strand: u32, before: usize) -> Option<usize> {
        let mut earlier = self.trace[..before].iter();
        earlier.rposition(|(event, _)| {
            event.strand.0 == strand || event.op == Op::Fork && event.target == strand
        })
    }

    fn send_of(&self, message: u32, before: usize) -> Option<usize> {
        let mut earlier = self.trace[..before].iter();
        earlier.rposition(|(event, _)| event.op == Op::Send && event.target == message)
    }

    /// Does a message that is received in a block come from outside of it, and after a send that
    /// the block made in its present segment?
    fn is_answer(&self, block: usize, message: u32) -> bool {
        let Some(sent) = self.send_of(message, self.trace.len()) else {
            return false;
        };
        let segment = self.runs[block].segment();
        let is_cause = |at: usize| {
            let (event, within) = self.trace[at];
            event.op == Op::Send && within == Some(block) && segment.is_none_or(|it| at > it)
        };
        let (mut is_seen, mut rest) = (vec![false; sent + 1], vec![sent]);
        while let Some(at) = rest.pop() {
            if std::mem::replace(&mut is_seen[at], true) {
                continue;
            }
            let event = self.trace[at].0;
            rest.extend(self.last_of(event.strand.0, at));
            match event.op {
                Op::Recv => rest.extend(self.send_of(event.target, at)),
                Op::Join => rest.extend(self.last_of(event.target, at)),
                _ => {}
            }
        }
        self.trace[sent].1 != Some(block) && (0..=sent).any(|at| is_seen[at] && is_cause(at))
    }

    fn take(&mut self, at: usize, event: &Event) {
        let (strand, target) = (event.strand.0, event.target);
        let me = self.strands.entry(strand).or_default().clone();
        let root = me.root.unwrap_or(strand);
        let block = self.strands.get(&root).and_then(|root| root.run);
        let child = self.strands.get(&target).and_then(|child| child.root);
        if let (Some(run), Some(block)) = (me.run, block) {
            let is_guard = event.op == Op::ReadWrite && me.acquired == Some(target);
            let works = |it: &Whereabouts| it.root == Some(strand);
            let is_alone = me.root.is_none() && !self.strands.values().any(works);
            let is_answer = event.op == Op::Recv && self.is_answer(block, target);
            self.runs[run].judge(Step {
                at,
                event: *event,
                through_guard: is_guard,
                waits: event.op == Op::Join && child != Some(root),
                is_alone,
                dropped: false,
                splits: is_answer,
                since: usize::MAX,
                retried: false,
                finds: false,
                reads: false,
            });
        }
        self.trace.push((*event, block));
        let is_inside = me.run.is_some();
        if is_try(event.op) && !is_inside {
            self.in_vain.push(at);
        }
        match event.op {
            Op::Begin => {
                self.strands.entry(strand).or_default().in_block = true;
                if !is_inside {
                    self.begin(strand);
                }
            }
            Op::End => {
                self.strands.entry(strand).or_default().in_block = false;
                if me.root.is_none() {
                    let tried = me.run.and_then(|run| self.runs[run].lone_try());
                    self.in_vain.extend(tried);
                    self.end(strand);
                }
            }
            Op::Exit => self.end(strand),
            Op::Join => self.end(target),
            Op::Fork => {
                self.end(target);
                if is_inside {
                    self.begin(target);
                    self.strands.entry(target).or_default().root = Some(root);
                }
            }
            Op::Acquire if is_inside => {
                self.strands.entry(strand).or_default().acquired = Some(target);
            }
            _ => {}
        }
    }
}

/// What counts of a trace under `rust`.
#[derive(Default)]
pub(crate) struct Counting {
    /// Each event with its position.
    pub(crate) events: Vec<(Event, u64)>,
    /// How many looks do not count, and how many pauses are waits.
    pub(crate) dropped: usize,
    pub(crate) waits: usize,
}

pub(crate) fn counting(events: &[Event]) -> Counting {
    let mut runs = Runs::default();
    for (at, event) in events.iter().enumerate() {
        runs.take(at, event);
    }
    let in_vain = runs.in_vain;
    let steps: Vec<Step> = runs.runs.into_iter().flat_map(|run| run.0).collect();
    let find = |at| steps.iter().find(|step| step.at == at);
    let mut result = Counting::default();
    for (at, &event) in events.iter().enumerate() {
        if find(at).is_some_and(|step| step.dropped) || in_vain.contains(&at) {
            result.dropped += 1;
            continue;
        }
        let splits = find(at).is_some_and(|step| step.splits);
        let op = match event.op {
            Op::Pause | Op::Restart if splits => {
                result.waits += usize::from(event.op == Op::Pause);
                Op::Split
            }
            Op::Pause | Op::Restart | Op::Busy => continue,
            Op::CompareExchange => Op::ReadWrite,
            Op::CompareExchangeFailed => Op::Read,
            Op::Read if find(at).is_some_and(|step| step.finds) => Op::Vain(Update::Init),
            Op::Vain(_) if find(at).is_some_and(|step| step.reads) => Op::Read,
            op => op,
        };
        let position = at as u64 + 1;
        if event.op == Op::Recv && splits {
            result.waits += 1;
            let op = Op::Split;
            result.events.push((Event { op, ..event }, position));
        }
        result.events.push((Event { op, ..event }, position));
    }
    result
}
