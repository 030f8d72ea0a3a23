//! The operations' names, for readers and writers.

use crate::trace::{Op, Update};

/// What an operation's argument names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Variable,
    Lock,
    Strand,
    Block,
    Number,
    Nothing,
}

const UPDATES: [(&str, Update); 8] = [
    ("upd.add", Update::Add),
    ("upd.sub", Update::Sub),
    ("upd.and", Update::And),
    ("upd.or", Update::Or),
    ("upd.xor", Update::Xor),
    ("upd.max", Update::Max),
    ("upd.min", Update::Min),
    ("upd.send", Update::Send),
];

/// The operation of this name.
#[inline]
pub(super) fn parse(name: &[u8]) -> Option<(Op, Argument)> {
    use Argument::*;
    Some(match name {
        b"r" => (Op::Read, Variable),
        b"w" => (Op::Write, Variable),
        b"acq" => (Op::Acquire, Lock),
        b"rel" => (Op::Release, Lock),
        b"begin" => (Op::Begin, Block),
        b"end" => (Op::End, Block),
        b"fork" => (Op::Fork, Strand),
        b"join" => (Op::Join, Strand),
        b"rw" => (Op::ReadWrite, Variable),
        b"acqs" => (Op::AcquireShared, Lock),
        b"rels" => (Op::ReleaseShared, Lock),
        b"up" => (Op::Upgrade, Lock),
        b"down" => (Op::Downgrade, Lock),
        b"signal" => (Op::Signal, Variable),
        b"await" => (Op::Await, Variable),
        b"send" => (Op::Send, Variable),
        b"recv" => (Op::Recv, Variable),
        b"retire" => (Op::Retire, Variable),
        b"retire.lock" => (Op::Retire, Lock),
        b"split" => (Op::Split, Nothing),
        b"restart" => (Op::Restart, Nothing),
        b"quit" => (Op::Exit, Nothing),
        b"val" => (Op::Value, Number),
        b"born" => (Op::Born, Variable),
        _ => {
            let (_, update) = UPDATES.iter().find(|(known, _)| known.as_bytes() == name)?;
            (Op::Update(*update), Variable)
        }
    })
}

/// The operation of this name in CSV.
pub(super) fn parse_csv(name: &[u8]) -> Option<(Op, Argument)> {
    match name {
        b"start" => Some((Op::Fork, Argument::Strand)),
        b"enter" => Some((Op::Begin, Argument::Block)),
        b"exit" => Some((Op::End, Argument::Block)),
        _ => parse(name),
    }
}

/// An operation's name in the STD format. A lock's retirement is told apart there as `retire.lock`.
pub fn name(op: Op) -> &'static str {
    match op {
        Op::Read => "r",
        Op::Write => "w",
        Op::Acquire => "acq",
        Op::Release => "rel",
        Op::Begin => "begin",
        Op::End => "end",
        Op::Fork => "fork",
        Op::Join => "join",
        Op::ReadWrite => "rw",
        Op::AcquireShared => "acqs",
        Op::ReleaseShared => "rels",
        Op::Upgrade => "up",
        Op::Downgrade => "down",
        Op::Signal => "signal",
        Op::Await => "await",
        Op::Send => "send",
        Op::Recv => "recv",
        Op::Retire => "retire",
        Op::Split => "split",
        Op::Restart => "restart",
        Op::Exit => "quit",
        Op::Value => "val",
        Op::Born => "born",
        Op::Update(update) => {
            let known = UPDATES.iter().find(|(_, kind)| *kind == update);
            known.map_or("upd", |(name, _)| name)
        }
    }
}

/// All names, for the error that says what was expected.
pub(super) const KNOWN: &str = "r w acq rel fork join begin end, or rw acqs rels up down upd.add upd.sub upd.and upd.or upd.xor \
     upd.max upd.min upd.send signal await send recv retire retire.lock split restart quit val born";

/// The same for CSV.
pub(super) const KNOWN_CSV: &str =
    "r w acq rel start join enter exit sync, or an operation of the STD format";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_read_as_the_operation_that_it_is_written_for() {
        for name in KNOWN
            .split([' ', ','])
            .filter(|word| !word.is_empty() && *word != "or")
        {
            let (op, _) = parse(name.as_bytes()).unwrap_or_else(|| panic!("{name} is not known"));
            assert_eq!(super::name(op), name.trim_end_matches(".lock"));
        }
    }
}
