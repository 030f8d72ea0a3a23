//! The computation: the relevant events with their causal order, as far as they are still needed.

use super::clock::Clock;
use crate::trace::{SiteId, StrandId};
use std::collections::VecDeque;

/// A write of a variable that the property names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Relevant {
    /// The event's position in the trace.
    pub position: u64,
    /// Who wrote.
    pub strand: StrandId,
    /// Where.
    pub site: SiteId,
    /// Which variable: an index into the property's variables.
    pub variable: usize,
    /// The value that it has from then on.
    pub value: i64,
}

/// What the observer is told of a relevant event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// The event.
    pub event: Relevant,
    /// Its chain: the component of the clock that counts it.
    pub chain: usize,
    /// Its clock.
    pub clock: Clock,
}

#[derive(Debug, Default)]
struct Chain {
    /// The index of the first event that is kept.
    first: u32,
    /// Nothing where an event is known to exist and has not arrived.
    events: VecDeque<Option<(Relevant, Clock)>>,
}

/// Messages in any order of arrival, to be had by chain and index.
#[derive(Debug, Default)]
pub(super) struct Computation {
    chains: Vec<Chain>,
    received: u64,
    missing: u64,
}

impl Computation {
    pub(super) fn insert(&mut self, message: Message) {
        if self.chains.len() <= message.chain {
            self.chains.resize_with(message.chain + 1, Chain::default);
        }
        let chain = &mut self.chains[message.chain];
        let index = message.clock.get(message.chain).wrapping_sub(1);
        let Some(place) = index.checked_sub(chain.first).map(|place| place as usize) else {
            return;
        };
        if chain.events.len() <= place {
            self.missing += (place + 1 - chain.events.len()) as u64;
            chain.events.resize_with(place + 1, || None);
        }
        if chain.events[place]
            .replace((message.event, message.clock))
            .is_none()
        {
            self.missing -= 1;
            self.received += 1;
        }
    }

    /// How many chains there are so far.
    pub(super) fn chains(&self) -> usize {
        self.chains.len()
    }

    /// How many events have arrived.
    pub(super) fn received(&self) -> u64 {
        self.received
    }

    /// How many events have not arrived although a later one of their chain has.
    pub(super) fn missing(&self) -> u64 {
        self.missing
    }

    /// The event with this index in its chain, from 0, where it has arrived and is kept.
    #[inline]
    pub(super) fn event(&self, chain: usize, index: u32) -> Option<&(Relevant, Clock)> {
        let chain = self.chains.get(chain)?;
        chain
            .events
            .get(index.checked_sub(chain.first)? as usize)?
            .as_ref()
    }

    /// Frees the events of a chain below an index.
    pub(super) fn release(&mut self, chain: usize, below: u32) {
        let chain = &mut self.chains[chain];
        while chain.first < below && chain.events.front().is_some_and(Option::is_some) {
            chain.events.pop_front();
            chain.first += 1;
        }
    }
}
