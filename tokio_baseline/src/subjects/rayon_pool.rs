//! rayon: a `ThreadPool` of its own, and `spawn` on it. rayon has neither timers nor queues of single workers.
use crate::expresses;
use crate::failure::Failure;
use crate::runtime::Runtime;
use crate::subject::Subject;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// rayon with the system's allocator.
pub const SUBJECT: Subject = Subject {
    name: "rayon",
    version: env!("TB_VERSION_RAYON"),
    allocator: "system",
    expresses: expresses![Rayon: post_throughput, post_latency],
};

/// `ThreadPoolBuilder`, nothing tuned.
pub struct Rayon(ThreadPool);

impl Runtime for Rayon {
    fn start(workers: usize) -> Result<Self, Failure> {
        let pool = ThreadPoolBuilder::new().num_threads(workers).build();
        pool.map(Rayon).map_err(|e| Failure::machine(&format!("cannot start rayon with {workers} workers"), &e))
    }

    fn post(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(task)
    }

    fn post_from_task(task: impl FnOnce() + Send + 'static) {
        rayon::spawn(task)
    }
}
