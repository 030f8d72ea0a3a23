//! What a program's outcome is, and how an interleaving is forced.

use std::sync::Barrier;

use aerodrome::report::{Place, Report};
use aerodrome::thread;
use aerodrome::trace::Op;

/// The one violation of a program.
#[track_caller]
pub(crate) fn only(program: impl FnOnce()) -> Report {
    let mut violations = aerodrome::check(program).violations;
    assert_eq!(violations.len(), 1, "{violations:#?}");
    violations.remove(0)
}

#[track_caller]
pub(crate) fn silent(program: impl FnOnce()) {
    let violations = aerodrome::check(program).violations;
    assert!(violations.is_empty(), "{violations:#?}");
}

/// The accesses of a report, in their order: what, to which object, in which line of the test's own
/// file.
pub(crate) fn accesses(report: &Report) -> Vec<(Op, String, u32)> {
    let access = |access: &aerodrome::report::Access| {
        let Some(Place::Source { file, line, .. }) = &access.place else {
            panic!("no place: {access:?}");
        };
        assert!(file.contains("tests/"), "{file}");
        let object = &report.objects[access.object.expect("an object")];
        (access.op, object.label(), *line)
    };
    report.accesses.iter().map(access).collect()
}

/// Two steps of one strand, with another strand's step between them.
pub(crate) fn between(first: impl FnOnce(&dyn Fn()) + Send, other: impl FnOnce() + Send) {
    let barrier = Barrier::new(2);
    thread::scope(|s| {
        s.spawn(|| {
            first(&|| {
                barrier.wait();
                barrier.wait();
            })
        });
        s.spawn(|| {
            barrier.wait();
            other();
            barrier.wait();
        });
    });
}
