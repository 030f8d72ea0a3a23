//! One process's run.

use std::ptr::NonNull;

use super::merge::{Definition, Sink};
use crate::record::Strand;
use crate::trace::Event;

/// Everything that is done with the merged events.
#[derive(Debug, Default)]
pub(super) struct Session {
    position: u64,
}

impl Session {
    pub(super) fn take(&mut self, _family: u32) {}
}

impl Sink for Session {
    fn event(&mut self, event: Event) {
        self.position += 1;
        if std::env::var_os("AERO_DEBUG").is_some() {
            eprintln!("{} {event:?}", self.position);
        }
    }

    fn strand(&mut self, _id: u32, _strand: NonNull<Strand>, _family: u32) {}

    fn strand_exited(&mut self, _id: u32) {}

    fn family(&mut self, _strand: u32, _family: u32) {}

    fn object(&mut self, _id: u32, _definition: Definition) {}

    fn name(&mut self, _object: u32, _name: u32) {}
}
