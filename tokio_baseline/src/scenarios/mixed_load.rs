//! `mixed_load`: posts arrive while long compute tasks keep every processor busy.
use crate::args::RunArgs;
use crate::background::ComputeLoad;
use crate::failure::Failure;
use crate::host;
use crate::ledger::Ledger;
use crate::open_loop;
use crate::report::Report;
use crate::runtime::{Computing, Runtime, Slicing, Start};
use crate::scenario::{Param, Scenario, RATE};
use crate::subjects::rayon_pool::Rayon;

pub(crate) const MEANS: &[&str] = &["own", "workers", "second", "rayon"];

/// How long a task computes.
pub(crate) const COMPUTE_US: Param = Param::number("compute_us", 2000, 1, 1_000_000);
/// How many threads compute; as many as the workers unless given.
pub(crate) const COMPUTE_WORKERS: Param =
    Param { name: "compute_workers", default: None, least: 1, most: 1024, words: &[] };

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "mixed_load",
    params: &[
        RATE,
        COMPUTE_US,
        COMPUTE_WORKERS,
        Param::word("beside", MEANS),
        Param::number("slice_us", 0, 0, 1_000_000),
    ],
    open_loop: true,
};

/// For threads that start when there is work for them.
const SETTLE_NS: u64 = 20_000_000;
/// After the last post; posts that run later are starved.
const PATIENCE_NS: u64 = 100_000_000;

/// How many compute tasks were done when.
#[derive(Clone, Copy, Default)]
pub(crate) struct Moment {
    ns: u64,
    done: u64,
}

/// Now.
pub(crate) fn at(load: &ComputeLoad) -> Moment {
    Moment { ns: host::now_ns(), done: load.done() }
}

/// Of the throughput alone, in millionths; negative where it was more. What the injector took for itself was nobody's to lose.
/// Nothing where a task is more than a hundredth of what was done alone.
fn lost_ppm([first, middle, last]: [Moment; 3], processors: u64, injector_ns: u64) -> Option<i64> {
    let (alone, beside) = (middle.done - first.done, last.done - middle.done);
    let alone_ns = ((middle.ns - first.ns) * processors) as f64;
    let beside_ns = ((last.ns - middle.ns) * processors) as f64 - injector_ns as f64;
    let kept = beside as f64 / beside_ns / (alone as f64 / alone_ns);
    (alone >= 100 && beside_ns > 0.0).then(|| ((1.0 - kept) * 1e6).round() as i64)
}

/// Counts the tasks alone, for a quarter of the plan's length, once they have all begun: the first moment and the last.
pub(crate) fn count_alone(load: &ComputeLoad, plan: &[u64]) -> [Moment; 2] {
    host::sleep_until(host::now_ns() + SETTLE_NS);
    let first = at(load);
    host::sleep_until(first.ns + plan.last().copied().unwrap_or(0) / 4);
    [first, at(load)]
}

/// Adds to the row what the tasks did, on up to `threads`.
pub(crate) fn put_flags(report: &mut Report, moments: [Moment; 3], threads: u64, injector_ns: u64) {
    let [_, middle, last] = moments;
    report.row.put_flag(&format!("compute_tasks={}", last.done - middle.done));
    report.row.put_flag(&format!("compute_ns={}", last.ns - middle.ns));
    let processors = threads.min(host::usable_processors() as u64);
    if let Some(lost) = lost_ppm(moments, processors, injector_ns) {
        report.row.put_flag(&format!("compute_lost_ppm={lost}"));
    }
}

/// A chain of compute tasks begins, on the workers of the runtime that has them.
type Begin<R> = fn(&R, &'static ComputeLoad);

pub(crate) fn respawn<R: Runtime>(runtime: &R, load: &'static ComputeLoad) {
    let first = load.hand_in();
    runtime.post(move || load.run_respawning::<R>(first));
}

fn respawn_in_slices<R: Slicing>(runtime: &R, load: &'static ComputeLoad) {
    let mut first = load.hand_in();
    runtime.post_yielding(move || load.run_a_slice::<R>(&mut first));
}

pub(crate) fn compute<R: Computing>(runtime: &R, load: &'static ComputeLoad) {
    let first = load.hand_in();
    runtime.post_compute(move || load.run_compute::<R>(first));
}

/// Measures it on the runtime `R`, whose tasks cannot yield.
pub fn measure<R: Computing>(run: &RunArgs) -> Result<Report, Failure> {
    measure_by::<R>(run, None)
}

/// The same, where they can.
pub fn measure_in_slices<R: Computing + Slicing>(run: &RunArgs) -> Result<Report, Failure> {
    measure_by::<R>(run, Some(respawn_in_slices::<R>))
}

fn measure_by<R: Computing>(run: &RunArgs, in_slices: Option<Begin<R>>) -> Result<Report, Failure> {
    let means = MEANS[run.params.value("beside") as usize];
    let slice_us = run.params.value("slice_us");
    if slice_us != 0 && means != "workers" {
        return Err(Failure::bad(
            "--param slice_us: compute tasks offer their slice to posts where beside=workers alone",
        ));
    }
    let compute_workers = run.params.get("compute_workers").unwrap_or(run.workers as u64);
    let load = ComputeLoad::leak_sliced(2 * compute_workers, run.params.value("compute_us"), slice_us);
    let begin = |start: &dyn Fn()| (0..2 * compute_workers).for_each(|_| start());
    match means {
        "own" => {
            let runtime = R::start_with_compute(run.workers, compute_workers as usize)?;
            begin(&|| compute(&runtime, load));
            measure_beside(run, load, &runtime, compute_workers, false)
        }
        "workers" => {
            let respawn = match (slice_us, in_slices) {
                (0, _) => respawn::<R>,
                (_, Some(in_slices)) => in_slices,
                _ => return Err(unsupported("a task cannot let those go first that wait; slice_us=0 does without")),
            };
            let runtime = R::start(run.workers)?;
            begin(&|| respawn(&runtime, load));
            measure_beside(run, load, &runtime, run.workers as u64, true)
        }
        "second" if R::SEVERAL => {
            let (runtime, second) = (R::start(run.workers)?, R::start(compute_workers as usize)?);
            begin(&|| respawn(&second, load));
            measure_beside(run, load, &runtime, compute_workers, false)
        }
        "second" => Err(unsupported("two of it do not compute beside each other")),
        _ => {
            let (runtime, pool) = (R::start(run.workers)?, Rayon::start(compute_workers as usize)?);
            begin(&|| respawn(&pool, load));
            measure_beside(run, load, &runtime, compute_workers, false)
        }
    }
}

pub(crate) fn unsupported(why: &str) -> Failure {
    Failure::Unsupported(format!("unsupported: {why}"))
}

/// The tasks compute already, on up to `threads`. `starves`: posts may wait for ever beside them.
fn measure_beside<R: Runtime>(
    run: &RunArgs,
    load: &'static ComputeLoad,
    runtime: &R,
    threads: u64,
    starves: bool,
) -> Result<Report, Failure> {
    let plan = open_loop::plan_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let [first, middle] = count_alone(load, &plan);
    let (mut last, mut ended) = (None, u64::MAX);
    let post = |task: open_loop::Task| runtime.post(move || task.finish());
    let record = open_loop::follow_and_close(&plan, ledger, post, || {
        if starves {
            last = Some(at(load));
            host::sleep_until(host::now_ns() + PATIENCE_NS);
            ended = host::now_ns();
            load.call_end();
        }
    })?;
    let last = last.unwrap_or_else(|| at(load));
    load.call_end();
    let load_found = load.wait();

    let (injector_ns, starved_ppm) = (record.injector_ns, record.later_than_ppm(ended));
    let mut report = open_loop::report(run, &plan, record);
    report.hold_to(load_found);
    report.row.put("wall_ns", last.ns - middle.ns);
    if starves {
        report.row.put_flag(&format!("starved_ppm={starved_ppm}"));
    }
    put_flags(&mut report, [first, middle, last], threads, injector_ns);
    report.row.put_counters(&runtime.counters());
    Ok(report)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_compute_lost_is_a_share_of_what_it_did_alone() {
        let moments =
            |alone, beside| [(0, 0), (1000, alone), (3000, alone + beside)].map(|(ns, done)| Moment { ns, done });
        assert_eq!(lost_ppm(moments(100, 200), 2, 0), Some(0));
        assert_eq!(lost_ppm(moments(100, 150), 2, 0), Some(250_000));
        assert_eq!(lost_ppm(moments(100, 150), 2, 1000), Some(0), "the injector's own share is nobody's loss");
        assert_eq!(lost_ppm(moments(100, 220), 2, 0), Some(-100_000));
        assert_eq!(lost_ppm(moments(99, 150), 2, 0), None, "too coarse");
    }
}
