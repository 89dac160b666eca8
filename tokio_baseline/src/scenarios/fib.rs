//! `fib`: fib(n) by its definition, a fork for every addition.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::fork_join::{self, forks::forks_of, forks::FibNode};
use crate::report::Report;
use crate::runtime::ForkJoin;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "fib", params: &[Param::number("n", 27, 0, 60), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    let root = FibNode(run.params.value("n"));
    fork_join::measure_forks::<R, _>(run, root, "forks_per_op", forks_of(root))
}
