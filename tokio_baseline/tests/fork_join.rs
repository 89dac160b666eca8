//! Every runtime finds the sum of a tree, and takes the slow-down once for each of its nodes, or of its leaves.
use std::sync::mpsc;
use tokio_baseline::fork_join::forks::{self, FibNode, Fork, TreeNode};
use tokio_baseline::fork_join::tree::{serial_sum, Tree};
use tokio_baseline::fork_join::trees::{Queens, Skynet};
use tokio_baseline::fork_join::uts::Uts;
use tokio_baseline::runtime::ForkJoin;
use tokio_baseline::subjects::async_pool::AsyncExecutor;
use tokio_baseline::subjects::chili_pool::Chili;
use tokio_baseline::subjects::machine_rust::Machine;
use tokio_baseline::subjects::rayon_pool::Rayon;
use tokio_baseline::subjects::tokio::{Tokio, TokioCurrentThread};

fn sum_on<R: ForkJoin>(workers: usize, tree: &'static impl Tree) -> u64 {
    let runtime = R::start(workers).expect("workers");
    let (tell, told) = mpsc::channel();
    runtime.post_sum(tree, move |sum| tell.send(sum).expect("the test waits"));
    told.recv().expect("a sum")
}

/// The sums of three computations, by their numbers.
fn forks_on<R: ForkJoin>(workers: usize, root: impl Fork) -> Vec<(u64, u64)> {
    let runtime = R::start(workers).expect("workers");
    let (tell, told) = mpsc::channel();
    runtime.post_forks(root, 3, move |i, sum| tell.send((i, sum)).expect("the test waits"));
    told.iter().take(3).collect()
}

fn assert_agree(tree: impl Tree, answer: u64) {
    let tree: &'static _ = Box::leak(Box::new(tree));
    let sums = [
        serial_sum(tree, &tree.root()),
        sum_on::<Tokio>(2, tree),
        sum_on::<TokioCurrentThread>(1, tree),
        sum_on::<Rayon>(2, tree),
        sum_on::<Chili>(2, tree),
        sum_on::<AsyncExecutor>(2, tree),
        sum_on::<Machine>(2, tree),
    ];
    assert_eq!(sums, [answer; 7]);
}

fn assert_forks_agree(root: impl Fork, answer: u64) {
    assert_eq!(forks::serial_sum(root), answer);
    let thrice = [(0, answer), (1, answer), (2, answer)];
    for sums in [
        forks_on::<Tokio>(2, root),
        forks_on::<TokioCurrentThread>(1, root),
        forks_on::<Rayon>(2, root),
        forks_on::<Chili>(2, root),
        forks_on::<Chili>(1, root),
        forks_on::<AsyncExecutor>(2, root),
        forks_on::<Machine>(2, root),
    ] {
        assert_eq!(sums, thrice);
    }
}

#[test]
fn every_runtime_finds_the_published_answers() {
    assert_agree(Skynet(1000), 499_500);
    assert_agree(Queens(7), 40);
    assert_agree(Uts::new(5), 3987);
}

#[test]
fn every_runtime_finds_the_sum_by_forks_as_often_as_asked() {
    assert_forks_agree(FibNode(15), 610);
    assert_forks_agree(FibNode(0), 0);
    assert_forks_agree(TreeNode::balanced(1), 0);
    assert_forks_agree(TreeNode::balanced(1023), 522_753);
}

/// Enough of them that chili's heartbeat shares some.
#[test]
fn sums_by_forks_are_right_when_threads_share_them() {
    assert_eq!(forks_on::<Chili>(2, FibNode(24)), [(0, 46_368), (1, 46_368), (2, 46_368)]);
    assert_eq!(forks_on::<Rayon>(2, FibNode(24)), [(0, 46_368), (1, 46_368), (2, 46_368)]);
}

#[test]
fn the_slow_down_is_taken_once_per_node() {
    struct Counted(std::sync::atomic::AtomicU64);
    impl Tree for Counted {
        type Node = u64;
        fn root(&self) -> u64 {
            10
        }
        fn children(&self, &n: &u64) -> usize {
            if n < 2 {
                0
            } else {
                2
            }
        }
        fn child(&self, n: &u64, k: usize) -> u64 {
            n - 1 - k as u64
        }
        fn value(&self, _: &u64) -> u64 {
            1
        }
        fn slow_down(&self) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let tree: &'static Counted = Box::leak(Box::new(Counted(Default::default())));
    let nodes = sum_on::<Tokio>(2, tree) + sum_on::<Rayon>(2, tree) + sum_on::<Chili>(2, tree);
    assert_eq!(nodes, 3 * 177);
    assert_eq!(tree.0.load(std::sync::atomic::Ordering::Relaxed), nodes);
}
