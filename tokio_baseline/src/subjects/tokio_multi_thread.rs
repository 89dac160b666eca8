//! Tokio's multi-threaded scheduler, otherwise as it comes. A post is `spawn` with the JoinHandle dropped.
use crate::expresses;
use crate::failure::Failure;
use crate::runtime::{Counters, Delayed, Runtime};
use crate::subject::Subject;
use std::time::Duration;
use tokio::runtime::Builder;

/// Tokio with the system's allocator.
pub const SUBJECT: Subject = Subject {
    name: "tokio",
    version: env!("TB_VERSION_TOKIO"),
    allocator: "system",
    expresses: expresses![Tokio: post_throughput, post_latency, timer_lateness],
};

/// The same with mimalloc: the difference between the two is the allocator's share.
pub const WITH_MIMALLOC: Subject =
    Subject { name: "tokio-mimalloc", allocator: concat!("mimalloc-crate-", env!("TB_VERSION_MIMALLOC")), ..SUBJECT };

/// `Builder::new_multi_thread` with timers, nothing tuned.
pub struct Tokio(tokio::runtime::Runtime);

impl Runtime for Tokio {
    fn start(workers: usize) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_time().build();
        runtime.map(Tokio).map_err(|e| Failure::machine(&format!("cannot start Tokio with {workers} workers"), &e))
    }

    fn post(&self, task: impl FnOnce() + Send + 'static) {
        self.0.spawn(async move { task() });
    }

    fn post_from_task(task: impl FnOnce() + Send + 'static) {
        tokio::spawn(async move { task() });
    }

    fn counters(&self) -> Counters {
        let metrics = self.0.metrics();
        let parks = (0..metrics.num_workers()).map(|worker| metrics.worker_park_count(worker)).sum();
        Counters { parks: Some(parks), ..Counters::default() }
    }
}

impl Delayed for Tokio {
    /// A task that sleeps first. The deadline is fixed by the call of `sleep`, before the task is spawned.
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static) {
        let sleep = tokio::time::sleep(delay);
        tokio::spawn(async move {
            sleep.await;
            task()
        });
    }

    fn enter(&self, f: impl FnOnce()) {
        let _context = self.0.enter();
        f()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_has_the_workers_it_was_asked_for() {
        let runtime = Tokio::start(3).expect("three threads");
        assert_eq!(runtime.0.metrics().num_workers(), 3);
        assert!(runtime.counters().parks.is_some());
    }
}
