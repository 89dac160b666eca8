//! async-executor, the scheduler of smol: one static executor, and threads that run it until they are told to stop.
use crate::expresses;
use crate::failure::Failure;
use crate::runtime::{Delayed, Runtime};
use crate::subject::Subject;
use async_channel::{Receiver, Sender};
use async_executor::StaticExecutor;
use async_io::Timer;
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// async-executor with the system's allocator.
pub const SUBJECT: Subject = Subject {
    name: "async-executor",
    version: env!("TB_VERSION_ASYNC_EXECUTOR"),
    allocator: "system",
    expresses: expresses![AsyncExecutor: post_throughput, post_latency, timer_lateness],
};

/// The form of the executor that its documentation calls the fastest. A program has one, as smol has.
static EXECUTOR: StaticExecutor = StaticExecutor::new();

/// Threads that run the executor, each within async-io's `block_on`, as smol's do.
pub struct AsyncExecutor {
    stop: Sender<()>,
    workers: Vec<JoinHandle<()>>,
}

impl Runtime for AsyncExecutor {
    fn start(workers: usize) -> Result<Self, Failure> {
        let (stop, stopped) = async_channel::bounded(1);
        let worker = |stopped: Receiver<()>| {
            let run = move || {
                // An error says that the channel was closed: the end, as drop() tells it.
                let _closed = async_io::block_on(EXECUTOR.run(stopped.recv()));
            };
            thread::Builder::new().name("worker".into()).spawn(run)
        };
        let workers = (0..workers).map(|_| worker(stopped.clone())).collect::<Result<_, _>>();
        let workers = workers.map_err(|e| Failure::machine("cannot start the executor's threads", &e))?;
        Ok(AsyncExecutor { stop, workers })
    }

    fn post(&self, task: impl FnOnce() + Send + 'static) {
        Self::post_from_task(task)
    }

    fn post_from_task(task: impl FnOnce() + Send + 'static) {
        EXECUTOR.spawn(async move { task() }).detach();
    }
}

impl Drop for AsyncExecutor {
    fn drop(&mut self) {
        self.stop.close();
        for worker in self.workers.drain(..) {
            worker.join().expect("a panic would have ended the process");
        }
    }
}

impl Delayed for AsyncExecutor {
    /// A task that awaits async-io's timer first. The deadline is fixed by the call of `after`, before the task is spawned.
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static) {
        let timer = Timer::after(delay);
        EXECUTOR
            .spawn(async move {
                timer.await;
                task()
            })
            .detach();
    }

    fn enter(&self, f: impl FnOnce()) {
        f()
    }
}
