//! What a runtime must offer to be raced, and what it may offer besides: one trait per capability.
//!
//! A scenario asks for the capabilities it needs, and a subject names the scenarios that its runtime expresses.
//! Nothing is approximated: what a runtime's own users could not write is `unsupported`.
use crate::failure::Failure;
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::letters::Letter;
use crate::service::Service;
use std::ops::ControlFlow;
use std::task::Waker;
use std::time::Duration;

/// A runtime, whatever it can do.
pub trait Start: Sized + Send + Sync + 'static {
    /// Starts `workers` threads that execute tasks; dropping the runtime stops and joins them.
    fn start(workers: usize) -> Result<Self, Failure>;

    /// What the runtime has counted since it was started.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// A runtime that takes tasks and forgets them (fire and forget).
pub trait Runtime: Start {
    /// Whether two of it at a time do not share their workers, and what a task spawns runs where the task does.
    const SEVERAL: bool = false;

    /// Posts a task from a thread outside the runtime.
    fn post(&self, task: impl FnOnce() + Send + 'static);

    /// Posts a task from within a task.
    fn spawn(task: impl FnOnce() + Send + 'static);
}

/// A runtime with delayed posts.
pub trait Delayed: Runtime {
    /// Posts a task that is due `delay` after this call; from within a task, or within [`Delayed::enter`].
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static);

    /// Runs `f` on a thread outside so that it may call [`Delayed::post_delayed`].
    fn enter(&self, f: impl FnOnce());
}

/// A runtime whose timeouts can be armed again before they are over.
pub trait Timeouts: Delayed {
    /// A timeout; dropping it ends it.
    type Timeout: Send + 'static;

    /// Arms one, from within a task. The runtime wakes `waker` when it is over.
    fn arm(delay: Duration, waker: &Waker) -> Self::Timeout;

    /// Ends it and arms it again, from within a task. False if the runtime says that it was over already.
    fn rearm(timeout: &mut Self::Timeout, delay: Duration) -> bool;
}

/// A runtime whose tasks can let others go first.
pub trait Yielding: Runtime {
    /// Posts, from outside, a task that calls `step` again and again, and yields in between, until it returns false.
    fn post_yielding(&self, step: impl FnMut() -> bool + Send + 'static);
}

/// A runtime whose tasks can spawn such tasks, too.
pub trait Slicing: Yielding {
    /// As [`Yielding::post_yielding`], from within a task.
    fn spawn_yielding(step: impl FnMut() -> bool + Send + 'static);
}

/// A runtime in which a task can ask another one and wait for the answer.
pub trait Asking: Runtime {
    /// Spawns, from within a task, a ping: it spawns a pong, sends it a message, waits for its answer, then calls `then`.
    fn spawn_ping(then: impl FnOnce() + Send + 'static);
}

/// A runtime in which processes send letters to each other. A process handles one at a time; those of one sender come in order.
pub trait Messaging: Start {
    /// Where a process can be sent to.
    type Address: Clone + Send + Sync + 'static;

    /// Starts a process from outside.
    fn begin(&self, process: impl Process<Self>);

    /// Starts a process from within another.
    fn spawn_process(process: impl Process<Self>) -> Self::Address;

    /// Sends to a process that lives.
    fn send(to: &Self::Address, letter: Letter);
}

/// What a process does; it ends where it breaks.
pub trait Process<R: Messaging>: Send + 'static {
    /// Once, before the first letter.
    fn start(&mut self, _me: &R::Address) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }

    /// For each letter.
    fn receive(&mut self, me: &R::Address, letter: Letter) -> ControlFlow<()>;
}

/// A runtime that serves sockets, whatever else it can do. Dropping it stops and joins its threads.
pub trait Serving: Sized {
    /// Starts `workers` threads that answer the requests of each connection in their order, in a task of its own; and the port of
    /// 127.0.0.1 at which they listen.
    fn serve(workers: usize, service: Service) -> Result<(Self, u16), Failure>;

    /// What the runtime has counted since it was started.
    fn counted(&self) -> Counters {
        Counters::default()
    }
}

/// A runtime with means for long tasks.
pub trait Computing: Runtime {
    /// As [`Start::start`], with `compute_workers` threads for long tasks besides.
    fn start_with_compute(workers: usize, compute_workers: usize) -> Result<Self, Failure>;

    /// Posts a long task from outside.
    fn post_compute(&self, task: impl FnOnce() + Send + 'static);

    /// Posts a long task from within a long task.
    fn spawn_compute(task: impl FnOnce() + Send + 'static);
}

/// A runtime that serves sockets beside long tasks.
pub trait ServingBeside: Serving + Computing {
    /// As [`Serving::serve`], with `compute_workers` threads for long tasks besides.
    fn serve_with_compute(workers: usize, compute_workers: usize, service: Service) -> Result<(Self, u16), Failure>;
}

/// A runtime in which a task can wait for the tasks that it has spawned.
pub trait ForkJoin: Start {
    /// Posts one task that works out the sum of a binary tree `ops` times, one after the other, a fork at every inner node;
    /// computation `i` ends with `done(i, sum)`.
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static);

    /// Posts the computation of a tree's sum, one task per node; its last task calls `done`.
    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static);

    /// Posts the product of two matrices, one task per block; its last task calls `done`.
    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static);
}

/// A runtime that has loops over slices and indices.
pub trait Looping: Start {
    /// Calls `root` where loops begin, and waits for it.
    fn with_loops(&self, root: impl FnOnce() + Send);

    /// `body(i, &mut all[i])` for each entry.
    fn for_each_of<T: Send>(all: &mut [T], body: impl Fn(usize, &mut T) + Send + Sync);

    /// The sum of `map(i)` over i < n, wrapping.
    fn reduce(n: usize, map: impl Fn(usize) -> u64 + Send + Sync) -> u64;
}

/// A runtime whose loops sum and sort whole slices, too.
pub trait Sorting: Looping {
    /// `out[i]` becomes the sum of the input up to `i`, wrapping.
    fn scan(input: &[u64], out: &mut [u64]);

    /// Ascending.
    fn sort(all: &mut [u64]);
}

/// A runtime whose workers can be aimed at, or that can run once per worker.
pub trait Targeted: 'static {
    /// Workers, each with a private queue of messages.
    type Workers<M: Message>: Workers<M>;
}

/// What a worker of [`Targeted`] does; a plain value, so that a queue of values need not box it.
pub trait Message: Send + 'static {
    /// Runs on the worker that it was sent to.
    fn run(self);
}

/// Started workers with private queues; dropping them stops and joins their threads.
pub trait Workers<M>: Sized + Sync {
    /// Starts `workers` threads.
    fn start(workers: usize) -> Result<Self, Failure>;

    /// Sends a message to the queue of worker number `worker`, from a thread outside.
    fn send(&self, worker: usize, message: M);

    /// What the workers have counted since they were started.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// Counters that a runtime keeps itself; nothing where it keeps none.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counters {
    /// How often a worker was woken.
    pub wakes: Option<u64>,
    /// How often a worker went to sleep.
    pub parks: Option<u64>,
    /// How many tasks were stolen.
    pub steals: Option<u64>,
}
