//! Every runtime finds the sum of a tree, and takes the slow-down once for each of its nodes.
use std::sync::mpsc;
use tokio_baseline::fork_join::tree::{serial_sum, Tree};
use tokio_baseline::fork_join::trees::{Fib, Queens, Skynet};
use tokio_baseline::fork_join::uts::Uts;
use tokio_baseline::runtime::ForkJoin;
use tokio_baseline::subjects::async_pool::AsyncExecutor;
use tokio_baseline::subjects::rayon_pool::Rayon;
use tokio_baseline::subjects::tokio::{Tokio, TokioCurrentThread};

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
