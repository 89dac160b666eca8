//! `ping_pong`, after Tokio's benchmark: pairs of tasks, one of which asks and waits for the answer of the other.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Asking;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "ping_pong", params: &[Param::number("tasks", 1000, 1, 1_000_000), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: Asking>(run: &RunArgs) -> Result<Report, Failure> {
    let tasks = closed_loop::tasks_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, tasks, |ops| {
        closed_loop::iterations(ledger, ops, tasks, |first| {
            runtime.post(move || {
                for i in first..first + tasks {
                    R::spawn_ping(move || ledger.complete(i));
                }
            })
        })
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
