//! The frame of every scenario made of blocks: iterations on one account, the audit of each block, the row.
use crate::args::RunArgs;
use crate::blocks::{self, Block, Settings};
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::host;
use crate::ledger::{self, Ledger};
use crate::report::Report;
use crate::row::Row;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Adds up a block from its iterations, each from its start to the stamp of its last task.
#[derive(Default)]
pub struct Meter {
    cpu_start: Option<u64>,
    cpu_end: u64,
    wall_start: u64,
    wall_ns: u64,
    check: u64,
}

impl Meter {
    /// Just before the work of an iteration. The first call opens the count of processor time.
    pub fn start(&mut self) {
        self.cpu_start.get_or_insert_with(host::process_cpu_ns);
        self.wall_start = host::now_ns();
    }

    /// For work that makes itself ready where it runs: its time begins at `ns`, after [`Meter::start`].
    pub fn began(&mut self, ns: u64) {
        self.wall_start = ns;
    }

    /// After an iteration that ended at `end_ns` and whose account holds `check`.
    pub fn stop(&mut self, end_ns: u64, check: u64) {
        self.cpu_end = host::process_cpu_ns();
        self.wall_ns += end_ns - self.wall_start;
        self.check = self.check.wrapping_add(check);
    }

    /// The block of `ops` operations.
    pub fn block(&self, ops: u64) -> Block {
        let cpu_ns = self.cpu_end - self.cpu_start.unwrap_or(self.cpu_end);
        Block { ops, wall_ns: self.wall_ns, cpu_ns, check: self.check }
    }
}

/// A block of iterations of `tasks` tasks each: `begin(first)` starts those with the numbers from `first` on.
pub fn iterations(ledger: &'static Ledger, ops: u64, tasks: u64, mut begin: impl FnMut(u64)) -> Block {
    let mut meter = Meter::default();
    for first in (0..ops).step_by(tasks as usize) {
        ledger.open(tasks);
        meter.start();
        begin(first);
        let end = ledger.wait();
        meter.stop(end, ledger.sum());
    }
    meter.block(ops)
}

/// A block of iterations of `tasks` tasks each, posted by threads outside: they line up, and a start flag releases them.
///
/// `produce(p, first)` is what producer `p` of an iteration does: its share of the numbers from `first` on.
pub fn iterations_of_producers(
    ledger: &'static Ledger,
    ops: u64,
    tasks: u64,
    producers: u64,
    produce: impl Fn(u64, u64) + Sync,
) -> Block {
    let mut meter = Meter::default();
    for first in (0..ops).step_by(tasks as usize) {
        ledger.open(tasks);
        let (ready, start) = (AtomicU64::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for producer in 0..producers {
                let (ready, start, produce) = (&ready, &start, &produce);
                scope.spawn(move || {
                    ready.fetch_add(1, Ordering::Release);
                    yield_until(|| start.load(Ordering::Acquire));
                    produce(producer, first);
                });
            }
            yield_until(|| ready.load(Ordering::Acquire) == producers);
            meter.start();
            start.store(true, Ordering::Release);
            let end = ledger.wait();
            meter.stop(end, ledger.sum());
        });
    }
    meter.block(ops)
}

/// Only around the start flag; a sleeping start would be late by a wake.
fn yield_until(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

/// Runs the blocks, audits each and fills the row, all but the runtime's counters. `run_block(ops)` does one;
/// calibration starts at `floor_ops`.
pub fn measure(run: &RunArgs, floor_ops: u64, run_block: impl FnMut(u64) -> Block) -> Report {
    measure_median(run, floor_ops, run_block).0
}

/// [`measure`], and the median block that the row is of.
pub fn measure_median(run: &RunArgs, floor_ops: u64, mut run_block: impl FnMut(u64) -> Block) -> (Report, Block) {
    let settings = Settings {
        warmup_blocks: run.warmup_blocks,
        blocks: run.blocks,
        block_ns: run.block_ms * 1_000_000,
        fixed_ops: run.params.get("ops"),
        floor_ops,
    };
    let mut complaints = Vec::new();
    let mut number = 0;
    let outcome = blocks::measure(&settings, |ops| {
        number += 1;
        let block = run_block(ops);
        complaints.extend(ledger::audit(&format!("block {number}"), ops, block.check).err());
        block
    });

    let block = outcome.median;
    let mut row = Row::new(run);
    row.put("warmup_blocks", outcome.warmup_blocks);
    row.put("steady", outcome.steady);
    row.put("blocks", outcome.blocks);
    row.put("ops", block.ops);
    row.put("wall_ns", block.wall_ns);
    row.put("cpu_ns", block.cpu_ns);
    row.put("ns_per_op", block.ns_per_op());
    row.put("ops_per_s", 1e9 / block.ns_per_op());
    row.put_usage(&host::usage());
    row.put_verdict(block.check, complaints.is_empty());
    (Report { row, hist: Histogram::new(), complaints }, block)
}

/// The size of an iteration, `--param tasks`; refuses an `ops` that is no multiple of it.
pub fn tasks_of(run: &RunArgs) -> Result<u64, Failure> {
    let tasks = run.params.value("tasks");
    match run.params.get("ops") {
        Some(ops) if ops % tasks != 0 => Err(Failure::bad(format!(
            "--param ops={ops} is not a multiple of tasks={tasks}, the size of an iteration; give a multiple of it"
        ))),
        _ => Ok(tasks),
    }
}
