//! `spawn_many_remote_busy2`, after Tokio's benchmark: the main thread posts to workers that are busy with tasks that
//! spawn themselves again.
use super::spawn_many_remote_idle::measure_posts;
use crate::args::RunArgs;
use crate::background::Background;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "spawn_many_remote_busy2",
    params: &[
        Param::number("tasks", 1000, 1, 100_000_000),
        Param::number("stallers", 4, 1, 4096),
        Param::number("stall_us", 10, 0, 1_000_000),
        OPS,
    ],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let tasks = closed_loop::tasks_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let busy = Background::leak(run.params.value("stallers"), run.params.value("stall_us"));
    busy.start_stallers(&runtime);
    let report = measure_posts(run, tasks, ledger, &runtime);
    busy.stop();
    Ok(report)
}
