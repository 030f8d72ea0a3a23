//! Events out of order: a pool gives a connection's place away, and says so later.
//!
//! r2d2 0.8 has it in `PooledConnection::drop`: see docs/found.md.

use aerodrome::real::sync::Barrier;
use aerodrome::report::Report;
use aerodrome::sync::Mutex;
use aerodrome::{atomic, thread};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Acquire(u32),
    Release(u32),
}

struct Pool {
    /// How many connections there are.
    connections: Mutex<u32>,
    events: Mutex<Vec<Event>>,
}

#[atomic]
impl Pool {
    /// A broken connection goes.
    fn release(&self, id: u32, between: impl FnOnce()) {
        *self.connections.lock().unwrap() -= 1;
        // Somebody else finds room for a new one, and tells of it first.
        between();
        self.events.lock().unwrap().push(Event::Release(id));
    }

    /// A new one is made where there is room for it.
    fn replenish(&self, id: u32) {
        let mut connections = self.connections.lock().unwrap();
        if *connections == 0 {
            *connections += 1;
            self.events.lock().unwrap().push(Event::Acquire(id));
        }
    }
}

/// The report, and the events in the order in which the handler has got them.
pub(crate) fn run() -> (Vec<Report>, Vec<Event>) {
    let pool = Pool {
        connections: Mutex::new(1),
        events: Mutex::default(),
    };
    aerodrome::name(&pool.connections, "connections");
    aerodrome::name(&pool.events, "events");
    let (released, replenished) = (Barrier::new(2), Barrier::new(2));
    let outcome = aerodrome::check(|| {
        thread::scope(|s| {
            s.spawn(|| {
                pool.release(1, || {
                    released.wait();
                    replenished.wait();
                });
            });
            s.spawn(|| {
                released.wait();
                pool.replenish(2);
                replenished.wait();
            });
        });
    });
    let events = pool.events.lock().unwrap().clone();
    (outcome.violations, events)
}

#[allow(dead_code, reason = "tests/programs/found.rs calls `run`")]
fn main() {
    let (reports, events) = run();
    println!("{events:?}");
    for report in reports {
        println!("{report}");
    }
}
