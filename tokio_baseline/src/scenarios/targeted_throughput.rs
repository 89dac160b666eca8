//! `targeted_throughput`: threads outside post to the private queues of chosen workers as fast as they can.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::{Message, Targeted, Workers};
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "targeted_throughput",
    params: &[Param::number("producers", 1, 1, 256), Param::number("targets", 1, 1, 1024), OPS],
    open_loop: false,
};

/// Task number `.1` of the account.
struct Mark(&'static Ledger, u64);

impl Message for Mark {
    fn run(self) {
        self.0.complete(self.1)
    }
}

/// Measures it on the workers of `R`.
pub fn measure<R: Targeted>(run: &RunArgs) -> Result<Report, Failure> {
    let (producers, targets) = (run.params.value("producers"), run.params.value("targets"));
    check_targets(targets, run.workers)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let workers = R::Workers::<Mark>::start(run.workers)?;
    let mut report = closed_loop::measure(run, 16_384, |ops| {
        closed_loop::iterations_of_producers(ledger, ops, ops, producers, |producer, _| {
            for i in (producer..ops).step_by(producers as usize) {
                ledger.slow_down();
                workers.send((i % targets) as usize, Mark(ledger, i));
            }
        })
    });
    report.row.put_counters(&workers.counters());
    Ok(report)
}

/// Refuses more targets than workers.
pub(super) fn check_targets(targets: u64, workers: usize) -> Result<(), Failure> {
    if targets <= workers as u64 {
        return Ok(());
    }
    Err(Failure::bad(format!("--param targets={targets} is more than --workers {workers}")))
}
