//! `loop_scan`: the sums of all prefixes of an array.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::loops;
use crate::report::Report;
use crate::runtime::Sorting;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "loop_scan", params: &[Param::number("n", 1 << 22, 1, 1 << 28), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: Sorting>(run: &RunArgs) -> Result<Report, Failure> {
    loops::measure::<R>(run, loops::Scan::new(run))
}
