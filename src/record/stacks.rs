//! Stacks, where they are asked for: they cost a thousand times more than a location.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use backtrace::Backtrace;
use once_cell::sync::Lazy;
use parking_lot::Mutex;

static WANTED: AtomicBool = AtomicBool::new(false);

/// Whether accesses inside atomic blocks are recorded with their stacks.
#[inline(always)]
pub(crate) fn are_wanted() -> bool {
    WANTED.load(Ordering::Relaxed)
}

/// Turns them on or off.
pub(crate) fn want(wanted: bool) {
    WANTED.store(wanted, Ordering::Relaxed);
}

#[derive(Default)]
struct Table {
    numbers: HashMap<Vec<usize>, u32>,
    stacks: Vec<Backtrace>,
}

static TABLE: Lazy<Mutex<Table>> = Lazy::new(Mutex::default);

/// The number of the current stack. Equal stacks have one number, so the table follows the program's code, not its run.
pub(super) fn capture() -> u32 {
    let stack = Backtrace::new_unresolved();
    let key: Vec<_> = stack.frames().iter().map(|frame| frame.ip() as usize).collect();
    let Table { numbers, stacks } = &mut *TABLE.lock();
    *numbers.entry(key).or_insert_with(|| {
        stacks.push(stack);
        stacks.len() as u32 - 1
    })
}

/// The stack of a number, with its names.
pub(crate) fn get(number: u32) -> Option<Backtrace> {
    let mut stack = TABLE.lock().stacks.get(number as usize)?.clone();
    stack.resolve();
    Some(stack)
}
