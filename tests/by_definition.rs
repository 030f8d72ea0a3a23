//! What stands between a trace and an engine, against plain models of it: the rules, what counts under the `rust` semantics, and
//! what becomes of violations. Runs of events against single ones. The engines against a judge that shares no code with them.

#![cfg(feature = "trace")]

mod common;

use std::collections::HashMap;

use aerodrome::check::{Checker, Engine, EngineKind, Lowering, Retries, Violation};
use aerodrome::trace::{
    BlockId, Event, Names, ObjectKind, Op, Rule, Semantics, SiteId, StrandId, Update, WellFormed,
};
use common::{Kinds, Mix, Random, check, closed, event, for_random_traces};

const RECORDED: Mix = Mix {
    events: 60,
    extended: true,
    recorded: true,
};

/// Locks with even numbers are around data, the others around nothing.
const KINDS: Kinds = Kinds(|id| {
    if id.is_multiple_of(2) {
        ObjectKind::Lock
    } else {
        ObjectKind::BareLock
    }
});

fn is_lock(op: Op) -> bool {
    matches!(
        op,
        Op::Acquire
            | Op::Release
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::Upgrade
            | Op::Downgrade
    )
}

fn is_for_engine(event: &Event, semantics: Semantics) -> bool {
    semantics == Semantics::Paper
        || !is_lock(event.op)
        || KINDS.kind(event.object()) != ObjectKind::Lock
}

// The rules.

/// The rules, with a list of holds for each lock.
#[derive(Clone, Default)]
struct Rules {
    guards_move: bool,
    gone: HashMap<u32, Rule>,
    seen: Vec<u32>,
    depth: HashMap<u32, u32>,
    /// Who holds a lock, and whether shared, once for each time.
    holds: HashMap<u32, Vec<(u32, bool)>>,
    sent: Vec<u32>,
}

impl Rules {
    fn admit(&mut self, event: &Event) -> Result<bool, Rule> {
        let (me, target) = (event.strand.0, event.target);
        if let Some(rule) = self.gone.get(&me) {
            return Err(*rule);
        }
        if !self.seen.contains(&me) {
            self.seen.push(me);
        }
        let depth = self.depth.entry(me).or_default();
        match event.op {
            Op::Begin => {
                *depth += 1;
                return Ok(*depth == 1);
            }
            Op::End if *depth == 0 => return Err(Rule::EndWithoutBegin),
            Op::End => {
                *depth -= 1;
                return Ok(*depth == 0);
            }
            Op::Exit => {
                self.gone.insert(me, Rule::AfterExit);
                self.depth.remove(&me);
            }
            Op::Fork if self.seen.contains(&target) && !self.gone.contains_key(&target) => {
                return Err(Rule::ForkOfLive);
            }
            Op::Fork if self.depth.get(&target).is_some_and(|&depth| depth > 0) => {
                return Err(Rule::ForkOfOpen);
            }
            Op::Fork => {
                self.gone.remove(&target);
                self.seen.push(target);
            }
            Op::Join if me == target => return Err(Rule::JoinOfSelf),
            Op::Join => {
                self.seen.push(target);
                self.gone.insert(target, Rule::AfterJoin);
            }
            Op::Send if self.sent.contains(&target) => return Err(Rule::SentTwice),
            Op::Send => self.sent.push(target),
            Op::Recv if !self.sent.contains(&target) => return Err(Rule::RecvWithoutSend),
            Op::Recv => self.sent.retain(|&message| message != target),
            Op::Retire => {
                self.holds.remove(&target);
                self.sent.retain(|&message| message != target);
            }
            op if is_lock(op) => return self.lock(event),
            _ => {}
        }
        Ok(true)
    }

    /// One of several shared holds is given back by a strand that has none: whose it was is anybody's guess.
    fn is_ambiguous(&self, event: &Event) -> bool {
        let holds = self.holds.get(&event.target).map_or(&[][..], Vec::as_slice);
        let is_mine = |hold: &(u32, bool)| hold.0 == event.strand.0;
        !holds.iter().any(is_mine) && holds.iter().any(|hold| hold.0 != holds[0].0)
    }

    fn lock(&mut self, event: &Event) -> Result<bool, Rule> {
        let me = event.strand.0;
        let holds = self.holds.entry(event.target).or_default();
        let mine = holds.iter().filter(|hold| hold.0 == me).count();
        let is_shared = holds.first().is_some_and(|hold| hold.1);
        let is_exclusive = !holds.is_empty() && !is_shared;
        let is_holder = mine > 0 || self.guards_move && !holds.is_empty();
        let holder = |holds: &[(u32, bool)]| {
            let (holder, shared) = holds[0];
            if shared {
                Rule::HeldShared(StrandId(holder))
            } else {
                Rule::Held(StrandId(holder))
            }
        };
        match event.op {
            Op::Acquire if holds.is_empty() || is_exclusive && mine > 0 => {
                holds.push((me, false));
                Ok(mine == 0)
            }
            Op::AcquireShared if holds.is_empty() || is_shared => {
                holds.push((me, true));
                Ok(mine == 0)
            }
            Op::Acquire | Op::AcquireShared => Err(holder(holds)),
            Op::Release if !(is_exclusive && is_holder) => Err(Rule::NotHeld),
            Op::Release => {
                holds.pop();
                Ok(holds.is_empty())
            }
            Op::ReleaseShared if !(is_shared && is_holder) => Err(Rule::NotShared),
            Op::ReleaseShared => {
                let whose = if mine > 0 { me } else { holds[0].0 };
                let at = holds.iter().rposition(|hold| hold.0 == whose);
                holds.remove(at.expect("a holder holds"));
                Ok(!holds.iter().any(|hold| hold.0 == whose))
            }
            Op::Upgrade if !is_shared || !is_holder => Err(Rule::NotShared),
            Op::Upgrade => match holds.iter().find(|hold| hold.0 != holds[0].0) {
                // One of several holders.
                Some(_) if mine == 0 => Err(Rule::NotShared),
                Some(_) => {
                    let other = holds.iter().find(|hold| hold.0 != me);
                    Err(Rule::HeldShared(StrandId(other.expect("there are two").0)))
                }
                None => {
                    holds.fill((me, false));
                    Ok(true)
                }
            },
            _ if !(is_exclusive && is_holder) => Err(Rule::NotHeld),
            _ => {
                holds.fill((me, true));
                Ok(true)
            }
        }
    }
}

/// Events of few strands on few objects, most of them possible; the first that breaks a rule is the last.
fn recorded(random: &mut Random, guards_move: bool) -> Vec<Event> {
    let mut rules = Rules {
        guards_move,
        ..Rules::default()
    };
    let (strands, objects) = (1 + random.below(4), 1 + random.below(4));
    let breaks = random.below(3) * 20;
    let mut events = Vec::new();
    for _ in 0..random.below(160) {
        let (strand, object) = (random.below(strands) as u32, random.below(objects) as u32);
        let (op, target) = match random.below(26) {
            0..=3 => (Op::Begin, 900),
            4..=6 => (Op::End, 900),
            7..=8 => (Op::Read, object),
            9..=10 => (Op::Write, object),
            11 => (Op::ReadWrite, object),
            12 => (Op::Update(Update::Add), object),
            13..=14 => (Op::Acquire, object),
            15 => (Op::Release, object),
            16 => (Op::AcquireShared, object),
            17 => (Op::ReleaseShared, object),
            18 => (Op::Upgrade, object),
            19 => (Op::Downgrade, object),
            20 => (Op::Fork, random.below(strands) as u32),
            21 => (Op::Join, random.below(strands) as u32),
            22 => (Op::Exit, 0),
            23 => (Op::Send, object + 10),
            24 => (Op::Recv, object + 10),
            _ => (Op::Retire, object),
        };
        let event = Event {
            site: SiteId(events.len() as u32 + 1),
            ..event(strand, op, target)
        };
        if op == Op::ReleaseShared && rules.is_ambiguous(&event) {
            continue;
        }
        let is_possible = rules.clone().admit(&event).is_ok();
        if is_possible || breaks > 0 && random.below(breaks) == 0 {
            // The model and those it is compared with see what is broken.
            let _ = rules.admit(&event);
            events.push(event);
        }
        if !is_possible && events.last() == Some(&event) {
            break;
        }
    }
    events
}

/// The rule; of several shared holders, any may be named.
fn told(rule: Rule) -> Rule {
    match rule {
        Rule::HeldShared(_) => Rule::HeldShared(StrandId(0)),
        rule => rule,
    }
}

#[test]
fn rules_are_those_of_the_model_event_by_event_and_in_runs() {
    let (mut broken, mut dropped) = (0, 0);
    for seed in 0..20_000 {
        let mut random = Random(seed);
        let guards_move = random.below(2) == 0;
        let events = recorded(&mut random, guards_move);
        let new = || match guards_move {
            true => WellFormed::with_moving_guards(),
            false => WellFormed::new(),
        };
        let mut model = Rules {
            guards_move,
            ..Rules::default()
        };
        let expected: Vec<Result<bool, Rule>> = events
            .iter()
            .map(|event| model.admit(event).map_err(told))
            .collect();
        let mut single = new();
        let singly: Vec<_> = events
            .iter()
            .map(|event| match single.admit(event) {
                Ok(counts) => {
                    assert!(counts.is_none_or(|counts| counts == *event), "seed {seed}");
                    Ok(counts.is_some())
                }
                Err(malformed) => Err(told(malformed.rule)),
            })
            .collect();
        assert_eq!(singly, expected, "seed {seed}: {events:?}");
        let (mut runs, mut in_runs) = (new(), Vec::new());
        while in_runs.len() < events.len() {
            let left = events.len() - in_runs.len();
            let length = 1 + random.below(left as u64) as usize;
            let run = &events[in_runs.len()..][..length];
            let admitted = runs.admit_all(run);
            in_runs.extend(vec![Ok(true); admitted.count]);
            match admitted.next {
                None => assert_eq!(admitted.count, length, "seed {seed}"),
                Some(Ok(())) => in_runs.push(Ok(false)),
                Some(Err(malformed)) => {
                    assert_eq!(malformed.event, run[admitted.count], "seed {seed}");
                    in_runs.push(Err(told(malformed.rule)));
                }
            }
        }
        assert_eq!(in_runs, expected, "seed {seed}: {events:?}");
        broken += u32::from(expected.iter().any(Result::is_err));
        dropped += u32::from(expected.contains(&Ok(false)));
    }
    assert!(
        broken > 1_000 && dropped > 1_000,
        "{broken} traces break a rule, {dropped} have what does not count"
    );
}

// The `rust` semantics.

/// A strand as the table has it. Numbers of transactions are indices into the graph.
#[derive(Clone, Default)]
struct Strand {
    /// Works for this strand's transaction.
    owner: Option<u32>,
    /// Inside a block of its own.
    in_block: bool,
    open: Option<usize>,
    /// The transactions that come before whatever it does next.
    before: Vec<usize>,
    /// The transactions that a join of it comes after.
    done: Vec<usize>,
}

/// The transactions of a recorded trace, and their order, under `rust`.
#[derive(Default)]
struct Table {
    strands: HashMap<u32, Strand>,
    after: Vec<Vec<usize>>,
    /// What was done to objects: the transaction, the operation, the object and how often its number had been given before.
    steps: Vec<(usize, Op, u32, u32)>,
    ages: HashMap<u32, u32>,
    cycle: bool,
}

impl Table {
    /// The position of the event that closes the first cycle.
    fn first_cycle(events: &[(Event, u64)]) -> Option<u64> {
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
        from == to || self.after[from].iter().any(|&next| self.reaches(next, to))
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
        if it.in_block {
            self.strand(worker).open = Some(self.begin(worker));
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
                let age = self.ages.get(&target).copied().unwrap_or_default();
                for (from, earlier, object, of) in self.steps.clone() {
                    if (object, of) == (target, age) && orders(earlier, op) {
                        self.order(from, to);
                    }
                }
                self.steps.push((to, op, target, age));
            }
        }
    }
}

/// The earlier operation orders before the later one, on the same object.
fn orders(earlier: Op, later: Op) -> bool {
    let is_access = |op| matches!(op, Op::Read | Op::Write | Op::ReadWrite | Op::Update(_));
    match (earlier, later) {
        (Op::Read, Op::Read) => false,
        (Op::Update(a), Op::Update(b)) => a != b,
        (Op::Release | Op::Downgrade, Op::Acquire | Op::AcquireShared | Op::Upgrade) => true,
        (Op::ReleaseShared, Op::Acquire | Op::Upgrade) => true,
        (Op::Signal, Op::Await) | (Op::Send, Op::Recv) => true,
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
    /// A pause or a restart that is a split.
    splits: bool,
    /// A failed exchange: the step that it answers for, and whether it was retried.
    since: usize,
    retried: bool,
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
        let others_see = matches!(self.op(i), Op::Send | Op::Recv | Op::Signal);
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
            Op::Acquire | Op::AcquireShared | Op::Upgrade => Some((object, true)),
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

    fn judge(mut self) -> Vec<Step> {
        for k in 0..self.0.len() {
            let op = self.op(k);
            let is_exchange = matches!(op, Op::CompareExchange | Op::CompareExchangeFailed);
            if let Some(seen) = self.sees(k) {
                self.retry(k, seen, is_exchange);
                self.wait(k, seen);
                for i in (0..k)
                    .filter(|&i| self.look(i) == Some(seen))
                    .collect::<Vec<_>>()
                {
                    let is_retried = (i + 1..k).any(|f| self.0[f].retried && i < self.0[f].since);
                    let is_vain = matches!(self.op(i), Op::Vain(_))
                        && matches!(op, Op::Vain(_) | Op::Update(_) | Op::ReadWrite)
                        && self.same_site(i, k);
                    let is_divided = self.is_divided(i, k);
                    if is_divided || is_retried || is_vain || is_exchange {
                        self.drop_look(i, k);
                    }
                }
            }
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
        self.0
    }

    /// The failures that step `k` tries again.
    fn retry(&mut self, k: usize, seen: Seen, is_exchange: bool) {
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
    runs: Vec<Vec<Step>>,
}

impl Runs {
    fn begin(&mut self, strand: u32) {
        self.runs.push(Vec::new());
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

    fn take(&mut self, at: usize, event: &Event) {
        let (strand, target) = (event.strand.0, event.target);
        let me = self.strands.entry(strand).or_default().clone();
        let root = me.root.unwrap_or(strand);
        let child = self.strands.get(&target).and_then(|child| child.root);
        if let Some(run) = me.run {
            let is_guard = event.op == Op::ReadWrite && me.acquired == Some(target);
            let works = |it: &Whereabouts| it.root == Some(strand);
            let is_alone = me.root.is_none() && !self.strands.values().any(works);
            self.runs[run].push(Step {
                at,
                event: *event,
                through_guard: is_guard,
                waits: event.op == Op::Join && child != Some(root),
                is_alone,
                dropped: false,
                splits: false,
                since: usize::MAX,
                retried: false,
            });
        }
        let is_inside = me.run.is_some();
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

/// What counts of a trace under `rust`, each event with its position; and how many looks do not, and how many pauses are waits.
fn counting(events: &[Event]) -> (Vec<(Event, u64)>, usize, usize) {
    let mut runs = Runs::default();
    for (at, event) in events.iter().enumerate() {
        runs.take(at, event);
    }
    let steps: Vec<Step> = runs
        .runs
        .into_iter()
        .flat_map(|run| Run(run).judge())
        .collect();
    let find = |at| steps.iter().find(|step| step.at == at);
    let mut last: HashMap<u32, Op> = HashMap::new();
    let (mut result, mut dropped, mut waits) = (Vec::new(), 0, 0);
    for (at, &event) in events.iter().enumerate() {
        if find(at).is_some_and(|step| step.dropped) {
            dropped += 1;
            continue;
        }
        let splits = find(at).is_some_and(|step| step.splits);
        let op = match event.op {
            Op::Pause | Op::Restart if splits => {
                waits += usize::from(event.op == Op::Pause);
                Op::Split
            }
            Op::Pause | Op::Restart | Op::Busy => continue,
            Op::CompareExchange => Op::ReadWrite,
            Op::CompareExchangeFailed => Op::Read,
            Op::Vain(kind) if last.get(&event.target) == Some(&Op::Update(kind)) => {
                Op::Update(kind)
            }
            Op::Vain(_) => Op::Read,
            op => op,
        };
        match op {
            Op::Read | Op::Write | Op::ReadWrite | Op::Update(_) => {
                last.insert(event.target, op);
            }
            Op::Retire | Op::Recv => {
                last.remove(&event.target);
            }
            _ => {}
        }
        result.push((Event { op, ..event }, at as u64 + 1));
    }
    (result, dropped, waits)
}

fn number(name: &str, default: u64) -> u64 {
    let given = std::env::var(name).ok();
    given
        .and_then(|given| given.parse().ok())
        .unwrap_or(default)
}

/// The judge has its own words for looks, retries and waits, its own transactions and its own graph. `AERODROME_JUDGED` is the number of traces.
#[test]
fn every_engine_finds_what_the_judge_finds() {
    let (cycles, without, looks, pauses) = Default::default();
    let [cycles, without, looks, pauses]: [&std::cell::Cell<usize>; 4] =
        [&cycles, &without, &looks, &pauses];
    let add = |it: &std::cell::Cell<usize>, more: usize| it.set(it.get() + more);
    let traces = number("AERODROME_JUDGED", 10_000);
    for_random_traces(0..traces, RECORDED, |events| {
        let events = &closed(events);
        let (counting, dropped, waits) = counting(events);
        let expected = Table::first_cycle(&counting);
        for &engine in EngineKind::ALL {
            for has_groups in [false, true] {
                let checker = match has_groups {
                    true => checker(engine, Semantics::Rust),
                    false => Checker::new(engine, Semantics::Rust),
                };
                let findings = singly(checker, events).given_out;
                let found = findings.iter().map(|(_, violation)| violation.event).min();
                // `aerodrome` finds a cycle when all but one of its transactions have ended, and groups do not wait for each other.
                let agrees = match engine {
                    EngineKind::Exact | EngineKind::Velodrome if !has_groups => found == expected,
                    _ => found.is_some() == expected.is_some(),
                };
                check(agrees, || {
                    format!("{engine} at {found:?}, the judge at {expected:?}")
                })?;
            }
        }
        add(if expected.is_some() { cycles } else { without }, 1);
        add(looks, usize::from(dropped > 0));
        add(pauses, usize::from(waits > 0));
        Ok(())
    });
    let [cycles, without, looks, pauses] =
        [cycles, without, looks, pauses].map(|it| it.get() as u64);
    assert!(
        cycles > traces / 10
            && without > traces / 10
            && looks > traces / 10
            && pauses > traces / 20,
        "of {traces}, {cycles} have a cycle and {without} none; {looks} have looks that do not count, {pauses} have pauses that are waits"
    );
}

// The checker.

/// What a checker gives out, at which event, and how often each occurred; and where transactions are open at the end.
#[derive(Debug, PartialEq)]
struct Findings {
    given_out: Vec<(u64, Violation)>,
    counts: Vec<u64>,
    open: Vec<Option<u64>>,
}

impl Findings {
    fn new(mut checker: Checker, mut given_out: Vec<(u64, Violation)>) -> Findings {
        let open = (0..8)
            .map(|strand| checker.open_since(StrandId(strand)))
            .collect();
        while let Some(violation) = checker.finish(&KINDS) {
            given_out.push((0, *violation));
        }
        Findings {
            given_out,
            counts: checker.counts().to_vec(),
            open,
        }
    }
}

/// Strands with even numbers are of one group, the others of another.
fn group(strand: StrandId) -> u32 {
    strand.0 % 2
}

fn checker(engine: EngineKind, semantics: Semantics) -> Checker {
    let mut checker = Checker::new(engine, semantics);
    for strand in (0..8).map(StrandId) {
        checker.set_group(strand, group(strand));
    }
    checker
}

fn singly(mut checker: Checker, events: &[Event]) -> Findings {
    let mut given_out = Vec::new();
    for (&event, position) in events.iter().zip(1..) {
        let found = checker.step(event, position, &KINDS);
        given_out.extend(found.map(|violation| (position, *violation)));
    }
    Findings::new(checker, given_out)
}

fn in_runs(
    engine: EngineKind,
    semantics: Semantics,
    events: &[Event],
    random: &mut Random,
) -> Findings {
    let (mut checker, mut given_out) = (checker(engine, semantics), Vec::new());
    let mut at = 0;
    while at < events.len() {
        let left = (events.len() - at) as u64;
        let count = 1 + random.below(left) as usize;
        let (taken, found) = checker.run(&events[at..], count, at as u64 + 1, &KINDS);
        assert!(
            found.is_some() || taken == count,
            "a run ends where something is found"
        );
        at += taken;
        given_out.extend(found.map(|violation| (at as u64, *violation)));
    }
    Findings::new(checker, given_out)
}

/// What makes two violations one: block, entry, exit and object.
type Key = (Option<BlockId>, SiteId, SiteId, Option<u32>);

fn key(violation: &Violation, event: &Event) -> Key {
    let (n, blame) = (violation.edges.len(), violation.blame);
    let block = violation.transactions[blame].block;
    if n == 0 {
        return (block, event.site, SiteId::NONE, None);
    }
    let (entry, exit) = (
        violation.edges[(blame + n - 1) % n].to,
        violation.edges[blame].from,
    );
    let object = entry.object.map(|object| object.0);
    (block, entry.site, exit.site, object)
}

/// The checker in its simplest form: all that a trace is lowered to goes to the engine.
fn plainly(engine: EngineKind, semantics: Semantics, events: &[Event]) -> Findings {
    let (mut lowering, mut engine) = (Lowering::new(semantics), engine.engine());
    let mut retries = Retries::new();
    for strand in (0..8).map(StrandId) {
        retries.set_group(strand, group(strand));
    }
    let mut since: HashMap<StrandId, u64> = HashMap::new();
    let (mut given_out, mut ready) = (Vec::new(), Vec::new());
    let (mut known, mut counts): (HashMap<Key, usize>, Vec<u64>) = Default::default();
    let mut open = vec![None; 8];
    for step in 0..=events.len() {
        let mut counting = Vec::new();
        let position = step as u64 + 1;
        let Some(&event) = events.get(step) else {
            open = (0..8)
                .map(|strand| since.get(&StrandId(strand)).copied())
                .collect();
            retries.flush_all(&mut |event, position| counting.push((event, position)));
            step_all(
                &mut lowering,
                engine.as_mut(),
                semantics,
                &counting,
                &mut |violation, event| {
                    count(violation, event, &mut known, &mut counts, &mut ready);
                },
            );
            break;
        };
        match event.op {
            Op::Begin => drop(since.insert(event.strand, position)),
            Op::End | Op::Exit => drop(since.remove(&event.strand)),
            Op::Split => drop(since.get_mut(&event.strand).map(|since| *since = position)),
            _ => {}
        }
        match semantics {
            Semantics::Paper => counting.push((event, position)),
            Semantics::Rust if is_for_engine(&event, semantics) => {
                retries.take(event, position, &mut |event, position| {
                    counting.push((event, position))
                });
            }
            Semantics::Rust => retries.pass_over(event),
        }
        step_all(
            &mut lowering,
            engine.as_mut(),
            semantics,
            &counting,
            &mut |violation, event| {
                count(violation, event, &mut known, &mut counts, &mut ready);
            },
        );
        if !ready.is_empty() {
            given_out.push((position, ready.remove(0)));
        }
    }
    given_out.extend(ready.into_iter().map(|violation| (0, violation)));
    Findings {
        given_out,
        counts,
        open,
    }
}

fn step_all(
    lowering: &mut Lowering,
    engine: &mut dyn Engine,
    semantics: Semantics,
    counting: &[(Event, u64)],
    found: &mut dyn FnMut(Violation, &Event),
) {
    for (event, position) in counting {
        let mut lowered = Vec::new();
        lowering.lower(*event, &mut |event| lowered.push(event));
        for it in lowered
            .into_iter()
            .filter(|it| is_for_engine(it, semantics))
        {
            if let Some(violation) = engine.step(it, *position) {
                found(*violation, event);
            }
        }
    }
}

fn count(
    violation: Violation,
    event: &Event,
    known: &mut HashMap<Key, usize>,
    counts: &mut Vec<u64>,
    ready: &mut Vec<Violation>,
) {
    let number = *known.entry(key(&violation, event)).or_insert_with(|| {
        ready.push(violation);
        counts.push(0);
        counts.len() - 1
    });
    counts[number] += 1;
}

#[test]
fn the_checker_is_its_simplest_form_event_by_event_and_in_runs() {
    let late = std::cell::Cell::new(0);
    for_random_traces(0..10_000, RECORDED, |events| {
        let mut random = Random(events.len() as u64);
        for &engine in EngineKind::ALL {
            for semantics in [Semantics::Rust, Semantics::Paper] {
                let expected = plainly(engine, semantics, events);
                let singly = singly(checker(engine, semantics), events);
                check(singly == expected, || {
                    format!("{engine} {semantics:?}: {singly:?}\ninstead of {expected:?}")
                })?;
                let in_runs = in_runs(engine, semantics, events, &mut random);
                check(in_runs == expected, || {
                    format!("{engine} {semantics:?} in runs: {in_runs:?}\ninstead of {expected:?}")
                })?;
                let is_late = |(at, violation): &(u64, Violation)| *at != violation.event;
                late.set(late.get() + u32::from(expected.given_out.iter().any(is_late)));
            }
        }
        Ok(())
    });
    assert!(
        late.get() > 100,
        "{} traces have a violation that waits",
        late.get()
    );
}
