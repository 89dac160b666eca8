//! Tokio's current-thread scheduler on a thread of its own: one worker, no stealing, no atomic run queue.
use crate::expresses;
use crate::failure::Failure;
use crate::runtime::{Counters, Delayed, Runtime};
use crate::subject::Subject;
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// Tokio's other scheduler; more than one worker is `unsupported`.
pub const SUBJECT: Subject = Subject {
    name: "tokio-current-thread",
    version: env!("TB_VERSION_TOKIO"),
    allocator: "system",
    expresses: expresses![CurrentThread: post_throughput, post_latency, timer_lateness],
};

/// `Builder::new_current_thread` with timers, driven by `block_on` on a thread of its own until it is dropped.
pub struct CurrentThread {
    handle: Handle,
    /// Dropped to end the worker.
    stop: Option<oneshot::Sender<()>>,
    worker: Option<JoinHandle<()>>,
}

impl Runtime for CurrentThread {
    fn start(workers: usize) -> Result<Self, Failure> {
        if workers != 1 {
            return Err(Failure::Unsupported(format!(
                "unsupported: tokio-current-thread has one worker, asked for {workers}; give --workers 1"
            )));
        }
        let failed = |e| Failure::machine("cannot start Tokio's current-thread runtime", &e);
        let runtime = Builder::new_current_thread().enable_time().build().map_err(failed)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel();
        // Whether stopped is sent to or dropped does not matter: either ends the worker.
        let run = move || runtime.block_on(async { drop(stopped.await) });
        let worker = thread::Builder::new().name("worker".into()).spawn(run).map_err(failed)?;
        Ok(CurrentThread { handle, stop: Some(stop), worker: Some(worker) })
    }

    fn post(&self, task: impl FnOnce() + Send + 'static) {
        self.handle.spawn(async move { task() });
    }

    fn post_from_task(task: impl FnOnce() + Send + 'static) {
        tokio::spawn(async move { task() });
    }

    fn counters(&self) -> Counters {
        Counters { parks: Some(self.handle.metrics().worker_park_count(0)), ..Counters::default() }
    }
}

impl Drop for CurrentThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(worker) = self.worker.take() {
            worker.join().expect("a panic would have ended the process");
        }
    }
}

impl Delayed for CurrentThread {
    /// As in the multi-threaded runtime.
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static) {
        let sleep = tokio::time::sleep(delay);
        tokio::spawn(async move {
            sleep.await;
            task()
        });
    }

    fn enter(&self, f: impl FnOnce()) {
        let _context = self.handle.enter();
        f()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_workers_are_unsupported() {
        let failure = CurrentThread::start(2).err().expect("a refusal");
        assert_eq!(failure.exit_status(), 3);
        assert!(failure.to_string().contains("asked for 2"), "seen: {failure}");
    }
}
