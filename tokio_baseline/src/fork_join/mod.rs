//! Fork-join: what is computed ([`Tree`], [`matrices`]), and the two ways to wait for children ([`by_join`], [`by_await`]).
pub mod by_await;
pub mod by_join;
pub mod matrices;
pub mod trees;
pub mod uts;

use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::runtime::ForkJoin;
use crate::scenarios::Report;

/// A tree whose sum is wanted: the value of every node, added up.
pub trait Tree: Send + Sync + 'static {
    /// What a node knows of itself.
    type Node: Copy + Send + Sync + 'static;

    /// The node that the sum starts from.
    fn root(&self) -> Self::Node;

    /// How many children the node has.
    fn children(&self, node: &Self::Node) -> usize;

    /// Child number `k` of the node.
    fn child(&self, node: &Self::Node, k: usize) -> Self::Node;

    /// The node's own value.
    fn value(&self, node: &Self::Node) -> u64;

    /// What every node does besides: the built-in slow-down.
    fn slow_down(&self) {}
}

/// The sum of the tree below `node`, serially: the reference, and the expected answer.
pub fn serial_sum<T: Tree>(tree: &T, node: &T::Node) -> u64 {
    (0..tree.children(node)).map(|k| serial_sum(tree, &tree.child(node, k))).fold(tree.value(node), u64::wrapping_add)
}

/// A tree whose nodes take the slow-down of a ledger.
pub struct Slowed<T>(pub T, pub &'static Ledger);

impl<T: Tree> Tree for Slowed<T> {
    type Node = T::Node;

    fn root(&self) -> T::Node {
        self.0.root()
    }

    #[inline]
    fn children(&self, node: &T::Node) -> usize {
        self.0.children(node)
    }

    #[inline]
    fn child(&self, node: &T::Node, k: usize) -> T::Node {
        self.0.child(node, k)
    }

    #[inline]
    fn value(&self, node: &T::Node) -> u64 {
        self.0.value(node)
    }

    #[inline]
    fn slow_down(&self) {
        self.1.slow_down()
    }
}

/// A scenario whose operation number `i` computes the tree's sum once.
pub fn measure<R: ForkJoin, T: Tree>(run: &RunArgs, tree: T) -> Result<Report, Failure> {
    let expected = serial_sum(&tree, &tree.root());
    let ledger = Ledger::leak(run.slowdown_ns);
    let tree: &'static Slowed<T> = Box::leak(Box::new(Slowed(tree, ledger)));
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, 1, |ops| {
        closed_loop::iterations(ledger, ops, 1, |i| {
            runtime.post_sum(tree, move |sum| ledger.complete(i.wrapping_add(sum).wrapping_sub(expected)))
        })
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
