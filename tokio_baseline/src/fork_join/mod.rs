//! Fork-join: what is computed ([`tree::Tree`], [`matrices`]), and the two ways to wait for children ([`by_join`], [`by_await`]).
pub mod by_await;
pub mod by_join;
pub mod matrices;
pub mod tree;
pub mod trees;
pub mod uts;

use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::ForkJoin;
use tree::{serial_sum, Slowed, Tree};

/// A scenario whose operation number `i` computes the tree's sum once.
pub fn measure<R: ForkJoin, T: Tree>(run: &RunArgs, tree: T) -> Result<Report, Failure> {
    let expected = serial_sum(&tree, &tree.root());
    let ledger = Ledger::leak(run.slowdown_ns);
    let tree: &'static Slowed<T> = Box::leak(Box::new(Slowed(tree, ledger)));
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, 1, |ops| {
        closed_loop::iterations(ledger, ops, 1, |i| {
            runtime.post_sum(tree, move |sum| ledger.complete(i.wrapping_add(sum).wrapping_sub(expected)))
        })
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
