//! `nqueens`: all ways to place n queens, a task for every safe placement.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::fork_join::{self, trees::Queens};
use crate::report::Report;
use crate::runtime::ForkJoin;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "nqueens", params: &[Param::number("n", 10, 1, 20), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    fork_join::measure::<R, _>(run, Queens(run.params.value("n") as u32))
}
