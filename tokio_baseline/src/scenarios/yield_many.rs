//! `yield_many`, after Tokio's benchmark: tasks that let the others go first, again and again.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Yielding;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "yield_many",
    params: &[Param::number("tasks", 200, 1, 1_000_000), Param::number("yields", 1000, 0, 1_000_000), OPS],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Yielding>(run: &RunArgs) -> Result<Report, Failure> {
    let (tasks, yields) = (closed_loop::tasks_of(run)?, run.params.value("yields"));
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, tasks, |ops| {
        closed_loop::iterations(ledger, ops, tasks, |first| {
            for i in first..first + tasks {
                let mut left = yields;
                runtime.post_yielding(move || {
                    if left == 0 {
                        ledger.complete(i);
                        return false;
                    }
                    left -= 1;
                    true
                });
            }
        })
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
