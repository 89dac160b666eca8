//! The frame of the scenarios of messages: one operation is one program of processes, complete.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::host;
use crate::ledger::Ledger;
use crate::letters;
use crate::report::Report;
use crate::runtime::{Messaging, Process};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

/// What a program is: how many of its processes end in an operation, the sum of their values, and what a row tells.
pub struct Program {
    /// How many processes end.
    pub ends: u64,
    /// The sum of their values, modulo 2^64.
    pub answer: u64,
    /// What an operation has so many of: the name of the flag.
    pub unit: &'static str,
    /// How many.
    pub units: u64,
}

/// One operation, which its processes share.
pub struct Operation<R: Messaging> {
    /// Filled by the root before it tells anybody to begin.
    pub peers: OnceLock<Vec<R::Address>>,
    /// Processes that have counted themselves in.
    pub waiting: AtomicU64,
    /// Resident bytes with all of them waiting, in the first operation.
    pub peak: &'static OnceLock<u64>,
    ledger: &'static Ledger,
    mark: u64,
    sum: AtomicU64,
    left: AtomicU64,
}

impl<R: Messaging> Operation<R> {
    /// The last thing that a process does: adds its value. The last process ends the operation.
    pub fn end(&self, value: u64) -> ControlFlow<()> {
        self.sum.fetch_add(value, Ordering::Relaxed);
        if self.left.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ledger.complete(self.mark.wrapping_add(self.sum.load(Ordering::Relaxed)));
        }
        ControlFlow::Break(())
    }

    /// Process number `i`.
    pub fn peer(&self, i: u64) -> &R::Address {
        &self.peers.get().expect("the root has filled it")[i as usize]
    }
}

/// Runs the program: `root(operation)` makes the first process of one.
pub fn measure<R: Messaging, P: Process<R>>(
    run: &RunArgs,
    program: Program,
    root: impl Fn(Arc<Operation<R>>) -> P,
) -> Result<Report, Failure> {
    letters::set_slowdown(run.slowdown_ns);
    let ledger = Ledger::leak(0);
    let peak: &'static OnceLock<u64> = Box::leak(Box::default());
    let runtime = R::start(run.workers)?;
    let before = host::peak_resident_bytes();
    let mut report = closed_loop::measure(run, 1, |ops| {
        closed_loop::iterations(ledger, ops, 1, |i| {
            runtime.begin(root(Arc::new(Operation {
                peers: OnceLock::new(),
                waiting: AtomicU64::new(0),
                peak,
                ledger,
                mark: i.wrapping_sub(program.answer),
                sum: AtomicU64::new(0),
                left: AtomicU64::new(program.ends),
            })))
        })
    });
    report.row.put_counters(&runtime.counters());
    report.row.put_flag(&format!("{}={}", program.unit, program.units));
    if let Some(peak) = peak.get() {
        report.row.put_flag(&format!("bytes_each={}", (peak - before) / program.units));
    }
    Ok(report)
}
