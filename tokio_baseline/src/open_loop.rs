//! The open loop: one injector releases tasks at the plan's times, each stamps when its service was over.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::hist::{Histogram, Permille};
use crate::host;
use crate::ledger::{self, Ledger};
use crate::plan;
use crate::report::{discarded, Report};
use crate::row::{Row, PERCENTILES};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The measurement starts this long after the injector is asked to: it should sleep when the first time comes.
const LEAD_NS: u64 = 10_000_000;
/// The injector sleeps until this long before the next time: sleeping costs 20 to 50 µs beyond what was asked for.
pub const SPIN_NS: u64 = 80_000;
/// A look at the clock that is not shorter was interrupted; where it is shorter than the second, by the kernel.
const LONGEST_LOOK_NS: u64 = 1000;
const LONGEST_INTERRUPT_NS: u64 = 100_000;

/// What the injector itself was late by, post after post; `apiary/bench/injector.hpp` says why so.
pub struct OwnLateness {
    undisplaced: bool,
    /// When an injector that is never late would have been back from the post before.
    free: u64,
}

impl OwnLateness {
    /// For an injector that no thread of ordinary priority displaces, or for one that cannot tell.
    pub fn new(undisplaced: bool) -> Self {
        OwnLateness { undisplaced, free: 0 }
    }

    /// Of a post released at `injected`, which was back at `back`.
    pub fn of(&mut self, intended: u64, injected: u64, back: u64) -> u64 {
        let ideal = intended.max(self.free);
        if self.undisplaced {
            self.free = ideal + (back - injected);
        }
        injected - ideal
    }
}

/// Processor time of the injector itself, its sleeps and its looks at the clock; `apiary/bench/injector.hpp` says why so.
pub struct OwnCost {
    undisplaced: bool,
    ns: u64,
}

impl OwnCost {
    /// For an injector that no thread of ordinary priority displaces, or for one that others run in place of.
    pub fn new(undisplaced: bool) -> Self {
        OwnCost { undisplaced, ns: 0 }
    }

    /// A sleep cost so much processor time.
    pub fn slept(&mut self, cpu_ns: u64) {
        self.ns += cpu_ns;
    }

    /// A look at the clock took so long.
    pub fn looked(&mut self, ns: u64) {
        if ns < if self.undisplaced { LONGEST_INTERRUPT_NS } else { LONGEST_LOOK_NS } {
            self.ns += ns;
        }
    }

    /// Of a thread that has used so much processor time in all: never more than that.
    pub fn of(&self, thread_ns: u64) -> u64 {
        self.ns.min(thread_ns)
    }
}

/// What following the plan left on the injector's side.
struct Injection {
    /// The start of the measurement.
    zero: u64,
    /// The injector's own, for each post.
    lateness: Vec<u64>,
    /// Processor time of the injector itself.
    cost_ns: u64,
    /// No thread of ordinary priority ran in its place.
    undisplaced: bool,
}

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
    /// The same less what the injector itself was late by.
    pub punctual: Histogram,
    /// What the injector itself was late by.
    pub lateness: Histogram,
    /// Processor time of the injector itself; no part of `cpu_ns`.
    pub injector_ns: u64,
    /// Whether the injector ran before all threads of ordinary priority.
    pub undisplaced: bool,
    /// End of each task by the clock.
    pub finished: Vec<u64>,
    /// End of the last task to finish, after the start of the measurement.
    pub last_finished_ns: u64,
    /// Processor time of the process.
    pub cpu_ns: u64,
    /// The ledger's sum.
    pub check: u64,
}

impl Record {
    /// Tasks that ended later than that, in millionths.
    pub fn later_than_ppm(&self, ns: u64) -> u64 {
        let later = self.finished.iter().filter(|&&at| at > ns).count();
        later as u64 * 1_000_000 / self.finished.len() as u64
    }
}

/// The plan of `run`.
pub fn plan_of(run: &RunArgs) -> Result<Vec<u64>, Failure> {
    plan::read(run.plan.as_deref().ok_or_else(|| Failure::bad("--plan is missing"))?)
}

/// Releases every task at its intended time by `post`, on a thread of its own, and waits for all of them.
pub fn follow(plan: &[u64], ledger: &'static Ledger, post: impl FnMut(Task) + Send) -> Result<Record, Failure> {
    follow_and_close(plan, ledger, post, || ())
}

/// The same, with a call of `closing` when the last task has been released.
pub fn follow_and_close(
    plan: &[u64],
    ledger: &'static Ledger,
    post: impl FnMut(Task) + Send,
    closing: impl FnOnce(),
) -> Result<Record, Failure> {
    follow_measuring(plan, ledger, post, closing, |_| true)
}

/// The same; only posts for which `measures` is true are in the histograms. All are in the account.
pub fn follow_measuring(
    plan: &[u64],
    ledger: &'static Ledger,
    post: impl FnMut(Task) + Send,
    closing: impl FnOnce(),
    measures: impl Fn(usize) -> bool,
) -> Result<Record, Failure> {
    let n = plan.len();
    // One word per task, written once by that task: recording costs the same for the first and the last.
    let finished: &'static [AtomicU64] = Vec::from_iter((0..n).map(|_| AtomicU64::new(0))).leak();
    ledger.open(n as u64);
    let cpu_start = host::process_cpu_ns();
    let Injection { zero, lateness: late, cost_ns: injector_ns, undisplaced } = thread::scope(|scope| {
        let injector = thread::Builder::new().name("injector".into());
        let injector = injector.spawn_scoped(scope, || inject(plan, ledger, finished, post));
        let injector = injector.map_err(|e| Failure::machine("cannot start the injector", &e))?;
        injector.join().expect("a panic would have ended the process")
    })?;
    closing();
    ledger.wait();
    let cpu_ns = host::process_cpu_ns() - cpu_start - injector_ns;

    let (mut latency, mut punctual, mut lateness) = (Histogram::new(), Histogram::new(), Histogram::new());
    let finished = Vec::from_iter(finished.iter().map(|at| at.load(Ordering::Relaxed)));
    let mut last_finished_ns = 0;
    for (i, (intended, at)) in plan.iter().zip(&finished).enumerate() {
        let finished = at - zero;
        last_finished_ns = last_finished_ns.max(finished);
        if i >= discarded(n) && measures(i) {
            latency.record(finished - intended);
            punctual.record(finished - intended - late[i]);
            lateness.record(late[i]);
        }
    }
    let check = ledger.sum();
    Ok(Record { latency, punctual, lateness, injector_ns, undisplaced, finished, last_finished_ns, cpu_ns, check })
}

/// The injector's thread, which ends with it: it raises its own priority.
fn inject(
    plan: &[u64],
    ledger: &'static Ledger,
    finished: &'static [AtomicU64],
    mut post: impl FnMut(Task),
) -> Result<Injection, Failure> {
    host::set_timer_slack_1ns()?;
    let mut done =
        Injection { zero: 0, lateness: vec![0; plan.len()], cost_ns: 0, undisplaced: host::raise_priority() };
    // With one processor for all, spinning would keep the runtime from running.
    let margin = if host::usable_processors() > 1 { SPIN_NS } else { 0 };
    let (mut late, mut cost) = (OwnLateness::new(done.undisplaced), OwnCost::new(done.undisplaced));
    done.zero = host::now_ns() + LEAD_NS;
    let mut now = host::now_ns();
    for (number, offset) in plan.iter().enumerate() {
        let intended = done.zero + offset;
        if now < intended - margin {
            let before = host::thread_cpu_ns();
            host::sleep_until(intended - margin);
            cost.slept(host::thread_cpu_ns() - before);
            now = host::now_ns();
        }
        while now < intended {
            std::hint::spin_loop();
            let look = host::now_ns();
            cost.looked(look - now);
            now = look;
        }
        post(Task { finished, ledger, number });
        let back = host::now_ns();
        done.lateness[number] = late.of(intended, now, back);
        now = back;
    }
    done.cost_ns = cost.of(host::thread_cpu_ns());
    Ok(done)
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
    for (column, q) in PERCENTILES {
        if injector_limited(&record, q) {
            let name = column.trim_start_matches("lat_").trim_end_matches("_ns");
            row.put_flag(&format!("injector_limited_{name}"));
        }
    }
    if overloaded(offered, achieved) {
        row.put_flag("overloaded");
    }
    if !record.undisplaced {
        row.put_flag("injector_plain");
    }
    row.put_flag(&format!("injector_us={}", record.injector_ns / 1000));
    row.put_usage(&host::usage());
    row.put_verdict(record.check, complaints.is_empty());
    Report { row, hist: record.latency, complaints }
}

/// `n` events in `span_ns` nanoseconds, as a rate; infinite (printed as not measured) for an empty span.
fn per_second(n: u64, span_ns: u64) -> f64 {
    n as f64 * 1e9 / span_ns as f64
}

/// Whether the injector, not the subject, shaped a printed percentile: more than a fifth of it goes when each post is
/// taken to have left when an injector that is never late would have released it.
fn injector_limited(record: &Record, q: Permille) -> bool {
    let at = |hist: &Histogram| hist.percentile(q).unwrap_or(0) as f64;
    record.latency.printed_percentile(q).is_some() && at(&record.punctual) < 0.8 * at(&record.latency)
}

/// Whether work was still left when the plan was over by more than a hundredth.
fn overloaded(offered: f64, achieved: f64) -> bool {
    achieved / offered < 0.99
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(latency: u64, lateness: u64, times: u64) -> Record {
        let mut record = Record {
            latency: Histogram::new(),
            punctual: Histogram::new(),
            lateness: Histogram::new(),
            injector_ns: 0,
            undisplaced: true,
            finished: vec![],
            last_finished_ns: 0,
            cpu_ns: 0,
            check: 0,
        };
        record.latency.record_n(latency, times);
        record.punctual.record_n(latency - lateness, times);
        record
    }

    #[test]
    fn a_percentile_is_flagged_when_a_fifth_of_it_is_the_injectors() {
        assert!(!injector_limited(&record(100, 20, 1), Permille(500)));
        assert!(injector_limited(&record(100, 21, 1), Permille(500)));
    }

    #[test]
    fn each_percentile_is_judged_by_itself() {
        let mut late_at_the_end = record(100, 0, 9_700);
        late_at_the_end.latency.record_n(1000, 300);
        late_at_the_end.punctual.record_n(100, 300);
        assert!(!injector_limited(&late_at_the_end, Permille(500)));
        assert!(injector_limited(&late_at_the_end, Permille(990)));
        assert!(!injector_limited(&late_at_the_end, Permille(999)), "too few samples to print it");
    }

    #[test]
    fn a_rate_not_reached_is_the_runtimes_own() {
        assert!(overloaded(1000.0, 989.0) && !overloaded(1000.0, 990.0));
    }

    #[test]
    fn a_burst_at_zero_offers_no_finite_rate_and_raises_no_flag_by_it() {
        assert!(per_second(1, 0).is_infinite());
        assert!(!overloaded(f64::NAN, 1.0));
    }

    #[test]
    fn every_task_of_the_plan_is_recorded_except_the_first_tenth() {
        let plan = Vec::from_iter((0..50).map(|i| i / 5 * 10_000));
        let record = follow(&plan, Ledger::leak(0), Task::finish).expect("a run");
        assert_eq!((record.latency.count(), record.punctual.count(), record.lateness.count()), (45, 45, 45));
        assert_eq!(record.check, ledger::expected_sum(50));
        assert!(record.last_finished_ns >= 90_000);
    }
}
