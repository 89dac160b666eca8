//! `steal_pressure`: one task on one worker spawns all the work, the other workers must come and get it.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::host;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario};
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "steal_pressure",
    params: &[Param::number("work_ns", 1000, 0, 1_000_000_000), Param::number("ops", 100_000, 1, 100_000_000)],
    open_loop: false,
};

/// What the root and its children share; it lives as long as the process.
struct Family {
    ledger: &'static Ledger,
    work_ns: u64,
    /// Both written before the first child is spawned.
    root_thread: AtomicUsize,
    root_ns: AtomicU64,
    away: Away,
}

/// What the children on other threads than the root's write.
#[repr(align(64))]
#[derive(Default)]
struct Away {
    children: AtomicU64,
    first_ns: AtomicU64,
}

/// Tells threads apart at the price of a register: the address of a word that each thread has.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| ptr::from_ref(here) as usize)
}

impl Family {
    fn have_children<R: Runtime>(&'static self, n: u64) {
        self.root_ns.store(host::now_ns(), Ordering::Relaxed);
        self.root_thread.store(this_thread(), Ordering::Relaxed);
        for i in 0..n {
            R::spawn(move || self.child(i));
        }
    }

    fn child(&self, i: u64) {
        if this_thread() != self.root_thread.load(Ordering::Relaxed)
            && self.away.children.fetch_add(1, Ordering::Relaxed) == 0
        {
            self.away.first_ns.store(host::now_ns(), Ordering::Relaxed);
        }
        if self.work_ns != 0 {
            host::busy_wait(self.work_ns);
        }
        self.ledger.complete(i);
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    host::busy_wait(1); // calibrates its loop, for the first child should not
    let family: &'static Family = Box::leak(Box::new(Family {
        ledger: Ledger::leak(run.slowdown_ns),
        work_ns: run.params.value("work_ns"),
        root_thread: AtomicUsize::new(0),
        root_ns: AtomicU64::new(0),
        away: Away::default(),
    }));
    let runtime = R::start(run.workers)?;
    let mut first_steals = Histogram::new();
    let mut away_of_block = BTreeMap::new(); // by the wall time of the block
    let before = host::peak_resident_bytes();
    let mut bytes_each = None; // of the first block, in which the most that wait are made
    let (mut report, median) = closed_loop::measure_median(run, 1, |ops| {
        family.away.children.store(0, Ordering::Relaxed);
        family.away.first_ns.store(0, Ordering::Relaxed);
        let block = closed_loop::iterations(family.ledger, ops, ops, |_| {
            runtime.post(move || family.have_children::<R>(ops));
        });
        bytes_each.get_or_insert_with(|| (host::peak_resident_bytes() - before) / ops);
        away_of_block.insert(block.wall_ns, family.away.children.load(Ordering::Relaxed));
        match family.away.first_ns.load(Ordering::Relaxed) {
            0 => (),
            first => first_steals.record(first.saturating_sub(family.root_ns.load(Ordering::Relaxed))),
        }
        block
    });
    let away = away_of_block[&median.wall_ns];
    report.row.put_flag(&format!("elsewhere_ppm={}", away * 1_000_000 / median.ops));
    report.row.put_flag(&format!("bytes_each={}", bytes_each.unwrap_or_default()));
    report.row.put_latency(&first_steals);
    report.hist = first_steals;
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
