//! `idle_cpu`: what sleeping costs: processor time of a runtime that has nothing to do, or next to nothing.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::host;
use crate::ledger::{self, Ledger};
use crate::report::Report;
use crate::row::Row;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario};

const SECOND: u64 = 1_000_000_000;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "idle_cpu",
    params: &[Param::number("rate", 0, 0, 1000), Param::number("seconds", 10, 1, 3600)],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let (rate, seconds) = (run.params.value("rate"), run.params.value("seconds"));
    let ops = rate * seconds;
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    ledger.open(1);
    runtime.post(|| ledger.complete(0));
    ledger.wait();
    host::sleep_until(host::now_ns() + SECOND / 10);

    if ops != 0 {
        ledger.open(ops);
    }
    let switches_start = host::switches_of_others();
    let cpu_start = host::process_cpu_ns();
    let start = host::now_ns();
    for k in 0..ops {
        host::sleep_until(start + k * SECOND / rate);
        runtime.post(move || ledger.complete(k));
    }
    host::sleep_until(start + seconds * SECOND);
    if ops != 0 {
        ledger.wait();
    }
    let (wall_ns, cpu_ns) = (host::now_ns() - start, host::process_cpu_ns() - cpu_start);
    // A thread that has ended since takes its count along.
    let switches = host::switches_of_others().saturating_sub(switches_start);

    let check = if ops == 0 { 0 } else { ledger.sum() };
    let complaints = Vec::from_iter(ledger::audit("the run", ops, check).err());
    let mut row = Row::new(run);
    row.put("warmup_blocks", 0);
    row.put("blocks", 1);
    row.put("ops", ops);
    row.put("wall_ns", wall_ns);
    row.put("cpu_ns", cpu_ns);
    row.put_flag(&format!("idle_switches={switches}"));
    row.put_counters(&runtime.counters());
    row.put_usage(&host::usage());
    row.put_verdict(check, complaints.is_empty());
    Ok(Report { row, hist: Histogram::new(), complaints })
}
