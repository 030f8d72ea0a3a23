//! Minimal prediction where there is not enough room.

use super::notation::{run_in, trace, with_room};
use aerodrome::predict::{Minimal, Tier};

#[test]
fn where_the_skeleton_has_no_room_the_prediction_says_that_its_schedule_was_not_checked() {
    // Six lock events and a transaction.
    let events = trace("1: [ +l Rx -l +l Wx -l ]; 2: +l Wx -l");
    let with_room = |room| {
        let now = with_room(room);
        run_in(now, Box::new(Minimal::new()), &events)
    };
    let whole = with_room(7);
    assert_eq!(whole.predictions[0].tier, Tier::Predicted);
    assert!(!whole.predictions[0].schedule.is_empty());
    assert!(whole.notes.is_empty());

    let cut = with_room(6);
    assert_eq!(cut.predictions.len(), 1);
    assert_eq!(cut.predictions[0].tier, Tier::Potential);
    assert!(cut.predictions[0].schedule.is_empty());
    assert_eq!(
        cut.predictions[0].notes,
        ["schedule not checked: window too small"]
    );
    assert_eq!(
        cut.notes,
        ["1 schedules not checked: the trace has more lock events than the window"]
    );
}
