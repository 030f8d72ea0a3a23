//! The flight controller of Rosu and Sen: lands although the radio may have gone down after the approval.
//!
//! This run goes well, every time: the radio goes down after the landing has started. Still,
//! `cargo run --example landing --features check` finds the two runs in which it does not.

use std::sync::Barrier;

use aerodrome::thread;
use aerodrome::watch::Watched;

static LANDING: Watched<bool> = Watched::<bool>::new("landing", false);
static APPROVED: Watched<bool> = Watched::<bool>::new("approved", false);
static RADIO: Watched<bool> = Watched::<bool>::new("radio", true);

fn ask_landing_approval() {
    APPROVED.set(RADIO.get());
}

pub(crate) fn main() {
    aerodrome::property!("start(landing) -> [approved, !radio)");
    // std's own barrier makes this schedule certain; what is not tracked orders nothing in the lattice.
    let landed = Barrier::new(2);
    thread::scope(|s| {
        s.spawn(|| {
            ask_landing_approval();
            if APPROVED.get() {
                LANDING.set(true);
            }
            landed.wait();
        });
        s.spawn(|| {
            landed.wait();
            while RADIO.get() {
                RADIO.set(false);
            }
        });
    });
}
