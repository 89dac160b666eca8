//! `remote_spawn`, after Tokio's benchmark: threads outside post their shares at once.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "remote_spawn",
    params: &[Param::number("tasks", 12_800, 1, 100_000_000), Param::number("threads", 1, 1, 256), OPS],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let (tasks, threads) = (closed_loop::tasks_of(run)?, run.params.value("threads"));
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, tasks, |ops| {
        closed_loop::iterations_of_producers(ledger, ops, tasks, threads, |thread, first| {
            for i in (first + thread..first + tasks).step_by(threads as usize) {
                runtime.post(move || ledger.complete(i));
            }
        })
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
