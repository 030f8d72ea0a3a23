//! `StringBuffer`, `Vector`, `Hashtable` and `Stack` with the locking of the JDK's, and what one serial run of each pair of
//! methods says about all other runs.
//!
//! ```text
//! cargo run --example collections --features check
//! ```
//!
//! The driver is figure 6 of Wang and Stoller, "Runtime Analysis of Atomicity for Multithreaded Programs" (TSE 2006): for every two methods of a
//! class it makes two instances and two threads; one thread calls the first method of the first instance, the other the second
//! method of the second. A method that needs an instance as an argument is given the other one. Two
//! such methods are not paired, because each would hold its own lock and wait for the other's.
//!
//! The threads run one after the other, and every call is atomic in this run. The table counts the methods that another schedule
//! of the same events would break, by analysis, as the paper's table 1 does: bugs, benign violations, false alarms. What is a bug
//! and what is benign is a judgement, and stands with the method, with its reason. The pattern is the same in all of them: a method
//! holds its own lock throughout, and calls several synchronized methods of the other, whose lock is free in between.

use std::collections::BTreeSet;
use std::sync::mpsc;

use aerodrome::{Config, Predict, thread};

#[path = "collections/hashtable.rs"]
mod hashtable;
#[path = "collections/string_buffer.rs"]
mod string_buffer;
#[path = "collections/vector.rs"]
mod vector;

/// The other collection was changed while this one walked over it: the JDK's `ConcurrentModificationException`.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct ConcurrentModification;

/// What a violation of a method's atomicity means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// It leaves what no serial order leaves.
    Bug(&'static str),
    /// It does no harm.
    Benign(&'static str),
}

/// Calls a method on one instance with another as its argument.
type Call<C> = Box<dyn Fn(&C, &C) + Send + Sync>;

/// A method of a class, with arguments to call it with.
pub(crate) struct Method<C> {
    name: &'static str,
    /// It takes another instance.
    takes_other: bool,
    verdict: Option<Verdict>,
    call: Call<C>,
}

impl<C> Method<C> {
    /// One that knows its own instance alone.
    fn alone<R>(name: &'static str, call: impl Fn(&C) -> R + Send + Sync + 'static) -> Self {
        Method {
            name,
            takes_other: false,
            verdict: None,
            call: Box::new(move |own, _| drop(call(own))),
        }
    }

    /// One that is given the other instance.
    fn with_other<R>(
        name: &'static str,
        verdict: Option<Verdict>,
        call: impl Fn(&C, &C) -> R + Send + Sync + 'static,
    ) -> Self {
        Method {
            name,
            takes_other: true,
            verdict,
            call: Box::new(move |own, other| drop(call(own, other))),
        }
    }
}

/// A class that the driver can drive.
pub(crate) trait Class: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    /// An instance with something in it.
    fn filled() -> Self;

    fn methods() -> Vec<Method<Self>>;
}

/// A row of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) class: &'static str,
    pub(crate) methods: usize,
    /// The methods whose violations are predicted.
    pub(crate) found: BTreeSet<&'static str>,
    verdicts: Vec<(&'static str, Verdict)>,
}

impl Row {
    fn verdict(&self, method: &str) -> Option<Verdict> {
        let known = self.verdicts.iter().find(|(name, _)| *name == method);
        known.map(|&(_, verdict)| verdict)
    }

    /// How many methods are found: bugs, benign, false alarms.
    pub(crate) fn counts(&self) -> [usize; 3] {
        let mut counts = [0; 3];
        for method in &self.found {
            let kind = match self.verdict(method) {
                Some(Verdict::Bug(_)) => 0,
                Some(Verdict::Benign(_)) => 1,
                None => 2,
            };
            counts[kind] += 1;
        }
        counts
    }
}

/// Drives every pair of methods of a class.
fn survey<C: Class>() -> Row {
    let methods = C::methods();
    let mut found = BTreeSet::new();
    for first in &methods {
        for second in &methods {
            if !(first.takes_other && second.takes_other) {
                test_two_methods(first, second, &mut found);
            }
        }
    }
    let verdicts = methods
        .iter()
        .filter_map(|method| method.verdict.map(|verdict| (method.name, verdict)));
    Row {
        class: C::NAME,
        verdicts: verdicts.collect(),
        methods: methods.len(),
        found,
    }
}

/// Adds the methods that another schedule of the two calls would break.
fn test_two_methods<C: Class>(
    first: &Method<C>,
    second: &Method<C>,
    found: &mut BTreeSet<&'static str>,
) {
    let outcome = aerodrome::check(|| {
        let (one, two) = (&C::filled(), &C::filled());
        // std's own channel: it makes this schedule certain, and is no order that another schedule would have to keep.
        let (done, wait) = mpsc::channel();
        thread::scope(|scope| {
            let call_first = move || {
                (first.call)(one, two);
                done.send(()).expect("the second thread waits");
            };
            let call_second = move || {
                wait.recv().expect("the first thread sends");
                (second.call)(two, one);
            };
            let named = |name: &str| thread::Builder::new().name(name.to_string());
            named("first").spawn_scoped(scope, call_first).unwrap();
            named("second").spawn_scoped(scope, call_second).unwrap();
        });
    });
    assert!(outcome.is_serializable(), "the calls came in turn");
    for violation in outcome.forecast.iter().flat_map(|all| &all.violations) {
        let strands = violation.accesses.iter().map(|access| &access.strand);
        for (strand, method) in [("first", first), ("second", second)] {
            // Broken is who has another's access between his own.
            let from = strands.clone().position(|own| own == strand);
            let to = strands.clone().rposition(|own| own == strand);
            let broken = match (from, to) {
                (Some(from), Some(to)) => strands
                    .clone()
                    .skip(from)
                    .take(to - from)
                    .any(|own| own != strand),
                _ => false,
            };
            if broken {
                found.insert(method.name);
            }
        }
    }
}

/// The table: a row for each class.
pub(crate) fn table() -> Vec<Row> {
    vec![
        survey::<string_buffer::StringBuffer>(),
        survey::<vector::Vector>(),
        survey::<hashtable::Hashtable>(),
        survey::<vector::Stack>(),
    ]
}

fn print(rows: &[Row]) {
    println!("methods with violations: bugs-benign-false alarms\n");
    println!("class         methods  predicted");
    for row in rows {
        let [bugs, benign, alarms] = row.counts();
        let predicted = format!("{bugs}-{benign}-{alarms}");
        println!("{:<12} {:>8} {predicted:>10}", row.class, row.methods);
    }
    for row in rows {
        println!("\n{}", row.class);
        for (method, verdict) in &row.verdicts {
            let (kind, why) = match verdict {
                Verdict::Bug(why) => ("bug", why),
                Verdict::Benign(why) => ("benign", why),
            };
            println!("  {method} ({kind}): {why}");
        }
        let alarms = row.found.iter();
        let alarms: BTreeSet<_> = alarms
            .filter(|method| row.verdict(method).is_none())
            .copied()
            .collect();
        if !alarms.is_empty() {
            let alarms: Vec<_> = alarms.into_iter().collect();
            println!("  false alarms: {}", alarms.join(", "));
        }
    }
}

pub(crate) fn install() -> Result<(), aerodrome::ConfigError> {
    Config::from_env()?.predict(Predict::Warn).install()
}

#[cfg_attr(test, expect(dead_code, reason = "a test calls what `main` calls"))]
fn main() -> Result<(), aerodrome::ConfigError> {
    install()?;
    print(&table());
    Ok(())
}
