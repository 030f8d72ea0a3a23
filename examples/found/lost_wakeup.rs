//! A lost wake-up: a receiver looks for a message and leaves its waker in two critical sections.
//!
//! flume 0.12 has it in `RecvFut::poll`: see docs/found.md.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Poll, Wake, Waker};

use aerodrome::real::sync::Barrier;
use aerodrome::report::Report;
use aerodrome::sync::Mutex;
use aerodrome::{atomic, thread};

#[derive(Default)]
struct State {
    messages: VecDeque<u32>,
    waiting: Vec<Waker>,
}

#[derive(Default)]
struct Channel(Mutex<State>);

#[atomic]
impl Channel {
    fn send(&self, message: u32) {
        let mut state = self.0.lock().unwrap();
        state.messages.push_back(message);
        state.waiting.drain(..).for_each(Waker::wake);
    }

    fn poll(&self, waker: &Waker, between: impl FnOnce()) -> Poll<u32> {
        if let Some(message) = self.0.lock().unwrap().messages.pop_front() {
            return Poll::Ready(message);
        }
        between();
        // A message that came in between has woken nobody.
        self.0.lock().unwrap().waiting.push(waker.clone());
        Poll::Pending
    }
}

/// Counts how often it was woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The report, how many messages wait, and how often the receiver was woken for them.
pub(crate) fn run() -> (Vec<Report>, usize, usize) {
    let channel = Channel::default();
    aerodrome::name(&channel.0, "channel");
    let count = Arc::new(Count::default());
    let (looked, sent) = (Barrier::new(2), Barrier::new(2));
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            s.spawn(|| {
                let waker = Waker::from(count.clone());
                let poll = channel.poll(&waker, || {
                    looked.wait();
                    sent.wait();
                });
                assert!(poll.is_pending());
            });
            s.spawn(|| {
                looked.wait();
                channel.send(7);
                sent.wait();
            });
        });
    });
    let left = channel.0.lock().unwrap().messages.len();
    (outcome.violations, left, count.0.load(Ordering::SeqCst))
}

#[allow(dead_code, reason = "tests/programs/found.rs calls `run`")]
fn main() {
    let (reports, left, woken) = run();
    println!("{left} message waits, and the receiver was woken {woken} times");
    for report in reports {
        println!("{report}");
    }
}
