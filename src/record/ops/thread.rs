//! Threads: who forked whom, and who has waited for whose end.

use std::panic::Location;
use std::ptr::NonNull;

use super::object::Object;
use crate::record::buffer::chunk::Chunk;
use crate::record::buffer::code;
use crate::record::buffer::record::What;
use crate::record::control::{Intent, Kind};
use crate::record::strand::{Child, Fiber, Part, Pen, Strand, untracked};

/// How far a strand has written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cursor {
    pub(crate) chunk: NonNull<Chunk>,
    pub(crate) records: u32,
    /// Whether it was in a block, so that this need not have ended.
    pub(crate) in_block: bool,
}

impl Pen {
    /// Forks a strand. The record is written before the child can write its first.
    pub(crate) fn fork(
        self,
        name: Option<&str>,
        site: &'static Location<'static>,
    ) -> Option<Child> {
        let prepare = |strand: &Strand| {
            if let Some(name) = name {
                strand.set_name(name.into());
            }
        };
        let child = untracked(|| Child::new(self.0.family.get(), prepare))?;
        self.announce(Intent::of_strand(Kind::Fork, child.id(), site));
        self.writer()
            .push(What::Fork, child.id(), 0, code::site(site));
        if let Some(control) = self.0.control() {
            untracked(|| child.set_control(control.fork(child.id())));
        }
        Some(child)
    }

    /// Forks a strand that threads take turns to run.
    pub(crate) fn fork_fiber(self, part: Part, site: &'static Location<'static>) -> Option<Fiber> {
        let prepare = |strand: &Strand| {
            strand.is_run.set(matches!(part, Part::Run(_)));
            match part {
                Part::Task => strand.set_spawned(site),
                Part::Branch | Part::Run(_) => strand.name_as(self.0),
            }
        };
        let child = untracked(|| Child::new(self.0.family.get(), prepare))?;
        self.writer()
            .push(What::Fork, child.id(), 0, code::site(site));
        Some(Fiber::new(child))
    }

    /// A strand was joined.
    pub(crate) fn join(self, child: u32, site: &'static Location<'static>) {
        self.writer().push(What::Join, child, 0, code::site(site));
    }

    /// A strand's handle is gone.
    pub(crate) fn detach(self, child: u32) {
        self.writer().push(What::Detach, child, 0, 0);
    }

    /// An access or signal of an object whose tickets anybody may draw at any time: the moment of
    /// drawing is the moment of the event.
    #[inline]
    pub(crate) fn event(self, what: What, object: &Object, site: &'static Location<'static>) {
        let id = self.identify(object);
        let ticket = object.order.draw_any();
        self.writer().push(what, id, ticket, code::site(site));
    }

    /// How far this strand has written.
    pub(crate) fn cursor(self) -> Cursor {
        self.flush();
        let _writer = self.writer();
        let (chunk, records) = self.0.buffer.position();
        Cursor {
            chunk,
            records,
            in_block: self.in_block(),
        }
    }
}
