//! `skynet`: ten tasks that each start ten tasks, and so on; the leaves are added up.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::fork_join::{self, trees::Skynet};
use crate::report::Report;
use crate::runtime::ForkJoin;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "skynet", params: &[Param::number("leaves", 1_000_000, 1, 1_000_000_000), OPS], open_loop: false };

/// Measures it on the runtime `R`.
pub fn measure<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    let leaves = run.params.value("leaves");
    if 10u64.pow(leaves.ilog10()) != leaves {
        return Err(Failure::bad(format!("--param leaves={leaves} is not a power of ten")));
    }
    fork_join::measure::<R, _>(run, Skynet(leaves))
}
