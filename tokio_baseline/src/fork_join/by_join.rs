//! Fork-join with a call for two branches, as rayon's, which waits inside the worker. A node's children are halved until one is
//! left, so n children cost n − 1 joins.
use super::forks::Fork;
use super::matrices::{Matrices, Product, LEAF};
use super::tree::Tree;

/// A runtime with such a call, or the floor, whose branches are calls.
pub trait Joining {
    /// Runs both, perhaps at once; from within a branch, or a root.
    fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B);
}

/// The sum below a node with two branches or none.
pub fn fork_sum<R: Joining, N: Fork>(node: N) -> u64 {
    if node.is_leaf() {
        return node.value();
    }
    let (left, right) = R::join(|| fork_sum::<R, N>(node.left()), || fork_sum::<R, N>(node.right()));
    node.value().wrapping_add(left).wrapping_add(right)
}

/// The sum of the tree below `node`.
pub fn sum<R: Joining, T: Tree>(tree: &T, node: &T::Node) -> u64 {
    tree.slow_down();
    let own = tree.value(node);
    match tree.children(node) {
        0 => own,
        n => own.wrapping_add(sum_of_children::<R, T>(tree, node, 0, n)),
    }
}

fn sum_of_children<R: Joining, T: Tree>(tree: &T, node: &T::Node, from: usize, to: usize) -> u64 {
    if to - from == 1 {
        return sum::<R, T>(tree, &tree.child(node, from));
    }
    let half = from + (to - from) / 2;
    let (a, b) =
        R::join(|| sum_of_children::<R, T>(tree, node, from, half), || sum_of_children::<R, T>(tree, node, half, to));
    a.wrapping_add(b)
}

/// C += A·B for the blocks of `product`.
pub fn multiply<R: Joining>(all: &Matrices, product: Product) {
    if product.size == LEAF {
        // SAFETY: the joins below run no two products of one phase on the same block of C, and no two phases at once.
        return unsafe { all.multiply_leaf(product) };
    }
    for phase in 0..2 {
        let part = |q| multiply::<R>(all, product.part(phase, q));
        R::join(|| R::join(|| part(0), || part(1)), || R::join(|| part(2), || part(3)));
    }
}
