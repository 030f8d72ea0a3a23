//! The words of a report: headline, explanation, chain and help.

use super::pattern::{Detour, Kind, Pattern};
use super::{Access, Object, Place, Report, Tier, Transaction};
use crate::trace::{ObjectKind, Op};

/// Fills in what the report says in words.
pub(super) fn tell(report: &mut Report) {
    report.message = headline(report);
    let detour = Detour::of(report);
    let explanation = match detour {
        Some(detour) => explanation(report, detour),
        None => format!(
            "event {} closes a cycle of transactions: no order of them explains this run",
            report.event
        ),
    };
    let chain = match report.pattern {
        Pattern::Chain(_) | Pattern::Order => chain(report),
        _ => Vec::new(),
    };
    let help = detour
        .map(|detour| help(report, detour))
        .unwrap_or_default();
    (report.explanation, report.chain, report.help) = (explanation, chain, help);
}

/// Fills in what the report says of a run that was cancelled half-way, whose two accesses are the
/// last write that stays and the first that is missing.
pub(super) fn tell_cancelled(report: &mut Report, kept: usize, missing: usize) {
    let (Some(kept), Some(missing)) = (report.access(kept), report.access(missing)) else {
        return;
    };
    let what = report.blamed().map(|run| party(run, "an async block"));
    let what = what.unwrap_or_default();
    let place = |access: &Access| match &access.place {
        Some(place) => format!(" at {place}"),
        None => String::new(),
    };
    let (a, b) = (object_label(report, kept), object_label(report, missing));
    let message = format!(
        "{what} was cancelled after it changed {a}{}; a complete run also changes {b}{}",
        place(kept),
        place(missing)
    );
    let explanation = format!(
        "the future was dropped at an `.await` after ({}): what it had written by then stays, and what a complete run does at ({}) was not done",
        kept.number, missing.number
    );
    let help = vec![
        format!(
            "undo ({}) in a destructor that is disarmed when all is done, or do both after the last `.await`",
            kept.number
        ),
        "run it in a task of its own, which goes on when its caller does not wait any more"
            .to_owned(),
        "where a half-done update is meant: `AERODROME_CANCELLED=off`".to_owned(),
    ];
    (report.message, report.explanation, report.help) = (message, explanation, help);
}

fn headline(report: &Report) -> String {
    let what = match report.blamed() {
        None => "the trace".to_string(),
        Some(transaction) => party(transaction, "an atomic block"),
    };
    match report.tier {
        Tier::Observed => format!("{what} is not atomic"),
        Tier::Predicted => format!("{what} is not atomic under another schedule of this run"),
        Tier::Potential => format!("{what} may not be atomic"),
    }
}

/// Who does it: a block by its name, or `nameless` on its thread.
fn party(transaction: &Transaction, nameless: &str) -> String {
    let strand = &transaction.strand;
    match &transaction.block {
        Some(block) if !block.name.is_empty() => format!("`{}`", block.name),
        Some(_) => format!("{nameless} on thread `{strand}`"),
        None => format!("an operation on thread `{strand}`"),
    }
}

/// The longest that a type's name may be with all its parameters.
const LONGEST_TYPE: usize = 60;

/// `Mutex<Account>` for `aerodrome::sync::Mutex<bank::Account>`. Of a longer name the innermost
/// parameters are left out: `RwLock<Shard<..>>`.
pub(super) fn short_type(name: &str) -> String {
    let whole = without_modules(name);
    let mut name = whole.clone();
    for depth in [3, 2, 1] {
        if name.len() > LONGEST_TYPE {
            name = without_parameters(&whole, depth);
        }
    }
    name
}

/// A type with `..` for the parameters that stand in `depth` pairs of angle brackets.
fn without_parameters(name: &str, depth: usize) -> String {
    let mut out = String::with_capacity(name.len());
    let mut inside = 0;
    let mut before = ' ';
    for c in name.chars() {
        // An arrow's is none.
        let closes = c == '>' && before != '-';
        inside -= usize::from(closes && inside > 0);
        if inside < depth {
            out.push(c);
        }
        inside += usize::from(c == '<');
        if c == '<' && inside == depth {
            out += "..";
        }
        before = c;
    }
    out
}

fn without_modules(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    let mut word = 0;
    for c in name.chars() {
        out.push(c);
        if out.ends_with("::") && out.len() > word + 2 {
            out.truncate(word);
        } else if !(c.is_alphanumeric() || c == '_' || c == ':') {
            word = out.len();
        }
    }
    out
}

/// The label of an access's object; equal labels of different objects get a number.
pub(super) fn object_label(report: &Report, access: &Access) -> String {
    let Some(object) = report.object_of(access) else {
        return "it".to_string();
    };
    let label = object.label();
    let alike: Vec<&Object> = report
        .objects
        .iter()
        .filter(|other| other.label() == label)
        .collect();
    match alike.iter().position(|other| std::ptr::eq(*other, object)) {
        Some(i) if alike.len() > 1 => format!("{label} #{}", i + 1),
        _ => label,
    }
}

/// `reads .. in transaction .. on thread ..`.
pub(super) fn told(report: &Report, access: &Access) -> String {
    format!(
        "{} {}",
        access.op.does(&object_label(report, access)),
        whereabouts(report, access)
    )
}

/// `in transaction .. on thread ..`.
pub(super) fn whereabouts(report: &Report, access: &Access) -> String {
    let transaction = report.transactions.get(access.transaction);
    // Under the `rust` semantics a child can work for its parent's transaction.
    let thread = &access.strand;
    match transaction.and_then(|transaction| transaction.block.as_ref()) {
        Some(block) if !block.name.is_empty() => {
            format!("in transaction `{}` on thread `{thread}`", block.name)
        }
        Some(_) => format!("in a transaction on thread `{thread}`"),
        None => format!("outside any atomic block on thread `{thread}`"),
    }
}

/// `wrote`, of an access by another.
fn did(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "wrote",
        Kind::Update => "updated",
    }
}

fn who(report: &Report, detour: Detour<'_>) -> &'static str {
    match report.transactions.get(detour.out.transaction) {
        Some(transaction)
            if Some(&transaction.strand) == report.blamed().map(|blamed| &blamed.strand) =>
        {
            "another transaction"
        }
        _ => "another thread",
    }
}

fn explanation(report: &Report, detour: Detour<'_>) -> String {
    let Detour { first, last, .. } = detour;
    let another = who(report, detour);
    let (a, b) = (object_label(report, first), object_label(report, last));
    let (from, to) = (format!("({})", first.number), format!("({})", last.number));
    let text = match report.pattern {
        Pattern::OneObject(kind_first, middle, kind_last) => {
            one_object(another, &a, [kind_first, middle, kind_last], &from, &to)
        }
        Pattern::TwoObjects => two_objects(another, detour, &a, &b, &from, &to),
        Pattern::LockOrder if a == b => format!(
            "this block gave {a} up at {from} and took it again at {to}; {another} held it in between: what is done under the lock is not done in one piece"
        ),
        Pattern::LockOrder => format!(
            "{another} took {a} after this block gave it up at {from}, and gave up {b} before this block took it at {to}: neither block comes wholly before the other"
        ),
        Pattern::Order => format!(
            "what happens between {from} and {to} depends on {another}, which depends on this block: neither comes wholly before the other"
        ),
        // All of them, as they are listed: a party may be several, one after the other.
        Pattern::Chain(_) => format!(
            "{} transactions of other threads came between {from} and {to}, each after the one before: together they make this block come before itself",
            report.transactions.len() - 1
        ),
        Pattern::Cancelled | Pattern::Unknown => String::new(),
    };
    match report.tier {
        Tier::Observed => text,
        Tier::Predicted | Tier::Potential => {
            format!("not in this run, but under another schedule: {text}")
        }
    }
}

fn one_object(
    another: &str,
    object: &str,
    [first, middle, last]: [Kind; 3],
    from: &str,
    to: &str,
) -> String {
    let between = format!("{another} {} {object} between", did(middle));
    let last_noun = last.name();
    let first_noun = first.name();
    match (first.changes(), middle.changes(), last.changes()) {
        (false, _, true) => {
            format!(
                "{between} this check {from} and this {last_noun} {to}: the decision was made on a stale value"
            )
        }
        (false, _, false) => format!(
            "{between} the reads {from} and {to}: the block saw two different values of one thing"
        ),
        (true, false, _) => {
            format!(
                "{between} the {first_noun} {from} and the {last_noun} {to}: it saw a value that was not meant to be seen"
            )
        }
        (true, true, false) => {
            format!(
                "{between} this {first_noun} {from} and this read {to}: the block read back what it had not put there"
            )
        }
        (true, true, true) => {
            format!(
                "{between} this {first_noun} {from} and this {last_noun} {to}: one change fell into the middle of the other"
            )
        }
    }
}

fn two_objects(
    another: &str,
    detour: Detour<'_>,
    a: &str,
    b: &str,
    from: &str,
    to: &str,
) -> String {
    let kinds =
        [detour.first, detour.out, detour.back, detour.last].map(|access| Kind::of(access.op));
    let [Some(first), Some(out), Some(back), Some(last)] = kinds else {
        return format!(
            "{another} came in after this block's access of {a} at {from} and was through with {b} before this block's access of it at {to}: neither comes wholly before the other"
        );
    };
    match (
        first.changes(),
        out.changes(),
        back.changes(),
        last.changes(),
    ) {
        (true, false, false, true) => format!(
            "{another} read {a} and {b} between the {} of {a} {from} and the {} of {b} {to}: it saw the new {a} with the old {b}",
            first.name(),
            last.name()
        ),
        (false, true, true, false) => format!(
            "{another} changed {a} and {b} between the read of {a} {from} and the read of {b} {to}: the block saw the old {a} with the new {b}"
        ),
        (false, true, false, true) => format!(
            "this block read {a} {from} and then changed {b} {to}, {another} read {b} and changed {a}: each decided on what the other made stale"
        ),
        (false, true, true, true) => format!(
            "{another} changed {a} and {b} between the check of {a} {from} and the {} of {b} {to}: the decision was made on a stale {a}",
            last.name()
        ),
        (true, true, true, true) => format!(
            "{another} changed {a} after this block did {from}, and {b} before this block did {to}: {a} is left as one of them wants it, {b} as the other"
        ),
        _ => format!(
            "{another} {} {a} after this block {} it {from}, and {} {b} before this block {} it {to}: neither comes wholly before the other",
            did(out),
            did(first),
            did(back),
            did(last)
        ),
    }
}

/// The cycle edge by edge, from the blamed transaction round to it again.
fn chain(report: &Report) -> Vec<String> {
    let count = report.edges.len();
    let name = |i: usize| party(&report.transactions[i % count], "a transaction");
    (0..count)
        .filter_map(|i| {
            let at = report.blame + i;
            let edge = report.edges[at % count];
            let (from, to) = (report.access(edge.from)?, report.access(edge.to)?);
            Some(format!(
                "{} comes before {}: {}",
                name(at),
                name(at + 1),
                reason(report, from, to)
            ))
        })
        .collect()
}

fn reason(report: &Report, from: &Access, to: &Access) -> String {
    let (a, b) = (from.number, to.number);
    match (from.op, to.op) {
        _ if from.strand == to.strand => format!(
            "({a}) and ({b}) are one after the other on thread `{}`",
            from.strand
        ),
        (Op::Send, Op::Recv) => format!("({a}) sends the message that ({b}) receives"),
        (Op::Signal, Op::Await) => format!("({a}) signals what ({b}) waits for"),
        (Op::Fork, _) => format!("({a}) spawns the thread of ({b})"),
        (_, Op::Join) => format!("({b}) joins the thread of ({a})"),
        _ => format!(
            "({a}) {} before ({b}) {}",
            from.op.does(&object_label(report, from)),
            to.op.does("it")
        ),
    }
}

fn is_lock(object: Option<&Object>) -> bool {
    object.is_some_and(|object| matches!(object.kind, ObjectKind::Lock | ObjectKind::BareLock))
}

/// What an object is that is no lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sort {
    /// Initialised once.
    Once,
    Channel,
    Other,
}

fn sort(type_name: &str) -> Sort {
    let path = type_name.split('<').next().unwrap_or_default();
    match path.rsplit("::").next().unwrap_or_default() {
        "Once" | "OnceLock" | "OnceCell" | "OnceBox" | "OnceRef" | "OnceBool"
        | "OnceNonZeroUsize" | "LazyLock" | "Lazy" => Sort::Once,
        "Sender" | "SyncSender" | "Receiver" => Sort::Channel,
        _ => Sort::Other,
    }
}

fn help(report: &Report, detour: Detour<'_>) -> Vec<String> {
    let (first, from) = (detour.first, detour.first.number);
    let mut help = match report.pattern {
        Pattern::OneObject(kind_first, _, kind_last) => {
            help_with_one(report, detour, kind_first, kind_last)
        }
        _ => help_with_more(report, detour),
    };
    // What can be written into the program is no use to who has only a trace.
    let has_source = |access: &Access| matches!(access.place, Some(Place::Source { .. }));
    if report.accesses.iter().any(has_source) {
        let intended = match Kind::of(first.op) {
            Some(Kind::Read) => format!(
                "if a stale ({from}) is allowed for, say so with `aerodrome::restart()` after it,"
            ),
            _ => "if this is intended, make the block smaller,".to_string(),
        };
        help.push(format!(
            "{intended} or import what need not be tracked from `aerodrome::real`"
        ));
    }
    help
}

fn help_with_one(report: &Report, detour: Detour<'_>, first: Kind, last: Kind) -> Vec<String> {
    let a = object_label(report, detour.first);
    let (from, to) = (detour.first.number, detour.last.number);
    let object = report.object_of(detour.first);
    let lock = || format!("hold one lock from ({from}) to ({to}), here and wherever {a} is used");
    // A trace of somebody else's tool does not say what is an atomic and what a lock's content.
    let type_name = object.and_then(|object| object.type_name.as_deref());
    if is_lock(object) {
        let mut help = vec![format!(
            "lock {a} once and hold the guard from ({from}) to ({to})"
        )];
        let is_map = type_name.is_some_and(|name| name.contains("Map"));
        help.extend(match (first, last) {
            (Kind::Read, Kind::Read) => Some("read once and work on the copy".to_string()),
            (Kind::Read, _) if is_map => {
                Some("`entry` looks up and inserts under one guard".to_string())
            }
            _ => None,
        });
        return help;
    }
    match type_name.map(sort) {
        None => vec![lock()],
        Some(Sort::Once) => vec![format!(
            "look and initialise in one step, by `get_or_init` or `call_once`, instead of ({from}) \
             and ({to})"
        )],
        Some(Sort::Channel) => vec![
            format!(
                "do not ask at ({from}): try at ({to}), by `try_send` or `try_recv`, and see \
                 whether it succeeds"
            ),
            lock(),
        ],
        Some(Sort::Other) => vec![
            match (first, last) {
                (Kind::Read, Kind::Read) => "read once and use that value for both".to_string(),
                (Kind::Read, _) => format!(
                    "make ({from}) and ({to}) one operation: `fetch_update`, `swap` or \
                     `compare_exchange`"
                ),
                (_, Kind::Read) => format!(
                    "use what ({from}) put there, or what `swap` and `fetch_add` return, instead \
                     of reading again"
                ),
                _ => format!(
                    "make the change in one operation, so that nothing between ({from}) and ({to}) \
                     can be seen"
                ),
            },
            format!("put {a} into a `Mutex` and hold its guard from ({from}) to ({to})"),
        ],
    }
}

fn help_with_more(report: &Report, detour: Detour<'_>) -> Vec<String> {
    let accesses = [detour.first, detour.last];
    let [a, b] = accesses.map(|access| object_label(report, access));
    let [lock_a, lock_b] = accesses.map(|access| is_lock(report.object_of(access)));
    let [from, to] = accesses.map(|access| access.number);
    let object = report.object_of(detour.first);
    let is_typed = object.is_some_and(|object| object.type_name.is_some());
    vec![match report.pattern {
        Pattern::LockOrder if a == b => format!("keep the guard of {a} from ({from}) to ({to})"),
        Pattern::TwoObjects | Pattern::LockOrder if lock_a && lock_b => {
            return vec![
                format!(
                    "lock {a} and {b} before ({from}) and hold both guards to ({to}), in the same \
                     order everywhere"
                ),
                "put both behind one lock".to_string(),
            ];
        }
        Pattern::TwoObjects if lock_a || lock_b => {
            let (outside, lock) = if lock_a { (&b, &a) } else { (&a, &b) };
            format!(
                "move {outside} into what {lock} guards, and hold the guard from ({from}) to ({to})"
            )
        }
        Pattern::TwoObjects if is_typed => {
            format!("{a} and {b} cannot change as one: put both behind one `Mutex`")
        }
        Pattern::TwoObjects | Pattern::LockOrder => {
            format!("hold one lock from ({from}) to ({to}), here and wherever {a} and {b} are used")
        }
        Pattern::Chain(_) if lock_a => format!(
            "keep {a} locked from ({from}) until ({to}) is done: then nobody can start the chain"
        ),
        Pattern::Chain(_) | Pattern::Order => format!(
            "hold one lock from ({from}) to ({to}) that every other step of the cycle takes as well"
        ),
        Pattern::Cancelled | Pattern::Unknown | Pattern::OneObject(..) => return Vec::new(),
    }]
}

#[cfg(test)]
mod tests {
    use super::short_type;

    #[test]
    fn types_lose_their_modules_and_keep_their_shape() {
        let cases = [
            (
                "aerodrome::sync::mutex::Mutex<bank::Account>",
                "Mutex<Account>",
            ),
            (
                "std::collections::HashMap<alloc::string::String, (a::B, &'static c::D)>",
                "HashMap<String, (B, &'static D)>",
            ),
            ("<a::B as c::D>::E", "<B as D>::E"),
            ("u64", "u64"),
            (
                "RwLock<Shard<u32, u32, Weighter, RandomState, Lifecycle<u32, u32>, Arc<Slot<u32>>>>",
                "RwLock<Shard<..>>",
            ),
            (
                "a::Mutex<std::collections::HashMap<std::string::String, b::Entry<c::Value<c::Leaf>>>>",
                "Mutex<HashMap<String, Entry<Value<Leaf>>>>",
            ),
            (
                "Mutex<HashMap<String, Box<dyn Fn(Request) -> Response<Body>>, BuildHasherDefault<Fx>>>",
                "Mutex<HashMap<String, Box<..>, BuildHasherDefault<..>>>",
            ),
            (
                "Mutex<(SomethingQuiteLong, SomethingQuiteLong, SomethingQuiteLong, Something)>",
                "Mutex<..>",
            ),
        ];
        for (long, short) in cases {
            assert_eq!(short_type(long), short);
        }
    }
}
