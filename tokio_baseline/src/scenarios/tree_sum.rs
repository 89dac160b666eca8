//! `tree_sum`: the sum over a balanced binary tree in memory, a fork at every inner node.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::fork_join::{self, forks::TreeNode};
use crate::report::Report;
use crate::runtime::ForkJoin;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "tree_sum",
    params: &[Param::number("nodes", (1 << 20) - 1, 1, (1 << 27) - 1), OPS],
    open_loop: false,
};

/// Measures it on the runtime `R`.
pub fn measure<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    let nodes = run.params.value("nodes");
    if !(nodes + 1).is_power_of_two() {
        return Err(Failure::bad(format!("--param nodes={nodes} is not one less than a power of two")));
    }
    fork_join::measure_forks::<R, _>(run, TreeNode::balanced(nodes as usize), "nodes_per_op", nodes)
}
