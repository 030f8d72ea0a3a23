//! What a tracked thing carries: its identity, its tickets, and where it came from.

use std::panic::Location;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use super::atomic::draw_watched;
use super::clock::Clock;
use crate::record::buffer::code::{self, TypeName};
use crate::record::buffer::record::{GUARDS_MOVE, Record, What};
use crate::record::strand::{Pen, finish};
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
    pub(in crate::record) fn draw(&self) -> u32 {
        let alone = self.alone.load(Ordering::Relaxed);
        self.alone.store(alone.wrapping_add(1), Ordering::Relaxed);
        alone.wrapping_add(self.among.load(Ordering::Relaxed))
    }

    /// Draws the ticket of one of several holders. Their records have no order among them, but one
    /// with those before and after: how many were drawn alone before.
    #[inline]
    pub(in crate::record) fn draw_shared(&self) -> u32 {
        if GUARDS_MOVE {
            return self.draw_any();
        }
        self.among.fetch_add(1, Ordering::Relaxed);
        self.alone.load(Ordering::Relaxed)
    }

    /// Draws a ticket of what nobody holds.
    #[inline]
    pub(in crate::record) fn draw_any(&self) -> u32 {
        self.alone.fetch_add(1, Ordering::Relaxed)
    }
}

/// Where an object has its number, which is 0 until the first use.
pub(crate) trait Number {
    const NONE: Self;

    fn number(&self) -> u32;

    /// Gives the object its number, and what tells it from the number's other owners; fails with
    /// the number that it has.
    fn claim(&self, number: u32, generation: u32) -> Result<(), u32>;
}

impl Number for AtomicU32 {
    const NONE: Self = AtomicU32::new(0);

    #[inline(always)]
    fn number(&self) -> u32 {
        self.load(Ordering::Relaxed)
    }

    fn claim(&self, number: u32, _: u32) -> Result<(), u32> {
        self.compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed)
            .map(drop)
    }
}

/// A number and its generation, for objects that strands remember: a number that came back may be
/// another object's, which may even be at the same version of its value. The generation is in the
/// upper half.
#[derive(Debug)]
pub(crate) struct Generational(AtomicU64);

/// An object among all that there ever were. (A number would have to be recycled 2^32 times within
/// one transaction to be mistaken.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::record) struct Identity(u64);

impl Identity {
    /// Of an object that was not used yet.
    pub(in crate::record) const NONE: Identity = Identity(0);

    /// 0 before the first use.
    #[inline(always)]
    pub(in crate::record) fn number(self) -> u32 {
        self.0 as u32
    }

    /// Whether both are the same. As `==`, which is a call in an unoptimised build.
    #[inline(always)]
    pub(in crate::record) fn is(self, other: Identity) -> bool {
        self.0 == other.0
    }

    #[inline(always)]
    pub(in crate::record) fn is_drawn(self) -> bool {
        self.number() != 0
    }
}

impl Generational {
    #[inline(always)]
    pub(in crate::record) fn identity(&self) -> Identity {
        Identity(self.0.load(Ordering::Relaxed))
    }
}

impl Number for Generational {
    const NONE: Self = Generational(AtomicU64::new(0));

    #[inline(always)]
    fn number(&self) -> u32 {
        self.identity().number()
    }

    fn claim(&self, number: u32, generation: u32) -> Result<(), u32> {
        let identity = u64::from(generation) << 32 | u64::from(number);
        self.0
            .compare_exchange(0, identity, Ordering::Relaxed, Ordering::Relaxed)
            .map(drop)
            .map_err(|other| Identity(other).number())
    }
}

/// What gives an object's records their order.
pub(crate) trait Order {
    /// Where the object has its number.
    type Number: Number;

    /// What an object is that nobody made by a function of ours: its memory was zero.
    const ANONYMOUS: ObjectKind;

    /// The ticket of the object's last record, its retirement.
    fn last(&self) -> u32;

    /// Whether properties know the object.
    fn is_watched(&self) -> bool {
        false
    }
}

impl Order for Tickets {
    type Number = AtomicU32;
    const ANONYMOUS: ObjectKind = ObjectKind::Lock;

    fn last(&self) -> u32 {
        self.draw()
    }
}

impl Order for Clock {
    type Number = Generational;
    const ANONYMOUS: ObjectKind = ObjectKind::Variable;

    fn last(&self) -> u32 {
        // Whoever drops it has it alone.
        self.enter().map_or(0, |turn| turn.draw(true).0)
    }

    fn is_watched(&self) -> bool {
        self.is_watched()
    }
}

/// The identity of a tracked thing. The number is drawn at the first use, so that statics can be
/// made at compile time.
///
/// Memory that is all zero is a valid object, which has neither a type's name nor a place where it
/// was made: std promises as much of its atomics, and programs rely on it.
#[derive(Debug)]
pub(crate) struct Object<O: Order = Tickets> {
    /// 0 until the first use.
    pub(in crate::record) id: O::Number,
    kind: ObjectKind,
    created: Option<&'static Location<'static>>,
    pub(in crate::record) type_name: Option<TypeName>,
    pub(in crate::record) order: O,
}

const _: () = assert!(ObjectKind::Variable as u8 == 0);

impl<O: Order> Object<O> {
    /// What it is.
    pub(in crate::record) fn kind(&self) -> ObjectKind {
        match self.created {
            Some(_) => self.kind,
            None => O::ANONYMOUS,
        }
    }

    /// The code of where it was made; 0 where nobody knows.
    pub(in crate::record) fn created_code(&self) -> u32 {
        self.created.map_or(0, code::site)
    }
}

impl Object<Tickets> {
    /// For what is ordered by being held: locks, and whatever draws its tickets one by one.
    #[track_caller]
    pub(crate) const fn new(kind: ObjectKind, type_name: TypeName) -> Self {
        let order = Tickets::new();
        Self {
            id: Number::NONE,
            kind,
            created: Some(Location::caller()),
            type_name: Some(type_name),
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
        self.type_name = Some(type_name);
        self.created = Some(Location::caller());
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
            id: Number::NONE,
            kind,
            created: Some(Location::caller()),
            type_name: Some(type_name),
            order: Clock::new(),
        }
    }

    /// Draws a ticket that is never published, as a strand does that is stopped in the middle of an
    /// operation.
    #[cfg(test)]
    pub(crate) fn lose_ticket(&self) {
        let turn = self.order.enter();
        turn.expect("a clock that nobody else has").draw(true);
    }
}

impl<O: Order> Drop for Object<O> {
    #[inline]
    fn drop(&mut self) {
        let id = self.id.number();
        if id != 0 {
            finish(|pen| pen.retire(id, self.order.last(), self.order.is_watched()));
        }
    }
}

impl Pen {
    /// The object's number; draws it at the first use.
    #[inline(always)]
    pub(in crate::record) fn identify<O: Order>(self, object: &Object<O>) -> u32 {
        let id = object.id.number();
        if id != 0 { id } else { self.define(object) }
    }

    /// The object's identity; draws its number at the first use.
    #[inline(always)]
    pub(super) fn identity(self, object: &Object<Clock>) -> Identity {
        let identity = object.id.identity();
        if identity.is_drawn() {
            return identity;
        }
        self.define(object);
        object.id.identity()
    }

    #[cold]
    #[inline(never)]
    extern "C" fn define<O: Order>(self, object: &Object<O>) -> u32 {
        let writer = self.writer();
        let id = self.0.ids.draw();
        match object.id.claim(id, self.0.ids.generation()) {
            Ok(()) => {
                let type_name = object.type_name.map_or(0, code::type_name);
                let define = Record::new(What::Define, id, type_name, object.created_code());
                writer.define(define.with(object.kind() as u32));
                id
            }
            Err(other) => {
                self.0.ids.put_back(id);
                other
            }
        }
    }

    /// Gives an object a name; the number of which is the collector's.
    pub(crate) fn name<O: Order>(self, object: &Object<O>, name: u32) {
        let id = self.identify(object);
        self.writer().push(What::Name, id, 0, name);
    }

    /// An object is gone.
    fn retire(self, id: u32, ticket: u32, is_watched: bool) {
        let writer = self.writer();
        if is_watched {
            writer.push(What::Watched, 0, draw_watched(), 0);
        }
        writer.push(What::Retire, id, ticket, 0);
        if is_watched {
            writer.push(What::Written, 0, 0, 0);
        }
    }
}
