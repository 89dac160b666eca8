//! `fib`: fib(n) by its definition, a task for every call.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::fork_join::{self, trees::Fib};
use crate::report::Report;
use crate::runtime::ForkJoin;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "fib", params: &[Param::number("n", 27, 0, 60), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    fork_join::measure::<R, _>(run, Fib(run.params.value("n")))
}
