//! What a runtime must offer to be raced, and what it may offer besides: one trait per capability.
//!
//! A scenario asks for the capabilities it needs, and a subject names the scenarios that its runtime expresses.
//! Nothing is approximated: what a runtime's own users could not write is `unsupported`.
use crate::failure::Failure;
use std::time::Duration;

/// A runtime that takes tasks and forgets them (fire and forget).
pub trait Runtime: Sized + Sync + 'static {
    /// Starts `workers` threads that execute tasks; dropping the runtime stops and joins them.
    fn start(workers: usize) -> Result<Self, Failure>;

    /// Posts a task from a thread outside the runtime.
    fn post(&self, task: impl FnOnce() + Send + 'static);

    /// Posts a task from within a task.
    fn post_from_task(task: impl FnOnce() + Send + 'static);

    /// What the runtime has counted since it was started.
    fn counters(&self) -> Counters {
        Counters::default()
    }
}

/// A runtime with delayed posts.
pub trait Delayed: Runtime {
    /// Posts a task that is due `delay` after this call; from within a task, or within [`Delayed::enter`].
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static);

    /// Runs `f` on a thread outside so that it may call [`Delayed::post_delayed`].
    fn enter(&self, f: impl FnOnce());
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
