//! From the steps of a path to a [`Violation`]: what `exact` and `velodrome` share.

use super::{Access, Edge, Transaction, Violation};

/// One step of a cycle: an edge, and the transactions of its two events.
#[derive(Clone, Debug)]
pub(super) struct Hop {
    pub(super) edge: Edge,
    pub(super) from: Transaction,
    pub(super) to: Transaction,
}

/// The cycle that `hops` walks around. The first hop leaves the transaction that closed the cycle,
/// the last one is the closing edge back into it.
///
/// Two consecutive hops meet in a strand, but not always in a transaction of it: a cycle may enter
/// a strand in one transaction and leave it from a later one. Program order is then an edge of its
/// own, from the event that the cycle came in by to the event that it goes out by.
///
/// The transaction to blame is the closing one. Its out-edge is older than its in-edge, which is
/// the event that just happened: it was left and entered again before it was over, so in no serial
/// order is it in one piece. In a cycle whose other transactions are entered before they are left
/// it is the only one of that sort, and it is never an event outside any block, because it has two
/// events.
pub(super) fn violation(hops: Vec<Hop>, position: u64) -> Box<Violation> {
    let mut transactions: Vec<Transaction> = Vec::with_capacity(hops.len());
    let mut edges: Vec<Edge> = Vec::with_capacity(hops.len());
    let mut entered: Option<(Access, Transaction)> = None;
    for hop in hops {
        let left = entered.filter(|(_, transaction)| *transaction != hop.from);
        if let Some((access, transaction)) = left {
            transactions.push(transaction);
            edges.push(Edge {
                from: access,
                to: hop.edge.from,
            });
        }
        transactions.push(hop.from);
        entered = Some((hop.edge.to, hop.to));
        edges.push(hop.edge);
    }
    Box::new(Violation {
        event: position,
        blame: 0,
        transactions,
        edges,
    })
}
