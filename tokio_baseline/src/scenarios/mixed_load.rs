//! `mixed_load`: posts arrive while long compute tasks keep every processor busy.
use crate::args::RunArgs;
use crate::background::ComputeLoad;
use crate::failure::Failure;
use crate::host;
use crate::ledger::Ledger;
use crate::open_loop;
use crate::report::Report;
use crate::runtime::Computing;
use crate::scenario::{Param, Scenario, RATE};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "mixed_load",
    params: &[
        RATE,
        Param::number("compute_us", 2000, 1, 1_000_000),
        // As many as the workers unless given.
        Param { name: "compute_workers", default: None, least: 1, most: 1024, words: &[] },
    ],
    open_loop: true,
};

/// For threads that start when there is work for them.
const SETTLE_NS: u64 = 20_000_000;

#[derive(Clone, Copy)]
struct Moment {
    ns: u64,
    done: u64,
}

fn at(load: &ComputeLoad) -> Moment {
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

/// Measures it on the runtime `R`.
pub fn measure<R: Computing>(run: &RunArgs) -> Result<Report, Failure> {
    let compute_workers = run.params.get("compute_workers").unwrap_or(run.workers as u64);
    let plan = open_loop::plan_of(run)?;
    let ledger = Ledger::leak(run.slowdown_ns);
    let load = ComputeLoad::leak(2 * compute_workers, run.params.value("compute_us"));
    let runtime = R::start_with_compute(run.workers, compute_workers as usize)?;
    for _ in 0..2 * compute_workers {
        runtime.post_compute(|| load.run_compute::<R>());
    }

    host::sleep_until(host::now_ns() + SETTLE_NS);
    let first = at(load);
    host::sleep_until(first.ns + plan.last().copied().unwrap_or(0) / 4);
    let middle = at(load);
    let record = open_loop::follow(&plan, ledger, |task| runtime.post(move || task.finish()))?;
    let last = at(load);
    load.call_end();
    load.wait();

    let injector_ns = record.injector_ns;
    let mut report = open_loop::report(run, &plan, record);
    report.row.put("wall_ns", last.ns - middle.ns);
    report.row.put_flag(&format!("compute_tasks={}", last.done - middle.done));
    let processors = compute_workers.min(host::usable_processors() as u64);
    if let Some(lost) = lost_ppm([first, middle, last], processors, injector_ns) {
        report.row.put_flag(&format!("compute_lost_ppm={lost}"));
    }
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
