//! Random priorities of pending operations, as partial order sampling has them.

use super::random::Random;
use super::{Action, Intent};

/// A priority for each pending operation.
#[derive(Debug, Default)]
pub(crate) struct Priorities {
    /// By seat.
    pending: Vec<Option<Pending>>,
}

#[derive(Debug)]
struct Pending {
    nth: u32,
    intent: Intent,
    priority: u64,
}

impl Priorities {
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }

    /// Which of the candidates, which are indices into `ready`, has the highest priority. New
    /// operations draw theirs. Of two ways in which a strand may go on, each is as likely.
    pub(crate) fn highest(
        &mut self,
        ready: &[Action],
        candidates: &[usize],
        random: &mut Random,
    ) -> usize {
        for action in ready {
            self.announce(action, random);
        }
        let priority = |index: &&usize| self.of(&ready[**index]);
        let best = *candidates.iter().max_by_key(priority).expect("a candidate");
        let seat = ready[best].seat;
        let ways = candidates
            .iter()
            .filter(|&&index| ready[index].seat == seat);
        let way = random.below(ways.clone().count());
        *ways.clone().nth(way).expect("the best is one of them")
    }

    fn of(&self, action: &Action) -> u64 {
        let pending = self.pending[action.seat as usize].as_ref();
        pending.map_or(0, |pending| pending.priority)
    }

    fn announce(&mut self, action: &Action, random: &mut Random) {
        let seat = action.seat as usize;
        if self.pending.len() <= seat {
            self.pending.resize_with(seat + 1, || None);
        }
        let pending = &mut self.pending[seat];
        let known = |known: &Pending| known.nth == action.nth && known.intent == action.intent;
        if !pending.as_ref().is_some_and(known) {
            *pending = Some(Pending {
                nth: action.nth,
                intent: action.intent,
                priority: random.next(),
            });
        }
    }

    /// The action is performed: those that conflict with it draw again.
    pub(crate) fn performed(&mut self, action: &Action) {
        for pending in &mut self.pending {
            if pending
                .as_ref()
                .is_some_and(|other| other.intent.conflicts(&action.intent))
            {
                *pending = None;
            }
        }
    }
}
