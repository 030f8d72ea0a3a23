//! What a variable keeps of its accesses, for the engines that have room for it.
//!
//! As in [`exact`](super::exact): the current group of accesses that commute, the group before, the
//! base, and the vain updates since the last write, one group for each kind. Everything older is
//! implied through these.

use std::iter;

use crate::trace::{Op, Update};

/// Whether two accesses of one variable can be exchanged.
pub(super) fn commute(a: Op, b: Op) -> bool {
    match (a, b) {
        (Op::Read | Op::Vain(_), Op::Read | Op::Vain(_)) => true,
        (Op::Update(a) | Op::Vain(a), Op::Update(b) | Op::Vain(b)) => a == b,
        _ => false,
    }
}

/// The groups of a variable; `G` is what an engine keeps of accesses that commute.
#[derive(Clone, Debug)]
pub(super) struct Groups<G> {
    current: Group<G>,
    before: Group<G>,
    /// What came before reads and updates of one kind that have taken turns; see [`exact`](super::exact).
    base: Group<G>,
    vain: Vec<(Update, G)>,
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
            base: Group::default(),
            vain: Vec::new(),
        }
    }
}

impl<G: Default> Groups<G> {
    /// The groups that an access comes after.
    pub(super) fn before(&mut self, op: Op) -> impl Iterator<Item = &mut G> {
        let group = match op {
            _ if !self.current.commutes(op) => &mut self.current,
            Op::Vain(_) if self.before.commutes(op) => &mut self.base,
            _ => &mut self.before,
        };
        let vain = self.vain.iter_mut();
        let vain = vain.filter(move |(kind, _)| !commute(Op::Vain(*kind), op));
        iter::once(&mut group.members).chain(vain.map(|(_, members)| members))
    }

    /// The group that an access joins; what it makes superfluous is forgotten.
    pub(super) fn join(&mut self, op: Op) -> &mut G {
        if let Op::Vain(kind) = op {
            let known = self.vain.iter().position(|(it, _)| *it == kind);
            let at = known.unwrap_or_else(|| {
                self.vain.push((kind, G::default()));
                self.vain.len() - 1
            });
            return &mut self.vain[at].1;
        }
        if self.current.op.is_none() || !self.current.commutes(op) {
            self.begin(op);
        }
        &mut self.current.members
    }

    /// A new group begins, with an access that is not in vain.
    fn begin(&mut self, op: Op) {
        let last = std::mem::take(&mut self.current);
        self.current.op = Some(op);
        let older = std::mem::take(&mut self.before);
        match (last.op, op) {
            (_, Op::Write | Op::ReadWrite) => {
                self.base = Group::default();
                self.vain.clear();
                return;
            }
            (Some(Op::Read), Op::Update(_)) | (Some(Op::Update(_)), Op::Read) => {
                if older.op != Some(op) {
                    self.base = older;
                }
            }
            _ => self.base = Group::default(),
        }
        self.before = last;
    }

    /// All groups.
    pub(super) fn all(&mut self) -> impl Iterator<Item = &mut G> {
        let groups = [&mut self.current, &mut self.before, &mut self.base];
        let groups = groups.into_iter().map(|group| &mut group.members);
        groups.chain(self.vain.iter_mut().map(|(_, members)| members))
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

    /// Every access comes after those before it that it does not commute with, directly or through others.
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
