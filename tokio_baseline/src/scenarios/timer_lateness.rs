//! `timer_lateness`: timers are kept pending, each arms the next one when it fires; how late do they fire?
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::host;
use crate::ledger::{self, Ledger};
use crate::report::{discarded, Report};
use crate::row::Row;
use crate::runtime::Delayed;
use crate::scenario::{Param, Scenario};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::Duration;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "timer_lateness",
    params: &[
        Param::number("delay_us", 1000, 1, 60_000_000),
        Param::number("pending", 1, 1, 1_000_000),
        Param::number("ops", 200, 1, 100_000_000),
    ],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Delayed>(run: &RunArgs) -> Result<Report, Failure> {
    let (ops, pending) = (run.params.value("ops"), run.params.value("pending"));
    if pending > ops {
        return Err(Failure::bad(format!(
            "--param pending={pending} is more than ops={ops}, the number of timers in all; \
             give --param ops=N with N of at least {pending}"
        )));
    }
    let delay = Duration::from_micros(run.params.value("delay_us"));
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let record = fire_all(&runtime, ledger, delay, pending, ops);
    let counters = runtime.counters();

    let mut complaints = Vec::from_iter(ledger::audit("the run", ops, record.check).err());
    if record.earliest_ns < 0 {
        complaints.push(format!("a timer fired {} ns before it was due", -record.earliest_ns));
    }
    let mut row = Row::new(run);
    row.put("warmup_blocks", 0);
    row.put("blocks", 1);
    row.put("ops", ops);
    row.put("wall_ns", record.wall_ns);
    row.put("cpu_ns", record.cpu_ns);
    row.put_latency(&record.lateness);
    row.put_counters(&counters);
    row.put_usage(&host::usage());
    row.put_verdict(record.check, complaints.is_empty());
    Ok(Report { row, hist: record.lateness, complaints })
}

/// What the timers gave.
struct Record {
    lateness: Histogram,
    /// The least lateness of all timers, also of those that the histogram leaves out.
    earliest_ns: i64,
    wall_ns: u64,
    cpu_ns: u64,
    check: u64,
}

/// What the timers of a run share; it lives as long as the process.
struct Timers {
    delay: Duration,
    delay_ns: u64,
    ledger: &'static Ledger,
    /// The number of the next timer to arm. May run past the last one by those that found nothing left.
    next: AtomicU64,
    /// `started − due` by number, each written once by its own task.
    lateness: Vec<AtomicI64>,
}

/// Keeps `pending` timers pending until `ops` have fired.
fn fire_all<R: Delayed>(runtime: &R, ledger: &'static Ledger, delay: Duration, pending: u64, ops: u64) -> Record {
    let timers: &'static Timers = Box::leak(Box::new(Timers {
        delay,
        delay_ns: delay.as_nanos() as u64,
        ledger,
        next: AtomicU64::new(0),
        lateness: (0..ops).map(|_| AtomicI64::new(0)).collect(),
    }));
    ledger.open(ops);
    let cpu_start = host::process_cpu_ns();
    let wall_start = host::now_ns();
    runtime.enter(|| (0..pending).for_each(|_| timers.arm_next::<R>()));
    let wall_end = ledger.wait();
    let cpu_ns = host::process_cpu_ns() - cpu_start;

    let all = || timers.lateness.iter().map(|cell| cell.load(Ordering::Relaxed));
    let mut lateness = Histogram::new();
    all().skip(discarded(ops as usize)).for_each(|late| lateness.record(late.max(0) as u64));
    Record {
        lateness,
        earliest_ns: all().min().unwrap_or(0),
        wall_ns: wall_end - wall_start,
        cpu_ns,
        check: ledger.sum(),
    }
}

impl Timers {
    /// Posts the next timer, if there is one left. The delay counts from this call.
    fn arm_next<R: Delayed>(&'static self) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let Some(cell) = self.lateness.get(number as usize) else {
            return;
        };
        let due = host::now_ns() + self.delay_ns;
        R::post_delayed(self.delay, move || {
            let started = host::now_ns();
            cell.store(started.wrapping_sub(due) as i64, Ordering::Relaxed);
            self.arm_next::<R>();
            self.ledger.complete(number);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects::{async_pool::AsyncExecutor, tokio::Tokio, tokio::TokioCurrentThread};

    fn fire<R: Delayed>(workers: usize, pending: u64, ops: u64) -> Record {
        let runtime = R::start(workers).expect("workers");
        fire_all(&runtime, Ledger::leak(0), Duration::from_micros(100), pending, ops)
    }

    #[test]
    fn every_timer_fires_once_and_none_early() {
        for (pending, ops) in [(1, 1), (1, 12), (5, 40), (40, 40), (300, 1000)] {
            let of_each = [fire::<Tokio>, fire::<TokioCurrentThread>, fire::<AsyncExecutor>];
            for (fire, workers) in of_each.into_iter().zip([2, 1, 2]) {
                let record = fire(workers, pending, ops);
                assert_eq!(record.check, ledger::expected_sum(ops), "pending={pending} ops={ops}");
                assert!(record.earliest_ns >= 0);
                assert_eq!(record.lateness.count(), ops - ops / 10);
            }
        }
    }

    #[test]
    fn a_chain_of_timers_takes_at_least_its_delays() {
        assert!(fire::<Tokio>(2, 1, 5).wall_ns >= 5 * 100_000);
    }
}
