//! The closed loop: blocks of a calibrated operation count, each audited; the row is that of the median block.
use crate::args::RunArgs;
use crate::blocks::{self, Block, Settings};
use crate::hist::Histogram;
use crate::host;
use crate::ledger::{self, Ledger};
use crate::row::Row;
use crate::scenarios::Report;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

/// Runs blocks by `run_block` until enough are measured; `floor_ops` is where calibration starts.
///
/// The report has all columns but the runtime's counters.
pub fn measure(run: &RunArgs, floor_ops: u64, mut run_block: impl FnMut(u64) -> Block) -> Report {
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
    Report { row, hist: Histogram::new(), complaints }
}

/// One block that the calling thread starts itself: `start` posts, the ledger's last task ends the block.
pub fn block(ledger: &'static Ledger, ops: u64, start: impl FnOnce()) -> Block {
    ledger.open(ops);
    let cpu_start = host::process_cpu_ns();
    let wall_start = host::now_ns();
    start();
    close(ledger, ops, cpu_start, wall_start)
}

/// One block of `producers` threads: they line up, the start flag releases them, the last task ends the block.
///
/// `produce(p)` is what producer `p` does.
pub fn block_of_producers(
    ledger: &'static Ledger,
    ops: u64,
    producers: u64,
    produce: impl Fn(u64) + Send + Sync,
) -> Block {
    ledger.open(ops);
    let (ready, start) = (AtomicU64::new(0), AtomicBool::new(false));
    thread::scope(|scope| {
        for producer in 0..producers {
            let (ready, start, produce) = (&ready, &start, &produce);
            scope.spawn(move || {
                ready.fetch_add(1, Ordering::Release);
                wait_for(|| start.load(Ordering::Acquire));
                produce(producer);
            });
        }
        wait_for(|| ready.load(Ordering::Acquire) == producers);
        let cpu_start = host::process_cpu_ns();
        let wall_start = host::now_ns();
        start.store(true, Ordering::Release);
        close(ledger, ops, cpu_start, wall_start)
    })
}

fn close(ledger: &'static Ledger, ops: u64, cpu_start: u64, wall_start: u64) -> Block {
    let wall_end = ledger.wait();
    let cpu_ns = host::process_cpu_ns() - cpu_start;
    Block { ops, wall_ns: wall_end - wall_start, cpu_ns, check: ledger.sum() }
}

/// Waits without giving the processor's time slice away for long; used only around the start flag.
fn wait_for(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}
