//! smol: its global executor, `smol::spawn`, whose threads SMOL_THREADS counts; it is never stopped. (The subject `async-executor`
//! is its scheduler by itself, in the static form.)
use ::smol::{future, Task, Timer};
use std::future::Future;
use std::time::Duration;
use tokio_baseline::failure::Failure;
use tokio_baseline::fork_join::by_await::{self, Awaiting};
use tokio_baseline::fork_join::forks::Fork;
use tokio_baseline::fork_join::matrices::Matrices;
use tokio_baseline::fork_join::tree::Tree;
use tokio_baseline::runtime::{Delayed, ForkJoin, Runtime, Start, Yielding};

/// The one of this process.
pub struct Smol;

impl Start for Smol {
    fn start(workers: usize) -> Result<Self, Failure> {
        std::env::set_var("SMOL_THREADS", workers.to_string());
        ::smol::block_on(::smol::spawn(async {})); // its threads start with the first task
        Ok(Smol)
    }
}

impl Runtime for Smol {
    fn post(&self, task: impl FnOnce() + Send + 'static) {
        Self::spawn(task)
    }

    fn spawn(task: impl FnOnce() + Send + 'static) {
        ::smol::spawn(async move { task() }).detach();
    }
}

impl Delayed for Smol {
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static) {
        let timer = Timer::after(delay);
        let delayed = async move {
            timer.await;
            task()
        };
        ::smol::spawn(delayed).detach();
    }

    fn enter(&self, f: impl FnOnce()) {
        f()
    }
}

impl Yielding for Smol {
    fn post_yielding(&self, mut step: impl FnMut() -> bool + Send + 'static) {
        let task = async move {
            while step() {
                future::yield_now().await;
            }
        };
        ::smol::spawn(task).detach();
    }
}

impl Awaiting for Smol {
    type Handle = Task<u64>;

    fn spawn_task(task: impl Future<Output = u64> + Send + 'static) -> Task<u64> {
        ::smol::spawn(task)
    }
}

impl ForkJoin for Smol {
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static) {
        ::smol::spawn(by_await::fork_sums::<Self, N>(root, ops, done)).detach();
    }

    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static) {
        ::smol::spawn(async move { done(by_await::sum::<Self, T>(tree, tree.root()).await) }).detach();
    }

    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static) {
        let product = async move {
            // SAFETY: one product at a time, and this is its first step.
            let whole = unsafe { matrices.begin() };
            by_await::multiply::<Self>(matrices, whole).await;
            done()
        };
        ::smol::spawn(product).detach();
    }
}
