//! `post_latency`: an open loop; one injector posts tasks at the plan's times, each stamps when it ran.
use crate::args::RunArgs;
use crate::background::ComputeLoad;
use crate::failure::Failure;
use crate::host;
use crate::ledger::Ledger;
use crate::open_loop;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, RATE};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "post_latency",
    params: &[RATE, Param::number("respawners", 0, 0, 4096), Param::number("task_us", 1000, 1, 1_000_000)],
    open_loop: true,
};

/// After the last post; what has not run then is starved.
const PATIENCE_NS: u64 = 100_000_000;

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let plan = open_loop::plan_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let respawners = run.params.value("respawners");
    let load = ComputeLoad::leak(respawners, run.params.value("task_us"));
    for _ in 0..respawners {
        let first = load.hand_in();
        runtime.post(move || load.run_respawning::<R>(first));
    }
    let mut ended = u64::MAX;
    let post = |task: open_loop::Task| runtime.post(move || task.finish());
    let record = open_loop::follow_and_close(&plan, ledger, post, || {
        if respawners != 0 {
            host::sleep_until(host::now_ns() + PATIENCE_NS);
            ended = host::now_ns();
            load.call_end();
        }
    })?;
    let load_found = load.wait();
    let starved_ppm = record.later_than_ppm(ended);
    let mut report = open_loop::report(run, &plan, record);
    report.hold_to(load_found);
    if respawners != 0 {
        report.row.put_flag(&format!("starved_ppm={starved_ppm}"));
    }
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
