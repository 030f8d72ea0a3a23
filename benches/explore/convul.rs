//! The shapes of ConVul's ten vulnerabilities: who uses a pointer, who frees it or sets it to
//! null, and what comes between. A pointer is a number, and 0 is null.

use std::array;

use aerodrome::sync::{Mutex, MutexGuard};

use super::{Is, Row, Var, run};

pub(super) const PROGRAMS: &[Row] = &[
    ("ConVul/CVE-2009-3547", pipe_open, true, [1, 3]),
    ("ConVul/CVE-2011-2183", page_scan, true, [2, 3]),
    ("ConVul/CVE-2013-1792", keyrings, true, [10, 11]),
    ("ConVul/CVE-2015-7550", key_read, true, [5, 4]),
    ("ConVul/CVE-2016-1972", once, false, [32, 8]),
    // Marks do not show it: additions commute, whatever is decided on their results.
    ("ConVul/CVE-2016-1973", instance, false, [2, 4]),
    ("ConVul/CVE-2016-7911", priority, true, [12, 2]),
    ("ConVul/CVE-2016-9806", dump, true, [8, 2]),
    ("ConVul/CVE-2017-15265", port, false, [19, 0]),
    ("ConVul/CVE-2017-6346", fanout, true, [3, 13]),
];

/// A heap of a few objects, whose addresses are 1, 2, ..
#[derive(Default)]
struct Heap {
    allocated: Var,
    freed: [Var; 4],
}

impl Heap {
    fn allocate(&self) -> i32 {
        self.allocated.add_at_once(1)
    }

    /// Whether the pointer may be followed.
    #[track_caller]
    fn is_live(&self, pointer: i32) -> bool {
        pointer != 0 && self.freed[pointer as usize - 1].get() == 0
    }

    /// Frees; whether that was right.
    #[track_caller]
    fn free(&self, pointer: i32) -> bool {
        pointer != 0 && self.freed[pointer as usize - 1].swap(1) == 0
    }
}

/// A lock that only the fixed variant takes.
fn if_fixed<'a>(is: Is, lock: &'a Mutex<()>) -> Option<MutexGuard<'a, ()>> {
    is.fixed().then(|| lock.lock().unwrap())
}

/// The pipe is looked at, and followed, while the last closer sets it to null.
fn pipe_open(is: Is) {
    let (pipe, lock) = (Var::new(1), Mutex::new(()));
    run(&[
        &|| {
            is.atomic(|| {
                let _guard = if_fixed(is, &lock);
                if pipe.get() != 0 {
                    is.sure(pipe.get() != 0);
                }
            });
        },
        &|| {
            let _guard = lock.lock().unwrap();
            pipe.set(0);
        },
    ]);
}

/// The list of slots is not empty, then it is, and its head is taken for a slot.
fn page_scan(is: Is) {
    let (next, lock) = (Var::new(1), Mutex::new(()));
    run(&[
        &|| {
            is.atomic(|| {
                if next.get() != 0 {
                    let slot = {
                        let _guard = lock.lock().unwrap();
                        next.get()
                    };
                    is.sure(is.fixed() || slot != 0);
                }
            });
        },
        &|| {
            let _guard = lock.lock().unwrap();
            next.set(0);
        },
    ]);
}

/// Two keyrings are made one after the other; who sees the first believes in both.
fn keyrings(is: Is) {
    let (user, session, lock) = (Var::new(0), Var::new(0), Mutex::new(()));
    let install = || {
        if user.get() != 0 && (!is.fixed() || session.get() != 0) {
            return;
        }
        let _guard = lock.lock().unwrap();
        if user.get() == 0 {
            user.set(1);
            session.set(1);
        }
    };
    let look_up = || {
        is.atomic(|| {
            install();
            is.sure(session.get() != 0);
        });
    };
    run(&[&look_up, &look_up]);
}

/// A key is found valid, then revoked, then read.
fn key_read(is: Is) {
    let (revoked, payload, semaphore) = (Var::new(0), Var::new(1), Mutex::new(()));
    run(&[
        &|| {
            is.atomic(|| {
                let outer = if_fixed(is, &semaphore);
                if revoked.get() == 0 {
                    let _inner = outer.or_else(|| Some(semaphore.lock().unwrap()));
                    is.sure(payload.get() != 0);
                }
            });
        },
        &|| {
            let _guard = semaphore.lock().unwrap();
            revoked.set(1);
            payload.set(0);
        },
    ]);
}

/// An initialisation that happens once, under a lock that its last waiter frees. Who has not yet
/// counted itself among the waiters may get the lock all the same.
fn once(is: Is) {
    let (lock, waiters, done) = (Var::new(0), Var::new(0), Var::new(0));
    let (heap, inner) = (Heap::default(), Mutex::new(()));
    let init = || {
        if done.get() != 0 {
            return;
        }
        waiters.add_at_once(1);
        let mine = heap.allocate();
        if !lock.replace(0, mine) {
            heap.free(mine);
        }
        let shared = lock.get();
        let _guard = inner.lock().unwrap();
        is.sure(is.fixed() || heap.is_live(shared));
        if done.get() == 0 {
            done.set(1);
        }
        if waiters.add_at_once(-1) == 0 && !is.fixed() {
            heap.free(lock.swap(0));
        }
    };
    run(&[&init, &init]);
}

/// The first user of an instance makes it; the second may find the count raised and no instance.
fn instance(is: Is) {
    let (count, instance, lock) = (Var::new(0), Var::new(0), Mutex::new(()));
    let add = || {
        is.atomic(|| {
            let _guard = if_fixed(is, &lock);
            if count.add_at_once(1) == 1 {
                instance.set(1);
            }
            instance.get()
        })
    };
    let user = || is.sure(add() != 0);
    run(&[&user, &user]);
}

/// The context of a task is looked at, then read, while the task gives it up.
fn priority(is: Is) {
    let (context, lock) = (Var::new(1), Mutex::new(()));
    run(&[
        &|| {
            {
                let _guard = lock.lock().unwrap();
            }
            is.atomic(|| {
                let _guard = if_fixed(is, &lock);
                if context.get() != 0 {
                    is.sure(context.get() != 0);
                }
            });
        },
        &|| {
            let mine = {
                let _guard = lock.lock().unwrap();
                context.swap(0)
            };
            is.sure(mine == 1);
        },
    ]);
}

/// A buffer is freed after the lock was given back, by its name: by then that is the next one.
fn dump(is: Is) {
    let heap = Heap::default();
    let (running, buffer, lock) = (Var::new(1), Var::new(heap.allocate()), Mutex::new(()));
    let end = || {
        is.atomic(|| {
            let mine = {
                let _guard = lock.lock().unwrap();
                if running.swap(0) == 0 {
                    return;
                }
                buffer.get()
            };
            let name = if is.fixed() { mine } else { buffer.get() };
            is.sure(heap.free(name));
        });
    };
    let start = || {
        {
            let _guard = lock.lock().unwrap();
            if running.get() != 0 {
                return;
            }
            buffer.set(heap.allocate());
            running.set(1);
        }
        end();
    };
    run(&[&end, &start]);
}

/// A port is in the list, so another thread may delete it, and its maker still writes its name.
fn port(is: Is) {
    let (heap, list, lock) = (Heap::default(), Var::new(0), Mutex::new(()));
    run(&[
        &|| {
            let port = heap.allocate();
            if is.fixed() {
                is.sure(heap.is_live(port));
            }
            {
                let _guard = lock.lock().unwrap();
                list.set(port);
            }
            if !is.fixed() {
                is.sure(heap.is_live(port));
            }
        },
        &|| {
            let port = {
                let _guard = lock.lock().unwrap();
                list.swap(0)
            };
            if port != 0 {
                heap.free(port);
            }
        },
    ]);
}

/// Two threads join one socket to a group. Both make what it has once, and both free it.
fn fanout(is: Is) {
    let (heap, rollover, lock) = (Heap::default(), Var::new(0), Mutex::new(()));
    let add = || {
        is.atomic(|| {
            let _guard = if_fixed(is, &lock);
            if rollover.get() == 0 {
                rollover.set(heap.allocate());
                let mine = rollover.get();
                is.sure(heap.free(mine));
                rollover.set(0);
            }
        });
    };
    let threads: [_; 2] = array::from_fn(|_| &add as &(dyn Fn() + Sync));
    run(&threads);
}
