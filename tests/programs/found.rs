//! The programs of docs/found.md: each shows its bug, and aerodrome reports it.

#[path = "../../examples/found/lost_wakeup.rs"]
mod lost_wakeup;
#[path = "../../examples/found/release_event.rs"]
mod release_event;

use release_event::Event;

#[test]
fn a_message_wakes_nobody_and_poll_is_blamed() {
    let (reports, left, woken) = lost_wakeup::run();
    assert_eq!((left, woken), (1, 0));
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].message, "`Channel::poll` is not atomic");
}

#[test]
fn events_come_in_the_wrong_order_and_release_is_blamed() {
    let (reports, events) = release_event::run();
    assert_eq!(events, [Event::Acquire(2), Event::Release(1)]);
    assert_eq!(reports.len(), 1, "{reports:?}");
    assert_eq!(reports[0].message, "`Pool::release` is not atomic");
}
