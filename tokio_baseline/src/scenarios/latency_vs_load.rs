//! `latency_vs_load`: an open loop whose posts have service times, fixed, exponential or bimodal.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::host;
use crate::ledger::{mix, Ledger};
use crate::open_loop;
use crate::report::Report;
use crate::runtime::{Runtime, Yielding};
use crate::scenario::{Param, Scenario, RATE};

/// Of the bimodal ones, before scaling.
const SHORT_SERVICE_NS: u64 = 500;
const SERVICES: &[&str] = &["fixed", "exponential", "bimodal"];

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "latency_vs_load",
    params: &[
        RATE,
        Param::word("service", SERVICES),
        Param::number("scale", 1, 1, 1000),
        Param::number("idle_cpu", 0, 0, 100),
        Param::number("slice_us", 0, 0, 1_000_000),
        Param::word("latency_of", &["all", "short"]),
    ],
    open_loop: true,
};

/// The service of post `i` in nanoseconds, before scaling; `service` is one of `fixed exponential bimodal`.
pub fn service_ns(service: &str, seed: u64, i: u64) -> u64 {
    let u = (mix(mix(seed).wrapping_add(i)) >> 11) as f64 / (1u64 << 53) as f64; // [0, 1)
    match service {
        "fixed" => 1000,
        "exponential" => ((-1000.0 * (1.0 - u).ln()).round() as u64).max(1),
        "bimodal" if u < 0.995 => SHORT_SERVICE_NS,
        "bimodal" => 500_000,
        other => panic!("the list of services has no `{other}`"),
    }
}

/// How a runtime starts a post whose task yields after each step.
type Yields<R> = fn(&R, Box<dyn FnMut() -> bool + Send>);

/// Measures it on the runtime `R`, whose tasks cannot yield.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    measure_by::<R>(run, None)
}

/// The same, where they can.
pub fn measure_in_slices<R: Yielding>(run: &RunArgs) -> Result<Report, Failure> {
    measure_by::<R>(run, Some(|runtime, step| runtime.post_yielding(step)))
}

fn measure_by<R: Runtime>(run: &RunArgs, yields: Option<Yields<R>>) -> Result<Report, Failure> {
    let (service, scale) = (SERVICES[run.params.value("service") as usize], run.params.value("scale"));
    let (slice_ns, short_ones) = (run.params.value("slice_us") * 1000, run.params.value("latency_of") != 0);
    if short_ones && service != "bimodal" {
        return Err(Failure::bad("--param latency_of=short: of the services bimodal alone has short ones"));
    }
    if run.params.value("idle_cpu") != 0 {
        return Err(unsupported("it has no number for what looking for work may cost; idle_cpu=0 takes it as it is"));
    }
    if slice_ns != 0 && yields.is_none() {
        return Err(unsupported("a task cannot let those go first that wait; slice_us=0 does without"));
    }
    let plan = open_loop::plan_of(run)?;
    // Worked out beforehand: a logarithm is no part of the service.
    let services = Vec::from_iter((0..plan.len()).map(|i| scale * service_ns(service, run.seed, i as u64)));
    host::busy_wait(1); // calibrates its loop, for the first task should not
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let post = |task: open_loop::Task| {
        let mut left = services[task.number];
        match yields {
            Some(yields) if slice_ns != 0 && left > slice_ns => yields(
                &runtime,
                Box::new(move || {
                    let slice = left.min(slice_ns);
                    host::busy_wait(slice);
                    left -= slice;
                    if left == 0 {
                        task.finish()
                    }
                    left != 0
                }),
            ),
            _ => runtime.post(move || {
                host::busy_wait(left);
                task.finish()
            }),
        }
    };
    let measures = |i: usize| !short_ones || services[i] == scale * SHORT_SERVICE_NS;
    let record = open_loop::follow_measuring(&plan, ledger, post, || (), measures)?;
    let mut report = open_loop::report(run, &plan, record);
    report.row.put_counters(&runtime.counters());
    Ok(report)
}

fn unsupported(why: &str) -> Failure {
    Failure::Unsupported(format!("unsupported: {why}"))
}
