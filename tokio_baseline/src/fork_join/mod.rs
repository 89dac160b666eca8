//! Fork-join: what is computed ([`tree::Tree`], [`forks`], [`matrices`]), and the ways to wait for children ([`by_join`],
//! [`by_scope`], [`by_await`]).
pub mod by_await;
pub mod by_join;
pub mod by_scope;
pub mod forks;
pub mod matrices;
pub mod tree;
pub mod trees;
pub mod uts;

use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::host;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::ForkJoin;
use forks::Fork;
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

/// A scenario whose operation number `i` works out the sum of a binary tree once. A block is one task, which does them all;
/// `unit` names what an operation has `units` of: a flag of the row.
pub fn measure_forks<R: ForkJoin, N: Fork>(run: &RunArgs, root: N, unit: &str, units: u64) -> Result<Report, Failure> {
    let expected = forks::serial_sum(root);
    let slowdown_ns = run.slowdown_ns;
    let ledger = Ledger::leak(0); // computations take the slow-down
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, 1, |ops| {
        closed_loop::iterations(ledger, ops, ops, |_| {
            runtime.post_forks(root, ops, move |i: u64, sum: u64| {
                if slowdown_ns != 0 {
                    host::busy_wait(slowdown_ns);
                }
                ledger.complete(i.wrapping_add(sum).wrapping_sub(expected))
            })
        })
    });
    report.row.put_counters(&runtime.counters());
    report.row.put_flag(&format!("{unit}={units}"));
    Ok(report)
}
