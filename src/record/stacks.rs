//! Stacks, where they are asked for: they cost a thousand times more than a location.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

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

/// Stacks as the addresses of their frames, by number. Equal stacks have one number, so the table
/// follows the program's code, not its run.
#[derive(Default)]
struct Table {
    numbers: HashMap<Vec<usize>, u32>,
    stacks: Vec<Vec<usize>>,
}

static TABLE: Lazy<Mutex<Table>> = Lazy::new(Mutex::default);

/// The number of the current stack.
pub(super) fn capture() -> u32 {
    let mut stack = Vec::with_capacity(64);
    backtrace::trace(|frame| {
        stack.push(frame.ip() as usize);
        true
    });
    let Table { numbers, stacks } = &mut *TABLE.lock();
    if let Some(&number) = numbers.get(&stack) {
        return number;
    }
    let number = stacks.len() as u32;
    stacks.push(stack.clone());
    numbers.insert(stack, number);
    number
}

/// Calls `symbol` for every function of a stack, the innermost first.
pub(crate) fn resolve(number: u32, mut symbol: impl FnMut(&backtrace::Symbol)) {
    let stack = TABLE.lock().stacks.get(number as usize).cloned();
    for address in stack.unwrap_or_default() {
        // An address in a frame is where the call returns to, which may be in the next statement
        // already.
        backtrace::resolve(address.wrapping_sub(1) as *mut _, &mut symbol);
    }
}
