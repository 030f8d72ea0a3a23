//! What a variable keeps of its accesses, for the engines that have room for it.
//!
//! As in [`exact`](super::exact): the current group of accesses that commute, the group before, the
//! base, and the vain updates since the last write, one group for each kind. Everything older is
//! implied through these.

use crate::trace::{Op, Update};

/// Whether two accesses of one variable can be exchanged.
pub(super) fn commute(a: Op, b: Op) -> bool {
    match (a, b) {
        (Op::Read | Op::Vain(_), Op::Read | Op::Vain(_)) => true,
        (Op::Update(a) | Op::Vain(a), Op::Update(b) | Op::Vain(b)) => a == b,
        _ => false,
    }
}

/// What an engine keeps of accesses that commute.
pub(super) trait Members: Default {
    /// Forgets them, and keeps the memory.
    fn clear(&mut self);
}

impl<T> Members for Vec<T> {
    fn clear(&mut self) {
        self.clear();
    }
}

/// The groups of a variable.
#[derive(Clone, Debug)]
pub(super) struct Groups<G> {
    current: Group<G>,
    before: Group<G>,
    /// What few variables have.
    rare: Option<Box<Rare<G>>>,
}

#[derive(Clone, Debug)]
struct Rare<G> {
    /// What came before reads and updates of one kind that have taken turns; see
    /// [`exact`](super::exact).
    base: Group<G>,
    vain: Vec<(Update, G)>,
}

impl<G: Default> Default for Rare<G> {
    fn default() -> Self {
        Rare {
            base: Group::default(),
            vain: Vec::new(),
        }
    }
}

#[derive(Clone, Debug)]
struct Group<G> {
    /// What its members do; nothing where there is none.
    op: Option<Op>,
    members: G,
}

impl<G: Default> Default for Group<G> {
    fn default() -> Self {
        Group {
            op: None,
            members: G::default(),
        }
    }
}

impl<G> Group<G> {
    fn commutes(&self, op: Op) -> bool {
        self.op.is_none_or(|own| commute(own, op))
    }
}

impl<G: Default> Default for Groups<G> {
    fn default() -> Self {
        Groups {
            current: Group::default(),
            before: Group::default(),
            rare: None,
        }
    }
}

impl<G: Members> Groups<G> {
    /// The groups that an access comes after.
    #[inline]
    pub(super) fn before(&mut self, op: Op) -> impl Iterator<Item = &mut G> {
        let (base, vain) = match &mut self.rare {
            Some(rare) => (Some(&mut rare.base), &mut rare.vain[..]),
            None => (None, &mut [][..]),
        };
        let group = match op {
            _ if !self.current.commutes(op) => Some(&mut self.current),
            Op::Vain(_) if self.before.commutes(op) => base,
            _ => Some(&mut self.before),
        };
        let vain = vain.iter_mut();
        let vain = vain.filter(move |(kind, _)| !commute(Op::Vain(*kind), op));
        let group = group.into_iter().map(|group| &mut group.members);
        group.chain(vain.map(|(_, members)| members))
    }

    /// The group that an access joins; what it makes superfluous is forgotten.
    #[inline]
    pub(super) fn join(&mut self, op: Op) -> &mut G {
        if let Op::Vain(kind) = op {
            return self.join_vain(kind);
        }
        if self.current.op.is_none() || !self.current.commutes(op) {
            self.begin(op);
        }
        &mut self.current.members
    }

    fn join_vain(&mut self, kind: Update) -> &mut G {
        let vain = &mut self.rare.get_or_insert_default().vain;
        let known = vain.iter().position(|(it, _)| *it == kind);
        let at = known.unwrap_or_else(|| {
            vain.push((kind, G::default()));
            vain.len() - 1
        });
        &mut vain[at].1
    }

    /// A new group begins, with an access that is not in vain.
    fn begin(&mut self, op: Op) {
        if let Op::Write | Op::ReadWrite = op {
            self.before.op = None;
            self.before.members.clear();
            self.rare = None;
        } else {
            let take_turns = matches!(
                (self.current.op, op),
                (Some(Op::Read), Op::Update(_)) | (Some(Op::Update(_)), Op::Read)
            );
            // What was before the last group is where the new one comes.
            std::mem::swap(&mut self.current, &mut self.before);
            let older = &mut self.current;
            if take_turns && older.op.is_some() {
                if older.op != Some(op) {
                    self.rare.get_or_insert_default().base = std::mem::take(older);
                }
            } else if let Some(rare) = &mut self.rare {
                rare.base = Group::default();
            }
        }
        self.current.op = Some(op);
        self.current.members.clear();
    }

    /// All groups.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut G> {
        let groups = [&mut self.current, &mut self.before].into_iter();
        let (base, vain) = match &mut self.rare {
            Some(rare) => (Some(&mut rare.base), &mut rare.vain[..]),
            None => (None, &mut [][..]),
        };
        let groups = groups.chain(base).map(|group| &mut group.members);
        groups.chain(vain.iter_mut().map(|(_, members)| members))
    }

    /// The last write, if nothing but one more group came after it.
    #[cfg(test)]
    pub(super) fn last_write(&self) -> Option<&G> {
        let groups = [&self.current, &self.before];
        let write = groups.into_iter().find(|group| group.op == Some(Op::Write));
        write.map(|group| &group.members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Update::{Add, Or};

    /// Every access comes after those before it that it does not commute with, directly or through
    /// others.
    #[test]
    fn what_is_not_kept_is_implied() {
        let ops = [
            Op::Read,
            Op::Write,
            Op::ReadWrite,
            Op::Update(Add),
            Op::Update(Or),
            Op::Vain(Add),
            Op::Vain(Or),
        ];
        let length = 6;
        for number in 0..ops.len().pow(length) {
            let trace: Vec<Op> = (0..length)
                .map(|at| ops[number / ops.len().pow(at) % ops.len()])
                .collect();
            let mut groups = Groups::<Vec<usize>>::default();
            let mut after: Vec<Vec<bool>> = Vec::new();
            for (now, &op) in trace.iter().enumerate() {
                let mut reached = vec![false; now];
                for &earlier in groups.before(op).flat_map(|group| group.iter()) {
                    reached[earlier] = true;
                    for (older, is_reached) in after[earlier].iter().enumerate() {
                        reached[older] |= is_reached;
                    }
                    assert!(!commute(trace[earlier], op), "{trace:?}: {earlier} {now}");
                }
                for earlier in 0..now {
                    let orders = !commute(trace[earlier], op);
                    assert!(reached[earlier] || !orders, "{trace:?}: {earlier} {now}");
                }
                after.push(reached);
                groups.join(op).push(now);
            }
        }
    }
}
