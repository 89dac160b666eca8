//! `loop_for`: a loop whose bodies write an array.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::loops;
use crate::report::Report;
use crate::runtime::Looping;
use crate::scenario::Scenario;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario { name: "loop_for", params: loops::BODIES, open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: Looping>(run: &RunArgs) -> Result<Report, Failure> {
    loops::measure::<R>(run, loops::For::new(run))
}
