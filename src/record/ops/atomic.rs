//! Accesses of what changes as one with its clock: atomics, watched variables, cells, channels.
//!
//! An access has two halves, with the program's own operation between them:
//! [`enter`](Pen::enter) makes the value this strand's alone, [`record`](Operation::record) draws
//! the ticket, lets others in and writes the record. Neither is generic, so that they are optimised
//! where this crate is, whatever the program is.

use std::panic::Location;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use super::clock::{Clock, Moment, Turn};
use super::object::{Identity, Object};
use crate::record::buffer::code;
use crate::record::buffer::record::{LEAVES, REACHES, Record, What};
use crate::record::control::{Intent, Kind};
use crate::record::host::{give_up, host};
use crate::record::strand::{Pen, Strand, Writer, step, strand, untracked};
use crate::record::{names, value};
use crate::trace::Update;

/// What an operation on an atomic did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Effect {
    Did(What),
    /// A read-modify-write left the value as it was.
    Vain(Update),
    /// An addition or subtraction met zero in this way: [`REACHES`], [`LEAVES`] or both.
    Met(u32),
    /// Nothing that anybody needs to know.
    Nothing,
}

impl Effect {
    /// Of an addition, which leaves `new` behind; nothing where that wraps.
    #[inline]
    pub(crate) fn of_addition<V: Copy + Default + PartialOrd>(old: V, new: Option<V>) -> Effect {
        // A sum that is too large is farther from zero than before.
        new.map_or(Effect::Met(LEAVES), |new| Self::of_change(old, new))
    }

    /// Of a subtraction, which leaves `new` behind; nothing where that wraps.
    #[inline]
    pub(crate) fn of_subtraction<V: Copy + Default + PartialOrd>(old: V, new: Option<V>) -> Effect {
        new.map_or(Effect::Met(REACHES | LEAVES), |new| {
            Self::of_change(old, new)
        })
    }

    #[inline]
    fn of_change<V: Copy + Default + PartialOrd>(old: V, new: V) -> Effect {
        let zero = V::default();
        if new == old {
            Effect::Vain(Update::Add)
        } else if new == zero {
            Effect::Met(REACHES)
        } else if old == zero {
            Effect::Met(LEAVES)
        } else if (old < zero) == (new < zero) {
            Effect::Did(What::UpdateAdd)
        } else {
            Effect::Met(REACHES | LEAVES)
        }
    }
}

/// Whether an access of the kind `earlier` makes a later one, with nobody's access in between,
/// redundant. What may be part of a retry never is.
#[inline(always)]
fn covers(earlier: What, later: What) -> bool {
    use What::{CompareExchange, CompareExchangeFailed, ReadWrite, Write};
    !matches!(later, CompareExchange | CompareExchangeFailed)
        && (earlier as u8 == later as u8 || matches!(earlier, Write | ReadWrite | CompareExchange))
}

static THOROUGH: AtomicBool = AtomicBool::new(false);

/// Whether accesses of atomics in blocks are all recorded. A second read of a value that nobody has
/// changed says nothing of this run, but much of the runs in which somebody does.
pub(crate) fn be_thorough(thorough: bool) {
    THOROUGH.store(thorough, Ordering::Relaxed);
}

pub(in crate::record) fn is_thorough() -> bool {
    THOROUGH.load(Ordering::Relaxed)
}

static TELLS_VALUES: AtomicBool = AtomicBool::new(false);

/// Whether the values of atomics are recorded, for predictions: a value that comes back is the
/// same. To be said after [`be_thorough`].
pub(crate) fn tell_values(tell: bool) {
    TELLS_VALUES.store(tell, Ordering::Relaxed);
}

/// A ticket among all changes of watched variables together. Nothing else orders those of different
/// variables by different strands, and a property is about the order in which they really happened.
pub(super) fn draw_watched() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// A time in which an atomic's value is the strand's alone. It ends unrecorded unless one of the
/// functions is called.
pub(crate) struct Operation<'a> {
    id: Identity,
    // Before the writer: others may go on before the strand does.
    turn: Turn<'a>,
    writer: Writer<'static>,
}

impl Strand {
    /// The program touches an atomic: where that is wanted, it counts as if for the first time in
    /// its block.
    #[inline(always)]
    fn see_anew(&self) {
        if self.is_thorough.get() {
            let is_controlled = self.control().is_some();
            if is_controlled || self.state.get().in_block() {
                self.seen.forget();
            }
        }
    }
}

impl Object<Clock> {
    /// Looks at the value, which counts as `what` and changes nothing. The look is not recorded
    /// where the strand's last record is an access of the same version that covers it. That needs
    /// no pen, and is right in a signal handler as well, whose looks may go unrecorded.
    #[inline]
    pub(crate) fn look<R>(
        &self,
        what: What,
        site: &'static Location<'static>,
        read: impl Fn() -> R,
    ) -> R {
        debug_assert!(!what.changes());
        self.look_after(self.last_moment(what), site, &read, |pen| {
            pen.atomic(self, site, || (read(), what))
        })
    }

    /// The same for the program's read of an atomic, which has the `value`.
    #[inline]
    #[track_caller]
    pub(crate) fn look_at_value<R>(
        &self,
        site: &'static Location<'static>,
        value: impl Fn() -> i128,
        read: impl Fn() -> R,
    ) -> R {
        self.look_after(self.last_moment(What::Read), site, &read, |pen| {
            pen.change(self, site, value, || (read(), Effect::Did(What::Read)))
        })
    }

    #[inline(always)]
    fn look_after<R>(
        &self,
        last: Option<Moment>,
        site: &'static Location<'static>,
        read: &impl Fn() -> R,
        record: impl FnOnce(Pen) -> R,
    ) -> R {
        if let Some(moment) = last {
            let value = read();
            if self.order.is_still(moment) {
                return value;
            }
        }
        match step(move || Intent::new(Kind::Read, self, site)) {
            Some(pen) => record(pen),
            None => read(),
        }
    }

    /// Whether such a look, now, says nothing new.
    #[inline]
    fn is_covered(&self, what: What) -> bool {
        match self.last_moment(what) {
            Some(moment) => self.order.is_still(moment),
            None => false,
        }
    }

    /// The moment of the strand's last record, if that covers such a look while the version lasts.
    #[cfg_attr(not(debug_assertions), inline(always))]
    fn last_moment(&self, what: What) -> Option<Moment> {
        let strand = strand();
        strand.see_anew();
        match strand.last_seen(self.id.identity()) {
            Some(seen) if covers(seen.what.get(), what) => Some(seen.moment.get()),
            _ => None,
        }
    }
}

impl Pen {
    /// Waits until the value is this strand's alone. What happens until the operation is over must
    /// not record anything. Nothing where checking has ended.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn enter(self, object: &Object<Clock>) -> Option<Operation<'_>> {
        let id = self.identity(object);
        let writer = self.writer();
        let Some(turn) = object.order.enter() else {
            give_up("a thread has stopped in the middle of an operation on a tracked atomic");
            return None;
        };
        Some(Operation { id, turn, writer })
    }

    /// Runs an operation on an atomic and records it. `operate` runs while the value is ours alone,
    /// and says what it did. It must not record anything itself.
    #[inline]
    pub(crate) fn atomic<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        operate: impl FnOnce() -> (R, What),
    ) -> R {
        self.attempt(object, site, || {
            let (result, what) = operate();
            (result, Effect::Did(what))
        })
    }

    /// Records an access that has been announced, and is done while nobody else can do one.
    pub(crate) fn access(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        what: What,
    ) {
        if what.changes() || !object.is_covered(what) {
            self.atomic(object, site, || ((), what));
        }
    }

    /// Like [`atomic`](Self::atomic), for an operation that may fail.
    #[inline]
    pub(crate) fn attempt<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        operate: impl FnOnce() -> (R, Effect),
    ) -> R {
        let operation = self.enter(object);
        let (result, effect) = operate();
        if let Some(operation) = operation {
            operation.record(effect, site);
        }
        result
    }

    /// Like [`attempt`](Self::attempt), for an atomic, which a property may know: a change is then
    /// recorded with the `value` that it has left behind.
    ///
    /// # Panics
    ///
    /// If the value is none of `i64`, and a property of the family speaks of the object.
    #[inline]
    #[track_caller]
    pub(crate) fn change<R>(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        value: impl Fn() -> i128,
        operate: impl FnOnce() -> (R, Effect),
    ) -> R {
        self.0.see_anew();
        let operation = self.enter(object);
        let tells = self.0.is_thorough.get() && TELLS_VALUES.load(Ordering::Relaxed);
        let before = tells.then(&value);
        let (result, effect) = operate();
        if let Some(operation) = operation {
            if let Some(before) = before.filter(|_| !operation.turn.is_watched()) {
                operation.record_told(effect, code::site(site), before, value());
            } else if operation.turn.is_watched() {
                let (id, value) = (operation.id, value());
                operation.record_value(effect, code::site(site), value);
                self.admit(id, value);
            } else {
                operation.record(effect, site);
            }
        }
        result
    }

    /// # Panics
    ///
    /// If the value cannot be recorded, and a property of the family speaks of the object.
    #[cold]
    #[inline(never)]
    #[track_caller]
    fn admit(self, id: Identity, value: i128) {
        if i64::try_from(value).is_ok() || std::thread::panicking() {
            return;
        }
        let family = self.0.family.get();
        let name = untracked(|| host()?.speaks_of(family, &|| names::of(id.number())));
        if let Some(name) = name {
            value::refuse(&name, value);
        }
    }

    /// Records that something was read at an earlier moment, unless it has changed since: whether
    /// it has not.
    pub(super) fn read_at(
        self,
        object: &Object<Clock>,
        site: &'static Location<'static>,
        moment: Moment,
    ) -> bool {
        let Some(operation) = self.enter(object) else {
            return true;
        };
        let same = operation.turn.moment().version() == moment.version();
        if same {
            operation.record(Effect::Did(What::Read), site);
        }
        same
    }

    /// Properties know the object from here on, and the value that it has, which is returned.
    pub(crate) fn born(self, object: &Object<Clock>, value: impl FnOnce() -> i128) -> i128 {
        let operation = self.enter(object);
        let value = value();
        if let Some(operation) = operation {
            operation.record_value(Effect::Did(What::Born), object.created_code(), value);
        }
        value
    }

    /// Gives an atomic a name, by which properties know it as well.
    ///
    /// # Panics
    ///
    /// As [`change`](Self::change).
    #[track_caller]
    pub(crate) fn name_watched(
        self,
        object: &Object<Clock>,
        name: u32,
        value: impl FnOnce() -> i128,
    ) {
        self.name(object, name);
        let id = self.identity(object);
        untracked(|| names::give(id.number(), name));
        let value = self.born(object, value);
        self.admit(id, value);
    }
}

/// A place among an object's records. Others may go on; what has this place is yet to be recorded.
pub(super) struct Drawn {
    id: Identity,
    ticket: u32,
    writer: Writer<'static>,
}

impl Drawn {
    pub(super) fn record(self, what: What, site: &'static Location<'static>) {
        self.writer
            .push(what, self.id.number(), self.ticket, code::site(site));
    }
}

impl Operation<'_> {
    /// Takes a place for what is about to change the value, and lets others in.
    pub(super) fn draw(self) -> Drawn {
        let Operation { id, turn, writer } = self;
        let (ticket, _) = turn.draw(true);
        Drawn { id, ticket, writer }
    }

    /// Records what was done, unless it says nothing new.
    #[cfg_attr(not(debug_assertions), inline(always))]
    pub(crate) fn record(self, effect: Effect, site: &'static Location<'static>) {
        match effect {
            Effect::Did(what) => self.record_access(what, code::site(site)),
            Effect::Vain(kind) => self.record_vain(kind, code::site(site)),
            Effect::Met(zero) => self.record_meeting(zero, code::site(site)),
            Effect::Nothing => {}
        }
    }

    #[inline(always)]
    fn record_access(self, what: What, site: u32) {
        let Operation { id, turn, writer } = self;
        write_access(writer, turn, id, what, site);
    }

    /// Records a read-modify-write that left the value as it was.
    #[cold]
    #[inline(never)]
    fn record_vain(self, kind: Update, site: u32) {
        let (ticket, _) = self.turn.draw(false);
        let record = Record::new(What::Vain, self.id.number(), ticket, site);
        self.writer.push_record(record.with(kind as u32));
    }

    /// Records an addition that has met zero. None is left out: others may come after each.
    #[inline(never)]
    fn record_meeting(self, zero: u32, site: u32) {
        let Operation { id, turn, writer } = self;
        let (ticket, moment) = turn.draw(true);
        let record = Record::new(What::UpdateAdd, id.number(), ticket, site);
        writer.push_record(record.with(zero));
        writer.strand().has_seen(id, What::UpdateAdd, moment);
    }

    /// Records what was done behind the values before and after it, for predictions.
    #[cold]
    #[inline(never)]
    fn record_told(self, effect: Effect, site: u32, before: i128, after: i128) {
        let is_repeat = match effect {
            Effect::Did(what) => self.is_repeat(what),
            Effect::Vain(_) | Effect::Met(_) => false,
            Effect::Nothing => return,
        };
        let values = (i64::try_from(before), i64::try_from(after));
        if let (false, (Ok(before), Ok(after))) = (is_repeat, values) {
            if matches!(effect, Effect::Met(_))
                || matches!(effect, Effect::Did(what) if what.changes())
            {
                push_value(&self.writer, before);
            }
            push_value(&self.writer, after);
        }
        match effect {
            Effect::Did(what) => self.record_access(what, site),
            Effect::Met(zero) => self.record_meeting(zero, site),
            Effect::Vain(kind) => self.record_vain(kind, site),
            Effect::Nothing => {}
        }
    }

    /// Whether the record of an access would say nothing new.
    fn is_repeat(&self, what: What) -> bool {
        let seen = self.writer.strand().last_seen(self.id);
        seen.is_some_and(|seen| {
            seen.moment.get() == self.turn.moment() && covers(seen.what.get(), what)
        })
    }

    /// Records what was done, a change with the value that it has left behind. Unlike those of
    /// other atomics, no change is left out: each value counts.
    #[cold]
    #[inline(never)]
    fn record_value(self, effect: Effect, site: u32, value: i128) {
        let (what, more) = match effect {
            Effect::Did(what) if what.changes() => (what, 0),
            Effect::Met(zero) => (What::UpdateAdd, zero),
            Effect::Did(what) => return self.record_access(what, site),
            Effect::Vain(kind) => return self.record_vain(kind, site),
            Effect::Nothing => return,
        };
        let Operation { id, turn, writer } = self;
        // In the turn, so that it agrees with the variable's own order.
        let order = draw_watched();
        let (ticket, moment) = turn.draw_watched();
        writer.push(What::Watched, 0, order, 0);
        if let Ok(value) = i64::try_from(value) {
            push_value(&writer, value);
        }
        let record = Record::new(what, id.number(), ticket, site);
        writer.push_record(record.with(more));
        writer.push(What::Written, 0, 0, 0);
        writer.strand().has_seen(id, what, moment);
    }
}

/// Says which value the strand's next access is about.
fn push_value(writer: &Writer<'static>, value: i64) {
    let high = (value as u64 >> 32) as u32;
    writer.push(What::Value, value as u32, high, 0);
}

/// Writes the record of an access, unless it says nothing new. The arguments fit into registers,
/// and are dropped from the last to the first: the turn ends while the strand is still busy.
#[inline]
fn write_access(writer: Writer<'static>, turn: Turn<'_>, id: Identity, what: What, site: u32) {
    let strand = writer.strand();
    let is_repeat = match strand.last_seen(id) {
        Some(seen) => seen.moment.get() == turn.moment() && covers(seen.what.get(), what),
        None => false,
    };
    if is_repeat {
        if what == What::UpdateChannel {
            // Whoever has just found nothing must hear of it.
            let moment = turn.change();
            strand.has_seen(id, what, moment);
        }
        return;
    }
    let (ticket, moment) = turn.draw(what.changes());
    writer.push(what, id.number(), ticket, site);
    if what == What::CompareExchangeFailed {
        // What is looked at next may be looked at again.
        strand.new_epoch();
    } else {
        strand.has_seen(id, what, moment);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_addition_meets_zero_where_it_comes_there_leaves_it_or_passes_it() {
        const PASSES: Effect = Effect::Met(REACHES | LEAVES);
        let plain = Effect::Did(What::UpdateAdd);
        let add = |old: i8, val: i8| Effect::of_addition(old, old.checked_add(val));
        let sub = |old: i8, val: i8| Effect::of_subtraction(old, old.checked_sub(val));
        for (effect, expected) in [
            (add(3, 0), Effect::Vain(Update::Add)),
            (sub(0, 0), Effect::Vain(Update::Add)),
            (add(3, 1), plain),
            (sub(-3, 1), plain),
            (sub(2, 1), plain),
            (sub(1, 1), Effect::Met(REACHES)),
            (add(-1, 1), Effect::Met(REACHES)),
            (add(0, 1), Effect::Met(LEAVES)),
            (sub(0, 1), Effect::Met(LEAVES)),
            (sub(1, 2), PASSES),
            (add(-1, 2), PASSES),
            (add(i8::MAX, 1), Effect::Met(LEAVES)),
            (sub(i8::MIN, 1), PASSES),
        ] {
            assert_eq!(effect, expected);
        }
        let below = Effect::of_subtraction(0_u8, 0_u8.checked_sub(1));
        assert_eq!(below, PASSES);
        let back = Effect::of_addition(u8::MAX, u8::MAX.checked_add(1));
        assert_eq!(back, Effect::Met(LEAVES));
    }
}
