//! Fork-join with `rayon::join`, which waits inside the worker. A node's children are halved until one is left, so n
//! children cost n − 1 joins; of each pair the worker runs the first and offers the second to thieves.
use super::forks::Fork;
use super::matrices::{Matrices, Product, LEAF};
use super::tree::Tree;

/// The sum below a node with two branches or none; in a worker of a rayon pool.
pub fn fork_sum<N: Fork>(node: N) -> u64 {
    if node.is_leaf() {
        return node.value();
    }
    let (left, right) = rayon::join(|| fork_sum(node.left()), || fork_sum(node.right()));
    node.value().wrapping_add(left).wrapping_add(right)
}

/// The sum of the tree below `node`; in a worker of a rayon pool.
pub fn sum<T: Tree>(tree: &T, node: &T::Node) -> u64 {
    tree.slow_down();
    let own = tree.value(node);
    match tree.children(node) {
        0 => own,
        n => own.wrapping_add(sum_of_children(tree, node, 0, n)),
    }
}

fn sum_of_children<T: Tree>(tree: &T, node: &T::Node, from: usize, to: usize) -> u64 {
    if to - from == 1 {
        return sum(tree, &tree.child(node, from));
    }
    let half = from + (to - from) / 2;
    let (a, b) = rayon::join(|| sum_of_children(tree, node, from, half), || sum_of_children(tree, node, half, to));
    a.wrapping_add(b)
}

/// C += A·B for the blocks of `product`; in a worker of a rayon pool.
pub fn multiply(all: &Matrices, product: Product) {
    if product.size == LEAF {
        // SAFETY: the joins below run no two products of one phase on the same block of C, and no two phases at once.
        return unsafe { all.multiply_leaf(product) };
    }
    for phase in 0..2 {
        let part = |q| multiply(all, product.part(phase, q));
        rayon::join(|| rayon::join(|| part(0), || part(1)), || rayon::join(|| part(2), || part(3)));
    }
}
