//! The violations that the snapshots show.

use aerodrome::check::Violation;
use aerodrome::report::{Extras, Frame, Place, Report, Tier, source::Workspace};
use aerodrome::trace::*;

use crate::tale::{Tale, Who};

const MUTEX: &str = "aerodrome::sync::mutex::Mutex<u64>";

pub(crate) fn report(violation: &Violation, tale: &Tale) -> Report {
    report_with(violation, tale, &Extras::default())
}

pub(crate) fn report_with(violation: &Violation, tale: &Tale, extras: &Extras<'_>) -> Report {
    Report::new(violation, tale, extras).with_sources(&Workspace::find())
}

fn balance(tale: &Tale) -> ObjectId {
    let created = tale.at("bank.rs", "balance: Mutex::^new");
    tale.object(ObjectKind::Lock, Some("balance"), Some(MUTEX), created)
}

/// `first` and `last` of alice's block around `middle` of bob's, all on one object.
fn sandwich(
    tale: &Tale,
    object: ObjectId,
    alice: (&str, &str),
    ops: [(Op, &str); 3],
    bob: (&str, &str),
) -> Violation {
    let fixture = if alice.0.starts_with("Cluster") {
        "stats.rs"
    } else {
        "bank.rs"
    };
    let a = tale.begin("alice", alice.0, tale.at(fixture, alice.1));
    let first = tale.access(a, ops[0].0, object, tale.at(fixture, ops[0].1));
    let b = tale.begin("bob", bob.0, tale.at(fixture, bob.1));
    let middle = tale.access(b, ops[1].0, object, tale.at(fixture, ops[1].1));
    let last = tale.access(a, ops[2].0, object, tale.at(fixture, ops[2].1));
    tale.cycle(&[(a, first, middle), (b, middle, last)])
}

const WITHDRAW: (&str, &str) = ("Account::withdraw", "fn withdraw");
const DEPOSIT: (&str, &str) = ("Account::deposit", "fn deposit");
const AUDIT: (&str, &str) = ("Account::audit", "fn audit");
const RESET: (&str, &str) = ("Account::reset", "fn reset");
const STATUS: (&str, &str) = ("Account::status", "fn status");
const CHECK: &str = "let balance = ^*self.balance";
const TAKE: &str = "*self.balance.lock().unwrap() = balance";
const ADD: &str = "*self.balance.lock().unwrap() +=";
const CLEAR: &str = "*self.balance.lock().unwrap() = 0";
const CLEAR_LIMIT: &str = "*self.limit.lock().unwrap() = 0";
const BACK: &str = "*self.balance.lock().unwrap()\n";
const LOOK: &str = "(limit, ^*self.balance";
const LIMIT: &str = "let limit = ^*self.limit";

/// Every case by the name of its snapshot.
pub(crate) fn all() -> Vec<(&'static str, Report)> {
    let one = |alice, ops, bob| {
        let tale = Tale::default();
        let object = balance(&tale);
        report(&sandwich(&tale, object, alice, ops, bob), &tale)
    };
    vec![
        (
            "read-write-write",
            one(
                WITHDRAW,
                [(Op::Read, CHECK), (Op::Write, ADD), (Op::Write, TAKE)],
                DEPOSIT,
            ),
        ),
        (
            "read-write-read",
            one(
                AUDIT,
                [
                    (Op::Read, "let before = ^*"),
                    (Op::Write, ADD),
                    (Op::Read, "let after = ^*"),
                ],
                DEPOSIT,
            ),
        ),
        (
            "write-read-write",
            one(
                RESET,
                [(Op::Write, CLEAR), (Op::Read, LOOK), (Op::Write, BACK)],
                STATUS,
            ),
        ),
        (
            "write-write-read",
            one(
                RESET,
                [(Op::Write, CLEAR), (Op::Write, ADD), (Op::Read, BACK)],
                DEPOSIT,
            ),
        ),
        (
            "write-write-write",
            one(
                RESET,
                [(Op::Write, CLEAR), (Op::Write, ADD), (Op::Write, BACK)],
                DEPOSIT,
            ),
        ),
        ("read-update-update", admission()),
        ("update-read-update", updates()),
        (
            "two-objects-torn-read",
            two([Op::Write, Op::Read, Op::Read, Op::Write], true),
        ),
        (
            "two-objects-mixed-snapshot",
            two([Op::Read, Op::Write, Op::Write, Op::Read], true),
        ),
        (
            "two-objects-write-skew",
            two([Op::Read, Op::Write, Op::Read, Op::Write], true),
        ),
        (
            "two-objects-stale-check",
            two([Op::Read, Op::Write, Op::Write, Op::Write], true),
        ),
        (
            "two-objects-crossed-writes",
            two([Op::Write, Op::Write, Op::Write, Op::Write], true),
        ),
        (
            "two-objects-alike",
            two([Op::Write, Op::Read, Op::Read, Op::Write], false),
        ),
        ("lock-order", locks()),
        ("chain-of-three", chain(false)),
        ("chain-over-three-objects", chain(true)),
        ("chain-in-program-order", chain_in_program_order()),
        ("program-order", program_order()),
        ("types-instead-of-names", unnamed()),
        ("labels-of-a-trace", labels()),
        ("unreadable-sources", unreadable()),
        ("outside-any-block", unary()),
        ("panic", panic()),
        ("backtrace", backtrace()),
        ("predicted", predicted()),
        ("no-edges", no_edges()),
        ("control-characters", hostile()),
    ]
}

fn admission() -> Report {
    let tale = Tale::default();
    let n = tale.object(
        ObjectKind::Variable,
        Some("running"),
        Some("core::sync::atomic::AtomicUsize"),
        SiteId::NONE,
    );
    let (block, load, add) = (
        tale.at("stats.rs", "fn try_admit"),
        "self.running.^load",
        "self.running.^fetch_add",
    );
    let a = tale.begin("worker-1", "Cluster::try_admit", block);
    let b = tale.begin("worker-2", "Cluster::try_admit", block);
    let first = tale.access(a, Op::Read, n, tale.at("stats.rs", load));
    let back = tale.access(b, Op::Read, n, tale.at("stats.rs", load));
    let out = tale.access(b, Op::Update(Update::Add), n, tale.at("stats.rs", add));
    let last = tale.access(a, Op::Update(Update::Add), n, tale.at("stats.rs", add));
    report(&tale.cycle(&[(a, first, out), (b, back, last)]), &tale)
}

fn updates() -> Report {
    let tale = Tale::default();
    let n = tale.object(
        ObjectKind::Variable,
        Some("running"),
        Some("core::sync::atomic::AtomicUsize"),
        SiteId::NONE,
    );
    let add = (Op::Update(Update::Add), "self.running.^fetch_add");
    let ops = [
        add,
        (
            Op::Read,
            "(self.running.^load(Ordering::Acquire), self.peak",
        ),
        add,
    ];
    report(
        &sandwich(
            &tale,
            n,
            ("Cluster::try_admit", "fn try_admit"),
            ops,
            ("Cluster::load", "fn load"),
        ),
        &tale,
    )
}

fn two([first, out, back, last]: [Op; 4], named: bool) -> Report {
    let tale = Tale::default();
    let (created, created_too) = (
        tale.at("bank.rs", "balance: Mutex::^new"),
        tale.at("bank.rs", "limit: Mutex::^new"),
    );
    let x = tale.object(
        ObjectKind::Lock,
        named.then_some("balance"),
        Some(MUTEX),
        created,
    );
    let y = tale.object(
        ObjectKind::Lock,
        named.then_some("limit"),
        Some(MUTEX),
        created_too,
    );
    let a = tale.begin("alice", RESET.0, tale.at("bank.rs", RESET.1));
    let first = tale.access(a, first, x, tale.at("bank.rs", CLEAR));
    let b = tale.begin("bob", STATUS.0, tale.at("bank.rs", STATUS.1));
    let back = tale.access(b, back, y, tale.at("bank.rs", LIMIT));
    let out = tale.access(b, out, x, tale.at("bank.rs", LOOK));
    let last = tale.access(a, last, y, tale.at("bank.rs", CLEAR_LIMIT));
    report(&tale.cycle(&[(a, first, out), (b, back, last)]), &tale)
}

fn locks() -> Report {
    let tale = Tale::default();
    let m = tale.object(ObjectKind::Lock, Some("balance"), None, SiteId::NONE);
    let ops = [
        (Op::Release, CHECK),
        (Op::Acquire, ADD),
        (Op::Acquire, TAKE),
    ];
    let mut violation = sandwich(&tale, m, WITHDRAW, ops, DEPOSIT);
    // What comes before the last acquire is bob's release.
    violation.edges[1].from.op = Op::Release;
    report(&violation, &tale)
}

fn chain(three_objects: bool) -> Report {
    let tale = Tale::default();
    let lock = |name| tale.object(ObjectKind::Lock, Some(name), None, SiteId::NONE);
    let (index, files) = (lock("index"), lock("files"));
    let message = tale.object(ObjectKind::Message, None, None, SiteId::NONE);
    let sizes = lock("sizes");
    let at = |needle| tale.at("cache.rs", needle);
    let a = tale.begin("reader", "Cache::open", at("fn open"));
    let b = tale.begin("writer", "Cache::put", at("fn put"));
    let c = tale.begin("cleaner", "Cache::clean_one", at("fn clean_one"));
    let first = tale.access(a, Op::Read, index, at("file = self.index.^lock"));
    let insert = tale.access(b, Op::Write, index, at("old = self.index.^lock"));
    let (send, recv) = if three_objects {
        (
            tale.access(b, Op::Write, sizes, at("stale.^send")),
            tale.access(c, Op::Write, sizes, at("self.sizes.^lock")),
        )
    } else {
        (
            tale.access(b, Op::Send, message, at("stale.^send")),
            tale.access(c, Op::Recv, message, at("stale.^recv")),
        )
    };
    let remove = tale.access(
        c,
        Op::Write,
        files,
        at("self.files.^lock().unwrap().remove"),
    );
    let last = tale.access(a, Op::Read, files, at("self.files.^lock().unwrap().get"));
    report(
        &tale.cycle(&[(a, first, insert), (b, send, recv), (c, remove, last)]),
        &tale,
    )
}

/// Two others, the first of which does two things one after the other.
fn chain_in_program_order() -> Report {
    let tale = Tale::default();
    let lock = |name| tale.object(ObjectKind::Lock, Some(name), None, SiteId::NONE);
    let (index, sizes, files) = (lock("index"), lock("sizes"), lock("files"));
    let at = |needle| tale.at("cache.rs", needle);
    let a = tale.begin("reader", "Cache::open", at("fn open"));
    let first = tale.access(a, Op::Read, index, at("file = self.index.^lock"));
    let b = tale.begin("writer", "Cache::put", at("fn put"));
    let insert = tale.access(b, Op::Write, index, at("old = self.index.^lock"));
    let c = tale.unary("writer");
    let resize = tale.access(c, Op::Write, sizes, at("stale.^send"));
    let d = tale.begin("cleaner", "Cache::clean_one", at("fn clean_one"));
    let size = tale.access(d, Op::Read, sizes, at("self.sizes.^lock"));
    let remove = at("self.files.^lock().unwrap().remove");
    let remove = tale.access(d, Op::Write, files, remove);
    let last = tale.access(a, Op::Read, files, at("self.files.^lock().unwrap().get"));
    let edges = [
        (a, first, insert),
        (b, insert, resize),
        (c, resize, size),
        (d, remove, last),
    ];
    report(&tale.cycle(&edges), &tale)
}

fn program_order() -> Report {
    let tale = Tale::default();
    let x = balance(&tale);
    let a = tale.begin("alice", WITHDRAW.0, tale.at("bank.rs", WITHDRAW.1));
    let first = tale.access(a, Op::Read, x, tale.at("bank.rs", CHECK));
    let b = tale.unary("bob");
    let out = tale.access(b, Op::Write, x, tale.at("bank.rs", ADD));
    let c = tale.begin("bob", STATUS.0, tale.at("bank.rs", STATUS.1));
    let back = tale.access(c, Op::Read, x, tale.at("bank.rs", LOOK));
    let last = tale.access(a, Op::Write, x, tale.at("bank.rs", TAKE));
    report(
        &tale.cycle(&[(a, first, out), (b, out, back), (c, back, last)]),
        &tale,
    )
}

fn unnamed() -> Report {
    let tale = Tale::default();
    let created = tale.at("bank.rs", "balance: Mutex::^new");
    let x = tale.object(
        ObjectKind::Lock,
        None,
        Some("aerodrome::sync::Mutex<bank::money::Amount<u64>>"),
        created,
    );
    report(
        &sandwich(
            &tale,
            x,
            WITHDRAW,
            [(Op::Read, CHECK), (Op::Write, ADD), (Op::Write, TAKE)],
            DEPOSIT,
        ),
        &tale,
    )
}

/// As an STD trace has it.
fn labels() -> Report {
    let tale = Tale::default();
    let x = tale.object(ObjectKind::Variable, Some("V123"), None, SiteId::NONE);
    let site = |label: &str| tale.site(SiteInfo::Label(label.to_string()));
    let a = tale.begin("T0", "transfer", SiteId::NONE);
    let b = tale.begin("T1", "", SiteId::NONE);
    let first = tale.access(a, Op::Write, x, site("345"));
    let middle = tale.access(b, Op::Write, x, site("17"));
    let last = tale.access(a, Op::Read, x, SiteId::NONE);
    report(&tale.cycle(&[(a, first, middle), (b, middle, last)]), &tale)
}

fn unreadable() -> Report {
    let tale = Tale::default();
    let x = tale.object(ObjectKind::Lock, Some("queue"), None, SiteId::NONE);
    let site = |file: &str, line| {
        tale.site(SiteInfo::Source {
            file: file.to_string(),
            line,
            column: 9,
        })
    };
    let a = tale.begin("alice", "Queue::pop", site("elsewhere/src/queue.rs", 40));
    let b = tale.begin("bob", "Queue::push", SiteId::NONE);
    let first = tale.access(a, Op::Read, x, site("elsewhere/src/queue.rs", 41));
    let middle = tale.access(
        b,
        Op::Write,
        x,
        site(
            "/home/u/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/queue-1.2.3/src/lib.rs",
            7,
        ),
    );
    // Past the end of a file that is there: it has changed since it was compiled.
    let last = tale.access(a, Op::Write, x, site("tests/report/fixtures/bank.rs", 4000));
    report(&tale.cycle(&[(a, first, middle), (b, middle, last)]), &tale)
}

fn unary() -> Report {
    let tale = Tale::default();
    let x = balance(&tale);
    let a = tale.begin("alice", AUDIT.0, tale.at("bank.rs", AUDIT.1));
    let b = tale.unary("main");
    let first = tale.access(a, Op::Read, x, tale.at("bank.rs", "let before = ^*"));
    let middle = tale.access(b, Op::ReadWrite, x, tale.at("bank.rs", ADD));
    let last = tale.access(a, Op::Read, x, tale.at("bank.rs", "let after = ^*"));
    report(&tale.cycle(&[(a, first, middle), (b, middle, last)]), &tale)
}

fn panic() -> Report {
    let tale = Tale::default();
    let x = balance(&tale);
    let violation = sandwich(
        &tale,
        x,
        RESET,
        [(Op::Write, CLEAR), (Op::Write, ADD), (Op::Read, BACK)],
        DEPOSIT,
    );
    let extras = Extras {
        panicked: vec![1],
        test: Some("bank::tests::two_clerks".into()),
        repeats: 3,
        ..Extras::default()
    };
    report_with(&violation, &tale, &extras)
}

fn backtrace() -> Report {
    let tale = Tale::default();
    let x = balance(&tale);
    let violation = sandwich(
        &tale,
        x,
        WITHDRAW,
        [(Op::Read, CHECK), (Op::Write, ADD), (Op::Write, TAKE)],
        DEPOSIT,
    );
    let frame = |function: &str, line| Frame {
        function: function.to_string(),
        place: Some(Place::Source {
            file: "tests/report/fixtures/bank.rs".into(),
            line,
            column: 1,
        }),
    };
    let frames = vec![
        frame("aerodrome::record::push", 1),
        frame(
            "<aerodrome::sync::mutex::MutexGuard<T> as core::ops::deref::Deref>::deref",
            1,
        ),
        frame("bank::Account::withdraw", 9),
        frame("bank::tests::two_clerks::{{closure}}", 43),
        frame("core::ops::function::FnOnce::call_once", 1),
        frame("std::sys::backtrace::__rust_begin_short_backtrace", 1),
        frame("start_thread", 1),
    ];
    let position = violation.edges[0].from.position;
    report_with(
        &violation,
        &tale,
        &Extras {
            backtraces: vec![(position, frames)],
            ..Extras::default()
        },
    )
}

fn predicted() -> Report {
    let tale = Tale::default();
    let x = balance(&tale);
    let violation = sandwich(
        &tale,
        x,
        WITHDRAW,
        [(Op::Read, CHECK), (Op::Write, ADD), (Op::Write, TAKE)],
        DEPOSIT,
    );
    let last = violation.edges.last().map(|edge| edge.to);
    let accesses = violation.edges.iter().map(|edge| edge.from).chain(last);
    report_with(
        &violation,
        &tale,
        &Extras {
            tier: Tier::Predicted,
            schedule: accesses.map(|it| (it.strand, it.position)).collect(),
            ..Extras::default()
        },
    )
}

fn no_edges() -> Report {
    let tale = Tale::default();
    let a: Who = tale.begin("alice", AUDIT.0, tale.at("bank.rs", AUDIT.1));
    let mut violation = tale.cycle(&[]);
    violation.transactions.push(aerodrome::check::Transaction {
        strand: a.strand,
        block: a.block,
        begin: None,
        site: a.site,
    });
    report(&violation, &tale)
}

/// Names out of a file that means harm: to the terminal, to the page, to the JSON line.
pub(crate) fn hostile() -> Report {
    let tale = Tale::default();
    let x = tale.object(
        ObjectKind::Lock,
        Some("</script><script>alert(1)</script>\u{2028}\n"),
        Some("M<\"'&>"),
        SiteId::NONE,
    );
    let a = tale.begin(
        "\u{1b}[31malice",
        "</ScRiPt><img src=x onerror=alert(2)>",
        SiteId::NONE,
    );
    let b = tale.begin("<!--", "b\rc", SiteId::NONE);
    let first = tale.access(a, Op::Read, x, tale.at("bank.rs", CHECK));
    let middle = tale.access(
        b,
        Op::Write,
        x,
        tale.site(SiteInfo::Label("\u{1b}]8;;http://x\u{7}".into())),
    );
    let last = tale.access(a, Op::Write, x, tale.at("bank.rs", TAKE));
    report(&tale.cycle(&[(a, first, middle), (b, middle, last)]), &tale)
}

/// A small interleaving with all its events, as a run has it: a withdrawal, a deposit in its
/// middle, and a bystander.
pub(crate) fn bank_with_window() -> Report {
    let tale = Tale::default();
    let x = balance(&tale);
    let y = tale.object(
        ObjectKind::Lock,
        Some("limit"),
        Some(MUTEX),
        tale.at("bank.rs", "limit: Mutex::^new"),
    );
    let (alice, bob, carol) = (
        tale.strand("alice"),
        tale.strand("bob"),
        tale.strand("carol"),
    );
    let blocks = [WITHDRAW, DEPOSIT, STATUS]
        .map(|(name, at)| tale.begin("alice", name, tale.at("bank.rs", at)));
    let [withdraw, deposit, status] = blocks.map(|who| who.block.unwrap().0);
    let at = |needle| tale.at("bank.rs", needle);
    let steps = [
        (alice, Op::Begin, withdraw, WITHDRAW.1),
        (alice, Op::Acquire, x.0, CHECK),
        (alice, Op::Read, x.0, CHECK),
        (alice, Op::Release, x.0, CHECK),
        (carol, Op::Begin, status, STATUS.1),
        (carol, Op::Acquire, y.0, LIMIT),
        (carol, Op::Read, y.0, LIMIT),
        (bob, Op::Begin, deposit, DEPOSIT.1),
        (bob, Op::Acquire, x.0, ADD),
        (bob, Op::Write, x.0, ADD),
        (carol, Op::Release, y.0, LIMIT),
        (bob, Op::Release, x.0, ADD),
        (bob, Op::End, deposit, DEPOSIT.1),
        (carol, Op::End, status, STATUS.1),
        (alice, Op::Acquire, x.0, TAKE),
        (alice, Op::Write, x.0, TAKE),
    ];
    let mut window = aerodrome::report::window::Window::new(1 << 20);
    let mut accesses = Vec::new();
    for (i, (strand, op, target, needle)) in steps.into_iter().enumerate() {
        let (site, position) = (at(needle), i as u64 + 1);
        window.push(
            Event {
                strand,
                target,
                site,
                op,
            },
            position,
        );
        if matches!(op, Op::Read | Op::Write) && target == x.0 {
            let object = Some(ObjectId(target));
            accesses.push(aerodrome::check::Access {
                position,
                strand,
                op,
                object,
                site,
            });
        }
    }
    let [first, middle, last] = accesses[..] else {
        unreachable!("three accesses of the balance")
    };
    let [a, mut b, _] = blocks;
    b.strand = bob;
    let mut violation = tale.cycle(&[(a, first, middle), (b, middle, last)]);
    violation.transactions[0].begin = Some(1);
    violation.transactions[1].begin = Some(8);
    let frame = |function: &str, line| Frame {
        function: function.into(),
        place: Some(Place::Source {
            file: "tests/report/fixtures/bank.rs".into(),
            line,
            column: 9,
        }),
    };
    let stack = vec![
        frame("bank::Account::withdraw", 9),
        frame("bank::tests::two_clerks::{{closure}}", 43),
    ];
    let extras = Extras {
        window: Some(&window),
        backtraces: vec![(first.position, stack)],
        test: Some("bank::tests::two_clerks".into()),
        ..Extras::default()
    };
    report_with(&violation, &tale, &extras)
}
