//! What travels through the real channel: the payload, and the number of its message.

use std::panic::Location;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::record::{self, Pen};

pub(super) struct Envelope<T> {
    stamp: Stamp,
    pub(super) payload: T,
}

/// The number of a message, 0 if its send was not recorded. Dropped unopened, it says that the message was lost.
struct Stamp {
    number: u32,
    receipt: Option<Arc<Receipt>>,
}

/// Where the receiver of a rendezvous leaves the number of the message that it answers with.
pub(super) struct Receipt(AtomicU32);

impl Receipt {
    const PENDING: u32 = 0;
    const NONE: u32 = u32::MAX;

    /// Waits for the answer, which comes right after the rendezvous, and takes it as received.
    pub(super) fn take(&self, pen: Pen, site: &'static Location<'static>) {
        loop {
            match self.0.load(Ordering::Acquire) {
                Self::PENDING => std::thread::yield_now(),
                Self::NONE => return,
                number => return pen.receive(number, site),
            }
        }
    }
}

impl<T> Envelope<T> {
    /// Records the send of a message.
    pub(super) fn send(pen: Pen, payload: T, site: &'static Location<'static>) -> Self {
        let number = pen.send(site);
        Self {
            stamp: Stamp {
                number,
                receipt: None,
            },
            payload,
        }
    }

    /// An envelope whose send is not recorded.
    pub(super) fn unstamped(payload: T) -> Self {
        Self {
            stamp: Stamp {
                number: 0,
                receipt: None,
            },
            payload,
        }
    }

    /// Asks the receiver for an answer.
    pub(super) fn request_receipt(&mut self) -> Arc<Receipt> {
        let receipt = record::untracked(|| Arc::new(Receipt(AtomicU32::new(Receipt::PENDING))));
        self.stamp.receipt = Some(receipt.clone());
        receipt
    }

    /// Records the receipt.
    pub(super) fn open(self, pen: Option<Pen>, site: &'static Location<'static>) -> T {
        let Self { mut stamp, payload } = self;
        if let Some(pen) = pen {
            let number = std::mem::take(&mut stamp.number);
            if number != 0 {
                pen.receive(number, site);
            }
            if let Some(receipt) = stamp.receipt.take() {
                receipt.0.store(pen.send(site), Ordering::Release);
                record::untracked(|| drop(receipt));
            }
        }
        payload
    }
}

impl Drop for Stamp {
    fn drop(&mut self) {
        if self.number != 0
            && let Some(pen) = record::quiet_pen()
        {
            pen.lose(self.number);
        }
        if let Some(receipt) = &self.receipt {
            receipt.0.store(Receipt::NONE, Ordering::Release);
        }
    }
}
