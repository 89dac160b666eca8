//! The open loop: one injector releases tasks at the plan's times, each stamps when its service was over.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::hist::{Histogram, Permille};
use crate::host;
use crate::ledger::{self, Ledger};
use crate::plan;
use crate::row::Row;
use crate::scenarios::{discarded, Report};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The measurement starts this long after the injector is asked to: it should sleep when the first time comes.
const LEAD_NS: u64 = 10_000_000;

/// One task of the plan.
#[derive(Clone, Copy)]
pub struct Task {
    finished: &'static [AtomicU64],
    ledger: &'static Ledger,
    /// Its number, from 0.
    pub number: usize,
}

impl Task {
    /// Stamps the end of its service and completes the task: its last act.
    #[inline]
    pub fn finish(self) {
        self.finished[self.number].store(host::now_ns(), Ordering::Relaxed);
        self.ledger.complete(self.number as u64);
    }
}

/// What following the plan gave.
pub struct Record {
    /// `finished − intended` of all tasks but the first tenth.
    pub latency: Histogram,
    /// `injected − intended` of the same.
    pub lateness: Histogram,
    /// End of the last task to finish, after the start of the measurement.
    pub last_finished_ns: u64,
    /// Processor time of the process.
    pub cpu_ns: u64,
    /// The ledger's sum.
    pub check: u64,
}

/// The plan of `run`.
pub fn plan_of(run: &RunArgs) -> Result<Vec<u64>, Failure> {
    plan::read(run.plan.as_deref().ok_or_else(|| Failure::bad("--plan is missing"))?)
}

/// Releases every task at its intended time by `post`, on a thread of its own, and waits for all of them.
pub fn follow(plan: &[u64], ledger: &'static Ledger, post: impl FnMut(Task) + Send) -> Result<Record, Failure> {
    let n = plan.len();
    // One word per task, written once by that task: recording costs the same for the first and the last.
    let finished: &'static [AtomicU64] = Vec::from_iter((0..n).map(|_| AtomicU64::new(0))).leak();
    ledger.open(n as u64);
    let cpu_start = host::process_cpu_ns();
    let (zero, lateness) = thread::scope(|scope| {
        let injector = thread::Builder::new().name("injector".into());
        let injector = injector.spawn_scoped(scope, || inject(plan, ledger, finished, post));
        let injector = injector.map_err(|e| Failure::machine("cannot start the injector", &e))?;
        injector.join().expect("a panic would have ended the process")
    })?;
    ledger.wait();
    let cpu_ns = host::process_cpu_ns() - cpu_start;

    let mut latency = Histogram::new();
    let mut last_finished_ns = 0;
    for (i, (intended, finished)) in plan.iter().zip(finished).enumerate() {
        let finished = finished.load(Ordering::Relaxed) - zero;
        last_finished_ns = last_finished_ns.max(finished);
        if i >= discarded(n) {
            latency.record(finished - intended);
        }
    }
    Ok(Record { latency, lateness, last_finished_ns, cpu_ns, check: ledger.sum() })
}

/// The injector's thread: returns the start of the measurement and its own lateness.
fn inject(
    plan: &[u64],
    ledger: &'static Ledger,
    finished: &'static [AtomicU64],
    mut post: impl FnMut(Task),
) -> Result<(u64, Histogram), Failure> {
    host::set_timer_slack_1ns()?;
    let mut lateness = Histogram::new();
    let zero = host::now_ns() + LEAD_NS;
    for (number, offset) in plan.iter().enumerate() {
        let intended = zero + offset;
        let mut injected = host::now_ns();
        if injected < intended {
            host::sleep_until(intended);
            injected = host::now_ns();
        }
        post(Task { finished, ledger, number });
        if number >= discarded(plan.len()) {
            lateness.record(injected - intended);
        }
    }
    Ok((zero, lateness))
}

/// The report of an open loop: all columns but the runtime's counters.
pub fn report(run: &RunArgs, plan: &[u64], record: Record) -> Report {
    let n = plan.len() as u64;
    let complaints = Vec::from_iter(ledger::audit("the run", n, record.check).err());
    let offered = per_second(n, plan.last().copied().unwrap_or(0));
    let achieved = per_second(n, record.last_finished_ns);
    let mut row = Row::new(run);
    row.put("warmup_blocks", 0);
    row.put("blocks", 1);
    row.put("ops", n);
    row.put("cpu_ns", record.cpu_ns);
    row.put("offered_per_s", offered);
    row.put("achieved_per_s", achieved);
    row.put_latency(&record.latency);
    row.put("lateness_p99_ns", record.lateness.printed_percentile(Permille(990)));
    if injector_limited(&record, offered, achieved) {
        row.put("flags", "injector_limited".to_string());
    }
    row.put_usage(&host::usage());
    row.put_verdict(record.check, complaints.is_empty());
    Report { row, hist: record.latency, complaints }
}

/// `n` events in `span_ns` nanoseconds, as a rate; infinite (printed as not measured) for an empty span.
fn per_second(n: u64, span_ns: u64) -> f64 {
    n as f64 * 1e9 / span_ns as f64
}

/// Whether the injector, not the subject, shaped the figures. The percentiles need not be printable for that.
fn injector_limited(record: &Record, offered: f64, achieved: f64) -> bool {
    let p99 = |hist: &Histogram| hist.percentile(Permille(990)).unwrap_or(0) as f64;
    p99(&record.lateness) > 0.2 * p99(&record.latency) || achieved / offered < 0.99
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(lateness: u64, latency: u64) -> Record {
        let mut record =
            Record { latency: Histogram::new(), lateness: Histogram::new(), last_finished_ns: 0, cpu_ns: 0, check: 0 };
        record.lateness.record(lateness);
        record.latency.record(latency);
        record
    }

    #[test]
    fn the_flag_is_raised_by_a_late_injector_or_a_rate_not_reached() {
        assert!(!injector_limited(&record(20, 100), 1000.0, 1000.0));
        assert!(injector_limited(&record(21, 100), 1000.0, 1000.0));
        assert!(!injector_limited(&record(0, 100), 1000.0, 990.0));
        assert!(injector_limited(&record(0, 100), 1000.0, 989.0));
    }

    #[test]
    fn a_burst_at_zero_offers_no_finite_rate_and_raises_no_flag_by_it() {
        assert!(per_second(1, 0).is_infinite());
        assert!(!injector_limited(&record(0, 100), f64::NAN, 1.0));
    }

    #[test]
    fn every_task_of_the_plan_is_recorded_except_the_first_tenth() {
        let plan = Vec::from_iter((0..50).map(|i| i / 5 * 10_000));
        let record = follow(&plan, Ledger::leak(0), Task::finish).expect("a run");
        assert_eq!((record.latency.count(), record.lateness.count()), (45, 45));
        assert_eq!(record.check, ledger::expected_sum(50));
        assert!(record.last_finished_ns >= 90_000);
    }
}
