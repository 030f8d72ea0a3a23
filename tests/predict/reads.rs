//! Which reads bind a predicted schedule: for each rule of `predict::Reads` correct idioms, about
//! which nothing may be predicted, and buggy neighbours, about which something must be.

use aerodrome::predict::{AnalysisKind, Feed, Forecast, Occurrence, Tier, reduction::Rules};
use aerodrome::trace::*;

struct Letters;

impl Names for Letters {
    fn strand(&self, id: StrandId) -> StrandInfo {
        StrandInfo {
            name: format!("strand {}", id.0),
        }
    }
    /// `M` is a map of entries, `o` a cell.
    fn object(&self, id: ObjectId) -> ObjectInfo {
        let type_name = match char::from_u32(id.0) {
            Some('M') => Some("Mutex<HashMap<u64, Arc<Mutex<Entry>>>>"),
            Some('o') => Some("OnceLock<u64>"),
            Some('B') => Some("Mutex<bool>"),
            Some('A'..='Z') => Some("Mutex<u64>"),
            _ => None,
        };
        ObjectInfo {
            kind: self.kind(id),
            name: char::from_u32(id.0).map(String::from),
            type_name: type_name.map(str::to_owned),
            created: SiteId::NONE,
        }
    }
    /// Locks are capitals.
    fn kind(&self, id: ObjectId) -> ObjectKind {
        match char::from_u32(id.0) {
            Some('A'..='Z') => ObjectKind::Lock,
            _ => ObjectKind::Variable,
        }
    }
    fn site(&self, id: SiteId) -> Option<SiteInfo> {
        (id != SiteId::NONE).then(|| SiteInfo::Label(id.0.to_string()))
    }
    fn block(&self, id: BlockId) -> BlockInfo {
        BlockInfo {
            name: format!("block {}", id.0),
            site: SiteId::NONE,
        }
    }
}

/// Reads `"0: begin r x@7 w x end; 1: w x"`: after a strand's number its operations, each with its
/// object and, after `@`, its site; where that is missing the site is 1000 and the position. `=5` is
/// the value that the next access leaves or finds; of two, the first is what it replaces.
fn events(text: &str) -> Vec<Event> {
    let mut events: Vec<Event> = Vec::new();
    for part in text.split(';') {
        let (strand, rest) = part.split_once(':').expect("a strand");
        let strand = StrandId(strand.trim().parse().expect("a strand's number"));
        let mut words = rest.split_whitespace();
        while let Some(word) = words.next() {
            let (word, place) = word.split_once('@').unwrap_or((word, ""));
            if let Some(value) = word.strip_prefix('=') {
                events.push(Event::of_value(strand, value.parse().expect("a value")));
                continue;
            }
            let op = match word {
                "begin" => Op::Begin,
                "end" => Op::End,
                "notify" => Op::Notify,
                "r" => Op::Read,
                "w" => Op::Write,
                "rw" => Op::ReadWrite,
                "cas" => Op::CompareExchange,
                "fail" => Op::CompareExchangeFailed,
                "pause" => Op::Pause,
                "restart" => Op::Restart,
                "add" => Op::Update(Update::Add),
                "reach" => Op::Reach,
                "leave" => Op::Leave,
                "send" => Op::Send,
                "recv" => Op::Recv,
                "or" => Op::Update(Update::Or),
                "max" => Op::Update(Update::Max),
                "vmax" => Op::Vain(Update::Max),
                "acq" => Op::Acquire,
                "rel" => Op::Release,
                "fork" => Op::Fork,
                "exit" => Op::Exit,
                other => panic!("unknown operation {other}"),
            };
            let mut site = place.parse().unwrap_or(1000 + events.len() as u32 + 1);
            let target = match op {
                Op::Begin | Op::End => 1,
                Op::Notify | Op::Exit | Op::Pause | Op::Restart => 0,
                Op::Fork => words.next().expect("a strand").parse().expect("a number"),
                _ => {
                    let object = words.next().expect("an object");
                    let (object, at) = object.split_once('@').unwrap_or((object, ""));
                    site = at.parse().unwrap_or(site);
                    u32::from(object.as_bytes()[0])
                }
            };
            events.push(Event {
                strand,
                target,
                site: SiteId(site),
                op,
            });
        }
    }
    events
}

fn forecast(text: &str) -> Forecast {
    let kinds = [AnalysisKind::Minimal, AnalysisKind::Blocks];
    let mut feed = Feed::new(Semantics::Rust, &kinds, Rules::default());
    for (event, position) in events(text).into_iter().zip(1..) {
        feed.step(event, position, &Letters);
    }
    feed.finish(&Letters)
}

#[track_caller]
fn predicted(text: &str) {
    let forecast = forecast(text);
    assert!(
        forecast.fails(),
        "nothing predicted from {text}\n{forecast}"
    );
}

/// Predicted, if a lock's content does not decide otherwise; that fails no test.
#[track_caller]
fn depends(text: &str) {
    let forecast = forecast(text);
    let mut found = forecast.violations.iter();
    let depends = found.any(|found| found.depends.is_some() && found.tier == Tier::Predicted);
    assert!(depends && !forecast.fails(), "{text}\n{forecast}");
    let headline = "under another schedule of this run: what is found under a lock decides";
    assert!(forecast.to_string().contains(headline), "{forecast}");
}

/// Nothing that fails a test; hints are allowed.
#[track_caller]
fn silent(text: &str) {
    let forecast = forecast(text);
    assert!(!forecast.fails(), "predicted from {text}\n{forecast}");
}

/// The same work of several strands, one after the other.
fn in_turn(strands: usize, work: &str) -> String {
    let parts: Vec<String> = (0..strands).map(|at| format!("{at}: {work}")).collect();
    parts.join("; ")
}

#[test]
fn a_load_that_saw_the_write_cannot_have_come_before_it() {
    silent("1: w s; 0: begin r s w s end");
    // It saw what was there before, and would again.
    predicted("0: begin r s w s end; 1: w s");
}

#[test]
fn a_hint_says_which_event_would_see_something_else() {
    let forecast = forecast("1: w s; 0: begin r s w s end");
    let [violation] = &forecast.violations[..] else {
        panic!("one hint: {forecast}")
    };
    assert_eq!(violation.tier, Tier::Hint);
    assert!(
        violation.notes[0].starts_with("event 3 would see another value"),
        "{forecast}"
    );
}

#[test]
fn what_the_last_access_of_a_strand_sees_is_free() {
    // A reader of two variables, between their updates.
    predicted("0: begin add s add n end; 1: begin r s r n end");
    predicted("0: begin w s w s end; 1: begin r s end");
    // A lock that is given back does not go on from it.
    predicted("0: begin w s w s end; 1: begin acq L r s rel L end");
    // Outside of blocks.
    predicted("0: begin w s w s end; 1: r s w z");
}

#[test]
fn a_last_read_that_decides_is_not_free() {
    // The block goes on from it: with another value it may wait.
    silent("0: begin cas s w d w s end; 1: begin r s r d end");
    // It looks again, after it has looked at something else: with another value it may try again.
    silent("0: begin r f r d r f end; 1: w f");
    silent("0: begin r f w d r f end; 1: w f");
    predicted("0: begin r f r f end; 1: w f");
    // A reader that looks at a version before and after, and the writer of both.
    let write = "begin add v@1 w a@2 w b@3 add v@4 end";
    let read = "begin r v@5 r a@6 r b@7 r v@8 end";
    silent(&format!("0: {write}; 1: {read}"));
    silent(&format!("1: {read}; 0: {write}"));
    predicted("0: begin w a@2 w b@3 end; 1: begin r a@6 r b@7 end");
    // An unmarked strand looks at a lock word before it takes it.
    silent("0: begin rw l@1 w l@9 end; 1: r l@5 rw l@1 w l@9");
    predicted("0: begin rw l@1 w l@9 end; 1: r l@5");
}

#[test]
fn an_only_look_that_others_have_gone_on_from_decides() {
    // A lazy initialisation: who finds it under way would wait, but here it was found done.
    let begin = "0: begin r s@1 cas s@2 w s@3 end;";
    silent(&format!("{begin} 1: begin r s@1 end"));
    silent(&format!("{begin} 1: begin fail s@2 end"));
    silent(&format!("{begin} 1: begin r s@1 fail s@2 end"));
    // Who waits for it has seen it under way, and looked again.
    silent("0: begin cas s@2 w s@3; 1: begin r s@5 pause; 0: end; 1: r s@5 end");
    // A look that nothing has ever followed from is one at the middle of the block.
    predicted(&format!("{begin} 1: begin r s@7 end"));
    // Nor does a loop over the same place decide: all of it is looked at.
    predicted("0: begin r s@1 r t@1 end; 1: begin w s w t end");
}

#[test]
fn a_last_look_that_others_have_gone_on_from_to_another_exchange_decides() {
    // A bounded queue: t is its tail, a the stamp of a slot. Who finds the slot taken gives up; with
    // another stamp it may go on to the exchange, which answers for the tail.
    let gives_up = "1: begin r t@1 r a@2 end";
    silent(&format!(
        "0: begin r t@1 r a@2 cas t@3 w a@4 end; {gives_up}"
    ));
    silent(&format!(
        "0: begin r t@1 r a@2 fail t@3 end begin cas t@5 w a@4 end; {gives_up}"
    ));
    // An exchange of what was looked at last does not answer for what was before.
    predicted(&format!(
        "{gives_up}; 0: begin r t@1 r a@2 cas a@3 w t@4 end"
    ));
    // Nobody exchanges anything there.
    predicted(&format!("{gives_up}; 0: begin w t@3 w a@4 end"));
}

#[test]
fn a_result_that_decides_binds() {
    // Whoever is the last to let go writes what others have read.
    let (read, write) = ("begin r x@1 r y@2 end", "w x@6 w y@7");
    silent(&format!(
        "0: {read} add n@5 exit; 1: {read} add n@5 begin {write} end exit"
    ));
    silent(&format!(
        "0: {read} begin add n@5 end exit; 1: {read} begin add n@5 {write} end exit"
    ));
    // Nobody asks whether it is the last.
    predicted(&format!(
        "0: {read} add n@5 exit; 1: add n@8 begin {write} end exit"
    ));
}

#[test]
fn a_ticket_is_compared_with_what_is_read_later() {
    let turn = "r s@2 begin r x@3 w x@4 end add s@5";
    silent(&in_turn(2, &format!("add t@1 {turn}")));
    silent(&in_turn(3, &format!("add t@1 {turn}")));
    silent(&in_turn(3, "begin add t@1 r s@2 r x@3 w x@4 add s@5 end"));
    // Nobody looks whose turn it is.
    predicted(&in_turn(3, "add t@1 begin r x@3 w x@4 end add s@5"));
}

#[test]
fn what_an_exchange_answers_for_binds() {
    // Nodes that are written before they are in the list.
    let push = "begin r h@1 w n@2 w n@2 cas h@3 end";
    silent(&format!("1: {push}; 0: begin r h@5 r n@6 cas h@7 end"));
    // Outside of blocks.
    silent(&format!("1: {push}; 0: r h@5 r n@6 cas h@7"));
    predicted(&format!("1: {push}; 0: begin r n@6 end"));
}

#[test]
fn a_vain_update_commutes_with_its_own_kind() {
    silent("0: begin max a@1 vmax b@2 end; 1: begin vmax a@1 max b@2 end");
    predicted("0: begin max a@1 r b@2 end; 1: begin r a@1 max b@2 end");
}

#[test]
fn two_strands_that_run_the_same_code_show_for_each_other_what_it_does() {
    predicted(&in_turn(2, "begin r n@1 add n@2 end"));
    predicted(&in_turn(2, "begin r n@1 w n@2 end"));
    // Other code, of which nobody knows what it does with the earlier value.
    silent("0: w n; 1: begin r n@1 w n@2 end");
    // The same load, which led elsewhere.
    silent("2: begin r s@1 end; 1: w s; 0: begin r s@1 w s@2 end");
}

#[test]
fn a_compare_exchange_that_succeeded_would_not_with_another_value() {
    let forecast = forecast(&in_turn(3, "begin r n@1 cas n@2 end"));
    assert!(forecast.violations.is_empty(), "{forecast}");
    silent("0: begin r x w x end; 1: cas x");
    // Recorded as a read and write in one step.
    silent(&in_turn(3, "begin r n@1 rw n@2 end"));
    // It sees what it saw.
    predicted("0: begin r x r x end; 1: cas x");
    predicted("0: begin r x r y end; 1: begin cas x w y end");
}

#[test]
fn what_a_lock_made_of_an_atomic_excludes_is_not_predicted() {
    for (lock, unlock) in [
        ("cas l@1", "w l@9"),
        ("rw l@1", "w l@9"),
        ("or l@1", "w l@9"),
        ("cas l@1", "cas l@9"),
        ("rw l@1", "rw l@9"),
    ] {
        let work = format!("{lock} begin r x@2 w x@3 end {unlock}");
        silent(&in_turn(2, &work));
        silent(&in_turn(3, &work));
        // The whole section is the block.
        silent(&in_turn(
            3,
            &format!("begin {lock} r x@2 w x@3 {unlock} end"),
        ));
        // It lets go too early.
        predicted(&format!(
            "0: {lock} begin r x@2 {unlock} w x@3 end; 1: {lock} w x {unlock}"
        ));
    }
    // A ticket lock.
    let first = "0: add t@1 r s@2 begin r x@3 w x@4 end w s@5";
    let second = "1: add t@1 r s@2 begin r x@3 w x@4 end w s@5";
    silent(&format!("{first}; {second}"));
}

#[test]
fn what_a_flag_orders_is_not_predicted() {
    silent("0: begin r x w x end w f; 1: r f w x");
    // Set too early.
    predicted("0: w f begin r x w x end; 1: r f w x");
    // Nobody looks at it.
    predicted("0: begin r x w x end w f; 1: w x");
}

#[test]
fn counters_do_not_bind() {
    predicted("0: add n begin acq L r L rel L acq L w L rel L end; 1: add n acq L w L rel L");
    predicted("1: add n acq L w L rel L; 0: add n begin acq L r L rel L acq L w L rel L end");
}

#[test]
fn the_content_of_a_lock_does_not_bind() {
    let withdraw = "begin acq L r L@1 rel L acq L w L@2 rel L end";
    predicted(&in_turn(2, withdraw));
    predicted(&format!("0: {withdraw}; 1: acq L w L rel L"));
    predicted(&format!("1: acq L w L rel L; 0: {withdraw}"));
    // To read and to write in one section.
    predicted(&format!("0: {withdraw}; 1: acq L r L w L rel L"));
    predicted(&format!("1: acq L r L w L rel L; 0: {withdraw}"));
    // All in one section.
    silent(&in_turn(3, "begin acq L r L@1 w L@2 rel L end"));
}

const COMMIT: &str = "begin acq D r D@3 rel D acq D w D@4 rel D end";

#[test]
fn what_a_flag_under_a_lock_with_a_condvar_excludes_is_not_predicted() {
    let take = "acq B r B@1 w B@2 rel B";
    for give in ["acq B w B@5 rel B notify", "acq B w B@5 notify rel B"] {
        silent(&in_turn(2, &format!("{take} {COMMIT} {give}")));
        silent(&in_turn(4, &format!("{take} {COMMIT} {give}")));
        // The slot is part of the block.
        silent(&in_turn(2, &format!("begin {take} {give} end")));
        // Given back too early.
        predicted(&in_turn(2, &format!("{take} {give} {COMMIT}")));
        // Another strand does not ask for it.
        predicted(&format!("0: {take} {COMMIT} {give}; 1: acq D w D rel D"));
    }
    // A flag that nobody waits for may exclude all the same.
    depends(&in_turn(2, &format!("{take} {COMMIT} acq B w B@5 rel B")));
}

#[test]
fn what_is_taken_and_given_back_in_a_block_is_not_predicted() {
    const STEPS: &str = "acq D r D@3 rel D acq D w D@4 rel D";
    // A flag under a lock that is polled, and a limit; nobody ran into either.
    let flag = |commit: &str| format!("begin acq B rw B@1 rel B {commit} acq B w B@5 rel B end");
    let limit = |commit: &str| format!("begin add p@1 {commit} add p@5 end");
    silent(&in_turn(2, &flag("r d@3 w d@4")));
    silent(&in_turn(2, &flag(STEPS)));
    silent(&in_turn(3, &limit(STEPS)));
    // It is not given back, or too early.
    predicted(&in_turn(2, &format!("begin add p@1 {STEPS} end")));
    predicted(&in_turn(2, &format!("begin add p@1 add p@5 {STEPS} end")));
    // Another strand does not ask for it.
    predicted(&format!("0: {}; 1: acq D w D rel D", limit(STEPS)));
    // There was room for two.
    predicted(&format!(
        "0: begin add p@1; 1: begin add p@1 r e; 0: {STEPS} add p@5 end; \
         1: acq D w D rel D add p@5 end"
    ));
}

#[test]
fn what_a_block_has_waited_for_nobody_shows_for_it() {
    // Each waits for its own turn.
    let turn = "r t@1 r d@3 w d@4 w t@5 end";
    silent(&format!("1: begin r t@1 pause; 0: begin {turn}; 1: {turn}"));
    predicted(&format!("0: begin {turn}; 1: begin {turn}"));
}

#[test]
fn a_write_through_a_guard_may_change_a_part() {
    // Readers are counted, and the writer waits until there are none.
    let (enter, leave) = ("acq S rw S@1 rel S", "acq S w S@4 rel S");
    let (read, write) = ("begin r d@2 r d@3 end", "acq S rw S@7 rel S w d@8");
    silent(&format!(
        "0: {enter}; 1: {enter} {read} {leave}; 0: {leave} notify; 2: {write}"
    ));
    // It leaves too early.
    predicted(&format!(
        "0: {enter}; 1: {enter} {leave} {read}; 0: {leave} notify; 2: {write}"
    ));
}

#[test]
fn what_a_latch_under_a_lock_orders_is_not_predicted() {
    silent(&format!(
        "0: {COMMIT} acq R w R rel R notify; 1: acq R r R rel R acq D w D rel D"
    ));
    predicted(&format!(
        "0: acq R w R rel R notify {COMMIT}; 1: acq R r R rel R acq D w D rel D"
    ));
}

#[test]
fn what_is_handed_over_is_not_predicted() {
    // By flags, back and forth.
    silent("0: begin r x w x end w f; 1: r f begin r x w x end w g; 0: r g begin r x w x end");
    // Through a queue under a lock with a condvar.
    silent("0: begin r x w x end acq Q w Q rel Q notify; 1: acq Q r Q w Q rel Q w x");
    // Somebody has waited for it on this run.
    silent(&format!(
        "1: acq R r R rel R; 0: {COMMIT} acq R w R notify rel R; 1: acq R r R rel R acq D w D rel D"
    ));
    // It is touched after it was handed over.
    predicted("0: begin r x acq Q w Q rel Q notify w x end; 1: acq Q r Q w Q rel Q w x");
}

#[test]
fn a_write_that_a_read_needs_is_part_of_the_schedule() {
    let text = "0: begin r x w x end; 2: w f; 1: r f w x";
    predicted(text);
    let forecast = forecast(text);
    let runs = &forecast.violations[0].schedule;
    assert!(
        runs.iter().any(|run| run.strand == "strand 2"),
        "{forecast}"
    );
}

#[test]
fn a_lock_that_another_strand_gives_back_is_not_held_for_ever() {
    predicted("0: acq L; 1: rel L; 0: begin r x w x end; 1: acq L w x rel L");
    // Whatever order the merge of the two strands gave to the release.
    predicted("0: acq L begin r x w x end; 1: rel L acq L w x rel L");
    // It is held as long as its strand touches the content.
    silent("0: acq L begin r x w x end w L; 1: rel L acq L w x rel L");
    // By the third strand as well.
    predicted("0: acq L; 1: rel L; 0: begin r x w x end; 2: acq L w x rel L");
}

#[test]
fn one_pattern_is_told_once() {
    for text in [
        in_turn(2, "begin acq L r L@1 rel L acq L w L@2 rel L end"),
        in_turn(4, "begin acq L r L@1 rel L acq L w L@2 rel L end"),
        in_turn(3, "begin r n@1 w n@2 end"),
    ] {
        let forecast = forecast(&text);
        let sure = forecast
            .violations
            .iter()
            .filter(|found| found.tier == Tier::Predicted);
        assert_eq!(sure.count(), 1, "{forecast}");
    }
}

#[test]
fn a_search_that_stops_early_leaves_a_note() {
    // Five strands, each of which passes on from one variable to the next: a cycle of five
    // conflicts.
    let ring = "0: begin r a w b end; 1: begin r b w c end; 2: begin r c w d end; \
                3: begin r d w e end; 4: begin r e w a end";
    let note = "cycles of more than 4 conflicts were not looked for";
    let told = |text: &str| forecast(text).notes.iter().any(|it| it.contains(note));
    assert!(told(ring));
    assert!(!told(&in_turn(5, "begin r a@1 w a@2 end")));
}

/// The same on programs.
#[cfg(feature = "check")]
mod programs {
    use aerodrome::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
    use aerodrome::sync::{Condvar, Mutex};
    use aerodrome::{Config, Predict, atomic, atomic_block, thread};
    use std::sync::{Barrier, Once};

    /// Runs both, the second when the first is done, and says whether that predicts a violation.
    fn is_predicted(first: impl FnOnce() + Send, second: impl FnOnce() + Send) -> bool {
        static INSTALLED: Once = Once::new();
        INSTALLED.call_once(|| {
            let config = Config::from_env().unwrap().predict(Predict::Warn);
            config.install().unwrap();
        });
        // Not tracked: it orders nothing that counts.
        let turn = Barrier::new(2);
        let outcome = aerodrome::check(|| {
            thread::scope(|scope| {
                scope.spawn(|| {
                    first();
                    turn.wait();
                });
                scope.spawn(|| {
                    turn.wait();
                    second();
                });
            });
        });
        assert!(outcome.is_serializable());
        outcome.forecast.is_some_and(|forecast| forecast.fails())
    }

    fn twice(work: impl Fn() + Sync) -> bool {
        is_predicted(&work, &work)
    }

    #[atomic]
    fn increment(n: &AtomicU32) {
        loop {
            let now = n.load(SeqCst);
            if n.compare_exchange(now, now + 1, SeqCst, SeqCst).is_ok() {
                return;
            }
        }
    }

    #[atomic]
    fn increment_wrongly(n: &AtomicU32) {
        let now = n.load(SeqCst);
        n.store(now + 1, SeqCst);
    }

    #[test]
    fn a_loop_of_compare_exchange_is_not_predicted_and_a_load_and_store_is() {
        let n = AtomicU32::new(0);
        assert!(!twice(|| increment(&n)));
        assert!(twice(|| increment_wrongly(&n)));
    }

    #[test]
    fn a_branch_on_a_state_is_not_predicted_against_what_it_saw() {
        let state = AtomicU32::new(0);
        let take = || {
            atomic_block! {
                if state.load(SeqCst) == 1 {
                    state.store(2, SeqCst);
                }
            }
        };
        assert!(!is_predicted(|| state.store(1, SeqCst), take));
    }

    struct Store {
        busy: Mutex<bool>,
        free: Condvar,
        data: Mutex<u32>,
    }

    impl Store {
        fn new() -> Store {
            Store {
                busy: Mutex::new(false),
                free: Condvar::new(),
                data: Mutex::new(0),
            }
        }

        fn take(&self) {
            let mut busy = self.busy.lock().unwrap();
            while *busy {
                busy = self.free.wait(busy).unwrap();
            }
            *busy = true;
        }

        fn give(&self) {
            *self.busy.lock().unwrap() = false;
            self.free.notify_one();
        }

        #[atomic]
        fn commit(&self) {
            let value = *self.data.lock().unwrap();
            *self.data.lock().unwrap() = value + 1;
        }
    }

    #[test]
    fn a_slot_with_a_condvar_excludes_and_without_the_slot_the_commit_is_predicted() {
        let store = Store::new();
        assert!(!twice(|| {
            store.take();
            store.commit();
            store.give();
        }));
        assert!(twice(|| {
            store.take();
            store.give();
            store.commit();
        }));
        assert!(twice(|| store.commit()));
    }

    #[test]
    fn a_slot_that_is_part_of_the_block_is_not_predicted() {
        let store = Store::new();
        assert!(!twice(|| {
            atomic_block! {
                store.take();
                *store.data.lock().unwrap() += 1;
                store.give();
            }
        }));
    }

    #[test]
    fn a_spin_lock_by_swap_excludes() {
        let (locked, data) = (AtomicBool::new(false), AtomicU32::new(0));
        let under_lock = |is_early: bool| {
            while locked.swap(true, SeqCst) {
                std::hint::spin_loop();
            }
            let unlock = || locked.store(false, SeqCst);
            atomic_block! {
                let now = data.load(SeqCst);
                if is_early {
                    unlock();
                }
                data.store(now + 1, SeqCst);
            }
            if !is_early {
                unlock();
            }
        };
        assert!(!twice(|| under_lock(false)));
        assert!(is_predicted(
            || under_lock(true),
            || {
                while locked.swap(true, SeqCst) {}
                data.store(7, SeqCst);
                locked.store(false, SeqCst);
            }
        ));
    }
}

#[test]
fn a_read_may_have_seen_the_write_of_a_strand_that_does_nothing_else() {
    // Strand 4 is known to nobody: it neither waits nor is waited for.
    silent(
        "0: acq L rel L; 1: begin; 0: acq K; 2: acq M; 3: or v; 2: acq L; 0: or v; 4: add w; 0: r w; \
         2: rel L; 1: acq L add v w v rel L",
    );
}

#[test]
fn every_occurrence_is_judged_until_one_is_feasible() {
    // The other strand writes after the flag alone: the first time is before that, the second not.
    let gap = "begin r x@1 w x@2 end";
    let other = "1: r f@8 w x@3";
    predicted(&format!("0: {gap} w f@7 {gap}; {other}"));
    predicted(&format!("0: {gap} {gap} {gap} w f@7 {gap} {gap}; {other}"));
    // It has never come after the flag.
    silent(&format!("0: {gap} {gap} w f@7; {other}"));
    // The one between, too: what it did before it gave the flag away is impossible, what it did
    // later is not.
    let between = "w x@3";
    predicted(&format!("1: {between} w f@7; 0: r f@8 {gap}; 1: {between}"));
    silent(&format!("1: {between} {between} w f@7; 0: r f@8 {gap}"));
}

#[test]
fn a_vain_look_and_its_own_pause_decide_nothing() {
    // `try_recv` that finds nothing is a look at the channel and a pause, at one place.
    let poll = "begin r c@1 pause@1 end";
    let fill = "begin w c@5 w c@6 end";
    predicted(&format!("0: {poll}; 1: {fill}"));
    // Whoever acts and looks at a cell once more does not wait: it is set once and for all.
    predicted("0: begin r o@1 w d@2 r o@3 end; 1: w o@4");
    silent("0: begin r f@1 w d@2 r f@3 end; 1: w f@4");
    // Its program pauses, or it looks there again: it polls.
    silent("0: begin r c@1 pause@1 pause@2 end; 1: begin w c@5 w c@6 end");
    silent("0: begin r c@1 pause@1 r c@1 pause@1 end; 1: begin w c@5 w c@6 end");
}

#[test]
fn who_waits_for_its_turn_shows_it_for_nobody() {
    // Outside of blocks: `while turn.load() != me {}`, and then its work.
    let turn = "begin r d@3 w d@4 end w t@5";
    silent(&format!("1: r t@1; 0: r t@1 {turn}; 1: r t@1 {turn}"));
    silent(&format!(
        "1: r t@1 pause@2; 0: r t@1 {turn}; 1: r t@1 {turn}"
    ));
    // With a `Condvar`, which takes back what was read outside of blocks, or a lock that is polled.
    let turn = "begin r d@3 w d@4 end acq T w T@5 rel T notify";
    let go = "acq T r T@1 rel T";
    silent(&format!("1: acq T rel T; 0: {go} {turn}; 1: {go} {turn}"));
    silent(&format!("1: {go}; 0: {go} {turn}; 1: {go} {turn}"));
    // A load and a store of a number that is the same for all.
    predicted("1: begin r n@1 w n@2 end; 0: begin r n@1 w n@2 end");
    predicted("1: r n@1 w n@2 r n@1 w n@2; 0: begin r n@1 w n@2 end");
    // The turn is given on too early.
    let early = "r t@1 w t@5 begin r d@3 w d@4 end";
    predicted(&format!("1: r t@1; 0: {early}; 1: {early}"));
}

#[test]
fn where_a_block_has_started_anew_its_compare_binds() {
    // A version is read, and compared under the lock before the write.
    let work = "begin acq V r V@1 rel V acq V r V@2 w V@3 rel V end";
    let fails = "acq V r V@1 rel V acq V r V@2 rel V restart";
    let retried = format!("0: begin {fails} acq V r V@1 rel V acq V r V@2 w V@3 rel V end");
    silent(&format!("1: {work}; {retried}"));
    // It does not compare.
    let blind = "begin acq V r V@1 rel V acq V w V@3 rel V end";
    predicted(&format!("1: {blind}; 0: {blind}"));
    // Nobody compares what another block does.
    predicted(&format!("{retried}; 1: {blind}; 2: {blind}"));
}

#[test]
fn what_is_found_under_a_lock_may_decide() {
    const STEPS: &str = "acq D r D@3 rel D acq D w D@4 rel D";
    // A claim that is taken under a lock, and given back after the block.
    let claim = |block: &str| format!("acq C r C@1 w C@2 rel C {block} acq C w C@9 rel C");
    depends(&in_turn(2, &claim(&format!("begin {STEPS} end"))));
    // It is swapped: `std::mem::replace(&mut *claimed.lock().unwrap(), true)`.
    let swap = format!("acq B w B@2 rel B begin {STEPS} end acq B w B@9 rel B");
    depends(&in_turn(2, &swap));
    predicted(&in_turn(2, &swap.replace('B', "N")));
    // It is given back before the block.
    let early = format!("{} begin {STEPS} end", claim(""));
    predicted(&in_turn(2, &early));
    // The other thread does not ask for it.
    let free = "1: acq D w D@7 rel D";
    predicted(&format!(
        "0: {}; {free}",
        claim(&format!("begin {STEPS} end"))
    ));
    // A compare under the lock, and a write.
    let work = "begin acq V r V@1 rel V acq V r V@2 w V@3 rel V end";
    depends(&format!("0: {work}; 1: acq V w V@8 rel V"));
    let blind = "begin acq V r V@1 rel V acq V w V@3 rel V end";
    predicted(&format!("0: {blind}; 1: acq V w V@8 rel V"));
    // Two looks at what should not have changed compare nothing.
    let torn = "begin acq V r V@1 rel V acq V r V@2 rel V end";
    predicted(&format!("0: {torn}; 1: acq V w V@8 rel V"));
}

#[test]
fn an_object_is_not_used_before_anybody_can_have_told_of_it() {
    // An entry is made, filled in two steps, and put into a map, where the other finds it by a
    // write (`entry`).
    let fill = "begin acq E w E@1 rel E acq E w E@2 rel E end";
    let publish = "acq M w M@5 rel M";
    let read = "acq M w M@6 rel M begin acq E r E@7 rel E end";
    silent(&format!("0: {fill} {publish}; 1: {read}"));
    // It is put there before it is filled.
    predicted(&format!("0: {publish} {fill}; 1: {read}"));
    // The other has it from elsewhere: it has not asked the map before.
    predicted(&format!(
        "0: {fill} {publish}; 1: begin acq E r E@7 rel E end"
    ));
    // A count tells of nothing.
    let count = "acq C w C@5 rel C";
    predicted(&format!(
        "0: {fill} {count}; 1: {count} begin acq E r E@7 rel E end"
    ));
    // Made in the map, and then filled.
    predicted(&format!("0: {publish} {fill} {publish}; 1: {read}"));
}

#[test]
fn a_count_that_may_be_lowered_before_it_is_raised() {
    let put = "begin send m leave x@1 add x@1 end";
    let take = "begin recv m reach x@2 add x@2 end";
    predicted(&format!("0: {put}; 1: {take}"));
    predicted(
        "0: begin acq Q w Q rel Q leave x@1 add x@1 end; \
         1: begin acq Q w Q rel Q reach x@2 add x@2 end",
    );
    // Raised first, or the result is dropped.
    let put = "begin leave x@1 add x@1 send m end";
    silent(&format!("0: {put}; 1: {take}"));
    silent("0: begin send m leave x@1 add x@1 end; 1: begin recv m add x@2 end");
}

#[test]
fn who_is_the_last_to_count_down_may_be_another() {
    let finish = |zero: &str| format!("begin acq Q w Q rel Q {zero} add x@1 end");
    let (first, last) = (finish(""), finish("reach x@1"));
    silent(&format!("0: {first}; 1: {last}"));
    // In flight.
    let serve = "begin leave x@1 add x@1 reach x@2 add x@2 end";
    silent(&format!("0: {serve} {serve}; 1: {serve} {serve}"));
}

#[test]
fn values_that_were_recorded_are_compared() {
    // A count that goes up and down again is the same to whoever asks for none.
    let write = "begin w x@5 w x@6 end";
    predicted(&format!(
        "0: =0 =1 add n@1 r x@2 =1 =0 add n@3; 1: =0 r n@4 {write}"
    ));
    // Nobody has said that it was none at first, or it was not.
    silent(&format!("0: add n@1 r x@2 add n@3; 1: r n@4 {write}"));
    silent(&format!(
        "0: =1 =2 add n@1 r x@2 =2 =0 add n@3; 1: =0 r n@4 {write}"
    ));
    // A flag that is lowered again.
    predicted(&format!(
        "0: =0 =1 w f@1 r x@2 =1 =0 w f@3; 1: =0 r f@4 {write}"
    ));
    silent(&format!(
        "0: =0 =1 w f@1 r x@2 =1 =2 w f@3; 1: =2 r f@4 {write}"
    ));
}

#[test]
fn directions_name_the_accesses_and_the_schedule_for_another_run() {
    let work = "begin acq L r L@1 rel L acq L w L@2 rel L end";
    let run = format!("0: fork 1 fork 2; 1: {work} {work} r f@8; 2: w f@9 {work}");
    let forecast = forecast(&run);
    let found = forecast.violations.iter().find(|found| found.fails());
    let directions = found
        .and_then(|found| found.directions.as_ref())
        .expect("directions");
    let named = |it: &Occurrence| (it.strand.clone(), it.op, it.site.0, it.nth);
    let accesses: Vec<_> = directions.accesses.iter().map(named).collect();
    let [first, between, second] = &accesses[..] else {
        panic!("three accesses: {accesses:?}")
    };
    assert_eq!((first.1, first.2), (Op::Read, 1));
    assert_eq!((between.1, between.2), (Op::Write, 2));
    assert_eq!((second.1, second.2), (Op::Write, 2));
    // Both accesses of the gap are of one run of the block, by the same child.
    assert_eq!((&first.0, first.3), (&second.0, second.3));
    assert_ne!(first.0, between.0);
    let children = [vec![0], vec![1]];
    assert!(children.contains(&first.0) && children.contains(&between.0));
    // The schedule has the accesses in their order, and the locks around them.
    let mut schedule = directions.schedule.iter();
    for access in &directions.accesses {
        assert!(schedule.any(|event| event == access), "{directions:?}");
    }
    let is_acquire = |it: &&Occurrence| it.op == Op::Acquire;
    assert!(directions.schedule.iter().filter(is_acquire).count() >= 3);
}
