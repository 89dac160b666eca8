//! rayon: a `ThreadPool` of its own, `spawn` for tasks, `join` for fork-join. rayon has no timers.
use crate::failure::Failure;
use crate::fork_join::by_join::{self, Joining};
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::runtime::{Asking, Computing, ForkJoin, Message, Runtime, Start, Targeted, Workers};
use rayon::{ThreadPool, ThreadPoolBuilder};
use std::hint::black_box;

/// A pool for tasks, and one for long tasks where they are asked for; nothing tuned.
pub struct Rayon {
    tasks: ThreadPool,
    compute: Option<ThreadPool>,
}

fn pool(threads: usize) -> Result<ThreadPool, Failure> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).build();
    pool.map_err(|e| Failure::machine(&format!("cannot start rayon with {threads} workers"), &e))
}

impl Start for Rayon {
    fn start(workers: usize) -> Result<Self, Failure> {
        Ok(Rayon { tasks: pool(workers)?, compute: None })
    }
}

impl Runtime for Rayon {
    fn post(&self, task: impl FnOnce() + Send + 'static) {
        self.tasks.spawn(task)
    }

    fn spawn(task: impl FnOnce() + Send + 'static) {
        rayon::spawn(task)
    }
}

impl Asking for Rayon {
    /// rayon's tasks cannot wait for a message: what would be sent is the task that goes on.
    fn spawn_ping(then: impl FnOnce() + Send + 'static) {
        let pong = move || rayon::spawn(then);
        rayon::spawn(move || rayon::spawn(pong))
    }
}

impl Computing for Rayon {
    fn start_with_compute(workers: usize, compute_workers: usize) -> Result<Self, Failure> {
        Ok(Rayon { tasks: pool(workers)?, compute: Some(pool(compute_workers)?) })
    }

    fn post_compute(&self, task: impl FnOnce() + Send + 'static) {
        self.compute.as_ref().expect("started with compute").spawn(task)
    }

    fn spawn_compute(task: impl FnOnce() + Send + 'static) {
        rayon::spawn(task)
    }
}

impl Joining for Rayon {
    /// The worker runs the first and offers the second to thieves.
    #[inline(always)] // the kernel is compiled as if it called rayon itself
    fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        rayon::join(a, b)
    }
}

impl ForkJoin for Rayon {
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static) {
        self.tasks.spawn(move || (0..ops).for_each(|i| done(i, by_join::fork_sum::<Self, N>(black_box(root)))))
    }

    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static) {
        self.tasks.spawn(move || done(by_join::sum::<Self, T>(tree, &tree.root())))
    }

    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static) {
        self.tasks.spawn(move || {
            // SAFETY: one product at a time, and this is its first step.
            let whole = unsafe { matrices.begin() };
            by_join::multiply::<Self>(matrices, whole);
            done()
        })
    }
}

impl Targeted for Rayon {
    type Workers<M: Message> = Pools;
}

/// A pool of one thread per worker.
pub struct Pools(Vec<ThreadPool>);

impl<M: Message> Workers<M> for Pools {
    fn start(workers: usize) -> Result<Self, Failure> {
        (0..workers).map(|_| pool(1)).collect::<Result<_, _>>().map(Pools)
    }

    fn send(&self, worker: usize, message: M) {
        self.0[worker].spawn(|| message.run())
    }
}
