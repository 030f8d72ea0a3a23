// Every public item of once_cell that its own tests leave out.

use std::num::NonZeroUsize;

use super::once_cell::race::{OnceBool, OnceBox, OnceNonZeroUsize, OnceRef};
use super::once_cell::sync::{Lazy, OnceCell};
use super::once_cell::unsync;

static CELL: OnceCell<i32> = OnceCell::new();
static FULL: OnceCell<i32> = OnceCell::with_value(1);
static LAZY: Lazy<i32> = Lazy::new(|| 1);
static SIZE: OnceNonZeroUsize = OnceNonZeroUsize::new();
static FLAG: OnceBool = OnceBool::new();
static REF: OnceRef<'static, i32> = OnceRef::new();
static BOX: OnceBox<i32> = OnceBox::new();

#[test]
fn statics() {
    assert_eq!(CELL.try_insert(1), Ok(&1));
    assert_eq!(CELL.try_insert(2), Err((&1, 2)));
    assert_eq!(CELL.set(2), Err(2));
    assert_eq!((CELL.wait(), FULL.get(), *LAZY, Lazy::get(&LAZY)), (&1, Some(&1), 1, Some(&1)));
    assert_eq!((SIZE.get(), FLAG.get(), REF.get(), BOX.get()), (None, None, None, None));
}

#[test]
fn a_cell() {
    let mut cell = OnceCell::new();
    assert_eq!(format!("{cell:?}"), "OnceCell(Uninit)");
    assert_eq!(cell.get_or_try_init(|| Err::<i32, _>("no")), Err("no"));
    assert_eq!(cell.get(), None);
    assert_eq!(cell.get_or_try_init(|| Ok::<_, ()>(1)), Ok(&1));
    // SAFETY: there is a value.
    assert_eq!(unsafe { cell.get_unchecked() }, &1);
    *cell.get_mut().unwrap() += 1;
    let mut other = cell.clone();
    assert_eq!((format!("{cell:?}"), cell == other), ("OnceCell(2)".to_owned(), true));
    other.clone_from(&OnceCell::from(3));
    assert_eq!((cell.take(), cell.take(), other.into_inner()), (Some(2), None, Some(3)));
    assert_eq!(cell.get_or_init(|| 4), &4);
    assert_eq!(OnceCell::<i32>::default(), OnceCell::new());
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let cell = OnceCell::<i32>::new();
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| *cell.get_or_init(|| panic!("as it should"))));
        assert!(failed.is_err());
        *cell.get_or_init(|| 5)
    }));
    assert_eq!(panicked.unwrap(), 5);
}

#[test]
fn waiting() {
    let cell = OnceCell::new();
    std::thread::scope(|s| {
        let waiter = s.spawn(|| *cell.wait());
        cell.set(1).unwrap();
        assert_eq!(waiter.join().unwrap(), 1);
    });
}

#[test]
fn a_lazy() {
    let mut lazy = Lazy::new(|| 1);
    assert_eq!((Lazy::get(&lazy).copied(), Lazy::get_mut(&mut lazy)), (None, None));
    assert_eq!(format!("{lazy:?}"), "Lazy { cell: OnceCell(Uninit), init: \"..\" }");
    *Lazy::force_mut(&mut lazy) += 1;
    *lazy += 1;
    assert_eq!((*Lazy::force(&lazy), Lazy::get(&lazy).copied(), Lazy::get_mut(&mut lazy).copied()), (3, Some(3), Some(3)));
    assert_eq!(Lazy::into_value(lazy).ok(), Some(3));
    assert_eq!(Lazy::<i32, _>::into_value(Lazy::new(|| 4)).err().map(|f| f()), Some(4));
    assert_eq!(*Lazy::<i32>::default(), 0);
    let poisoned = Lazy::<i32, _>::new(|| panic!("as it should"));
    for expected in ["as it should", "Lazy instance has previously been poisoned"] {
        let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| *poisoned)).unwrap_err();
        assert_eq!(panic.downcast_ref::<&str>(), Some(&expected));
    }
}

#[test]
fn races() {
    let one = NonZeroUsize::MIN;
    let size = OnceNonZeroUsize::default();
    assert_eq!(size.get_or_try_init(|| Err::<NonZeroUsize, _>(())), Err(()));
    assert_eq!((size.get_or_init(|| one), size.set(one), size.get()), (one, Err(()), Some(one)));
    // SAFETY: there is a value.
    assert_eq!(unsafe { size.get_unchecked() }, one);
    let flag = OnceBool::default();
    assert_eq!((flag.set(true), flag.get_or_init(|| false), flag.get_or_try_init(|| Err(()))), (Ok(()), true, Ok(true)));
    let value = 1;
    let reference = OnceRef::default();
    assert_eq!((reference.set(&value), reference.get(), reference.get_or_init(|| unreachable!())), (Ok(()), Some(&1), &1));
    assert_eq!(reference.get_or_try_init(|| Err(())), Ok(&1));
    let boxed = OnceBox::with_value(Box::new(1));
    assert_eq!((boxed.set(Box::new(2)), boxed.get(), boxed.clone().get()), (Err(Box::new(2)), Some(&1), Some(&1)));
    assert_eq!(OnceBox::<i32>::default().get_or_init(|| Box::new(3)), &3);
    assert_eq!(OnceBox::<i32>::new().get_or_try_init(|| Err(())), Err(()));
    assert!(format!("{size:?} {flag:?} {reference:?} {boxed:?}").starts_with("OnceNonZeroUsize"));
}

#[test]
fn unsynchronized() {
    let cell = unsync::OnceCell::new();
    assert_eq!(cell.get_or_init(|| 1), &*unsync::Lazy::<i32>::new(|| 1));
}

#[test]
fn auto_traits() {
    fn send_and_sync<T: Send + Sync>() {}
    fn unwind_safe<T: std::panic::UnwindSafe + std::panic::RefUnwindSafe>() {}
    send_and_sync::<(OnceCell<i32>, Lazy<i32>, OnceNonZeroUsize, OnceBool, OnceRef<'_, i32>, OnceBox<i32>)>();
    send_and_sync::<Lazy<i32, Box<dyn FnOnce() -> i32 + Send>>>();
    unwind_safe::<(OnceCell<i32>, Lazy<i32>)>();
}
