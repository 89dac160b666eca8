//! `steal_pressure`: one task on one worker spawns all the work, the other workers must come and get it.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::fork_join::forks::Fork;
use crate::hist::Histogram;
use crate::host;
use crate::ledger::Ledger;
use crate::report::Report;
use crate::runtime::{ForkJoin, Runtime, Start};
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
    /// On the root's thread, before the first child may run.
    fn root_begins(&self) {
        self.root_ns.store(host::now_ns(), Ordering::Relaxed);
        self.root_thread.store(this_thread(), Ordering::Relaxed);
    }

    fn have_children<R: Runtime>(&'static self, n: u64) {
        self.root_begins();
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

/// The children `first` and on, up to `end`, which a runtime of two branches halves until one is left.
#[derive(Clone, Copy)]
struct Children {
    family: &'static Family,
    first: u64,
    end: u64,
    is_root: bool,
}

impl Children {
    fn half(self) -> u64 {
        self.first + (self.end - self.first) / 2
    }
}

impl Fork for Children {
    fn is_leaf(self) -> bool {
        // Asked once of the root, as its first act.
        if self.is_root {
            self.family.root_begins();
        }
        self.end - self.first == 1
    }

    fn left(self) -> Self {
        Children { end: self.half(), is_root: false, ..self }
    }

    fn right(self) -> Self {
        Children { first: self.half(), is_root: false, ..self }
    }

    fn value(self) -> u64 {
        if self.end - self.first == 1 {
            self.family.child(self.first);
        }
        0
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    measure_family::<R>(run, |runtime, family, ops| runtime.post(move || family.have_children::<R>(ops)))
}

/// The same by a computation of two branches: where nothing else can be posted, or where users would write it so.
pub fn measure_by_halves<R: ForkJoin>(run: &RunArgs) -> Result<Report, Failure> {
    measure_family::<R>(run, |runtime, family, ops| {
        runtime.post_forks(Children { family, first: 0, end: ops, is_root: true }, 1, |_, _| ());
    })
}

fn measure_family<R: Start>(run: &RunArgs, begin: impl Fn(&R, &'static Family, u64)) -> Result<Report, Failure> {
    host::busy_wait(1); // calibrates its loop, for the first child should not
    let family: &'static Family = Box::leak(Box::new(Family {
        ledger: Ledger::leak(run.slowdown_ns),
        work_ns: run.params.value("work_ns"),
        root_thread: AtomicUsize::new(0),
        root_ns: AtomicU64::new(0),
        away: Away::default(),
    }));
    let runtime = R::start(run.workers)?;
    let mut first_steals = Vec::new(); // of each block: when, after the root's begin; none if no child ran elsewhere
    let mut away_of_block = BTreeMap::new(); // by the wall time of the block
    let before = host::peak_resident_bytes();
    let mut bytes_each = None; // of the first block, in which the most that wait are made
    let (mut report, median) = closed_loop::measure_median(run, 1, |ops| {
        family.away.children.store(0, Ordering::Relaxed);
        family.away.first_ns.store(0, Ordering::Relaxed);
        let block = closed_loop::iterations(family.ledger, ops, ops, |_| begin(&runtime, family, ops));
        bytes_each.get_or_insert_with(|| (host::peak_resident_bytes() - before) / ops);
        away_of_block.insert(block.wall_ns, family.away.children.load(Ordering::Relaxed));
        first_steals.push(match family.away.first_ns.load(Ordering::Relaxed) {
            0 => None,
            first => Some(first.saturating_sub(family.root_ns.load(Ordering::Relaxed))),
        });
        block
    });
    let away = away_of_block[&median.wall_ns];
    report.row.put_flag(&format!("elsewhere_ppm={}", away * 1_000_000 / median.ops));
    report.row.put_flag(&format!("bytes_each={}", bytes_each.unwrap_or_default()));
    let mut measured = Histogram::new();
    let mut sum_ns = 0; // a histogram has no mean
                        // The warm-up's blocks came first.
    for took in first_steals.into_iter().rev().take(run.blocks as usize).flatten() {
        measured.record(took);
        sum_ns += took;
    }
    if let Some(mean) = sum_ns.checked_div(measured.count()) {
        report.row.put_flag(&format!("lat_mean_ns={mean}"));
    }
    report.row.put_latency(&measured);
    report.hist = measured;
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
