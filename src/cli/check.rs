//! `aerodrome check`: is the trace conflict serializable?

use std::fmt::Write as _;
use std::ops::ControlFlow;

use lexopt::{Arg, Parser};
use serde::Serialize;

use super::feed::{NotAtomic, feed};
use super::progress::Progress;
use super::{Failure, Verdict, files, format, open, print, semantics};
use crate::check::{Checker, EngineKind, Violation};
use crate::trace::{Names, Op, Semantics, SiteId, SiteInfo, object_name, op_name};

const HELP: &str = "\
Says whether a serial order of the transactions explains the trace, and shows the cycle where there is none.

Usage: aerodrome check [OPTIONS] FILE

Options:
      --engine exact|aerodrome|velodrome
                                exact (the default) reports every cycle at the event that closes it
      --semantics rust|paper    how locks, updates, waiting and forks are read; what the trace says by default,
                                which for .std and .csv is paper
      --not-atomic FILE         blocks that are not transactions: a name a line, as in begin(..)
      --all                     go on after a violation; the same one again is counted, not shown
      --format std|csv|aero     the format of FILE, where neither its content nor its name tells it
      --json                    one JSON object
  -h, --help                    this page

Exit code: 0 serializable, 1 a violation, 2 the input or the usage is wrong.
";

#[derive(Default)]
struct Options {
    engine: EngineKind,
    semantics: Option<Semantics>,
    not_atomic: Option<NotAtomic>,
    all: bool,
    json: bool,
}

#[derive(Serialize)]
struct Answer<'a> {
    verdict: &'static str,
    events: u64,
    violations: &'a [Found],
}

/// A violation with its numbers resolved, as numbers are given to others later.
#[derive(Serialize)]
struct Found {
    event: u64,
    /// An index into the transactions.
    blame: usize,
    transactions: Vec<Transaction>,
    edges: Vec<Edge>,
    /// How often it came up again.
    repeats: u64,
}

#[derive(Serialize)]
struct Transaction {
    strand: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    block: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    begin: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
}

#[derive(Serialize)]
struct Edge {
    from: Access,
    to: Access,
}

#[derive(Serialize)]
struct Access {
    position: u64,
    strand: String,
    op: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    site: Option<String>,
}

pub(super) fn run(mut parser: Parser) -> Result<Verdict, Failure> {
    let mut options = Options::default();
    let (mut given, mut forced) = (Vec::new(), None);
    while let Some(arg) = parser.next()? {
        match arg {
            Arg::Value(file) => given.push(file),
            Arg::Long("engine") => {
                let name = parser.value()?;
                options.engine = name
                    .to_string_lossy()
                    .parse()
                    .map_err(|error| Failure::Usage(format!("--engine: {error}")))?;
            }
            Arg::Long("semantics") => {
                options.semantics = Some(semantics(&parser.value()?)?);
            }
            Arg::Long("not-atomic") => {
                options.not_atomic = Some(NotAtomic::read(&parser.value()?.to_string_lossy())?);
            }
            Arg::Long("all") => options.all = true,
            Arg::Long("json") => options.json = true,
            Arg::Long("format") => forced = Some(format(&parser.value()?)?),
            Arg::Long("help") | Arg::Short('h') => return print(HELP),
            _ => return Err(arg.unexpected().into()),
        }
    }
    let [file] = files(given, ["FILE"])?;
    let mut source = open(&file, forced)?;
    let mut checker = Checker::new(
        options.engine,
        options.semantics.unwrap_or(source.semantics()),
    );
    let mut found = Vec::new();
    let events = feed(
        source.as_mut(),
        options.not_atomic.as_mut(),
        Progress::new(&file),
        |_, event, position, names| {
            if let Some(event) = event
                && let Some(violation) = checker.step(event, position, names)
            {
                found.push(Found::new(&violation, names));
                if !options.all {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        },
    )?;
    while options.all || found.is_empty() {
        let Some(violation) = checker.finish() else {
            break;
        };
        found.push(Found::new(&violation, source.names()));
    }
    for (found, count) in found.iter_mut().zip(checker.counts()) {
        found.repeats = count.saturating_sub(1);
    }
    let verdict = if found.is_empty() {
        Verdict::Clean
    } else {
        Verdict::Violation
    };
    let word = if found.is_empty() {
        "serializable"
    } else {
        "violation"
    };
    print(&if options.json {
        super::json(&Answer {
            verdict: word,
            events,
            violations: &found,
        })
    } else {
        text(events, &found)
    })?;
    Ok(verdict)
}

impl Found {
    fn new(violation: &Violation, names: &dyn Names) -> Self {
        let transactions = violation
            .transactions
            .iter()
            .map(|transaction| Transaction {
                strand: names.strand(transaction.strand).name,
                block: transaction.block.map(|block| names.block(block).name),
                begin: transaction.begin,
                site: site(transaction.site, names),
            });
        let access = |access: &crate::check::Access| Access {
            position: access.position,
            strand: names.strand(access.strand).name,
            op: op_name(access.op),
            object: access.object.map(|object| object_name(names, object)),
            site: site(access.site, names).filter(|_| access.op != Op::Value),
        };
        let edges = violation.edges.iter().map(|edge| Edge {
            from: access(&edge.from),
            to: access(&edge.to),
        });
        Found {
            event: violation.event,
            blame: violation.blame,
            transactions: transactions.collect(),
            edges: edges.collect(),
            repeats: 0,
        }
    }
}

fn site(id: SiteId, names: &dyn Names) -> Option<String> {
    Some(match names.site(id)? {
        SiteInfo::Source { file, line, column } => format!("{file}:{line}:{column}"),
        SiteInfo::Label(label) => label,
    })
}

/// The answer for people.
fn text(events: u64, found: &[Found]) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    for found in found {
        let _ = violation(&mut text, found);
    }
    let _ = match found.len() {
        0 => writeln!(text, "serializable: {events} events"),
        1 => writeln!(text, "violation: {events} events read"),
        count => writeln!(text, "{count} violations: {events} events read"),
    };
    text
}

fn violation(text: &mut String, found: &Found) -> std::fmt::Result {
    let name = |index: usize| match found.transactions.get(index) {
        Some(Transaction {
            strand,
            block: Some(block),
            ..
        }) if !block.is_empty() => format!("{block} of {strand}"),
        Some(Transaction {
            strand,
            block: Some(_),
            ..
        }) => format!("a block of {strand}"),
        Some(Transaction { strand, .. }) => format!("an event of {strand} outside any block"),
        None => "a transaction".to_owned(),
    };
    writeln!(
        text,
        "violation at event {}: {} is not atomic",
        found.event,
        name(found.blame)
    )?;
    for (index, transaction) in found.transactions.iter().enumerate() {
        write!(text, "  transaction {}: {}", index + 1, name(index))?;
        if let Some(begin) = transaction.begin {
            write!(text, ", begun at event {begin}")?;
        }
        if let Some(site) = &transaction.site {
            write!(text, " at {site}")?;
        }
        writeln!(text)?;
    }
    let show = |text: &mut String, access: &Access| {
        write!(
            text,
            "event {}: {} {}",
            access.position, access.strand, access.op
        )?;
        if let Some(object) = &access.object {
            write!(text, "({object})")?;
        }
        match &access.site {
            Some(site) => write!(text, " at {site}"),
            None => Ok(()),
        }
    };
    for (index, edge) in found.edges.iter().enumerate() {
        let next = (index + 1) % found.transactions.len().max(1);
        write!(text, "  {} comes before {}: ", index + 1, next + 1)?;
        show(text, &edge.from)?;
        write!(text, ", then ")?;
        show(text, &edge.to)?;
        writeln!(text)?;
    }
    match found.repeats {
        0 => writeln!(text),
        1 => writeln!(text, "  seen once more\n"),
        repeats => writeln!(text, "  seen {repeats} times more\n"),
    }
}
