//! What a tree is, its sum worked out serially, and the slow-down of its nodes.
use crate::ledger::Ledger;

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
