//! Decoding: the events that a record stands for.

use super::tickets::Position;
use super::{Definition, Merge, Sink};
use crate::record::{Record, What};
use crate::trace::{Event, ObjectKind, Op, SiteId, StrandId, Update};

impl Merge {
    #[inline]
    pub(super) fn emit(&mut self, strand: StrandId, record: &Record, sink: &mut impl Sink) {
        use What::*;
        let target = record.target();
        let site = record.site();
        let event = |op| Event {
            strand,
            target,
            site: SiteId(site),
            op,
        };
        let definition = |kind, type_name| Definition {
            kind,
            type_name,
            created: site,
        };
        match record.what() {
            Unwind => sink.panicked(strand.0),
            Cancel => sink.cancelled(strand.0),
            Stack => sink.stack(strand.0, target),
            Watched => self.is_watched = true,
            // Only now: what comes next among watched variables comes after this, whatever the
            // strand has had to wait for in between.
            Written => {
                self.is_watched = false;
                self.watched = self.watched.wrapping_add(1);
            }
            Split => sink.event(event(Op::Split)),
            Restart => sink.event(event(Op::Restart)),
            Pause => sink.event(event(Op::Pause)),
            Busy => sink.event(event(Op::Busy)),
            Notify => sink.event(event(Op::Notify)),
            Value => sink.event(Event {
                site: SiteId(record.ticket()),
                ..event(Op::Value)
            }),
            Fork => {
                self.announce_child(target, sink);
                sink.event(event(Op::Fork));
            }
            Join => {
                sink.event(event(Op::Join));
                self.release_strand(target);
            }
            Detach => self.release_strand(target),
            Exit => {
                sink.event(event(Op::Exit));
                sink.strand_exited(strand.0);
            }
            Family => sink.family(strand.0, target),
            Define => {
                let definition = definition(kind(record.more() as u8), record.ticket());
                sink.object(target, definition, strand);
                *self.tickets.position(target) = Position::after(0);
                self.lives
                    .retire_late(strand, target, &mut self.tickets, sink);
            }
            Name => sink.name(target, site),
            Send => {
                sink.object(target, definition(ObjectKind::Message, 0), strand);
                sink.event(event(Op::Send));
                *self.tickets.position(target) = Position::after(1);
            }
            Recv => {
                sink.event(event(Op::Recv));
                self.lives.retire_object(target, &mut self.tickets);
            }
            Retire | Lost => {
                sink.event(event(Op::Retire));
                self.lives.retire_object(target, &mut self.tickets);
            }
            _ => emit_plain(strand, record, |event| sink.event(event)),
        }
    }

    /// A strand begins that was forked.
    fn announce_child(&mut self, id: u32, sink: &mut impl Sink) {
        // It may have been announced after this pass began.
        self.add_announced(sink);
        if let Some(child) = self.readers.iter().find(|reader| reader.id == id) {
            // SAFETY: as in `add_announced`.
            let family = unsafe { child.strand.as_ref() }.first_family;
            sink.strand(id, child.strand, family);
            self.lives.life(id).forked = true;
        }
    }
}

/// Emits what a plain record stands for.
#[inline(always)]
pub(super) fn emit_plain(strand: StrandId, record: &Record, mut emit: impl FnMut(Event)) {
    let what = record.what();
    for &(op, is_second) in steps(what) {
        let site = if is_second {
            record.second_site()
        } else {
            record.site()
        };
        emit(Event {
            strand,
            target: record.target(),
            site: SiteId(site),
            op: match what {
                What::Vain => Op::Vain(vain(record.more())),
                _ => op,
            },
        });
    }
}

/// The kind that a definition carries as its number.
fn kind(code: u8) -> ObjectKind {
    use ObjectKind::*;
    [Variable, Lock, BareLock, Channel, Message, Signal][code as usize]
}

/// The kind that a vain update carries as its number.
fn vain(code: u32) -> Update {
    use Update::*;
    [Add, And, Or, Xor, Max, Min, Swap, Exchange][code as usize]
}

/// The events that a plain record stands for, each with whether it has the record's second site.
pub(super) const fn steps(what: What) -> &'static [(Op, bool)] {
    use Op::*;
    match what {
        What::GuardRead => &[(Read, false)],
        What::GuardWrite => &[(Write, false)],
        What::Acquire => &[(Acquire, false)],
        What::AcquireRead => &[(Acquire, false), (Read, true)],
        What::AcquireWrite => &[(Acquire, false), (Write, true)],
        What::AcquireReadWrite => &[(Acquire, false), (ReadWrite, true)],
        What::Release => &[(Release, false)],
        What::Section => &[(Acquire, false), (Release, false)],
        What::SectionRead => &[(Acquire, false), (Read, true), (Release, false)],
        What::SectionWrite => &[(Acquire, false), (Write, true), (Release, false)],
        What::SectionReadWrite => &[(Acquire, false), (ReadWrite, true), (Release, false)],
        What::AcquireShared => &[(AcquireShared, false)],
        What::AcquireSharedRead => &[(AcquireShared, false), (Read, true)],
        What::ReleaseShared => &[(ReleaseShared, false)],
        What::SectionShared => &[(AcquireShared, false), (ReleaseShared, false)],
        What::SectionSharedRead => &[(AcquireShared, false), (Read, true), (ReleaseShared, false)],
        What::ReadShared => &[(Read, false)],
        #[cfg(feature = "parking_lot")]
        What::Upgrade => &[(Upgrade, false)],
        What::Downgrade => &[(Downgrade, false)],
        What::Read => &[(Read, false)],
        What::Write => &[(Write, false)],
        What::ReadWrite => &[(ReadWrite, false)],
        What::UpdateAdd => &[(Update(self::Update::Add), false)],
        What::UpdateAnd => &[(Update(self::Update::And), false)],
        What::UpdateOr => &[(Update(self::Update::Or), false)],
        What::UpdateXor => &[(Update(self::Update::Xor), false)],
        What::UpdateMax => &[(Update(self::Update::Max), false)],
        What::UpdateMin => &[(Update(self::Update::Min), false)],
        What::UpdateChannel => &[(Update(self::Update::Channel), false)],
        What::UpdateInit => &[(Update(self::Update::Init), false)],
        What::Found => &[(Vain(self::Update::Init), false)],
        What::CompareExchange => &[(CompareExchange, false)],
        What::CompareExchangeFailed => &[(CompareExchangeFailed, false)],
        // Its kind is in the record.
        What::Vain => &[(Read, false)],
        What::Signal => &[(Signal, false)],
        What::Await => &[(Await, false)],
        What::Born => &[(Born, false)],
        _ => &[],
    }
}
