//! `graph_again`: the graphs of `graph`, built once and run again and again: only the runs are timed.
use super::graph;
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::Scenario;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario { name: "graph_again", params: graph::PARAMS, open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    graph::measure_form::<R, true>(run)
}
