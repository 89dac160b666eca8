//! Fork-join with chili's `Scope::join`: the worker runs the second of two branches, then the first unless another one took it.
//! More than two children are halved until one is left, as for rayon.
use super::forks::Fork;
use super::matrices::{Matrices, Product, LEAF};
use super::tree::Tree;
use chili::Scope;

/// The sum below a node with two branches or none.
pub fn fork_sum<N: Fork>(node: N, scope: &mut Scope<'_>) -> u64 {
    if node.is_leaf() {
        return node.value();
    }
    // The left one second, because chili begins there: so it walks forwards in memory, as the others do.
    let (right, left) = scope.join(|s| fork_sum(node.right(), s), |s| fork_sum(node.left(), s));
    node.value().wrapping_add(left).wrapping_add(right)
}

/// The sum of the tree below `node`.
pub fn sum<T: Tree>(tree: &T, node: &T::Node, scope: &mut Scope<'_>) -> u64 {
    tree.slow_down();
    let own = tree.value(node);
    match tree.children(node) {
        0 => own,
        n => own.wrapping_add(sum_of_children(tree, node, 0, n, scope)),
    }
}

fn sum_of_children<T: Tree>(tree: &T, node: &T::Node, from: usize, to: usize, scope: &mut Scope<'_>) -> u64 {
    if to - from == 1 {
        return sum(tree, &tree.child(node, from), scope);
    }
    let half = from + (to - from) / 2;
    let (a, b) =
        scope.join(|s| sum_of_children(tree, node, from, half, s), |s| sum_of_children(tree, node, half, to, s));
    a.wrapping_add(b)
}

/// C += A·B for the blocks of `product`.
pub fn multiply(all: &Matrices, product: Product, scope: &mut Scope<'_>) {
    if product.size == LEAF {
        // SAFETY: the joins below run no two products of one phase on the same block of C, and no two phases at once.
        return unsafe { all.multiply_leaf(product) };
    }
    for phase in 0..2 {
        let part = |q, s: &mut Scope<'_>| multiply(all, product.part(phase, q), s);
        scope.join(|s| s.join(|s| part(0, s), |s| part(1, s)), |s| s.join(|s| part(2, s), |s| part(3, s)));
    }
}
