//! `post_throughput`: threads outside the runtime post tasks as fast as they can; each adds its mark atomically.
use crate::args::RunArgs;
use crate::blocks::Block;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, OPS};

/// Calibration starts here.
const FLOOR_OPS: u64 = 16_384;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "post_throughput",
    params: &[
        Param::number("producers", 1, 1, 256),
        // No runtime here has a batch call: every value means that many single posts, which is what a producer does anyway.
        Param::number("batch", 1, 1, 65_536),
        OPS,
    ],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let producers = run.params.value("producers");
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, FLOOR_OPS, |ops| run_block(&runtime, ledger, producers, ops));
    report.row.put_counters(&runtime.counters());
    Ok(report)
}

fn run_block<R: Runtime>(runtime: &R, ledger: &'static Ledger, producers: u64, ops: u64) -> Block {
    closed_loop::iterations_of_producers(ledger, ops, ops, producers, |producer, _| {
        for i in (producer..ops).step_by(producers as usize) {
            ledger.slow_down();
            runtime.post(move || ledger.complete(i));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger;
    use crate::runtime::Start;
    use crate::subjects::{async_pool::AsyncExecutor, rayon_pool::Rayon, tokio::Tokio};

    fn sum_of_block<R: Runtime>(producers: u64, ops: u64) -> u64 {
        let runtime = R::start(2).expect("two workers");
        run_block(&runtime, Ledger::leak(0), producers, ops).check
    }

    #[test]
    fn every_task_runs_once_whatever_the_number_of_producers() {
        for producers in [1, 2, 3, 4, 7] {
            assert_eq!(sum_of_block::<Tokio>(producers, 1000), ledger::expected_sum(1000), "{producers} producers");
            assert_eq!(sum_of_block::<Rayon>(producers, 1000), ledger::expected_sum(1000), "{producers} producers");
            assert_eq!(sum_of_block::<AsyncExecutor>(producers, 1000), ledger::expected_sum(1000), "{producers}");
        }
    }

    #[test]
    fn more_producers_than_tasks_is_fine() {
        assert_eq!(sum_of_block::<Tokio>(5, 3), ledger::expected_sum(3));
    }

    #[test]
    fn blocks_follow_one_another_on_one_runtime() {
        let runtime = Tokio::start(1).expect("one worker");
        let ledger = Ledger::leak(0);
        for ops in [1, 64, 5000, 2] {
            assert_eq!(run_block(&runtime, ledger, 1, ops).check, ledger::expected_sum(ops));
        }
    }
}
