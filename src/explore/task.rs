//! Threads, as the operating system sees them: what they are doing, and where they may run.

use std::sync::{Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashSet;

/// A thread's number in the operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Id(u32);

/// The current thread.
#[cfg(target_os = "linux")]
pub(super) fn current() -> Option<Id> {
    // `PID/task/TID`.
    let path = std::fs::read_link("/proc/thread-self").ok()?;
    path.file_name()?.to_str()?.parse().ok().map(Id)
}

#[cfg(not(target_os = "linux"))]
pub(super) fn current() -> Option<Id> {
    None
}

/// All threads of the process.
#[cfg(target_os = "linux")]
pub(super) fn all() -> Vec<Id> {
    let tasks = std::fs::read_dir("/proc/self/task");
    let names = tasks
        .into_iter()
        .flatten()
        .flatten()
        .map(|task| task.file_name());
    names
        .filter_map(|name| name.to_str()?.parse().ok().map(Id))
        .collect()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn all() -> Vec<Id> {
    Vec::new()
}

/// The threads of all explored runs.
static CONTROLLED: Mutex<Vec<Id>> = Mutex::new(Vec::new());

fn controlled() -> MutexGuard<'static, Vec<Id>> {
    CONTROLLED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// While it lives, its thread is one of a run that is explored.
pub(super) struct Registered(pub(super) Id);

impl Registered {
    /// Registers the current thread.
    pub(super) fn new() -> Option<Self> {
        let id = current()?;
        controlled().push(id);
        Some(Registered(id))
    }
}

impl Drop for Registered {
    fn drop(&mut self) {
        let mut controlled = controlled();
        if let Some(at) = controlled.iter().position(|&id| id == self.0) {
            controlled.swap_remove(at);
        }
    }
}

/// Whether there are threads that are no run's, have come since there were those of `before`, and
/// may run where this one may and nowhere else: an explored test has started them, in a way that is
/// not mirrored.
pub(super) fn are_strangers(before: &FxHashSet<Id>) -> bool {
    let Some(here) = current().and_then(Id::processors) else {
        return false;
    };
    let several = here.iter().map(|word| word.count_ones()).sum::<u32>() > 1;
    let controlled = controlled().clone();
    let is_stranger =
        |id: &Id| !before.contains(id) && !controlled.contains(id) && id.processors() == Some(here);
    !several && all().iter().any(is_stranger)
}

impl Id {
    /// Where the thread may run.
    #[cfg(target_os = "linux")]
    fn processors(self) -> Option<Mask> {
        let mut mask: Mask = [0; 16];
        // SAFETY: the mask is as large as it says.
        let length = unsafe { sched_getaffinity(self.0 as i32, size_of::<Mask>(), &mut mask) };
        (length >= 0).then_some(mask)
    }

    #[cfg(not(target_os = "linux"))]
    fn processors(self) -> Option<Mask> {
        None
    }

    /// What the thread is doing; nothing where that cannot be known.
    #[cfg(target_os = "linux")]
    pub(super) fn look(self) -> Option<Look> {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.0)).ok()?;
        // The name, in parentheses, may have anything in it.
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let is_asleep = matches!(fields.next()?, "S" | "D" | "T" | "t");
        let mut ticks = fields.skip(10).map_while(|field| field.parse::<u64>().ok());
        let ticks = ticks.next()? + ticks.next()?;
        Some(Look { is_asleep, ticks })
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn look(self) -> Option<Look> {
        None
    }
}

/// What a thread is doing at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Look {
    pub(super) is_asleep: bool,
    /// The processor's time that it has had, in hundredths of a second.
    pub(super) ticks: u64,
}

/// While it lives, this thread and those that it starts run on one processor. A hand-over between
/// two threads takes an order of magnitude longer across processors.
pub(super) struct Pinned {
    #[cfg(target_os = "linux")]
    before: Mask,
}

type Mask = [u64; 16];

#[cfg(target_os = "linux")]
unsafe extern "C" {
    fn sched_getaffinity(pid: i32, size: usize, mask: *mut Mask) -> i32;
    fn sched_setaffinity(pid: i32, size: usize, mask: *const Mask) -> i32;
    safe fn sched_getcpu() -> i32;
}

#[cfg(target_os = "linux")]
impl Pinned {
    /// Nothing where the system does not allow it, or there is one processor anyhow.
    pub(super) fn new() -> Option<Self> {
        let before = current()?.processors()?;
        let several = before.iter().map(|word| word.count_ones()).sum::<u32>() > 1;
        let processor = usize::try_from(sched_getcpu()).ok()?;
        let mut here: Mask = [0; 16];
        *here.get_mut(processor / 64)? = 1 << (processor % 64);
        (several && set(&here)).then_some(Self { before })
    }
}

#[cfg(target_os = "linux")]
fn set(mask: &Mask) -> bool {
    // SAFETY: the mask is as large as it says.
    unsafe { sched_setaffinity(0, size_of::<Mask>(), mask) == 0 }
}

#[cfg(target_os = "linux")]
impl Drop for Pinned {
    fn drop(&mut self) {
        set(&self.before);
    }
}

#[cfg(not(target_os = "linux"))]
impl Pinned {
    pub(super) fn new() -> Option<Self> {
        None
    }
}
