//! The rules of well-formed traces, against a model with a list of holds for each lock.

use std::collections::HashMap;

use aerodrome::trace::{Event, Op, Rule, SiteId, StrandId, Update, WellFormed};

use super::is_lock;
use crate::common::{Random, event};

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

    /// One of several shared holds is given back by a strand that has none: whose it was is
    /// anybody's guess.
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

/// Events of few strands on few objects, most of them possible; the first that breaks a rule is the
/// last.
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
