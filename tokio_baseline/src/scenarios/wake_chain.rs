//! `wake_chain`, after schbench: a message thread wakes one task per worker, is woken by the last, sleeps, and again.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::host;
use crate::ledger::{self, Ledger};
use crate::report::{discarded, Report};
use crate::row::Row;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "wake_chain",
    params: &[Param::number("sleep_us", 100, 0, 1_000_000), Param::number("ops", 1000, 1, 100_000_000)],
    open_loop: false,
};

/// What the message thread saw.
struct Record {
    wall_ns: u64,
    cpu_ns: u64,
    check: u64,
}

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let (ops, sleep_ns) = (run.params.value("ops"), run.params.value("sleep_us") * 1000);
    // Posted, then started − posted; each by one task.
    let latency: &'static [AtomicU64] = Vec::from_iter((0..ops).map(|_| AtomicU64::new(0))).leak();
    let runtime = R::start(run.workers)?;
    let record = thread::scope(|scope| {
        let send = || send_messages(&runtime, run, sleep_ns, latency);
        let sender = thread::Builder::new().name("messages".into()).spawn_scoped(scope, send);
        let sender = sender.map_err(|e| Failure::machine("cannot start the message thread", &e))?;
        sender.join().expect("a panic would have ended the process")
    })?;

    let mut hist = Histogram::new();
    latency.iter().skip(discarded(latency.len())).for_each(|cell| hist.record(cell.load(Ordering::Relaxed)));
    let complaints = Vec::from_iter(ledger::audit("the run", ops, record.check).err());
    let mut row = Row::new(run);
    row.put("warmup_blocks", 0);
    row.put("blocks", 1);
    row.put("ops", ops);
    row.put("wall_ns", record.wall_ns);
    row.put("cpu_ns", record.cpu_ns);
    row.put_latency(&hist);
    row.put_counters(&runtime.counters());
    row.put_usage(&host::usage());
    row.put_verdict(record.check, complaints.is_empty());
    Ok(Report { row, hist, complaints })
}

/// The message thread.
fn send_messages<R: Runtime>(
    runtime: &R,
    run: &RunArgs,
    sleep_ns: u64,
    latency: &'static [AtomicU64],
) -> Result<Record, Failure> {
    host::set_timer_slack_1ns()?;
    let ledger = Ledger::leak(run.slowdown_ns); // this thread is the one that it wakes
    let ops = latency.len() as u64;
    let (mut check, mut wall_end) = (0u64, 0);
    let cpu_start = host::process_cpu_ns();
    let wall_start = host::now_ns();
    for first in (0..ops).step_by(run.workers) {
        let end = ops.min(first + run.workers as u64);
        if first != 0 {
            host::sleep_until(host::now_ns() + sleep_ns);
        }
        ledger.open(end - first);
        for i in first..end {
            let cell = &latency[i as usize];
            cell.store(host::now_ns(), Ordering::Relaxed);
            runtime.post(move || {
                let posted = cell.load(Ordering::Relaxed);
                cell.store(host::now_ns() - posted, Ordering::Relaxed);
                ledger.complete(i);
            });
        }
        wall_end = ledger.wait();
        check = check.wrapping_add(ledger.sum());
    }
    Ok(Record { wall_ns: wall_end - wall_start, cpu_ns: host::process_cpu_ns() - cpu_start, check })
}
