// What both do alike: `tokio` is the one or the other.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{
    Barrier, Mutex, MutexGuard, Notify, OnceCell, OwnedMutexGuard, OwnedRwLockReadGuard,
    OwnedRwLockWriteGuard, RwLock, RwLockReadGuard, RwLockWriteGuard, Semaphore, broadcast, mpsc,
    oneshot, watch,
};
use tokio::task::{JoinSet, LocalSet};

fn run<T>(program: impl Future<Output = T>) -> T {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_time().build().unwrap().block_on(program)
}

#[test]
fn mutex() {
    run(async {
        let mutex = Arc::new(Mutex::new((1, "a")));
        {
            let guard = mutex.lock().await;
            assert!(mutex.try_lock().is_err());
            assert!(mutex.clone().try_lock_owned().is_err());
            assert!(MutexGuard::mutex(&guard).try_lock().is_err());
            let mut part = MutexGuard::map(guard, |it| &mut it.0);
            *part += 1;
            assert_eq!(format!("{part} {part:?}"), "2 2");
        }
        let guard = mutex.try_lock().unwrap();
        let guard = MutexGuard::try_map(guard, |_| None::<&mut u32>).unwrap_err();
        drop(guard);
        let owned = mutex.clone().lock_owned().await;
        assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&owned), &mutex));
        let mut part = OwnedMutexGuard::map(owned, |it| &mut it.1);
        *part = "b";
        drop(part);
        assert_eq!(*mutex.clone().try_lock_owned().unwrap(), (2, "b"));
        let mut mutex = Arc::try_unwrap(mutex).unwrap();
        mutex.get_mut().0 = 3;
        assert_eq!(mutex.into_inner(), (3, "b"));
        static CONST: Mutex<u32> = Mutex::const_new(5);
        assert_eq!(*CONST.lock().await, 5);
        assert_eq!(*Mutex::from(6).lock().await, 6);
    });
    assert_eq!(*Mutex::new(4).blocking_lock(), 4);
    assert_eq!(*Arc::new(Mutex::<u32>::default()).blocking_lock_owned(), 0);
}

#[test]
fn a_dropped_wait_for_a_mutex_leaves_it_free() {
    run(async {
        let mutex = Mutex::new(0);
        let guard = mutex.lock().await;
        let short = Duration::from_millis(1);
        assert!(tokio::time::timeout(short, mutex.lock()).await.is_err());
        drop(guard);
        assert!(mutex.try_lock().is_ok());
    });
}

#[test]
fn rwlock() {
    run(async {
        let lock = Arc::new(RwLock::new((1, "a")));
        {
            let (one, other) = (lock.read().await, lock.try_read().unwrap());
            assert!(lock.try_write().is_err());
            let part = RwLockReadGuard::map(one, |it| &it.0);
            let none = RwLockReadGuard::try_map(other, |_| None::<&u32>);
            assert_eq!((*part, none.unwrap_err().1), (1, "a"));
        }
        {
            let write = lock.write().await;
            assert!(lock.try_read().is_err() && lock.clone().try_read_owned().is_err());
            let mut part = RwLockWriteGuard::map(write, |it| &mut it.0);
            *part = 2;
        }
        let write = lock.try_write().unwrap();
        let write = RwLockWriteGuard::try_downgrade_map(write, |_| None::<&u32>).unwrap_err();
        let read = RwLockWriteGuard::downgrade_map(write, |it| &it.0);
        assert_eq!((*read, lock.try_read().unwrap().1), (2, "a"));
        drop(read);
        let read = lock.write().await.downgrade();
        assert_eq!(read.0, 2);
        drop(read);
        let read: OwnedRwLockReadGuard<_> = lock.clone().read_owned().await;
        let read = OwnedRwLockReadGuard::map(read, |it| &it.1);
        assert_eq!(*read, "a");
        drop(read);
        let write: OwnedRwLockWriteGuard<_> = lock.clone().write_owned().await;
        let mut part = OwnedRwLockWriteGuard::map(write, |it| &mut it.1);
        *part = "b";
        drop(part);
        let read = lock.clone().try_write_owned().unwrap().downgrade();
        assert!(Arc::ptr_eq(OwnedRwLockReadGuard::rwlock(&read), &lock));
        drop(read);
        assert_eq!(Arc::try_unwrap(lock).unwrap().into_inner(), (2, "b"));
    });
    let lock = RwLock::with_max_readers(1, 2);
    assert_eq!(*lock.blocking_read(), 1);
    *lock.blocking_write() = 2;
    assert!(format!("{lock:?}").contains('2'));
}

#[test]
fn semaphore() {
    run(async {
        let semaphore = Arc::new(Semaphore::new(3));
        let mut two = semaphore.acquire_many(2).await.unwrap();
        assert_eq!((two.num_permits(), semaphore.available_permits()), (2, 1));
        let one = two.split(1).unwrap();
        assert!(two.split(2).is_none());
        two.merge(one);
        let last = semaphore.try_acquire().unwrap();
        assert!(semaphore.try_acquire().is_err());
        last.forget();
        drop(two);
        assert_eq!(semaphore.available_permits(), 2);
        semaphore.add_permits(1);
        assert_eq!(semaphore.forget_permits(2), 2);
        let owned = semaphore.clone().acquire_owned().await.unwrap();
        assert!(Arc::ptr_eq(owned.semaphore(), &semaphore));
        let s = semaphore.clone();
        let waits = tokio::spawn(async move { s.acquire().await.map(|it| it.num_permits()) });
        tokio::task::yield_now().await;
        drop(owned);
        assert_eq!(waits.await.unwrap().unwrap(), 1);
        assert_eq!(
            semaphore
                .clone()
                .try_acquire_many_owned(1)
                .unwrap()
                .num_permits(),
            1
        );
        semaphore.close();
        assert!(semaphore.is_closed() && semaphore.acquire().await.is_err());
    });
}

#[test]
fn notify() {
    run(async {
        let notify = Arc::new(Notify::new());
        notify.notify_one();
        notify.notified().await;
        let mut waits = std::pin::pin!(notify.notified());
        assert!(!waits.as_mut().enable());
        notify.notify_waiters();
        waits.await;
        let n = notify.clone();
        let task = tokio::spawn(async move { n.notified_owned().await });
        tokio::task::yield_now().await;
        notify.notify_last();
        task.await.unwrap();
    });
}

#[test]
fn watching() {
    run(async {
        let (sender, mut receiver) = watch::channel(1);
        assert!(!receiver.has_changed().unwrap());
        sender.send(2).unwrap();
        assert!(receiver.has_changed().unwrap());
        receiver.changed().await.unwrap();
        assert_eq!(*receiver.borrow_and_update(), 2);
        assert!(!sender.send_if_modified(|_| false));
        sender.send_modify(|it| *it += 1);
        assert_eq!((sender.send_replace(5), *sender.borrow()), (3, 5));
        assert_eq!(*receiver.wait_for(|&it| it == 5).await.unwrap(), 5);
        let other = sender.subscribe();
        assert_eq!((sender.receiver_count(), sender.sender_count()), (2, 1));
        assert!(other.same_channel(&receiver));
        receiver.mark_changed();
        assert!(receiver.borrow().has_changed());
        receiver.mark_unchanged();
        drop((other, receiver.clone()));
        drop(receiver);
        sender.closed().await;
        assert!(sender.is_closed());
        assert_eq!(sender.send(6).unwrap_err().0, 6);
    });
}

#[test]
fn bounded_channel() {
    run(async {
        let (sender, mut receiver) = mpsc::channel(2);
        sender.send(1).await.unwrap();
        sender.try_send(2).unwrap();
        assert!(matches!(
            sender.try_send(3),
            Err(mpsc::error::TrySendError::Full(3))
        ));
        assert_eq!(
            (sender.capacity(), sender.max_capacity(), receiver.len()),
            (0, 2, 2)
        );
        let short = Duration::from_millis(1);
        assert!(sender.send_timeout(3, short).await.is_err());
        let s = sender.clone();
        let waits = tokio::spawn(async move { s.send(3).await });
        tokio::task::yield_now().await;
        assert_eq!(
            (receiver.recv().await, receiver.try_recv()),
            (Some(1), Ok(2))
        );
        waits.await.unwrap().unwrap();
        assert_eq!(receiver.recv().await, Some(3));
        assert!(receiver.is_empty() && receiver.try_recv().is_err());
        sender.reserve().await.unwrap().send(4);
        let sender = sender.try_reserve_owned().unwrap().send(5);
        for (permit, value) in sender.reserve_many(0).await.unwrap().zip(0..) {
            permit.send(value);
        }
        let mut buffer = Vec::new();
        assert_eq!(
            (receiver.recv_many(&mut buffer, 9).await, buffer),
            (2, vec![4, 5])
        );
        let sender = sender.reserve_owned().await.unwrap().release();
        let weak = sender.downgrade();
        assert!(weak.upgrade().unwrap().same_channel(&sender));
        receiver.close();
        assert!(sender.is_closed() && receiver.is_closed());
        sender.closed().await;
        assert_eq!(sender.send(6).await.unwrap_err().0, 6);
        drop(sender);
        assert!(receiver.recv().await.is_none() && weak.upgrade().is_none());
    });
    let (sender, mut receiver) = mpsc::channel(1);
    let task = std::thread::spawn(move || (0..3).for_each(|n| sender.blocking_send(n).unwrap()));
    assert_eq!(
        std::iter::from_fn(|| receiver.blocking_recv()).sum::<i32>(),
        3
    );
    task.join().unwrap();
}

#[test]
fn unbounded_channel() {
    run(async {
        let (sender, mut receiver) = mpsc::unbounded_channel();
        sender.send("a".to_owned()).unwrap();
        sender.clone().send("b".to_owned()).unwrap();
        assert_eq!(
            (receiver.len(), sender.strong_count(), sender.weak_count()),
            (2, 1, 0)
        );
        assert_eq!(receiver.recv().await.as_deref(), Some("a"));
        assert_eq!(receiver.try_recv().as_deref(), Ok("b"));
        drop(receiver);
        assert_eq!(sender.send("c".to_owned()).unwrap_err().0, "c");
    });
}

#[test]
fn one_message() {
    run(async {
        let (sender, receiver) = oneshot::channel();
        assert!(!sender.is_closed());
        sender.send(1).unwrap();
        assert_eq!(receiver.await, Ok(1));
        let (sender, mut receiver) = oneshot::channel();
        assert!(receiver.try_recv().is_err());
        sender.send(2).unwrap();
        assert_eq!(receiver.try_recv(), Ok(2));
        let (mut sender, mut receiver) = oneshot::channel();
        receiver.close();
        sender.closed().await;
        assert_eq!(sender.send(3), Err(3));
        let (sender, receiver) = oneshot::channel::<u32>();
        drop(sender);
        assert!(receiver.await.is_err());
    });
    let (sender, receiver) = oneshot::channel();
    let task = std::thread::spawn(move || receiver.blocking_recv());
    sender.send(4).unwrap();
    assert_eq!(task.join().unwrap(), Ok(4));
}

#[test]
fn broadcasting() {
    run(async {
        let (sender, mut a) = broadcast::channel(2);
        let mut b = sender.subscribe();
        assert_eq!(sender.send("x".to_owned()).unwrap(), 2);
        assert_eq!(
            (a.recv().await.unwrap(), b.try_recv().unwrap()),
            ("x".into(), "x".into())
        );
        assert!(a.try_recv().is_err() && a.is_empty());
        for n in 0..3 {
            sender.send(n.to_string()).unwrap();
        }
        assert_eq!((sender.len(), sender.receiver_count()), (2, 2));
        assert_eq!(a.recv().await, Err(broadcast::error::RecvError::Lagged(1)));
        let mut c = a.resubscribe();
        assert!(c.is_empty() && c.same_channel(&b));
        let waits = tokio::spawn(async move { c.recv().await });
        tokio::task::yield_now().await;
        sender.clone().send("y".to_owned()).unwrap();
        assert_eq!(waits.await.unwrap().unwrap(), "y");
        let weak = sender.downgrade();
        drop((a, b));
        sender.closed().await;
        assert_eq!(sender.send("z".to_owned()).unwrap_err().0, "z");
        drop(sender);
        assert!(weak.upgrade().is_none());
    });
}

#[test]
fn barrier() {
    run(async {
        let barrier = Arc::new(Barrier::new(3));
        let mut set = JoinSet::new();
        for _ in 0..6 {
            let barrier = barrier.clone();
            set.spawn(async move { barrier.wait().await.is_leader() });
        }
        let leaders = set.join_all().await.into_iter().filter(|it| *it).count();
        assert_eq!(leaders, 2);
        assert!(Barrier::new(0).wait().await.is_leader());
    });
}

#[test]
fn once_cell() {
    run(async {
        let cell = OnceCell::new();
        assert!(!cell.initialized() && cell.get().is_none());
        assert_eq!(cell.get_or_try_init(|| async { Err(1) }).await, Err(1));
        assert_eq!(*cell.get_or_init(|| async { 2 }).await, 2);
        assert!(cell.set(3).unwrap_err().is_already_init_err());
        assert_eq!((cell.get(), cell.clone() == cell), (Some(&2), true));
        let mut cell = cell;
        *cell.get_mut().unwrap() = 4;
        assert_eq!((cell.take(), cell.get()), (Some(4), None));
        cell.set(5).unwrap();
        assert_eq!(cell.into_inner(), Some(5));
        let cell = Arc::new(OnceCell::new_with(None));
        let other = cell.clone();
        let slow = tokio::spawn(async move {
            let init = || async {
                tokio::task::yield_now().await;
                6
            };
            *other.get_or_init(init).await
        });
        tokio::task::yield_now().await;
        assert!(cell.set(7).unwrap_err().is_initializing_err());
        assert_eq!(*cell.get_or_init(|| async { 8 }).await, 6);
        assert_eq!(slow.await.unwrap(), 6);
    });
}

#[test]
fn tasks() {
    run(async {
        let task = tokio::spawn(async { 1 });
        assert!(!task.is_finished());
        assert_eq!(task.await.unwrap(), 1);
        let task = tokio::task::spawn(std::future::pending::<()>());
        let handle = task.abort_handle();
        assert_eq!(task.id(), handle.id());
        handle.abort();
        assert!(task.await.unwrap_err().is_cancelled());
        assert_eq!(tokio::task::spawn_blocking(|| 2).await.unwrap(), 2);
        let task = tokio::spawn(async { panic!("on purpose") });
        assert!(task.await.unwrap_err().is_panic());
        let handle = tokio::runtime::Handle::current();
        assert_eq!(handle.spawn(async { 3 }).await.unwrap(), 3);
        assert_eq!(handle.spawn_blocking(|| 4).await.unwrap(), 4);
    });
    assert!(tokio::runtime::Handle::try_current().is_err());
}

#[test]
fn sets_of_tasks() {
    run(async {
        let mut set: JoinSet<u32> = (0..3).map(|n| async move { n }).collect();
        assert_eq!((set.len(), set.is_empty()), (3, false));
        assert!(set.try_join_next().is_none());
        let mut sum = 0;
        while let Some(result) = set.join_next().await {
            sum += result.unwrap();
        }
        assert_eq!(sum, 3);
        let id = set.spawn(async { 4 }).id();
        assert_eq!(set.join_next_with_id().await.unwrap().unwrap(), (id, 4));
        set.spawn_blocking(|| 5);
        set.spawn(std::future::pending());
        assert_eq!(set.join_next().await.unwrap().unwrap(), 5);
        set.shutdown().await;
        assert!(set.is_empty() && set.join_next().await.is_none());
        set.spawn(async { 6 });
        assert_eq!(set.join_all().await, [6]);
    });
}

#[test]
fn local_tasks() {
    let local = LocalSet::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let shared = std::rc::Rc::new(1);
    let other = shared.clone();
    let sum = local.block_on(&runtime, async move {
        let task = tokio::task::spawn_local(async move { *other + 1 });
        let mut set = JoinSet::new();
        set.spawn_local(async { 5 });
        task.await.unwrap() + *shared + set.join_all().await[0]
    });
    assert_eq!(sum, 8);
    runtime.block_on(async {
        let local = LocalSet::new();
        let task = local.spawn_local(async { 1 });
        assert_eq!(local.run_until(task).await.unwrap(), 1);
        local.await;
    });
}

#[test]
fn select_takes_every_form() {
    run(async {
        let ready = || std::future::ready(1);
        let (a, b) = tokio::join!(ready(), async { "b" });
        assert_eq!((a, b), (1, "b"));
        assert_eq!(
            tokio::try_join!(async { Ok::<_, ()>(1) }, async { Ok(2) }),
            Ok((1, 2))
        );
        assert_eq!(
            tokio::try_join!(async { Ok::<u32, _>(1) }, async { Err::<u32, _>(3) }),
            Err(3)
        );
        let n = tokio::select! { n = ready() => n };
        let m = tokio::select! {
            biased;
            Some(_) = async { None::<u32> } => 0,
            n = ready(), if n == 1 => { n + 1 }
            _ = std::future::pending::<()>() => unreachable!(),
        };
        let none = tokio::select! {
            Some(n) = async { None::<u32> } => n,
            _ = ready(), if false => 8,
            else => 9,
        };
        assert_eq!((n, m, none), (1, 2, 9));
        let mut steps = std::pin::pin!(async {
            tokio::task::yield_now().await;
            7
        });
        let mut turns = 0;
        let seven = loop {
            tokio::select! {
                biased;
                it = &mut steps => break it,
                () = tokio::task::yield_now() => turns += 1,
            }
        };
        assert_eq!(seven, 7);
        assert!(turns <= 2);
    });
}
