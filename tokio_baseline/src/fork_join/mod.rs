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

#[cfg(test)]
mod tests {
    use super::matrices::{Matrices, Product, LEAF};
    use super::trees::{Fib, Queens, Skynet};
    use super::uts::Uts;
    use super::*;
    use crate::subjects::{async_pool::AsyncExecutor, rayon_pool::Rayon, tokio::Tokio, tokio::TokioCurrentThread};
    use std::collections::BTreeSet;
    use std::sync::mpsc;

    fn sum_on<R: ForkJoin>(workers: usize, tree: &'static impl Tree) -> u64 {
        let runtime = R::start(workers).expect("workers");
        let (tell, told) = mpsc::channel();
        runtime.post_sum(tree, move |sum| tell.send(sum).expect("the test waits"));
        told.recv().expect("a sum")
    }

    fn assert_agree(tree: impl Tree, answer: u64) {
        let tree: &'static _ = Box::leak(Box::new(tree));
        let sums = [
            serial_sum(tree, &tree.root()),
            sum_on::<Tokio>(2, tree),
            sum_on::<TokioCurrentThread>(1, tree),
            sum_on::<Rayon>(2, tree),
            sum_on::<AsyncExecutor>(2, tree),
        ];
        assert_eq!(sums, [answer; 5]);
    }

    #[test]
    fn every_runtime_finds_the_published_answers() {
        assert_agree(Fib(15), 610);
        assert_agree(Skynet(1000), 499_500);
        assert_agree(Queens(7), 40);
        assert_agree(Uts::new(5), 3987);
        assert_agree(Fib(0), 0);
    }

    #[test]
    fn the_slow_down_is_taken_once_per_node() {
        struct Counted(std::sync::atomic::AtomicU64);
        impl Tree for Counted {
            type Node = u64;
            fn root(&self) -> u64 {
                10
            }
            fn children(&self, node: &u64) -> usize {
                Fib(0).children(node)
            }
            fn child(&self, node: &u64, k: usize) -> u64 {
                Fib(0).child(node, k)
            }
            fn value(&self, _: &u64) -> u64 {
                1
            }
            fn slow_down(&self) {
                self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            }
        }
        let tree: &'static Counted = Box::leak(Box::new(Counted(Default::default())));
        let nodes = sum_on::<Tokio>(2, tree) + sum_on::<Rayon>(2, tree);
        assert_eq!(nodes, 2 * 177);
        assert_eq!(tree.0.load(std::sync::atomic::Ordering::Relaxed), nodes);
    }

    /// Every product that a block of C takes part in, down to the leaves.
    fn leaves(product: Product, into: &mut Vec<Product>) {
        if product.size == LEAF {
            return into.push(product);
        }
        for (phase, q) in [0, 1].into_iter().flat_map(|phase| (0..4).map(move |q| (phase, q))) {
            leaves(product.part(phase, q), into);
        }
    }

    #[test]
    fn parts_of_a_phase_write_different_blocks_and_all_phases_make_the_whole_product() {
        let all = Matrices::new(128, Ledger::leak(0));
        for phase in 0..2 {
            let written = BTreeSet::from_iter((0..4).map(|q| all.whole().part(phase, q).written()));
            assert_eq!(written.len(), 4);
        }
        let mut products = Vec::new();
        leaves(all.whole(), &mut products);
        assert_eq!(products.len(), 4 * 4 * 4);
        // SAFETY: this thread alone uses them.
        unsafe {
            products.into_iter().for_each(|product| all.multiply_leaf(product));
            assert_eq!(all.answer(), all.expected());
            all.clear();
            assert_eq!(all.answer(), 0);
        }
    }
}
