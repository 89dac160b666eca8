//! `matmul`: C += A·B by halving in each direction, four tasks, a join, four more; leaves of 32×32.
use crate::args::RunArgs;
use crate::closed_loop::{self, Meter};
use crate::failure::Failure;
use crate::fork_join::matrices::{Matrices, LEAF};
use crate::ledger::{mark, Ledger};
use crate::report::Report;
use crate::runtime::ForkJoin;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "matmul", params: &[Param::number("n", 512, LEAF as u64, 8192), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    let n = run.params.value("n");
    if !n.is_power_of_two() {
        return Err(Failure::bad(format!("--param n={n} is not 32 times a power of two")));
    }
    let all: &'static Matrices = Box::leak(Box::new(Matrices::new(n as usize, Ledger::leak(run.slowdown_ns))));
    let expected = all.expected();
    let end = Ledger::leak(0); // says when an operation has ended
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, 1, |ops| {
        let mut meter = Meter::default();
        for i in 0..ops {
            end.open(1);
            meter.start();
            runtime.post_product(all, || end.complete(0));
            let ended = end.wait();
            // SAFETY: the product has ended, and the wait has seen all that it wrote.
            let answer = unsafe { all.answer() };
            meter.began(all.begun_ns());
            meter.stop(ended, mark(i.wrapping_add(answer).wrapping_sub(expected)));
        }
        meter.block(ops)
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
