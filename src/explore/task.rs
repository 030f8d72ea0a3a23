//! Threads, as the operating system sees them: what they are doing, and where they may run.

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

impl Id {
    /// Whether the thread sleeps.
    #[cfg(target_os = "linux")]
    pub(super) fn is_asleep(self) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/self/task/{}/stat", self.0));
        // The name, in parentheses, may have anything in it.
        let state = stat.ok().and_then(|stat| {
            let (_, rest) = stat.rsplit_once(')')?;
            rest.trim_start().chars().next()
        });
        matches!(state, Some('S' | 'D' | 'T' | 't'))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn is_asleep(self) -> bool {
        false
    }
}

/// While it lives, this thread and those that it starts run on one processor. A hand-over between
/// two threads takes an order of magnitude longer across processors.
pub(super) struct Pinned {
    #[cfg(target_os = "linux")]
    before: Mask,
}

#[cfg(target_os = "linux")]
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
        let mut before: Mask = [0; 16];
        // SAFETY: the mask is as large as it says.
        if unsafe { sched_getaffinity(0, size_of::<Mask>(), &mut before) } < 0 {
            return None;
        }
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
