//! `successor`: each task spawns the next and ends; chains of hops and nothing else.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, OPS};

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "successor", params: &[Param::number("chains", 1, 1, 16_384), OPS], open_loop: false };

/// Task `i` of a chain: spawns number `i + step`, if it is below `end`.
#[derive(Clone, Copy)]
pub(super) struct Link {
    pub ledger: &'static Ledger,
    pub step: u64,
    pub end: u64,
}

impl Link {
    pub fn run<R: Runtime>(self, i: u64) {
        if i + self.step < self.end {
            R::spawn(move || self.run::<R>(i + self.step));
        }
        self.ledger.complete(i);
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let chains = run.params.value("chains");
    if let Some(ops) = run.params.get("ops").filter(|&ops| chains > ops) {
        return Err(Failure::bad(format!("--param chains={chains} is more than ops={ops}")));
    }
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let mut report = closed_loop::measure(run, 16_384, |ops| {
        let link = Link { ledger, step: chains, end: ops };
        closed_loop::iterations(ledger, ops, ops, |_| {
            for chain in 0..chains {
                runtime.post(move || link.run::<R>(chain));
            }
        })
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
