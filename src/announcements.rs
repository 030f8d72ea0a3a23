//! Every public method of every mirror announces each of its operations to a control, once.
//!
//! The methods are read from the mirrors' sources, so a new one has to be listed here: with what it
//! announces, or among those that do nothing that others can see.

#![allow(
    clippy::undocumented_unsafe_blocks,
    reason = "each gives back what was taken in the same way right before"
)]

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::record::What;
use crate::record::control::{Choice, Control, Controlled, Kind, Pending, Turn};
use Kind::*;

/// Takes down what is announced, and lets everything happen at once: what would wait, and has a
/// limit, expires; a wait for a notification wakes up.
struct Counting {
    announced: Mutex<Vec<Kind>>,
    /// How much time has passed by expiring.
    slept: Mutex<Duration>,
}

fn locked<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Control for Counting {
    fn proceed(&self, pending: Pending<'_>) -> Turn {
        let kind = pending.next.kind;
        locked(&self.announced).push(kind);
        match (pending.ready, pending.limit) {
            (None, _) => Turn::Proceed,
            (Some(ready), _) if ready() => Turn::Proceed,
            (Some(_), Some(limit)) => {
                *locked(&self.slept) += limit;
                Turn::Expired
            }
            (Some(_), None) if matches!(kind, Wait | Park) => Turn::Woken,
            (Some(_), None) => panic!("{kind:?} would wait for ever"),
        }
    }

    fn pick(&self, _: Choice, _: usize) -> usize {
        0
    }

    fn recorded(&self, _: What, _: u32) {}

    fn in_block(&self, _: bool) {}

    fn outside(&self, _: bool) {}

    fn fork(&self, _: u32) -> Arc<dyn Control> {
        Arc::new(Free)
    }

    fn start(&self) {}

    fn gone(&self) {}

    fn now(&self) -> Instant {
        Instant::now() + *locked(&self.slept)
    }
}

/// The control of a strand that is not controlled.
struct Free;

impl Control for Free {
    fn proceed(&self, _: Pending<'_>) -> Turn {
        Turn::Free
    }

    fn pick(&self, _: Choice, _: usize) -> usize {
        0
    }

    fn recorded(&self, _: What, _: u32) {}

    fn in_block(&self, _: bool) {}

    fn outside(&self, _: bool) {}

    fn fork(&self, _: u32) -> Arc<dyn Control> {
        Arc::new(Free)
    }

    fn start(&self) {}

    fn gone(&self) {}

    fn now(&self) -> Instant {
        Instant::now()
    }
}

thread_local! {
    static COUNTING: RefCell<Option<Arc<Counting>>> = const { RefCell::new(None) };
    static COUNTED: RefCell<Vec<Vec<Kind>>> = const { RefCell::new(Vec::new()) };
}

/// Takes down what `f` announces.
fn count<R>(f: impl FnOnce() -> R) -> R {
    let counting = COUNTING.with_borrow(|counting| counting.clone().unwrap());
    locked(&counting.announced).clear();
    let result = f();
    let counted = std::mem::take(&mut *locked(&counting.announced));
    COUNTED.with_borrow_mut(|all| all.push(counted));
    result
}

/// What is counted in a use of some methods, under control.
fn counted(uses: fn()) -> Vec<Vec<Kind>> {
    let counting = Arc::new(Counting {
        announced: Mutex::default(),
        slept: Mutex::default(),
    });
    COUNTING.set(Some(counting.clone()));
    COUNTED.take();
    let controlled = Controlled::new(counting).expect("the test's thread is tracked");
    uses();
    drop(controlled);
    COUNTED.take()
}

/// Methods of a file, what each call of theirs announces, and such calls.
struct Case {
    methods: &'static [&'static str],
    kinds: &'static [Kind],
    uses: fn(),
}

/// What is announced in a file.
struct Mirror {
    file: &'static str,
    cases: Vec<Case>,
    /// What touches nothing that others see, or has the thing to itself.
    silent: &'static str,
}

macro_rules! mirror {
    ($file:literal { $($methods:literal => [$($kind:ident),*] $uses:block)* } $silent:literal) => {
        Mirror {
            file: $file,
            cases: vec![$(Case {
                methods: const { &[$methods] },
                kinds: &[$($kind),*],
                uses: || $uses,
            }),*],
            silent: $silent,
        }
    };
}

const SOON: Duration = Duration::from_millis(1);

fn sync() -> Vec<Mirror> {
    use crate::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering::SeqCst};
    use crate::sync::mpsc::{channel, sync_channel};
    use crate::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};
    vec![
        mirror! { "sync/mutex.rs" {
            "lock" => [Lock] { let m = Mutex::new(1); drop(count(|| m.lock())); }
            "try_lock" => [TryLock] { let m = Mutex::new(1); drop(count(|| m.try_lock())); }
        } "" },
        mirror! { "sync/rwlock.rs" {
            "read" => [LockShared] { let l = RwLock::new(1); drop(count(|| l.read())); }
            "try_read" => [TryLockShared] { let l = RwLock::new(1); drop(count(|| l.try_read())); }
            "write" => [Lock] { let l = RwLock::new(1); drop(count(|| l.write())); }
            "try_write" => [TryLock] { let l = RwLock::new(1); drop(count(|| l.try_write())); }
            "downgrade" => [Unlock] {
                let l = RwLock::new(1);
                #[cfg(since = "1.92")]
                {
                    let guard = l.write().unwrap();
                    count(|| crate::sync::RwLockWriteGuard::downgrade(guard));
                }
                #[cfg(not(since = "1.92"))]
                {
                    let guard = l.write().unwrap();
                    count(|| drop(guard));
                }
            }
        } "" },
        mirror! { "sync/poison.rs" {} "new is_poisoned clear_poison into_inner get_mut" },
        mirror! { "sync/condvar.rs" {
            "notify_one" => [Notify] { count(|| Condvar::new().notify_one()); }
            "notify_all" => [Notify] { count(|| Condvar::new().notify_all()); }
            "wait" => [Wait, Unlock, Wait] {
                let (m, c) = (Mutex::new(1), Condvar::new());
                let guard = m.lock().unwrap();
                drop(count(|| c.wait(guard)));
            }
            "wait_while" => [Wait, Unlock, Wait] {
                let (m, c) = (Mutex::new(true), Condvar::new());
                let guard = m.lock().unwrap();
                drop(count(|| c.wait_while(guard, |first| std::mem::take(first))));
            }
            "wait_timeout" => [Wait, Unlock, Wait] {
                let (m, c) = (Mutex::new(1), Condvar::new());
                let guard = m.lock().unwrap();
                assert!(count(|| c.wait_timeout(guard, SOON)).unwrap().1.timed_out());
            }
            "wait_timeout_ms" => [Wait, Unlock, Wait] {
                let (m, c) = (Mutex::new(1), Condvar::new());
                let guard = m.lock().unwrap();
                #[allow(deprecated, reason = "std still has it")]
                drop(count(|| c.wait_timeout_ms(guard, 1)));
            }
            "wait_timeout_while" => [Wait, Unlock, Wait] {
                let (m, c) = (Mutex::new(true), Condvar::new());
                let guard = m.lock().unwrap();
                drop(count(|| c.wait_timeout_while(guard, SOON, |first| std::mem::take(first))));
            }
        } "new" },
        mirror! { "sync/barrier.rs" {
            "wait" => [Update] { assert!(count(|| Barrier::new(1).wait()).is_leader()); }
        } "new is_leader" },
        mirror! { "sync/once.rs" {
            "call_once" => [Update] { count(|| Once::new().call_once(|| ())); }
            "call_once_force" => [Update] { count(|| Once::new().call_once_force(|_| ())); }
            "is_completed" => [Read] { count(|| Once::new().is_completed()); }
            // That it is done, and what is found then.
            "wait" => [Read, Read] { let o = Once::new(); o.call_once(|| ()); count(|| o.wait()); }
            "wait_force" => [Read, Read] {
                let o = Once::new();
                o.call_once(|| ());
                count(|| o.wait_force());
            }
        } "new" },
        mirror! { "sync/once_lock.rs" {
            "get" => [Read] { let o = OnceLock::from(1); count(|| o.get()); }
            "wait" => [Read, Read] { let o = OnceLock::from(1); count(|| crate_wait(&o)); }
            "set" => [Update] { let o = OnceLock::new(); count(|| o.set(1)).unwrap(); }
            "get_or_init" => [Update] { let o = OnceLock::new(); count(|| o.get_or_init(|| 1)); }
        } "new get_mut into_inner take" },
        mirror! { "sync/lazy_lock.rs" {
            "force" => [Update] { let l = LazyLock::new(|| 1); count(|| LazyLock::force(&l)); }
            "get" => [Read] {
                let l: LazyLock<i32> = LazyLock::new(|| 1);
                count(|| LazyLock::get(&l));
            }
        } "new force_mut get_mut" },
        mirror! { "sync/atomic/mod.rs" {
            "spin_loop_hint" => [Yield] {
                #[allow(deprecated, reason = "std still has it")]
                count(crate::sync::atomic::spin_loop_hint);
            }
        } "" },
        mirror! { "sync/atomic/types.rs" {
            "load" => [Read] {
                let a = AtomicU32::new(1);
                count(|| a.load(SeqCst));
                count(|| a.load(SeqCst));
            }
            "store" => [Write] { let a = AtomicU32::new(1); count(|| a.store(2, SeqCst)); }
            "swap" => [Update] { let a = AtomicU32::new(1); count(|| a.swap(2, SeqCst)); }
            "compare_and_swap" => [Update] {
                let a = AtomicU32::new(1);
                #[allow(deprecated, reason = "std still has it")]
                count(|| a.compare_and_swap(1, 2, SeqCst));
            }
            "compare_exchange" => [Update] {
                let a = AtomicU32::new(1);
                let _ = count(|| a.compare_exchange(1, 2, SeqCst, SeqCst));
            }
            "compare_exchange_weak" => [Update] {
                let a = AtomicU32::new(1);
                let _ = count(|| a.compare_exchange_weak(1, 2, SeqCst, SeqCst));
            }
            "fetch_add" => [Update] { let a = AtomicU32::new(1); count(|| a.fetch_add(1, SeqCst)); }
            "fetch_sub" => [Update] { let a = AtomicU32::new(1); count(|| a.fetch_sub(1, SeqCst)); }
            "fetch_and" => [Update] { let a = AtomicU32::new(1); count(|| a.fetch_and(1, SeqCst)); }
            "fetch_nand" => [Update] {
                let a = AtomicU32::new(1);
                count(|| a.fetch_nand(1, SeqCst));
            }
            "fetch_or" => [Update] { let a = AtomicU32::new(1); count(|| a.fetch_or(1, SeqCst)); }
            "fetch_xor" => [Update] { let a = AtomicU32::new(1); count(|| a.fetch_xor(1, SeqCst)); }
            "fetch_max" => [Update] { let a = AtomicU32::new(1); count(|| a.fetch_max(1, SeqCst)); }
            "fetch_min" => [Update] { let a = AtomicU32::new(1); count(|| a.fetch_min(1, SeqCst)); }
            "fetch_not" => [Update] {
                let a = AtomicBool::new(true);
                count(|| a.fetch_not(SeqCst));
            }
            "fetch_update" => [Read, Update] {
                let a = AtomicU32::new(1);
                let _ = count(|| a.fetch_update(SeqCst, SeqCst, |value| Some(value + 1)));
            }
            "update" => [Read, Update] {
                let a = AtomicU32::new(1);
                let _ = count(|| a.update(SeqCst, SeqCst, |value| value + 1));
            }
            "try_update" => [Read, Update] {
                let a = AtomicU32::new(1);
                let _ = count(|| a.try_update(SeqCst, SeqCst, |value| Some(value + 1)));
            }
            "fetch_ptr_add" => [Update] {
                let a = AtomicPtr::new(&mut 1);
                count(|| a.fetch_ptr_add(0, SeqCst));
            }
            "fetch_ptr_sub" => [Update] {
                let a = AtomicPtr::new(&mut 1);
                count(|| a.fetch_ptr_sub(0, SeqCst));
            }
            "fetch_byte_add" => [Update] {
                let a = AtomicPtr::new(&mut 1);
                count(|| a.fetch_byte_add(0, SeqCst));
            }
            "fetch_byte_sub" => [Update] {
                let a = AtomicPtr::new(&mut 1);
                count(|| a.fetch_byte_sub(0, SeqCst));
            }
        } "new get_mut into_inner as_ptr" },
        mirror! { "sync/mpsc/channel.rs" {
            "send" => [Send] {
                let (s, _r) = channel();
                count(|| s.send(1)).unwrap();
                let (s, _r) = sync_channel(1);
                count(|| s.send(1)).unwrap();
            }
            "try_send" => [Send] {
                let (s, _r) = sync_channel(1);
                count(|| s.try_send(1)).unwrap();
            }
            "recv" => [Receive] {
                let (s, r) = channel();
                s.send(1).unwrap();
                count(|| r.recv()).unwrap();
            }
            "try_recv" => [Receive] {
                let (s, r) = channel();
                count(|| r.try_recv()).unwrap_err();
                s.send(1).unwrap();
                count(|| r.try_recv()).unwrap();
            }
            "recv_timeout" => [Receive] {
                let (s, r) = channel();
                s.send(1).unwrap();
                count(|| r.recv_timeout(SOON)).unwrap();
            }
            // A close is announced by what every end has.
            "channel" => [Close] {
                let (s, r) = channel::<u8>();
                count(|| drop(s));
                count(|| drop(r));
            }
        } "sync_channel iter try_iter" },
    ]
}

fn crate_wait(once: &crate::sync::OnceLock<i32>) -> i32 {
    *once.wait()
}

fn threads() -> Vec<Mirror> {
    use crate::thread::{self, Builder};
    vec![
        mirror! { "hint.rs" {
            "spin_loop" => [Yield] { count(crate::hint::spin_loop); }
        } "restart" },
        mirror! { "thread/pause.rs" {
            "yield_now" => [Yield] { count(thread::yield_now); }
            "sleep" => [Sleep] { count(|| thread::sleep(Duration::from_secs(9))); }
            "sleep_ms" => [Sleep] {
                #[allow(deprecated, reason = "std still has it")]
                count(|| thread::sleep_ms(9_000));
            }
        } "" },
        mirror! { "thread/park.rs" {
            "park" => [Park] { count(thread::park); }
            "park_timeout" => [Park] { count(|| thread::park_timeout(Duration::from_secs(9))); }
            "park_timeout_ms" => [Park] {
                #[allow(deprecated, reason = "std still has it")]
                count(|| thread::park_timeout_ms(9_000));
            }
            "unpark" => [Unpark] { let this = thread::current(); count(|| this.unpark()); }
        } "new install current id name" },
        mirror! { "thread/handle.rs" {
            "spawn" => [Fork] {
                count(|| thread::spawn(|| ())).join().unwrap();
                count(|| Builder::new().spawn(|| ())).unwrap().join().unwrap();
            }
            "spawn_unchecked" => [Fork] {
                // SAFETY: the thread borrows nothing.
                let spawned = count(|| unsafe { Builder::new().spawn_unchecked(|| ()) });
                spawned.unwrap().join().unwrap();
            }
            "spawn_scoped" => [Fork] {
                thread::scope(|s| {
                    count(|| Builder::new().spawn_scoped(s, || ())).unwrap().join().unwrap();
                });
            }
            "join" => [Join] { let child = thread::spawn(|| ()); count(|| child.join()).unwrap(); }
            "is_finished" => [Read] {
                let child = thread::spawn(|| ());
                count(|| child.is_finished());
                child.join().unwrap();
            }
        } "name new stack_size thread" },
        mirror! { "thread/scoped.rs" {
            "spawn" => [Fork] { thread::scope(|s| { count(|| s.spawn(|| ())).join().unwrap(); }); }
            "join" => [Join] {
                thread::scope(|s| { let child = s.spawn(|| ()); count(|| child.join()).unwrap(); });
            }
            "is_finished" => [Read] {
                thread::scope(|s| { let child = s.spawn(|| ()); count(|| child.is_finished()); });
            }
            "scope" => [Fork, Join] { count(|| thread::scope(|s| { s.spawn(|| ()); })); }
        } "thread" },
    ]
}

/// Cases that make a lock, take it by `$take`, if at all, and count what is done with that.
macro_rules! with {
    ($lock:ident = $new:expr; $use:expr) => {{
        let $lock = $new;
        count(|| $use);
    }};
    ($lock:ident = $new:expr; $guard:ident = $take:expr; $use:expr) => {{
        let $lock = $new;
        #[allow(
            unused_mut,
            clippy::let_unit_value,
            reason = "some are changed, or no guards"
        )]
        let mut $guard = $take;
        count(|| $use);
    }};
}

fn parking_lot() -> Vec<Mirror> {
    use crate::parking_lot::lock_api::{RawMutex as _, RawMutexFair as _, RawMutexTimed as _};
    use crate::parking_lot::lock_api::{
        RawRwLock as _, RawRwLockDowngrade as _, RawRwLockFair as _, RawRwLockRecursive as _,
        RawRwLockRecursiveTimed as _, RawRwLockTimed as _, RawRwLockUpgrade as _,
        RawRwLockUpgradeDowngrade as _, RawRwLockUpgradeFair as _, RawRwLockUpgradeTimed as _,
    };
    use crate::parking_lot::{
        ArcMutexGuard, ArcRwLockUpgradableReadGuard as ArcUpgradable,
        ArcRwLockWriteGuard as ArcWrite, Condvar, FairMutex, Mutex, MutexGuard, Once, RawMutex,
        RawRwLock, ReentrantMutex, ReentrantMutexGuard, RwLock, RwLockReadGuard,
        RwLockUpgradableReadGuard as Upgradable, RwLockWriteGuard,
    };
    fn late() -> Instant {
        Instant::now() + SOON
    }
    vec![
        mirror! { "parking_lot/mutex.rs" {
            "lock" => [Lock] {
                with!(m = Mutex::new(1); std::mem::forget(m.lock()));
                with!(m = FairMutex::new(1); std::mem::forget(m.lock()));
            }
            "try_lock" => [TryLock] {
                with!(m = Mutex::new(1); std::mem::forget(m.try_lock()));
                with!(m = Mutex::new(1); _g = m.lock(); assert!(m.try_lock().is_none()));
            }
            "try_lock_for" => [Lock] {
                with!(m = Mutex::new(1); std::mem::forget(m.try_lock_for(SOON)));
                with!(m = Mutex::new(1); _g = m.lock(); assert!(m.try_lock_for(SOON).is_none()));
            }
            "try_lock_until" => [Lock] {
                with!(m = Mutex::new(1); std::mem::forget(m.try_lock_until(late())));
                with!(
                    m = Mutex::new(1);
                    _g = m.lock();
                    assert!(m.try_lock_until(late()).is_none())
                );
            }
            "force_unlock" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    m = Mutex::new(1);
                    _g = std::mem::forget(m.lock());
                    unsafe { m.force_unlock() }
                );
            }
            "force_unlock_fair" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    m = Mutex::new(1);
                    _g = std::mem::forget(m.lock());
                    unsafe { m.force_unlock_fair() }
                );
            }
        } "const_fair_mutex const_mutex const_new from_raw into_inner leak \
           make_guard_unchecked mutex new raw" },
        mirror! { "parking_lot/remutex.rs" {
            "lock" => [Lock] { with!(m = ReentrantMutex::new(1); std::mem::forget(m.lock())); }
            "try_lock" => [TryLock] {
                with!(m = ReentrantMutex::new(1); std::mem::forget(m.try_lock()));
            }
            "try_lock_for" => [Lock] {
                with!(m = ReentrantMutex::new(1); std::mem::forget(m.try_lock_for(SOON)));
            }
            "try_lock_until" => [Lock] {
                with!(m = ReentrantMutex::new(1); std::mem::forget(m.try_lock_until(late())));
            }
            "force_unlock" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    m = ReentrantMutex::new(1);
                    _g = std::mem::forget(m.lock());
                    unsafe { m.force_unlock() }
                );
            }
            "force_unlock_fair" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    m = ReentrantMutex::new(1);
                    _g = std::mem::forget(m.lock());
                    unsafe { m.force_unlock_fair() }
                );
            }
        } "const_new const_reentrant_mutex from_raw into_inner is_owned_by_current_thread \
           make_guard_unchecked new raw remutex" },
        mirror! { "parking_lot/rwlock.rs" {
            "read" => [LockShared] { with!(l = RwLock::new(1); std::mem::forget(l.read())); }
            "read_recursive" => [LockShared] {
                with!(l = RwLock::new(1); std::mem::forget(l.read_recursive()));
            }
            "upgradable_read" => [Lock] {
                with!(l = RwLock::new(1); std::mem::forget(l.upgradable_read()));
            }
            "write" => [Lock] { with!(l = RwLock::new(1); std::mem::forget(l.write())); }
            "try_read" => [TryLockShared] {
                with!(l = RwLock::new(1); std::mem::forget(l.try_read()));
            }
            "try_read_recursive" => [TryLockShared] {
                with!(l = RwLock::new(1); std::mem::forget(l.try_read_recursive()));
            }
            "try_upgradable_read" => [TryLock] {
                with!(l = RwLock::new(1); std::mem::forget(l.try_upgradable_read()));
            }
            "try_write" => [TryLock] { with!(l = RwLock::new(1); std::mem::forget(l.try_write())); }
            "try_read_for" => [LockShared] {
                with!(l = RwLock::new(1); _g = l.write(); assert!(l.try_read_for(SOON).is_none()));
            }
            "try_read_until" => [LockShared] {
                with!(
                    l = RwLock::new(1);
                    _g = l.write();
                    assert!(l.try_read_until(late()).is_none())
                );
            }
            "try_read_recursive_for" => [LockShared] {
                with!(
                    l = RwLock::new(1);
                    _g = l.write();
                    assert!(l.try_read_recursive_for(SOON).is_none())
                );
            }
            "try_read_recursive_until" => [LockShared] {
                with!(
                    l = RwLock::new(1);
                    _g = l.write();
                    assert!(l.try_read_recursive_until(late()).is_none())
                );
            }
            "try_upgradable_read_for" => [Lock] {
                with!(
                    l = RwLock::new(1);
                    _g = l.upgradable_read();
                    assert!(l.try_upgradable_read_for(SOON).is_none())
                );
            }
            "try_upgradable_read_until" => [Lock] {
                with!(
                    l = RwLock::new(1);
                    _g = l.upgradable_read();
                    assert!(l.try_upgradable_read_until(late()).is_none())
                );
            }
            "try_write_for" => [Lock] {
                with!(l = RwLock::new(1); _g = l.read(); assert!(l.try_write_for(SOON).is_none()));
            }
            "try_write_until" => [Lock] {
                with!(
                    l = RwLock::new(1);
                    _g = l.read();
                    assert!(l.try_write_until(late()).is_none())
                );
            }
            "force_unlock_read" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    l = RwLock::new(1);
                    _g = std::mem::forget(l.read());
                    unsafe { l.force_unlock_read() }
                );
            }
            "force_unlock_read_fair" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    l = RwLock::new(1);
                    _g = std::mem::forget(l.read());
                    unsafe { l.force_unlock_read_fair() }
                );
            }
            "force_unlock_write" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    l = RwLock::new(1);
                    _g = std::mem::forget(l.write());
                    unsafe { l.force_unlock_write() }
                );
            }
            "force_unlock_write_fair" => [Unlock] {
                // SAFETY: held, its guard forgotten.
                with!(
                    l = RwLock::new(1);
                    _g = std::mem::forget(l.write());
                    unsafe { l.force_unlock_write_fair() }
                );
            }
            "is_locked_exclusive" => [TryLockShared] {
                with!(l = RwLock::new(1); assert!(!l.is_locked_exclusive()));
            }
            "downgrade" => [Unlock] {
                with!(
                    l = RwLock::new(1);
                    g = l.write();
                    std::mem::forget(RwLockWriteGuard::downgrade(g))
                );
                with!(
                    l = RwLock::new(1);
                    g = l.upgradable_read();
                    std::mem::forget(Upgradable::downgrade(g))
                );
            }
            "downgrade_to_upgradable" => [Unlock] {
                with!(
                    l = RwLock::new(1);
                    g = l.write();
                    std::mem::forget(RwLockWriteGuard::downgrade_to_upgradable(g))
                );
            }
            "upgrade" => [Lock] {
                with!(
                    l = RwLock::new(1);
                    g = l.upgradable_read();
                    std::mem::forget(Upgradable::upgrade(g))
                );
            }
            "try_upgrade" => [TryLock] {
                with!(
                    l = RwLock::new(1);
                    g = l.upgradable_read();
                    std::mem::forget(Upgradable::try_upgrade(g))
                );
            }
            "try_upgrade_for" => [Lock] {
                with!(
                    l = RwLock::new(1);
                    g = l.upgradable_read();
                    std::mem::forget(Upgradable::try_upgrade_for(g, SOON))
                );
            }
            "try_upgrade_until" => [Lock] {
                with!(
                    l = RwLock::new(1);
                    g = l.upgradable_read();
                    std::mem::forget(Upgradable::try_upgrade_until(g, late()))
                );
            }
            "with_upgraded" => [Lock, Unlock] {
                with!(l = RwLock::new(1); g = l.upgradable_read(); g.with_upgraded(|_| ()));
            }
            "try_with_upgraded" => [TryLock, Unlock] {
                with!(l = RwLock::new(1); g = l.upgradable_read(); g.try_with_upgraded(|_| ()));
            }
            "try_with_upgraded_for" => [Lock, Unlock] {
                with!(
                    l = RwLock::new(1);
                    g = l.upgradable_read();
                    g.try_with_upgraded_for(SOON, |_| ())
                );
            }
            "try_with_upgraded_until" => [Lock, Unlock] {
                with!(
                    l = RwLock::new(1);
                    g = l.upgradable_read();
                    g.try_with_upgraded_until(late(), |_| ())
                );
            }
        } "const_new const_rwlock from_raw into_inner new raw rwlock" },
        mirror! { "parking_lot/guard.rs" {
            "is_locked" => [TryLock] {
                with!(m = Mutex::new(1); assert!(!m.is_locked()));
                with!(m = ReentrantMutex::new(1); assert!(!m.is_locked()));
                with!(l = RwLock::new(1); assert!(!l.is_locked()));
            }
            "bump" => [Unlock, Lock] {
                with!(m = Mutex::new(1); g = m.lock(); MutexGuard::bump(&mut g));
                with!(m = ReentrantMutex::new(1); g = m.lock(); ReentrantMutexGuard::bump(&mut g));
                with!(l = RwLock::new(1); g = l.write(); RwLockWriteGuard::bump(&mut g));
                with!(l = RwLock::new(1); g = l.upgradable_read(); Upgradable::bump(&mut g));
            }
            "unlocked" => [Unlock, LockShared] {
                with!(l = RwLock::new(1); g = l.read(); RwLockReadGuard::unlocked(&mut g, || ()));
            }
            "unlocked_fair" => [Unlock, Lock] {
                with!(m = Mutex::new(1); g = m.lock(); MutexGuard::unlocked_fair(&mut g, || ()));
            }
            "unlock_fair" => [Unlock] {
                with!(m = Mutex::new(1); g = m.lock(); MutexGuard::unlock_fair(g));
                with!(l = RwLock::new(1); g = l.read(); RwLockReadGuard::unlock_fair(g));
            }
            "into_arc" => [Unlock] {
                with!(
                    m = Arc::new(Mutex::new(1));
                    g = m.lock_arc();
                    ArcMutexGuard::into_arc(g)
                );
            }
            "into_arc_fair" => [Unlock] {
                with!(
                    m = Arc::new(Mutex::new(1));
                    g = m.lock_arc();
                    ArcMutexGuard::into_arc_fair(g)
                );
            }
        } "data_ptr get_mut map try_map" },
        mirror! { "parking_lot/arc.rs" {
            "lock_arc" => [Lock] {
                with!(m = Arc::new(Mutex::new(1)); std::mem::forget(m.lock_arc()));
            }
            "try_lock_arc" => [TryLock] {
                with!(m = Arc::new(ReentrantMutex::new(1)); std::mem::forget(m.try_lock_arc()));
            }
            "try_lock_arc_for" => [Lock] {
                with!(m = Arc::new(Mutex::new(1)); std::mem::forget(m.try_lock_arc_for(SOON)));
            }
            "try_lock_arc_until" => [Lock] {
                with!(m = Arc::new(Mutex::new(1)); std::mem::forget(m.try_lock_arc_until(late())));
            }
            "read_arc" => [LockShared] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.read_arc()));
            }
            "read_arc_recursive" => [LockShared] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.read_arc_recursive()));
            }
            "upgradable_read_arc" => [Lock] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.upgradable_read_arc()));
            }
            "write_arc" => [Lock] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.write_arc()));
            }
            "try_read_arc" => [TryLockShared] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.try_read_arc()));
            }
            "try_read_arc_for" => [LockShared] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.try_read_arc_for(SOON)));
            }
            "try_read_arc_until" => [LockShared] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.try_read_arc_until(late())));
            }
            "try_read_recursive_arc" => [TryLockShared] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.try_read_recursive_arc()));
            }
            "try_read_arc_recursive_for" => [LockShared] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    std::mem::forget(l.try_read_arc_recursive_for(SOON))
                );
            }
            "try_read_arc_recursive_until" => [LockShared] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    std::mem::forget(l.try_read_arc_recursive_until(late()))
                );
            }
            "try_upgradable_read_arc" => [TryLock] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.try_upgradable_read_arc()));
            }
            "try_upgradable_read_arc_for" => [Lock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    std::mem::forget(l.try_upgradable_read_arc_for(SOON))
                );
            }
            "try_upgradable_read_arc_until" => [Lock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    std::mem::forget(l.try_upgradable_read_arc_until(late()))
                );
            }
            "try_write_arc" => [TryLock] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.try_write_arc()));
            }
            "try_write_arc_for" => [Lock] {
                with!(l = Arc::new(RwLock::new(1)); std::mem::forget(l.try_write_arc_for(SOON)));
            }
            "try_write_arc_until" => [Lock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    std::mem::forget(l.try_write_arc_until(late()))
                );
            }
            "downgrade" => [Unlock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.write_arc();
                    std::mem::forget(ArcWrite::downgrade(g))
                );
            }
            "downgrade_to_upgradable" => [Unlock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.write_arc();
                    std::mem::forget(ArcWrite::downgrade_to_upgradable(g))
                );
            }
            "upgrade" => [Lock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    std::mem::forget(ArcUpgradable::upgrade(g))
                );
            }
            "try_upgrade" => [TryLock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    std::mem::forget(ArcUpgradable::try_upgrade(g))
                );
            }
            "try_upgrade_for" => [Lock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    std::mem::forget(ArcUpgradable::try_upgrade_for(g, SOON))
                );
            }
            "try_upgrade_until" => [Lock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    std::mem::forget(ArcUpgradable::try_upgrade_until(g, late()))
                );
            }
            "with_upgraded" => [Lock, Unlock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    g.with_upgraded(|_| ())
                );
            }
            "try_with_upgraded" => [TryLock, Unlock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    g.try_with_upgraded(|_| ())
                );
            }
            "try_with_upgraded_for" => [Lock, Unlock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    g.try_with_upgraded_for(SOON, |_| ())
                );
            }
            "try_with_upgraded_until" => [Lock, Unlock] {
                with!(
                    l = Arc::new(RwLock::new(1));
                    g = l.upgradable_read_arc();
                    g.try_with_upgraded_until(late(), |_| ())
                );
            }
        } "make_arc_guard_unchecked make_arc_read_guard_unchecked \
           make_arc_write_guard_unchecked make_upgradable_arc_guard_unchecked" },
        mirror! { "parking_lot/raw.rs" {
            "lock" => [Lock] { with!(m = RawMutex::INIT; m.lock()); }
            "try_lock" => [TryLock] { with!(m = RawMutex::INIT; m.try_lock()); }
            "try_lock_for" => [Lock] { with!(m = RawMutex::INIT; m.try_lock_for(SOON)); }
            "try_lock_until" => [Lock] { with!(m = RawMutex::INIT; m.try_lock_until(late())); }
            "is_locked" => [TryLock] {
                with!(m = RawMutex::INIT; m.is_locked());
                with!(l = RawRwLock::INIT; l.is_locked());
            }
            "is_locked_exclusive" => [TryLockShared] {
                with!(l = RawRwLock::INIT; l.is_locked_exclusive());
            }
            // SAFETY: taken in the same way before; so in what follows.
            "unlock" => [Unlock] {
                with!(m = RawMutex::INIT; _g = m.lock(); unsafe { m.unlock() });
            }
            "unlock_fair" => [Unlock] {
                with!(m = RawMutex::INIT; _g = m.lock(); unsafe { m.unlock_fair() });
            }
            "bump" => [Unlock, Lock] {
                with!(m = RawMutex::INIT; _g = m.lock(); unsafe { m.bump() });
            }
            "lock_exclusive" => [Lock] { with!(l = RawRwLock::INIT; l.lock_exclusive()); }
            "lock_shared" => [LockShared] { with!(l = RawRwLock::INIT; l.lock_shared()); }
            "lock_shared_recursive" => [LockShared] {
                with!(l = RawRwLock::INIT; l.lock_shared_recursive());
            }
            "lock_upgradable" => [Lock] { with!(l = RawRwLock::INIT; l.lock_upgradable()); }
            "try_lock_exclusive" => [TryLock] {
                with!(l = RawRwLock::INIT; l.try_lock_exclusive());
            }
            "try_lock_shared" => [TryLockShared] {
                with!(l = RawRwLock::INIT; l.try_lock_shared());
            }
            "try_lock_shared_recursive" => [TryLockShared] {
                with!(l = RawRwLock::INIT; l.try_lock_shared_recursive());
            }
            "try_lock_upgradable" => [TryLock] {
                with!(l = RawRwLock::INIT; l.try_lock_upgradable());
            }
            "try_lock_exclusive_for" => [Lock] {
                with!(l = RawRwLock::INIT; l.try_lock_exclusive_for(SOON));
            }
            "try_lock_exclusive_until" => [Lock] {
                with!(l = RawRwLock::INIT; l.try_lock_exclusive_until(late()));
            }
            "try_lock_shared_for" => [LockShared] {
                with!(l = RawRwLock::INIT; l.try_lock_shared_for(SOON));
            }
            "try_lock_shared_until" => [LockShared] {
                with!(l = RawRwLock::INIT; l.try_lock_shared_until(late()));
            }
            "try_lock_shared_recursive_for" => [LockShared] {
                with!(l = RawRwLock::INIT; l.try_lock_shared_recursive_for(SOON));
            }
            "try_lock_shared_recursive_until" => [LockShared] {
                with!(l = RawRwLock::INIT; l.try_lock_shared_recursive_until(late()));
            }
            "try_lock_upgradable_for" => [Lock] {
                with!(l = RawRwLock::INIT; l.try_lock_upgradable_for(SOON));
            }
            "try_lock_upgradable_until" => [Lock] {
                with!(l = RawRwLock::INIT; l.try_lock_upgradable_until(late()));
            }
            "unlock_exclusive" => [Unlock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_exclusive();
                    unsafe { l.unlock_exclusive() }
                );
            }
            "unlock_exclusive_fair" => [Unlock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_exclusive();
                    unsafe { l.unlock_exclusive_fair() }
                );
            }
            "unlock_shared" => [Unlock] {
                with!(l = RawRwLock::INIT; _g = l.lock_shared(); unsafe { l.unlock_shared() });
            }
            "unlock_shared_fair" => [Unlock] {
                with!(l = RawRwLock::INIT; _g = l.lock_shared(); unsafe { l.unlock_shared_fair() });
            }
            "unlock_upgradable" => [Unlock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_upgradable();
                    unsafe { l.unlock_upgradable() }
                );
            }
            "unlock_upgradable_fair" => [Unlock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_upgradable();
                    unsafe { l.unlock_upgradable_fair() }
                );
            }
            "bump_exclusive" => [Unlock, Lock] {
                with!(l = RawRwLock::INIT; _g = l.lock_exclusive(); unsafe { l.bump_exclusive() });
            }
            "bump_shared" => [Unlock, LockShared] {
                with!(l = RawRwLock::INIT; _g = l.lock_shared(); unsafe { l.bump_shared() });
            }
            "bump_upgradable" => [Unlock, Lock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_upgradable();
                    unsafe { l.bump_upgradable() }
                );
            }
            "downgrade" => [Unlock] {
                with!(l = RawRwLock::INIT; _g = l.lock_exclusive(); unsafe { l.downgrade() });
            }
            "downgrade_upgradable" => [Unlock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_upgradable();
                    unsafe { l.downgrade_upgradable() }
                );
            }
            "downgrade_to_upgradable" => [Unlock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_exclusive();
                    unsafe { l.downgrade_to_upgradable() }
                );
            }
            "upgrade" => [Lock] {
                with!(l = RawRwLock::INIT; _g = l.lock_upgradable(); unsafe { l.upgrade() });
            }
            "try_upgrade" => [TryLock] {
                with!(l = RawRwLock::INIT; _g = l.lock_upgradable(); unsafe { l.try_upgrade() });
            }
            "try_upgrade_for" => [Lock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_upgradable();
                    unsafe { l.try_upgrade_for(SOON) }
                );
            }
            "try_upgrade_until" => [Lock] {
                with!(
                    l = RawRwLock::INIT;
                    _g = l.lock_upgradable();
                    unsafe { l.try_upgrade_until(late()) }
                );
            }
        } "" },
        mirror! { "parking_lot/condvar.rs" {
            "notify_one" => [Notify] { with!(c = Condvar::new(); c.notify_one()); }
            "notify_all" => [Notify] { with!(c = Condvar::new(); c.notify_all()); }
            "wait" => [Wait, Unlock, Wait] {
                with!(m = Mutex::new(1); g = m.lock(); Condvar::new().wait(&mut g));
            }
            "wait_for" => [Wait, Unlock, Wait] {
                with!(
                    m = Mutex::new(1);
                    g = m.lock();
                    assert!(Condvar::new().wait_for(&mut g, SOON).timed_out())
                );
            }
            "wait_until" => [Wait, Unlock, Wait] {
                with!(
                    m = Mutex::new(1);
                    g = m.lock();
                    assert!(Condvar::new().wait_until(&mut g, late()).timed_out())
                );
            }
            "wait_while" => [Wait, Unlock, Wait] {
                with!(
                    m = Mutex::new(true);
                    g = m.lock();
                    Condvar::new().wait_while(&mut g, std::mem::take)
                );
            }
            "wait_while_for" => [Wait, Unlock, Wait] {
                with!(
                    m = Mutex::new(true);
                    g = m.lock();
                    Condvar::new().wait_while_for(&mut g, std::mem::take, SOON)
                );
            }
            "wait_while_until" => [Wait, Unlock, Wait] {
                with!(
                    m = Mutex::new(true);
                    g = m.lock();
                    Condvar::new().wait_while_until(&mut g, std::mem::take, late())
                );
            }
        } "new" },
        mirror! { "parking_lot/once.rs" {
            "call_once" => [Update] { with!(o = Once::new(); o.call_once(|| ())); }
            "call_once_force" => [Update] { with!(o = Once::new(); o.call_once_force(|_| ())); }
            "state" => [Read] { with!(o = Once::new(); o.state()); }
        } "new" },
    ]
}

fn channels() -> Vec<Mirror> {
    use crate::crossbeam_channel::{Select, after, bounded, never, tick, unbounded};
    fn late() -> Instant {
        Instant::now() + SOON
    }
    vec![
        mirror! { "crossbeam_channel/channel.rs" {
            "send" => [Send] {
                let (s, _r) = unbounded();
                count(|| s.send(1)).unwrap();
                let (s, _r) = bounded(1);
                count(|| s.send(1)).unwrap();
            }
            "try_send" => [Send] {
                let (s, _r) = bounded(1);
                count(|| s.try_send(1)).unwrap();
                count(|| s.try_send(1)).unwrap_err();
            }
            "send_timeout" => [Send] {
                let (s, _r) = bounded(1);
                count(|| s.send_timeout(1, SOON)).unwrap();
                count(|| s.send_timeout(1, SOON)).unwrap_err();
            }
            "send_deadline" => [Send] {
                let (s, _r) = bounded(1);
                count(|| s.send_deadline(1, late())).unwrap();
                count(|| s.send_deadline(1, late())).unwrap_err();
            }
            "recv" => [Receive] {
                let (s, r) = unbounded();
                s.send(1).unwrap();
                count(|| r.recv()).unwrap();
                drop(s);
                count(|| r.recv()).unwrap_err();
            }
            "try_recv" => [Receive] {
                let (s, r) = bounded(1);
                count(|| r.try_recv()).unwrap_err();
                s.send(1).unwrap();
                count(|| r.try_recv()).unwrap();
            }
            "recv_timeout" => [Receive] {
                let (s, r) = bounded(1);
                count(|| r.recv_timeout(SOON)).unwrap_err();
                s.send(1).unwrap();
                count(|| r.recv_timeout(SOON)).unwrap();
            }
            "recv_deadline" => [Receive] {
                let (_s, r) = bounded::<u8>(1);
                count(|| r.recv_deadline(late())).unwrap_err();
            }
            "is_empty" => [Read] {
                let (s, r) = bounded::<u8>(1);
                count(|| s.is_empty());
                count(|| r.is_empty());
            }
            "is_full" => [Read] {
                let (s, r) = bounded::<u8>(1);
                count(|| s.is_full());
                count(|| r.is_full());
            }
            "len" => [Read] { let (s, r) = bounded::<u8>(1); count(|| s.len()); count(|| r.len()); }
            // What these give waits for time alone.
            "after" => [Sleep] {
                let r = after(Duration::from_secs(9));
                count(|| r.is_empty());
                count(|| r.recv()).unwrap();
                count(|| r.try_recv()).unwrap_err();
            }
            "at" => [Sleep] {
                let r = crate::crossbeam_channel::at(late());
                count(|| r.recv()).unwrap();
            }
            "tick" => [Sleep] {
                let r = tick(Duration::from_secs(9));
                count(|| r.recv()).unwrap();
                count(|| r.recv()).unwrap();
            }
            "never" => [Sleep] {
                count(|| never::<u8>().recv_timeout(Duration::from_secs(9))).unwrap_err();
            }
            "unbounded" => [Close] {
                let (s, r) = unbounded::<u8>();
                count(|| drop(s));
                count(|| drop(r));
            }
        } "bounded capacity iter same_channel try_iter" },
        mirror! { "crossbeam_channel/select.rs" {
            // A look at each arm; what was selected is announced when it is completed.
            "select" => [Read, Read] {
                let (s, r) = bounded(1);
                let mut select = Select::new();
                let (send, _) = (select.send(&s), select.recv(&r));
                let operation = count(|| select.select());
                assert_eq!(operation.index(), send);
                operation.send(&s, 1).unwrap();
            }
            "try_select" => [Read] {
                let (_s, r) = bounded::<u8>(1);
                let mut select = Select::new();
                select.recv(&r);
                count(|| select.try_select()).unwrap_err();
            }
            // A look, and a wait.
            "select_timeout" => [Read, Read] {
                let (_s, r) = bounded::<u8>(1);
                let mut select = Select::new();
                select.recv(&r);
                count(|| select.select_timeout(SOON)).unwrap_err();
            }
            "select_deadline" => [Read, Read] {
                let (_s, r) = bounded::<u8>(1);
                let mut select = Select::new();
                select.recv(&r);
                count(|| select.select_deadline(late())).unwrap_err();
            }
            "ready" => [Read] {
                let (s, _r) = bounded::<u8>(1);
                let mut select = Select::new();
                select.send(&s);
                count(|| select.ready());
            }
            "try_ready" => [Read] {
                let (s, _r) = bounded::<u8>(1);
                let mut select = Select::new();
                select.send(&s);
                count(|| select.try_ready()).unwrap();
            }
            "ready_timeout" => [Read, Read] {
                let (_s, r) = bounded::<u8>(1);
                let mut select = Select::new();
                select.recv(&r);
                count(|| select.ready_timeout(SOON)).unwrap_err();
            }
            "ready_deadline" => [Read, Read] {
                let (_s, r) = bounded::<u8>(1);
                let mut select = Select::new();
                select.recv(&r);
                count(|| select.ready_deadline(late())).unwrap_err();
            }
            "send" => [Send] {
                let (s, _r) = bounded(1);
                let mut select = Select::new();
                select.send(&s);
                let operation = select.select();
                count(|| operation.send(&s, 1)).unwrap();
            }
            "recv" => [Receive] {
                let (s, r) = bounded(1);
                s.send(1).unwrap();
                let mut select = Select::new();
                select.recv(&r);
                let operation = select.select();
                count(|| operation.recv(&r)).unwrap();
            }
            "send_at" => [Read, Send] {
                let (s, _r) = bounded(1);
                count(|| crate::crossbeam_channel::select! { send(s, 1) -> sent => sent.unwrap() });
            }
            "recv_at" => [Read, Receive] {
                let (s, r) = bounded(1);
                s.send(1).unwrap();
                count(|| crate::crossbeam_channel::select! { recv(r) -> got => got.unwrap() });
            }
        } "index is_ready left look new new_biased remove" },
    ]
}

fn others() -> Vec<Mirror> {
    use crate::cell::{Tracked, TrackedUnsafeCell};
    use crate::crossbeam_utils::sync::{Parker, WaitGroup};
    use crate::crossbeam_utils::{Backoff, thread};
    use crate::once_cell::{race::OnceBool, sync::Lazy, sync::OnceCell};
    use crate::operation::{Access, operate};
    use crate::parking_lot_core as core;
    use crate::watch::Watched;
    static NUMBER: Watched<i32> = Watched::<i32>::new("number of announcements", 0);
    vec![
        mirror! { "crossbeam_utils/backoff.rs" {
            "spin" => [Yield] { count(|| Backoff::new().spin()); }
            "snooze" => [Yield] { count(|| Backoff::new().snooze()); }
        } "is_completed new reset" },
        mirror! { "crossbeam_utils/sync.rs" {
            "park" => [Park] { let p = Parker::new(); p.unparker().unpark(); count(|| p.park()); }
            "park_timeout" => [Park] {
                count(|| Parker::new().park_timeout(Duration::from_secs(9)));
            }
            "park_deadline" => [Park] {
                count(|| Parker::new().park_deadline(Instant::now() + SOON));
            }
            "unpark" => [Unpark] { let p = Parker::new(); count(|| p.unparker().unpark()); }
            // It arrives, and waits.
            "wait" => [Close, Read] {
                let group = WaitGroup::new();
                drop(group.clone());
                count(|| group.wait());
            }
            "new" => [Close] { let group = WaitGroup::new(); count(|| drop(group)); }
        } "from_raw into_raw unparker" },
        mirror! { "crossbeam_utils/thread.rs" {
            "spawn" => [Fork] {
                thread::scope(|s| {
                    count(|| s.spawn(|_| ())).join().unwrap();
                    count(|| s.builder().spawn(|_| ())).unwrap().join().unwrap();
                })
                .unwrap();
            }
            "join" => [Join] {
                thread::scope(|s| {
                    let child = s.spawn(|_| ());
                    count(|| child.join()).unwrap();
                })
                .unwrap();
            }
            "scope" => [Fork, Join] { count(|| thread::scope(|s| { s.spawn(|_| ()); })).unwrap(); }
        } "builder name stack_size thread" },
        mirror! { "once_cell/race.rs" {
            "get" => [Read] { let c = OnceBool::new(); count(|| c.get()); }
            "get_unchecked" => [Read] {
                let c = crate::once_cell::race::OnceNonZeroUsize::new();
                c.set(std::num::NonZero::<usize>::MIN).unwrap();
                // SAFETY: it has a value.
                count(|| unsafe { c.get_unchecked() });
            }
            "set" => [Update] { let c = OnceBool::new(); count(|| c.set(true)).unwrap(); }
            // It finds the cell empty, runs the function, and sets the cell.
            "get_or_init" => [Read, Update] {
                let c = OnceBool::new();
                count(|| c.get_or_init(|| true));
            }
            "get_or_try_init" => [Read, Update] {
                let c = OnceBool::new();
                count(|| c.get_or_try_init(|| Ok::<_, ()>(true))).unwrap();
            }
        } "new with_value" },
        mirror! { "once_cell/sync.rs" {
            "get" => [Read] { let l: Lazy<i32> = Lazy::new(|| 1); count(|| Lazy::get(&l)); }
            // SAFETY: it has a value.
            "get_unchecked" => [Read] {
                let c = OnceCell::with_value(1);
                count(|| unsafe { c.get_unchecked() });
            }
            "try_insert" => [Update] {
                let c = OnceCell::new();
                count(|| c.try_insert(1)).unwrap();
            }
            "get_or_try_init" => [Update] {
                let c = OnceCell::new();
                count(|| c.get_or_try_init(|| Ok::<_, ()>(1))).unwrap();
            }
            "force" => [Update] { let l: Lazy<i32> = Lazy::new(|| 1); count(|| Lazy::force(&l)); }
        } "force_mut get_mut into_value new with_value" },
        mirror! { "cell.rs" {
            "with" => [Read] { let c = TrackedUnsafeCell::new(1); count(|| c.with(|_| ())); }
            "with_mut" => [Write] {
                let c = TrackedUnsafeCell::new(1);
                count(|| c.with_mut(|_| ()));
            }
            "get" => [Read] { let c = Tracked::new(1); count(|| c.get()); }
            "set" => [Write] { let mut c = Tracked::new(1); count(|| c.set(1)); }
            "replace" => [Update] { let mut c = Tracked::new(1); count(|| c.replace(1)); }
            "take" => [Update] { let mut c = Tracked::new(1); count(|| c.take()); }
            "update" => [Update] {
                let mut c = Tracked::new(1);
                count(|| c.update(|value| value + 1));
            }
        } "as_ptr get_mut into_inner new deref" },
        mirror! { "watch.rs" {
            "get" => [Read] { count(|| NUMBER.get()); }
            "set" => [Write] { count(|| NUMBER.set(1)); }
            "swap" => [Update] { count(|| NUMBER.swap(1)); }
            "compare_exchange" => [Update] { let _ = count(|| NUMBER.compare_exchange(1, 1)); }
            "fetch_update" => [Read, Update] { count(|| NUMBER.fetch_update(Some)).unwrap(); }
            "fetch_add" => [Update] { count(|| NUMBER.fetch_add(1)); }
            "fetch_sub" => [Update] { count(|| NUMBER.fetch_sub(1)); }
            "fetch_max" => [Update] { count(|| NUMBER.fetch_max(1)); }
            "fetch_min" => [Update] { count(|| NUMBER.fetch_min(1)); }
            "fetch_and" => [Update] { count(|| NUMBER.fetch_and(1)); }
            "fetch_or" => [Update] { count(|| NUMBER.fetch_or(1)); }
            "fetch_xor" => [Update] { count(|| NUMBER.fetch_xor(1)); }
        } "new into_inner" },
        mirror! { "operation/checked.rs" {
            "operate" => [Update] {
                let object = crate::Object::<u8>::new();
                let site = std::panic::Location::caller();
                drop(count(|| operate(&object, Access::update, site)));
            }
        } "" },
        mirror! { "parking_lot_core.rs" {
            "park" => [Yield] {
                let (token, soon) = (core::ParkToken(0), Some(Instant::now()));
                // SAFETY: nobody parks at so low an address, and the functions do nothing.
                count(|| unsafe {
                    core::park(8, || false, || (), |_, _| (), token, soon)
                });
            }
            "spin" => [Yield] { count(|| core::SpinWait::new().spin()); }
            "spin_no_yield" => [Yield] { count(|| core::SpinWait::new().spin_no_yield()); }
            // SAFETY: as above, here and below.
            "unpark_one" => [Unpark] {
                count(|| unsafe { core::unpark_one(8, |_| core::UnparkToken(0)) });
            }
            "unpark_all" => [Unpark] {
                count(|| unsafe { core::unpark_all(8, core::UnparkToken(0)) });
            }
            "unpark_requeue" => [Unpark] {
                count(|| unsafe {
                    let token = |_, _| core::UnparkToken(0);
                    core::unpark_requeue(8, 16, || core::RequeueOp::Abort, token)
                });
            }
            "unpark_filter" => [Unpark] {
                count(|| unsafe {
                    let token = |_| core::UnparkToken(0);
                    core::unpark_filter(8, |_| core::FilterOp::Stop, token)
                });
            }
        } "new reset" },
    ]
}

fn sources() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The files in which mirrors are.
fn files() -> BTreeSet<String> {
    fn add(path: &Path, files: &mut BTreeSet<String>) {
        if path.is_dir() {
            for entry in std::fs::read_dir(path).unwrap() {
                add(&entry.unwrap().path(), files);
            }
        } else {
            let file = path.strip_prefix(sources()).unwrap();
            files.insert(file.to_str().unwrap().to_owned());
        }
    }
    let mut files = BTreeSet::new();
    for part in [
        "cell.rs",
        "crossbeam_channel",
        "crossbeam_utils",
        "hint.rs",
        "once_cell",
        "operation/checked.rs",
        "parking_lot",
        "parking_lot_core.rs",
        "sync",
        "thread",
        "watch.rs",
    ] {
        add(&sources().join(part), &mut files);
    }
    files
}

/// The public methods of a file: those that it names after `pub fn`, and those that it lists for a
/// macro, each on a line with its end.
fn methods(file: &str) -> BTreeSet<String> {
    let text = std::fs::read_to_string(sources().join(file)).unwrap();
    let mut methods = BTreeSet::new();
    for line in text.lines().map(str::trim) {
        let listed = line.ends_with(';');
        let (is_public, rest) = match line.strip_prefix("pub ") {
            Some(rest) => (true, rest),
            None => (false, line),
        };
        let rest = rest
            .trim_start_matches("const ")
            .trim_start_matches("unsafe ");
        let word = |text: &str| -> String {
            let is_part = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
            text.chars().take_while(is_part).collect()
        };
        if let Some(name) = rest.strip_prefix("fn ").filter(|_| is_public || listed) {
            methods.insert(word(name));
        } else if let Some(names) = line.strip_prefix("unlocked! { ") {
            methods.insert(word(names));
        } else if listed && line.starts_with("fetch_") {
            methods.insert(word(line));
        } else if listed && line.starts_with("try_upgrade") {
            methods.extend(line.split(", ").take(2).map(word));
        }
    }
    // A macro's variable.
    methods.remove("");
    methods
}

fn mirrors() -> Vec<Mirror> {
    [sync(), threads(), parking_lot(), channels(), others()]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn every_method_announces_each_of_its_operations_once() {
    let mut wrong = Vec::new();
    for mirror in mirrors() {
        for case in &mirror.cases {
            let all = counted(case.uses);
            if all.is_empty() || all.iter().any(|kinds| kinds != case.kinds) {
                let (file, methods, kinds) = (mirror.file, case.methods, case.kinds);
                wrong.push(format!(
                    "{file} {methods:?}: expected {kinds:?}, found {all:?}"
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_method_of_a_mirror_is_listed_here() {
    let mirrors = mirrors();
    let mut wrong = Vec::new();
    for file in files() {
        let mirror = mirrors.iter().find(|mirror| mirror.file == file);
        let listed: BTreeSet<&str> = mirror
            .into_iter()
            .flat_map(|mirror| {
                let announcing = mirror.cases.iter().flat_map(|case| case.methods);
                announcing.copied().chain(mirror.silent.split_whitespace())
            })
            .collect();
        for method in methods(&file) {
            if !listed.contains(&*method) {
                wrong.push(format!("{file}: {method} is not listed"));
            }
        }
        let text = std::fs::read_to_string(sources().join(&file)).unwrap();
        for method in listed.iter().filter(|method| !text.contains(*method)) {
            wrong.push(format!("{file}: there is no {method}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
