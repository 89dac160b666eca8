//! `targeted_latency`: an open loop; each post goes to the private queue of a chosen worker.
use super::targeted_throughput::check_targets;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::host;
use crate::ledger::Ledger;
use crate::open_loop::{self, Task};
use crate::report::Report;
use crate::runtime::{Message, Targeted, Workers};
use crate::scenario::{Param, Scenario, RATE};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "targeted_latency",
    params: &[RATE, Param::number("targets", 1, 1, 1024), Param::number("service_ns", 0, 0, 1_000_000_000)],
    open_loop: true,
};

/// A task of the plan and its service, in nanoseconds.
struct Service(Task, u64);

impl Message for Service {
    fn run(self) {
        if self.1 != 0 {
            host::busy_wait(self.1);
        }
        self.0.finish()
    }
}

/// Measures it on the workers of `R`.
pub fn measure<R: Targeted>(run: &RunArgs) -> Result<Report, Failure> {
    let (targets, service_ns) = (run.params.value("targets"), run.params.value("service_ns"));
    check_targets(targets, run.workers)?;
    host::busy_wait(1); // calibrates its loop, for the first task should not
    let plan = open_loop::plan_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let workers = R::Workers::<Service>::start(run.workers)?;
    let record = open_loop::follow(&plan, ledger, |task| {
        workers.send(task.number % targets as usize, Service(task, service_ns))
    })?;
    let mut report = open_loop::report(run, &plan, record);
    report.row.put_counters(&workers.counters());
    Ok(report)
}
