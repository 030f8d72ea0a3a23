//! The operations: for each its target, class, names and wire code, in one table.
//!
//! Readers, writers and reports derive from it what they need. A new operation is a variant of
//! [`Op`] and a line here: [`Op::row`] matches exhaustively, so one without the other does not
//! compile.

use super::{ObjectKind, Op, Update};

/// What an event's target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An object; of this kind, where nothing but the operation is known of it.
    Object(ObjectKind),
    Strand,
    Block,
    /// Target and site are the two halves of a value.
    Value,
    Nothing,
}

/// What an operation does, for those who do not tell operations of one class apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// Reads data.
    Read,
    /// Replaces data, whether it reads it first or not.
    Write,
    /// Changes data by an operation that commutes with its own kind.
    Update,
    /// Takes, gives back or changes the hold of a lock.
    Lock,
    /// Orders events of different strands.
    Order,
    /// Begins or ends a transaction.
    Boundary,
    /// Says something about a strand or an object; nothing is accessed.
    Note,
}

/// What is known of an operation.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) op: Op,
    /// Its code in `.aero`, which is its index in [`TABLE`].
    pub(crate) code: u8,
    pub(crate) target: Target,
    pub(crate) class: Class,
    /// Its name in the STD format.
    pub(crate) std: &'static str,
    /// Its name in reports.
    pub(crate) report: &'static str,
    /// What a strand does, with `%` for the object.
    does: &'static str,
}

macro_rules! operations {
    ($($code:literal $op:ident $(($kind:ident))?: $target:expr, $class:ident, $std:literal, $report:literal, $does:literal;)*) => {
        /// All operations, by their codes.
        pub(crate) const TABLE: &[Row] = {
            use ObjectKind::*;
            use Target::*;
            &[$(Row {
                op: Op::$op $((Update::$kind))?,
                code: $code,
                target: $target,
                class: Class::$class,
                std: match std::str::from_utf8($std) {
                    Ok(name) => name,
                    Err(_) => panic!("names are ASCII"),
                },
                report: $report,
                does: $does,
            }),*]
        };

        impl Op {
            /// What the table says of it.
            #[inline]
            #[allow(unreachable_patterns, reason = "a code that is only read has another's operation")]
            pub(crate) const fn row(self) -> &'static Row {
                match self {
                    $(Op::$op $((Update::$kind))? => &TABLE[$code],)*
                    // No strand does this.
                    Op::Update(Update::Swap | Update::Exchange) => &TABLE[2],
                    Op::Vain(Update::Channel) => &TABLE[0],
                }
            }
        }

        /// The operation of this name in the STD format, and its target.
        #[inline]
        pub(crate) fn parse_std(name: &[u8]) -> Option<(Op, Target)> {
            match name {
                $($std => {
                    const ROW: &Row = &TABLE[$code];
                    Some((ROW.op, ROW.target))
                })*
                // There a lock and its content are two things that retire each for itself.
                b"retire.lock" => Some((Op::Retire, Target::Object(ObjectKind::Lock))),
                _ => None,
            }
        }
    };
}

operations! {
    // Codes are part of the `.aero` format: they never change, and new ones are appended.
    0 Read: Object(Variable), Read, b"r", "read", "reads %";
    1 Write: Object(Variable), Write, b"w", "write", "writes %";
    2 ReadWrite: Object(Variable), Write, b"rw", "read-write", "reads and writes % in one step";
    3 Acquire: Object(Lock), Lock, b"acq", "acquire", "locks %";
    4 Release: Object(Lock), Lock, b"rel", "release", "unlocks %";
    5 Begin: Block, Boundary, b"begin", "begin", "begins";
    6 End: Block, Boundary, b"end", "end", "ends";
    7 Fork: Strand, Order, b"fork", "fork", "spawns a thread";
    8 Join: Strand, Order, b"join", "join", "joins a thread";
    9 AcquireShared: Object(Lock), Lock, b"acqs", "acquire-shared", "locks % for reading";
    10 ReleaseShared: Object(Lock), Lock, b"rels", "release-shared", "unlocks % (held for reading)";
    11 Upgrade: Object(Lock), Lock, b"up", "upgrade", "upgrades its lock of %";
    12 Downgrade: Object(Lock), Lock, b"down", "downgrade", "downgrades its lock of %";
    13 Split: Nothing, Boundary, b"split", "split", "waits for another thread";
    14 Restart: Nothing, Boundary, b"restart", "restart", "starts anew";
    15 Signal: Object(Signal), Order, b"signal", "signal", "signals %";
    16 Await: Object(Signal), Order, b"await", "await", "is woken by %";
    17 Send: Object(Message), Order, b"send", "send", "sends a message";
    18 Recv: Object(Message), Order, b"recv", "recv", "receives the message";
    19 Retire: Object(Variable), Note, b"retire", "retire", "drops %";
    20 Value: Value, Note, b"val", "value", "notes a value";
    21 Update(Add): Object(Variable), Update, b"upd.add", "add", "updates % (`fetch_add` or `fetch_sub`)";
    // Files of before, where `fetch_sub` was a kind of its own: read, and not written any more.
    22 Update(Add): Object(Variable), Update, b"upd.sub", "sub", "updates % (`fetch_sub`)";
    23 Update(And): Object(Variable), Update, b"upd.and", "and", "updates % (`fetch_and`)";
    24 Update(Or): Object(Variable), Update, b"upd.or", "or", "updates % (`fetch_or`)";
    25 Update(Xor): Object(Variable), Update, b"upd.xor", "xor", "updates % (`fetch_xor`)";
    26 Update(Max): Object(Variable), Update, b"upd.max", "max", "updates % (`fetch_max`)";
    27 Update(Min): Object(Variable), Update, b"upd.min", "min", "updates % (`fetch_min`)";
    28 Update(Channel): Object(Channel), Update, b"upd.send", "enqueue", "puts a message into % or takes one out";
    29 Exit: Nothing, Note, b"quit", "exit", "exits";
    30 Born: Object(Variable), Note, b"born", "born", "makes % known";
    31 Update(Init): Object(Variable), Update, b"upd.init", "init", "initialises %";
    32 CompareExchange: Object(Variable), Write, b"cas", "compare-exchange", "exchanges % (`compare_exchange`)";
    33 CompareExchangeFailed: Object(Variable), Read, b"cas.failed", "compare-exchange-failed", "fails to exchange % (`compare_exchange`)";
    34 Pause: Nothing, Note, b"pause", "pause", "pauses";
    35 Busy: Object(Lock), Note, b"busy", "busy", "finds % locked";
    36 Vain(Add): Object(Variable), Read, b"vain.add", "vain-add", "updates % in vain (`fetch_add` or `fetch_sub`)";
    37 Vain(And): Object(Variable), Read, b"vain.and", "vain-and", "updates % in vain (`fetch_and`)";
    38 Vain(Or): Object(Variable), Read, b"vain.or", "vain-or", "updates % in vain (`fetch_or`)";
    39 Vain(Xor): Object(Variable), Read, b"vain.xor", "vain-xor", "updates % in vain (`fetch_xor`)";
    40 Vain(Max): Object(Variable), Read, b"vain.max", "vain-max", "updates % in vain (`fetch_max`)";
    41 Vain(Min): Object(Variable), Read, b"vain.min", "vain-min", "updates % in vain (`fetch_min`)";
    42 Vain(Swap): Object(Variable), Read, b"vain.swap", "vain-swap", "updates % in vain (`swap`)";
    43 Vain(Init): Object(Variable), Read, b"vain.init", "vain-init", "finds % initialised";
    44 Notify: Nothing, Note, b"notify", "notify", "notifies those who wait";
    45 Vain(Exchange): Object(Variable), Read, b"vain.cas", "vain-exchange", "exchanges % for the same value (`compare_exchange`)";
    46 Reach: Object(Variable), Order, b"reach", "reach", "brings % to zero and goes by that";
    47 Leave: Object(Variable), Order, b"leave", "leave", "takes % from zero";
}

const _: () = {
    let mut index = 0;
    while index < TABLE.len() {
        assert!(TABLE[index].code as usize == index);
        index += 1;
    }
};

/// An operation's name in the STD format. A lock's retirement is told apart there as `retire.lock`.
pub fn op_name(op: Op) -> &'static str {
    op.row().std
}

/// All names of the STD format, for the error that says what was expected.
pub(crate) fn std_names() -> String {
    let names = TABLE.iter().map(|row| row.std);
    let names: Vec<&str> = names.chain(["retire.lock"]).collect();
    names.join(" ")
}

impl Op {
    /// Whether it leaves another value behind.
    #[inline]
    pub(crate) fn changes_value(self) -> bool {
        use Op::*;
        matches!(self, Write | ReadWrite | Update(_) | CompareExchange)
    }

    /// Whether its target is an object.
    pub(crate) fn is_on_object(self) -> bool {
        matches!(self.row().target, Target::Object(_))
    }

    /// What a strand does: `reads x`.
    pub(crate) fn does(self, object: &str) -> String {
        self.row().does.replace('%', object)
    }
}

macro_rules! kinds {
    ($($code:literal $kind:ident: $report:literal, $words:literal;)*) => {
        impl ObjectKind {
            /// All kinds, by their codes in `.aero`.
            pub(crate) const ALL: &[ObjectKind] = &[$(ObjectKind::$kind),*];

            /// Its code in `.aero`.
            pub(crate) const fn code(self) -> u8 {
                match self {
                    $(ObjectKind::$kind => $code,)*
                }
            }

            /// Its name in reports.
            pub(crate) const fn name(self) -> &'static str {
                match self {
                    $(ObjectKind::$kind => $report,)*
                }
            }

            /// An object of this kind that has no name.
            pub(crate) const fn nameless(self) -> &'static str {
                match self {
                    $(ObjectKind::$kind => $words,)*
                }
            }
        }
    };
}

kinds! {
    0 Variable: "variable", "a variable";
    1 Lock: "lock", "a lock";
    2 BareLock: "bare-lock", "a lock";
    3 Channel: "channel", "a channel";
    4 Message: "message", "a message";
    5 Signal: "signal", "a signal";
}

const _: () = {
    let mut index = 0;
    while index < ObjectKind::ALL.len() {
        assert!(ObjectKind::ALL[index].code() as usize == index);
        index += 1;
    }
};

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn every_operation_is_read_back_from_each_of_its_names() {
        for row in TABLE {
            assert_eq!(
                parse_std(row.std.as_bytes()),
                Some((row.op, row.target)),
                "{}",
                row.std
            );
            if row.std != "upd.sub" {
                assert_eq!(row.op.row().code, row.code, "{}", row.std);
            }
        }
        assert_eq!(
            parse_std(b"retire.lock"),
            Some((Op::Retire, Target::Object(ObjectKind::Lock)))
        );
        assert_eq!(parse_std(b"upd"), None);
    }

    #[test]
    fn no_two_operations_share_a_name_in_reports() {
        let names: HashSet<&str> = TABLE.iter().map(|row| row.report).collect();
        assert_eq!(names.len(), TABLE.len());
    }

    #[test]
    fn what_is_done_to_an_object_names_the_object() {
        assert_eq!(Op::Upgrade.does("`100%`"), "upgrades its lock of `100%`");
        assert_eq!(Op::Exit.does("it"), "exits");
    }
}
