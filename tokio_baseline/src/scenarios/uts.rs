//! `uts`: Unbalanced Tree Search, the published tree T1: a tree whose shape nobody can foresee.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::fork_join::{self, uts::Uts};
use crate::report::Report;
use crate::runtime::ForkJoin;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "uts", params: &[Param::number("depth", 10, 0, 13), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    fork_join::measure::<R, _>(run, Uts::new(run.params.value("depth") as u32))
}
