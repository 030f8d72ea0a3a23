//! What a tracked thing carries: its identity, its tickets, and where it came from.

use std::panic::Location;
use std::sync::atomic::{AtomicU32, Ordering};

use super::chunk::GUARDS_MOVE;
use super::clock::Clock;
use super::code::TypeName;
use super::quiet_pen;
use crate::trace::ObjectKind;

/// The tickets of a lock. The lock itself keeps them in order: they are drawn while it is held.
#[derive(Debug)]
pub(crate) struct Tickets {
    /// How many were drawn by an only holder, or one after the other.
    alone: AtomicU32,
    /// How many were drawn by one of several holders.
    among: AtomicU32,
}

impl Tickets {
    const fn new() -> Self {
        Self {
            alone: AtomicU32::new(0),
            among: AtomicU32::new(0),
        }
    }

    /// Draws a ticket while the lock is held exclusively: how many were drawn before.
    #[inline]
    pub(super) fn draw(&self) -> u32 {
        let alone = self.alone.load(Ordering::Relaxed);
        self.alone.store(alone.wrapping_add(1), Ordering::Relaxed);
        alone.wrapping_add(self.among.load(Ordering::Relaxed))
    }

    /// Draws the ticket of one of several holders. Their records have no order among them, but one with those before and after: how many were
    /// drawn alone before.
    #[inline]
    pub(super) fn draw_shared(&self) -> u32 {
        if GUARDS_MOVE {
            return self.draw_any();
        }
        self.among.fetch_add(1, Ordering::Relaxed);
        self.alone.load(Ordering::Relaxed)
    }

    /// Draws a ticket of what nobody holds.
    #[inline]
    pub(super) fn draw_any(&self) -> u32 {
        self.alone.fetch_add(1, Ordering::Relaxed)
    }
}

/// What gives an object's records their order.
pub(crate) trait Order {
    /// The ticket of the object's last record, its retirement.
    fn last(&self) -> u32;

    /// Whether properties know the object.
    fn is_watched(&self) -> bool {
        false
    }
}

impl Order for Tickets {
    fn last(&self) -> u32 {
        self.draw()
    }
}

impl Order for Clock {
    fn last(&self) -> u32 {
        self.enter().draw(true).0
    }

    fn is_watched(&self) -> bool {
        self.is_watched()
    }
}

/// The identity of a tracked thing. The number is drawn at the first use, so that statics can be made at compile time.
#[derive(Debug)]
pub(crate) struct Object<O: Order = Tickets> {
    /// 0 until the first use.
    pub(super) id: AtomicU32,
    pub(super) kind: ObjectKind,
    pub(super) created: &'static Location<'static>,
    pub(super) type_name: TypeName,
    pub(super) order: O,
}

impl Object<Tickets> {
    /// For what is ordered by being held: locks, and whatever draws its tickets one by one.
    #[track_caller]
    pub(crate) const fn new(kind: ObjectKind, type_name: TypeName) -> Self {
        let order = Tickets::new();
        Self {
            id: AtomicU32::new(0),
            kind,
            created: Location::caller(),
            type_name,
            order,
        }
    }

    /// For a lock around a `T`: one around nothing orders by itself.
    #[track_caller]
    pub(crate) const fn lock<T>(type_name: TypeName) -> Self {
        let mut object = Self::new(ObjectKind::Lock, type_name);
        object.describe::<T>(type_name);
        object
    }

    /// A lock is put around a `T`, here.
    #[track_caller]
    pub(crate) const fn describe<T>(&mut self, type_name: TypeName) {
        self.kind = if size_of::<T>() == 0 {
            ObjectKind::BareLock
        } else {
            ObjectKind::Lock
        };
        self.type_name = type_name;
        self.created = Location::caller();
    }
}

impl Object<Clock> {
    /// For an atomic.
    #[track_caller]
    pub(crate) const fn atomic(type_name: TypeName) -> Self {
        Self::clocked(ObjectKind::Variable, type_name)
    }

    /// For what changes as one with its tickets.
    #[track_caller]
    pub(crate) const fn clocked(kind: ObjectKind, type_name: TypeName) -> Self {
        Self {
            id: AtomicU32::new(0),
            kind,
            created: Location::caller(),
            type_name,
            order: Clock::new(),
        }
    }
}

impl<O: Order> Drop for Object<O> {
    #[inline]
    fn drop(&mut self) {
        let id = *self.id.get_mut();
        if id != 0
            && let Some(pen) = quiet_pen()
        {
            pen.retire(id, self.order.last(), self.order.is_watched());
        }
    }
}
