//! Fork-join by tasks that are awaited. A node's last child is run by the node itself, in the same task.
use super::forks::Fork;
use super::matrices::{Matrices, Product, LEAF};
use super::tree::Tree;
use crate::runtime::Runtime;
use std::future::Future;
use std::hint::black_box;

/// A runtime whose tasks are futures with an answer.
pub trait Awaiting: Runtime {
    /// Waits for the task's answer.
    type Handle: Future<Output = u64> + Send;

    /// Spawns a task, from within a task.
    fn spawn_task(task: impl Future<Output = u64> + Send + 'static) -> Self::Handle;
}

/// The sum below a node with two branches or none.
#[allow(clippy::manual_async_fn, reason = "that it is Send must be said: a task that spawns its like cannot infer it")]
pub fn fork_sum<R: Awaiting, N: Fork>(mut node: N) -> impl Future<Output = u64> + Send + 'static {
    async move {
        let mut total = 0u64;
        let mut spawned = Vec::new();
        // Down to a leaf by the right branches: no recursion, and one list of handles for all of them.
        while !node.is_leaf() {
            total = total.wrapping_add(node.value());
            spawned.push(R::spawn_task(fork_sum::<R, N>(node.left())));
            node = node.right();
        }
        total = total.wrapping_add(node.value());
        for handle in spawned {
            total = total.wrapping_add(handle.await);
        }
        total
    }
}

/// The same `ops` times, one after the other.
pub async fn fork_sums<R: Awaiting, N: Fork>(root: N, ops: u64, done: impl Fn(u64, u64)) {
    for i in 0..ops {
        done(i, fork_sum::<R, N>(black_box(root)).await);
    }
}

/// The sum of the tree below `node`.
#[allow(clippy::manual_async_fn, reason = "as for `fork_sum`")]
pub fn sum<R: Awaiting, T: Tree>(tree: &'static T, mut node: T::Node) -> impl Future<Output = u64> + Send + 'static {
    async move {
        let mut total = 0u64;
        let mut spawned = Vec::new();
        // Down to a leaf by the last children: no recursion, and one list of handles for all of them.
        loop {
            tree.slow_down();
            total = total.wrapping_add(tree.value(&node));
            let Some(last) = tree.children(&node).checked_sub(1) else { break };
            spawned.extend((0..last).map(|k| R::spawn_task(sum::<R, T>(tree, tree.child(&node, k)))));
            node = tree.child(&node, last);
        }
        for handle in spawned {
            total = total.wrapping_add(handle.await);
        }
        total
    }
}

/// C += A·B for the blocks of `product`; the answer is 0.
#[allow(clippy::manual_async_fn, reason = "as for `fork_sum`")]
pub fn multiply<R: Awaiting>(all: &'static Matrices, product: Product) -> impl Future<Output = u64> + Send + 'static {
    async move {
        if product.size == LEAF {
            // SAFETY: the awaits below run no two products of one phase on the same block of C, and no two phases at once.
            unsafe { all.multiply_leaf(product) };
            return 0;
        }
        for phase in 0..2 {
            let spawned = [0, 1, 2].map(|q| R::spawn_task(multiply::<R>(all, product.part(phase, q))));
            Box::pin(multiply::<R>(all, product.part(phase, 3))).await;
            for handle in spawned {
                handle.await;
            }
        }
        0
    }
}
