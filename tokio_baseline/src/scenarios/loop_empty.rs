//! `loop_empty`: a loop of one index for each worker, whose body does next to nothing.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::loops;
use crate::report::Report;
use crate::runtime::Looping;
use crate::scenario::{Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario { name: "loop_empty", params: &[OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: Looping>(run: &RunArgs) -> Result<Report, Failure> {
    loops::measure_empty::<R>(run)
}
