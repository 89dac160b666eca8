//! `spawn_many_remote_idle`, after Tokio's benchmark: the main thread posts to workers that sleep.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "spawn_many_remote_idle",
    params: &[Param::number("tasks", 10_000, 1, 100_000_000), OPS],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let tasks = closed_loop::tasks_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    Ok(measure_posts(run, tasks, ledger, &runtime))
}

/// What the three remote ones share: the main thread posts.
pub(super) fn measure_posts<R: Runtime>(run: &RunArgs, tasks: u64, ledger: &'static Ledger, runtime: &R) -> Report {
    let mut report = closed_loop::measure(run, tasks, |ops| {
        closed_loop::iterations(ledger, ops, tasks, |first| {
            for i in first..first + tasks {
                runtime.post(move || ledger.complete(i));
            }
        })
    });
    report.row.put_counters(&runtime.counters());
    report
}
