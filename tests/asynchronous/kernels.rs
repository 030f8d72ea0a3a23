//! Small programs after published bugs of async code, with their fixes and neighbours.

use std::future::Future;
use std::sync::Arc;

use aerodrome::tokio;
use aerodrome::tokio::sync::{Mutex, RwLock, watch};

use crate::script::{Gap, Script};
use crate::{FLAVORS, blamed};

/// Runs a program ten times on every runtime, and wants the same verdict of each.
fn all_blame<F: Future<Output = ()>>(program: fn() -> F, blocks: &[&str]) {
    for flavor in FLAVORS {
        for run in 0..10 {
            let outcome = flavor.judge(program);
            let told: Vec<_> = outcome.violations.iter().map(ToString::to_string).collect();
            assert_eq!(
                blamed(&outcome.violations),
                blocks,
                "{flavor:?}, run {run}: {told:#?}"
            );
        }
    }
}

/// A token that is renewed where nobody holds it: by two at once.
/// After MaterializeInc/materialize#22184 and googleapis/google-cloud-rust#1355.
mod renewal {
    use super::*;

    #[derive(Clone, Copy, Debug)]
    struct Token {
        serial: u32,
        is_stale: bool,
    }

    const STALE: Token = Token {
        serial: 0,
        is_stale: true,
    };

    #[derive(Debug)]
    struct Apart(RwLock<Token>);

    impl Apart {
        fn new() -> Arc<Self> {
            Arc::new(Self(RwLock::new(STALE)))
        }

        #[aerodrome::atomic]
        async fn token(&self, serial: u32, gap: Gap<'_>) -> u32 {
            let token = *self.0.read().await;
            if !token.is_stale {
                return token.serial;
            }
            gap.pass().await;
            let is_stale = false;
            *self.0.write().await = Token { serial, is_stale };
            serial
        }

        #[aerodrome::atomic]
        async fn is_stale(&self) -> bool {
            self.0.read().await.is_stale
        }
    }

    #[derive(Debug)]
    struct Together(Mutex<Token>);

    impl Together {
        #[aerodrome::atomic]
        async fn token(&self, serial: u32, gap: Gap<'_>) -> u32 {
            let mut token = self.0.lock().await;
            if token.is_stale {
                gap.pass().await;
                let is_stale = false;
                *token = Token { serial, is_stale };
            }
            token.serial
        }
    }

    async fn twice() {
        let (script, client) = (Arc::new(Script::default()), Apart::new());
        let (s, c) = (script.clone(), client.clone());
        let first = tokio::spawn(async move { c.token(1, Gap::Until(&s, 1, 2)).await });
        let second = tokio::spawn(async move {
            script.wait_for(1).await;
            let serial = client.token(2, Gap::Closed).await;
            script.did(2);
            serial
        });
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (1, 2));
    }

    async fn once() {
        let script = Arc::new(Script::default());
        let client = Arc::new(Together(Mutex::new(STALE)));
        let (s, c) = (script.clone(), client.clone());
        let first = tokio::spawn(async move { c.token(1, Gap::Offer(&s, 1, 2)).await });
        let second = tokio::spawn(async move {
            script.wait_for(1).await;
            let serial = client.token(2, Gap::Closed).await;
            script.did(2);
            serial
        });
        assert_eq!((first.await.unwrap(), second.await.unwrap()), (1, 1));
    }

    /// Meanwhile somebody renews another one, and looks at this.
    async fn beside() {
        let (mine, other) = (Apart::new(), Apart::new());
        let script = Arc::new(Script::default());
        let (s, c) = (script.clone(), mine.clone());
        let first = tokio::spawn(async move { c.token(1, Gap::Until(&s, 1, 2)).await });
        script.wait_for(1).await;
        assert!(mine.is_stale().await);
        other.token(2, Gap::Closed).await;
        script.did(2);
        assert_eq!(first.await.unwrap(), 1);
    }

    #[test]
    fn a_token_renewed_by_two_at_once_is_reported() {
        all_blame(twice, &["Apart::token"]);
    }

    #[test]
    fn a_token_renewed_under_its_lock_is_not() {
        all_blame(once, &[]);
    }

    #[test]
    fn a_token_renewed_beside_another_is_not() {
        all_blame(beside, &[]);
    }
}

/// Who looks at a channel and then subscribes misses what is sent in between.
/// After neondatabase/neon#11047.
mod subscription {
    use super::*;

    type Followed = Result<bool, watch::Receiver<bool>>;

    #[aerodrome::atomic]
    async fn look_then_subscribe(active: &watch::Sender<bool>, gap: Gap<'_>) -> Followed {
        if *active.borrow() {
            return Ok(true);
        }
        gap.pass().await;
        Err(active.subscribe())
    }

    #[aerodrome::atomic]
    async fn subscribe_then_look(active: &watch::Sender<bool>, gap: Gap<'_>) -> Followed {
        let receiver = active.subscribe();
        gap.pass().await;
        let is_active = *receiver.borrow();
        if is_active { Ok(true) } else { Err(receiver) }
    }

    /// A task that sends in the gap, and the gap.
    fn sends(
        script: &Arc<Script>,
        send: impl FnOnce() + Send + 'static,
    ) -> tokio::task::JoinHandle<()> {
        let script = script.clone();
        tokio::spawn(async move {
            script.wait_for(1).await;
            send();
            script.did(2);
        })
    }

    fn setup() -> (Arc<Script>, Arc<watch::Sender<bool>>) {
        (Arc::default(), Arc::new(watch::Sender::new(false)))
    }

    async fn missed() {
        let (script, active) = setup();
        let sender = active.clone();
        let task = sends(&script, move || {
            sender.send_replace(true);
        });
        let receiver = look_then_subscribe(&active, Gap::Until(&script, 1, 2)).await;
        task.await.unwrap();
        assert!(!receiver.unwrap_err().has_changed().unwrap());
    }

    async fn seen() {
        let (script, active) = setup();
        let sender = active.clone();
        let task = sends(&script, move || {
            sender.send_replace(true);
        });
        let followed = subscribe_then_look(&active, Gap::Until(&script, 1, 2)).await;
        task.await.unwrap();
        assert!(followed.unwrap());
    }

    async fn of_another() {
        let (script, active) = setup();
        let task = sends(&script, || {
            watch::Sender::new(0).send_replace(1);
        });
        let followed = look_then_subscribe(&active, Gap::Until(&script, 1, 2)).await;
        active.send_replace(true);
        followed.unwrap_err().changed().await.unwrap();
        task.await.unwrap();
    }

    #[test]
    fn a_look_before_the_subscription_is_reported() {
        all_blame(missed, &["look_then_subscribe"]);
    }

    #[test]
    fn a_look_after_the_subscription_is_not() {
        all_blame(seen, &[]);
    }

    #[test]
    fn what_another_channel_is_sent_is_not() {
        all_blame(of_another, &[]);
    }
}

/// A place in a pool is counted, the connection is awaited, and the caller goes away meanwhile.
/// After launchbadge/sqlx#83, djc/bb8#67 and nix-community/harmonia#1089.
mod half_grown {
    use super::*;
    use aerodrome::sync::Mutex as Plain;

    #[derive(Debug, Default)]
    struct Pool {
        size: Mutex<usize>,
        open: Mutex<Vec<u32>>,
    }

    impl Pool {
        #[aerodrome::atomic]
        async fn grow(&self, limit: usize, gap: Gap<'_>) -> bool {
            {
                let mut size = self.size.lock().await;
                if *size == limit {
                    return false;
                }
                *size += 1;
            }
            gap.pass().await;
            self.open.lock().await.push(1);
            true
        }

        #[aerodrome::atomic]
        async fn grow_between(&self, before: Gap<'_>, after: Gap<'_>) {
            before.pass().await;
            *self.size.lock().await += 1;
            self.open.lock().await.push(1);
            after.pass().await;
        }
    }

    #[derive(Debug, Default)]
    struct Careful {
        size: Plain<usize>,
        open: Plain<Vec<u32>>,
    }

    /// A place that was counted; given back unless it was kept.
    struct Place<'a>(Option<&'a Plain<usize>>);

    impl Drop for Place<'_> {
        fn drop(&mut self) {
            if let Some(size) = self.0 {
                *size.lock().unwrap() -= 1;
            }
        }
    }

    impl Careful {
        #[aerodrome::atomic]
        async fn grow(&self, limit: usize, gap: Gap<'_>) -> bool {
            {
                let mut size = self.size.lock().unwrap();
                if *size == limit {
                    return false;
                }
                *size += 1;
            }
            let mut place = Place(Some(&self.size));
            gap.pass().await;
            self.open.lock().unwrap().push(1);
            place.0 = None;
            true
        }
    }

    /// Aborts a task at its first step.
    async fn abort<T: std::fmt::Debug>(
        script: &Script,
        step: u32,
        task: tokio::task::JoinHandle<T>,
    ) {
        script.wait_for(step).await;
        task.abort();
        assert!(task.await.unwrap_err().is_cancelled());
    }

    async fn torn() {
        let (script, pool) = (Arc::new(Script::default()), Arc::new(Pool::default()));
        assert!(pool.grow(2, Gap::Closed).await);
        let (s, p) = (script.clone(), pool.clone());
        let caller = tokio::spawn(async move { p.grow(2, Gap::Until(&s, 1, 2)).await });
        abort(&script, 1, caller).await;
        assert!(
            !pool.grow(2, Gap::Closed).await,
            "one is open, and two are counted"
        );
    }

    async fn undone() {
        let (script, pool) = (Arc::new(Script::default()), Arc::new(Careful::default()));
        assert!(pool.grow(2, Gap::Closed).await);
        let (s, p) = (script.clone(), pool.clone());
        let caller = tokio::spawn(async move { p.grow(2, Gap::Until(&s, 1, 2)).await });
        abort(&script, 1, caller).await;
        assert!(pool.grow(2, Gap::Closed).await);
    }

    async fn early_and_late() {
        let (script, pool) = (Arc::new(Script::default()), Arc::new(Pool::default()));
        pool.grow_between(Gap::Closed, Gap::Closed).await;
        let (s, p) = (script.clone(), pool.clone());
        let early = async move { p.grow_between(Gap::Until(&s, 1, 9), Gap::Closed).await };
        abort(&script, 1, tokio::spawn(early)).await;
        let (s, p) = (script.clone(), pool.clone());
        let late = async move { p.grow_between(Gap::Closed, Gap::Until(&s, 2, 9)).await };
        abort(&script, 2, tokio::spawn(late)).await;
        assert_eq!(*pool.size.lock().await, pool.open.lock().await.len());
    }

    #[test]
    fn a_pool_left_half_grown_is_reported_as_cancelled() {
        all_blame(torn, &["Pool::grow"]);
        let outcome = crate::Flavor::CurrentThread.judge(torn);
        let report = &outcome.violations[0];
        assert_eq!(report.pattern.to_string(), "cancelled");
        let text =
            aerodrome::report::text::render(report, &aerodrome::report::text::Style::plain());
        for part in [
            "error: `Pool::grow` was cancelled after it changed `Mutex<usize>` at ",
            "a complete run also changes `Mutex<Vec<u32>>` at ",
            "help: undo (",
        ] {
            assert!(text.contains(part), "{part:?} is not in\n{text}");
        }
        let json = aerodrome::report::json::line(report);
        assert!(json.contains("\"cancelled\""), "{json}");
    }

    #[test]
    fn a_pool_that_takes_its_count_back_is_not() {
        all_blame(undone, &[]);
    }

    #[test]
    fn a_pool_whose_growth_was_cancelled_before_or_after_is_not() {
        all_blame(early_and_late, &[]);
    }
}
