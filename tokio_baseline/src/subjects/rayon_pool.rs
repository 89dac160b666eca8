//! rayon: a `ThreadPool` of its own, `spawn` for tasks, `join` for fork-join. rayon has no timers.
use crate::failure::Failure;
use crate::fork_join::by_join::{self, Joining};
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::runtime::{Asking, Computing, ForkJoin, Looping, Message, Runtime, Sorting, Start, Targeted, Workers};
use rayon::prelude::*;
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
    const SEVERAL: bool = true;

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

impl Looping for Rayon {
    fn with_loops(&self, root: impl FnOnce() + Send) {
        self.tasks.install(root)
    }

    fn for_each_of<T: Send>(all: &mut [T], body: impl Fn(usize, &mut T) + Send + Sync) {
        all.par_iter_mut().enumerate().for_each(|(i, x)| body(i, x))
    }

    fn reduce(n: usize, map: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
        (0..n).into_par_iter().map(map).reduce(|| 0, u64::wrapping_add)
    }
}

impl Sorting for Rayon {
    /// rayon has no scan. What its users write: the sums of chunks, their prefixes, then each chunk from its own; one pass
    /// where there is one worker.
    fn scan(input: &[u64], out: &mut [u64]) {
        let from = |before: u64, input: &[u64], out: &mut [u64]| {
            input.iter().zip(out).fold(before, |sum, (x, y)| {
                *y = sum.wrapping_add(*x);
                *y
            })
        };
        let workers = rayon::current_num_threads();
        if workers == 1 {
            from(0, input, out);
            return;
        }
        let chunk = input.len().div_ceil(4 * workers).max(1);
        let sum = |part: &[u64]| part.iter().fold(0, |sum: u64, &x| sum.wrapping_add(x));
        let mut before: Vec<u64> = input.par_chunks(chunk).map(sum).collect();
        let mut all = 0_u64;
        before.iter_mut().for_each(|x| all = all.wrapping_add(std::mem::replace(x, all)));
        let parts = input.par_chunks(chunk).zip(out.par_chunks_mut(chunk)).zip(before);
        parts.for_each(|((input, out), before)| {
            from(before, input, out);
        })
    }

    fn sort(all: &mut [u64]) {
        all.par_sort_unstable()
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
