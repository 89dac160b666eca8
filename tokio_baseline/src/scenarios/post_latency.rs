//! `post_latency`: an open loop; one injector posts tasks at the plan's times, each stamps when it ran.
use super::{Report, Scenario, RATE};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::open_loop;
use crate::runtime::Runtime;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario { name: "post_latency", params: &[RATE], open_loop: true };

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let plan = open_loop::plan_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let record = open_loop::follow(&plan, ledger, |task| runtime.post(move || task.finish()))?;
    let mut report = open_loop::report(run, &plan, record);
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
