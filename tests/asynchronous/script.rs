//! The schedule of a program. It is not tracked: its waits are tokio's own.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// Steps that happen in the order of their numbers.
#[derive(Debug, Default)]
pub(crate) struct Script(AtomicU32);

impl Script {
    /// A step has happened.
    pub(crate) fn did(&self, step: u32) {
        self.0.fetch_max(step, SeqCst);
    }

    /// Waits for a step; whether it happened in so many turns.
    async fn within(&self, step: u32, turns: u32) -> bool {
        for _ in 0..turns {
            if self.0.load(SeqCst) >= step {
                return true;
            }
            ::tokio::task::yield_now().await;
        }
        self.0.load(SeqCst) >= step
    }

    /// Waits for a step.
    pub(crate) async fn wait_for(&self, step: u32) {
        assert!(self.within(step, 1_000_000).await, "step {step} never came");
    }

    /// Lets others run for a while, who may do the step.
    pub(crate) async fn offer(&self, step: u32) {
        self.within(step, 50).await;
    }
}

/// What is let in in the middle of a function.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Gap<'a> {
    Closed,
    /// Does the first step and waits for the second.
    Until(&'a Script, u32, u32),
    /// The same, where the second cannot come.
    Offer(&'a Script, u32, u32),
}

impl Gap<'_> {
    pub(crate) async fn pass(self) {
        match self {
            Gap::Closed => {}
            Gap::Until(script, opens, closes) => {
                script.did(opens);
                script.wait_for(closes).await;
            }
            Gap::Offer(script, opens, closes) => {
                script.did(opens);
                script.offer(closes).await;
            }
        }
    }
}
