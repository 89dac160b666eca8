//! `post_throughput`: threads outside the runtime spawn tasks as fast as they can; each adds its mark atomically.
use super::{Param, Report, Scenario};
use crate::args::RunArgs;
use crate::blocks::{self, Block, Settings};
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::host;
use crate::ledger::{self, Ledger};
use crate::row::Row;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use tokio::runtime::Handle;

/// Calibration starts here.
const FLOOR_OPS: u64 = 16_384;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "post_throughput",
    params: &[
        Param { name: "producers", default: Some(1), least: 1, most: 256 },
        // Tokio has no batch call: every value means that many single spawns, which is what a producer does anyway.
        Param { name: "batch", default: Some(1), least: 1, most: 65_536 },
        Param { name: "ops", default: None, least: 1, most: 1 << 40 },
    ],
    open_loop: false,
    measure,
};

fn measure(run: &RunArgs) -> Result<Report, Failure> {
    let settings = Settings {
        warmup_blocks: run.warmup_blocks,
        blocks: run.blocks,
        block_ns: run.block_ms * 1_000_000,
        fixed_ops: run.params.get("ops"),
        floor_ops: FLOOR_OPS,
    };
    let producers = run.params.value("producers");
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = host::runtime(run.workers)?;

    let mut complaints = Vec::new();
    let mut number = 0;
    let outcome = blocks::measure(&settings, |ops| {
        number += 1;
        let block = run_block(runtime.handle(), ledger, producers, ops);
        complaints.extend(ledger::audit(&format!("block {number}"), ops, block.check).err());
        block
    });
    let parks = host::parks(&runtime);
    drop(runtime);

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
    row.put("parks", parks);
    row.put_usage(&host::usage());
    row.put_verdict(block.check, complaints.is_empty());
    Ok(Report { row, hist: Histogram::new(), complaints })
}

/// One block: the producers line up, the start flag releases them, the last task ends it.
fn run_block(runtime: &Handle, ledger: &'static Ledger, producers: u64, ops: u64) -> Block {
    ledger.open(ops);
    let ready = AtomicU64::new(0);
    let start = AtomicBool::new(false);
    thread::scope(|scope| {
        for producer in 0..producers {
            let (ready, start) = (&ready, &start);
            scope.spawn(move || {
                ready.fetch_add(1, Ordering::Release);
                wait_for(|| start.load(Ordering::Acquire));
                for i in (producer..ops).step_by(producers as usize) {
                    ledger.slow_down();
                    // The JoinHandle is dropped: fire and forget, as a post is.
                    runtime.spawn(async move { ledger.complete(i) });
                }
            });
        }
        wait_for(|| ready.load(Ordering::Acquire) == producers);
        let cpu_start = host::process_cpu_ns();
        let wall_start = host::now_ns();
        start.store(true, Ordering::Release);
        let wall_end = ledger.wait();
        let cpu_ns = host::process_cpu_ns() - cpu_start;
        Block { ops, wall_ns: wall_end - wall_start, cpu_ns, check: ledger.sum() }
    })
}

/// Waits without giving the processor's time slice away for long; used only around the start flag.
fn wait_for(condition: impl Fn() -> bool) {
    while !condition() {
        thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum_of_block(producers: u64, ops: u64) -> u64 {
        let runtime = host::runtime(2).expect("two workers");
        run_block(runtime.handle(), Ledger::leak(0), producers, ops).check
    }

    #[test]
    fn every_task_runs_once_whatever_the_number_of_producers() {
        for producers in [1, 2, 3, 4, 7] {
            assert_eq!(sum_of_block(producers, 1000), ledger::expected_sum(1000), "{producers} producers");
        }
    }

    #[test]
    fn more_producers_than_tasks_is_fine() {
        assert_eq!(sum_of_block(5, 3), ledger::expected_sum(3));
    }

    #[test]
    fn blocks_follow_one_another_on_one_runtime() {
        let runtime = host::runtime(1).expect("one worker");
        let ledger = Ledger::leak(0);
        for ops in [1, 64, 5000, 2] {
            assert_eq!(run_block(runtime.handle(), ledger, 1, ops).check, ledger::expected_sum(ops));
        }
    }
}
