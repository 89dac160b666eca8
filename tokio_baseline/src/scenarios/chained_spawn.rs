//! `chained_spawn`, after Tokio's benchmark: a root spawns the first link of a chain of tasks that spawn each other.
use super::successor::Link;
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "chained_spawn", params: &[Param::number("tasks", 1000, 1, 1_000_000), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let tasks = closed_loop::tasks_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, tasks, |ops| {
        closed_loop::iterations(ledger, ops, tasks, |first| {
            let link = Link { ledger, step: 1, end: first + tasks };
            runtime.post(move || R::spawn(move || link.run::<R>(first)))
        })
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
