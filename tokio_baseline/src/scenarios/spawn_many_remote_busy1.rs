//! `spawn_many_remote_busy1`, after Tokio's benchmark: the main thread posts to workers that are busy with tasks that yield.
use super::spawn_many_remote_idle::measure_posts;
use crate::args::RunArgs;
use crate::background::Background;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Yielding;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "spawn_many_remote_busy1",
    params: &[
        Param::number("tasks", 10_000, 1, 100_000_000),
        Param::number("yielders", 8, 1, 4096),
        Param::number("stall_us", 10, 0, 1_000_000),
        OPS,
    ],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Yielding>(run: &RunArgs) -> Result<Report, Failure> {
    let tasks = closed_loop::tasks_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let busy = Background::leak(run.params.value("yielders"), run.params.value("stall_us"));
    busy.start_yielders(&runtime);
    let report = measure_posts(run, tasks, ledger, &runtime);
    busy.stop();
    Ok(report)
}
