//! The second example of Rosu and Sen: `x++; ...; y = x + 1` beside `z = x + 1; ...; x++`.
//!
//! This run goes well, every time; `cargo run --example xyz --features check` finds the one that does not.

use std::sync::Barrier;

use aerodrome::thread;
use aerodrome::watch::Watched;

static X: Watched<i32> = Watched::<i32>::new("x", -1);
static Y: Watched<i32> = Watched::<i32>::new("y", 0);
static Z: Watched<i32> = Watched::<i32>::new("z", 0);

pub(crate) fn main() {
    aerodrome::property!("x > 0 -> [y == 0, y > z)");
    // std's own barrier makes this schedule certain; what is not tracked orders nothing in the lattice.
    let step = Barrier::new(2);
    thread::scope(|s| {
        s.spawn(|| {
            X.set(X.get() + 1);
            step.wait();
            let next = X.get() + 1;
            step.wait();
            step.wait();
            Y.set(next);
        });
        s.spawn(|| {
            step.wait();
            Z.set(X.get() + 1);
            step.wait();
            X.set(X.get() + 1);
            step.wait();
        });
    });
}
