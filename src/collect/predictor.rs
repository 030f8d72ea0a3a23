//! Prediction in process: one for each family, from its first event to its end.

use crate::predict::{AnalysisKind, Feed, Forecast, Options};
use crate::trace::{Event, Names, Op, Semantics, Then};

/// Feeds a family's events to the predictor.
///
/// When the first strand has joined all others, everything so far comes before everything that
/// follows, so nothing can be predicted across that point: the forecast is made there, and the next
/// one begins.
///
/// A family may turn out to be the guest of another, by touching its objects or by being touched.
/// The events that it has had by then are [kept](Self::waiting), up to a bound, and given to the
/// other's predictor: as the two had nothing in common before, no pair of conflicting events
/// thereby changes its order.
///
/// Prediction costs more an event than the run does, and memory for each. So it looks at as many as
/// its [`Ration`] has, makes the forecast there, and lets the others pass; a note says so.
pub(super) struct FamilyPredictor {
    semantics: Semantics,
    ration: Ration,
    /// The first events, until there are more than [`KEPT`](Self::KEPT).
    waiting: Vec<(Event, u64)>,
    running: Option<Box<Feed>>,
    /// How many events there were.
    taken: u64,
    /// Made when there were enough.
    forecast: Option<Box<Forecast>>,
    /// Strands forked and not joined.
    unjoined: u64,
    /// Guests that have not ended.
    guests: u64,
}

/// How many events of a family prediction looks at: as many as this in all, and then some of
/// each part that ends with a join.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ration {
    left: u64,
    /// Whether it was said that there are more.
    is_noted: bool,
}

impl Ration {
    const ALL: u64 = 1 << 17;
    const LEAST: u64 = 1 << 13;

    /// What the next part has.
    fn part(self) -> u64 {
        self.left.max(Self::LEAST)
    }
}

impl Default for Ration {
    fn default() -> Self {
        Self {
            left: Self::ALL,
            is_noted: false,
        }
    }
}

impl FamilyPredictor {
    const KEPT: usize = 4096;

    pub(super) fn new(semantics: Semantics, ration: Ration) -> Self {
        Self {
            semantics,
            ration,
            waiting: Vec::new(),
            running: None,
            taken: 0,
            forecast: None,
            unjoined: 0,
            guests: 0,
        }
    }

    pub(super) fn step(&mut self, event: Event, position: u64, names: &dyn Names) {
        match event.op {
            Op::Fork => self.unjoined += 1,
            Op::Join => self.unjoined = self.unjoined.saturating_sub(1),
            _ => {}
        }
        if self.forecast.is_some() {
            return;
        }
        self.taken += u64::from(event.op != Op::Value);
        match &mut self.running {
            Some(running) => running.step(event, position, names),
            None => {
                self.waiting.push((event, position));
                if self.waiting.len() > Self::KEPT {
                    self.run(names);
                }
            }
        }
        if self.taken >= self.ration.part() {
            self.stop(names);
        }
    }

    /// What is left for the family's next one.
    pub(super) fn ration(&self) -> Ration {
        Ration {
            left: self.ration.left.saturating_sub(self.taken),
            is_noted: self.ration.is_noted || self.forecast.is_some(),
        }
    }

    /// There were enough events. What follows may give their numbers to others, so that names are
    /// asked for here.
    fn stop(&mut self, names: &dyn Names) {
        self.run(names);
        let running = self.running.take();
        self.forecast = running.map(|running| {
            let mut forecast = running.finish(names);
            if !self.ration.is_noted {
                forecast.notes.push(format!(
                    "prediction looks at {} events of a test, and then at {} before each join: \
                     record a trace with AERODROME_TRACE, and `aerodrome predict` looks at all",
                    Ration::ALL,
                    Ration::LEAST
                ));
            }
            Box::new(forecast)
        });
    }

    /// Hands over what was kept.
    fn run(&mut self, names: &dyn Names) -> &mut Feed {
        let semantics = self.semantics;
        let running = self.running.get_or_insert_with(|| {
            Box::new(Feed::new(semantics, &AnalysisKind::ALL, Options::brief()))
        });
        for (event, position) in self.waiting.drain(..) {
            running.step(event, position, &Then { names, position });
        }
        running
    }

    /// Takes over the events of a family that has become a guest, if it can: what was kept by
    /// either goes to the other.
    pub(super) fn absorb(
        &mut self,
        mut guest: FamilyPredictor,
        names: &dyn Names,
    ) -> Result<(), FamilyPredictor> {
        let is_over = self.forecast.is_some() || guest.forecast.is_some();
        if is_over || self.running.is_some() && guest.running.is_some() {
            return Err(guest);
        }
        self.taken += guest.taken;
        self.unjoined += guest.unjoined;
        self.guests += guest.guests;
        if guest.running.is_some() {
            std::mem::swap(&mut self.running, &mut guest.running);
            std::mem::swap(&mut self.waiting, &mut guest.waiting);
        }
        if self.running.is_none() {
            self.waiting.append(&mut guest.waiting);
            self.waiting.sort_unstable_by_key(|&(_, position)| position);
        } else {
            self.waiting = guest.waiting;
            self.run(names);
        }
        Ok(())
    }

    /// A guest has come, whose strands do not end by a join.
    pub(super) fn welcome(&mut self) {
        self.guests += 1;
    }

    /// A guest has ended.
    pub(super) fn dismiss(&mut self) {
        self.guests = self.guests.saturating_sub(1);
    }

    /// Whether what follows comes after all that was.
    pub(super) fn is_at_rest(&self) -> bool {
        self.unjoined == 0 && self.guests == 0
    }

    /// What other schedules of these events would show, if anything.
    pub(super) fn predict(mut self, names: &dyn Names) -> Option<Forecast> {
        let forecast = match self.forecast {
            Some(forecast) => *forecast,
            None => {
                self.run(names);
                self.running?.finish(names)
            }
        };
        (!forecast.is_empty() || !forecast.notes.is_empty()).then_some(forecast)
    }
}

impl std::fmt::Debug for FamilyPredictor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("FamilyPredictor")
            .field("waiting", &self.waiting.len())
            .field("is_running", &self.running.is_some())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::predict::Tier;
    use crate::trace::{SiteId, StrandId, Tables};

    /// One that was given a transaction that another strand's write can interrupt, and so many
    /// reads after it.
    fn after(reads: u64, ration: Ration) -> FamilyPredictor {
        let run = [
            (0, Op::Begin, 1),
            (0, Op::Read, 5),
            (0, Op::Write, 5),
            (0, Op::End, 1),
            (1, Op::Write, 5),
        ];
        let reads = (0..reads).map(|_| (1, Op::Read, 6));
        let mut predictor = FamilyPredictor::new(Semantics::Paper, ration);
        for ((strand, op, target), position) in run.into_iter().chain(reads).zip(1..) {
            let event = Event::new(StrandId(strand), op, target, SiteId::NONE);
            predictor.step(event, position, &Tables::default());
        }
        predictor
    }

    fn forecast(predictor: FamilyPredictor) -> Forecast {
        predictor.predict(&Tables::default()).expect("a prediction")
    }

    #[test]
    fn events_beyond_the_bound_are_not_looked_at_and_a_note_says_so_once() {
        let short = forecast(after(10, Ration::default()));
        let mut tiers = short.violations.iter().map(|violation| violation.tier);
        assert_eq!(
            tiers.next(),
            Some(Tier::Predicted),
            "{:?}",
            short.violations
        );
        assert!(short.notes.is_empty(), "{:?}", short.notes);

        let first = after(Ration::ALL, Ration::default());
        let ration = first.ration();
        let first = forecast(first);
        assert_eq!(short.violations, first.violations);
        let bound = "prediction looks at 131072 events of a test";
        assert!(first.notes[0].starts_with(bound), "{:?}", first.notes);

        let next = after(Ration::LEAST, ration);
        assert_eq!(next.taken, Ration::LEAST);
        let next = forecast(next);
        assert_eq!(short.violations, next.violations);
        assert!(next.notes.is_empty(), "{:?}", next.notes);
    }
}
