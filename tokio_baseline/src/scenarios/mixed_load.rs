//! `mixed_load`: posts arrive while long compute tasks keep every processor busy.
use super::{Param, Report, Scenario, RATE};
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::host;
use crate::ledger::Ledger;
use crate::open_loop;
use crate::runtime::Computing;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "mixed_load",
    params: &[
        RATE,
        Param::number("compute_us", 2000, 1, 1_000_000),
        // As many as the workers unless given.
        Param { name: "compute_workers", default: None, least: 1, most: 1024, words: &[] },
    ],
    open_loop: true,
};

/// Long tasks, each of which hands in the next until the end is called; it lives as long as the process.
struct Load {
    work_ns: u64,
    on: AtomicBool,
    done: AtomicU64,
    live: AtomicU64,
    waiter: Thread,
}

impl Load {
    fn run<R: Computing>(&'static self) {
        let end = host::thread_cpu_ns() + self.work_ns;
        while host::thread_cpu_ns() < end {}
        self.done.fetch_add(1, Ordering::Relaxed);
        if self.on.load(Ordering::Relaxed) {
            return R::spawn_compute(|| self.run::<R>());
        }
        // Pairs with the acquire in wait.
        self.live.fetch_sub(1, Ordering::Release);
        self.waiter.unpark();
    }

    fn call_end(&self) -> u64 {
        self.on.store(false, Ordering::Relaxed);
        self.done.load(Ordering::Relaxed)
    }

    fn wait(&self) {
        while self.live.load(Ordering::Acquire) != 0 {
            thread::park();
        }
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Computing>(run: &RunArgs) -> Result<Report, Failure> {
    let compute_workers = run.params.get("compute_workers").unwrap_or(run.workers as u64);
    let plan = open_loop::plan_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let load: &'static Load = Box::leak(Box::new(Load {
        work_ns: run.params.value("compute_us") * 1000,
        on: AtomicBool::new(true),
        done: AtomicU64::new(0),
        live: AtomicU64::new(2 * compute_workers),
        waiter: thread::current(),
    }));
    let runtime = R::start_with_compute(run.workers, compute_workers as usize)?;

    let start = host::now_ns();
    for _ in 0..2 * compute_workers {
        runtime.post_compute(|| load.run::<R>());
    }
    let record = open_loop::follow(&plan, ledger, |task| runtime.post(move || task.finish()))?;
    let done = load.call_end();
    let wall_ns = host::now_ns() - start;
    load.wait();

    let mut report = open_loop::report(run, &plan, record);
    report.row.put("wall_ns", wall_ns);
    report.row.put_flag(&format!("compute_tasks={done}"));
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
