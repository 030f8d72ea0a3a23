//! A connection pool that a cancelled request leaves torn: a place was counted, and the connection
//! was never opened.
//!
//!     cargo run --example pool --features check,tokio
//!
//! `Torn::grow` counts first and then waits for the connection. A request that goes away meanwhile
//! (a timeout, a closed socket, an arm of `select!` that lost) drops the future there. `Whole::grow`
//! has what it counted in a value whose destructor gives it back.

use std::sync::Arc;
use std::time::Duration;

use aerodrome::atomic;
use aerodrome::sync::Mutex;
use aerodrome::tokio;

/// What it takes to open a connection.
async fn connect(patience: Duration) -> u32 {
    tokio::time::sleep(patience).await;
    1
}

#[derive(Default)]
struct Torn {
    size: Mutex<usize>,
    open: Mutex<Vec<u32>>,
}

#[atomic]
impl Torn {
    async fn grow(&self, patience: Duration) {
        *self.size.lock().unwrap() += 1;
        let connection = connect(patience).await;
        self.open.lock().unwrap().push(connection);
    }
}

#[derive(Default)]
struct Whole {
    size: Mutex<usize>,
    open: Mutex<Vec<u32>>,
}

/// A place in the pool. Dropped, it is given back.
struct Place<'a>(&'a Mutex<usize>);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.lock().unwrap() -= 1;
    }
}

#[atomic]
impl Whole {
    async fn grow(&self, patience: Duration) {
        *self.size.lock().unwrap() += 1;
        let place = Place(&self.size);
        let connection = connect(patience).await;
        self.open.lock().unwrap().push(connection);
        // From here on the connection stands for it.
        std::mem::forget(place);
    }
}

const SHORT: Duration = Duration::from_millis(1);
const LONG: Duration = Duration::from_secs(60);

/// One request is served, and one goes away.
async fn requests<P, F>(pool: Arc<P>, grow: impl Fn(Arc<P>, Duration) -> F)
where
    F: Future<Output = ()>,
{
    grow(pool.clone(), SHORT).await;
    let gone = tokio::time::timeout(SHORT, grow(pool, LONG)).await;
    assert!(gone.is_err());
}

fn run(program: impl Future<Output = ()>) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_time().build().unwrap().block_on(program);
}

/// How many are counted, and how many are open.
fn torn() -> (usize, usize) {
    let pool = Arc::new(Torn::default());
    run(requests(pool.clone(), |pool, patience| async move {
        pool.grow(patience).await;
    }));
    let counts = (*pool.size.lock().unwrap(), pool.open.lock().unwrap().len());
    counts
}

/// The same of the pool that gives its places back.
fn whole() -> (usize, usize) {
    let pool = Arc::new(Whole::default());
    run(requests(pool.clone(), |pool, patience| async move {
        pool.grow(patience).await;
    }));
    let counts = (*pool.size.lock().unwrap(), pool.open.lock().unwrap().len());
    counts
}

#[cfg(feature = "check")]
fn main() {
    let judged = aerodrome::check(torn);
    println!("torn: (counted, open) = {:?}", judged.value);
    for report in &judged.violations {
        println!("{report}");
    }
    assert_eq!(judged.violations.len(), 1);
    let judged = aerodrome::check(whole);
    println!("whole: (counted, open) = {:?}", judged.value);
    assert!(judged.is_serializable());
}

#[cfg(not(feature = "check"))]
fn main() {
    println!("torn: (counted, open) = {:?}", torn());
    println!("whole: (counted, open) = {:?}", whole());
}
