//! `latency_vs_load`: an open loop whose posts have service times, fixed, exponential or bimodal.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::host;
use crate::ledger::{mix, Ledger};
use crate::open_loop;
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, RATE};

const SERVICES: &[&str] = &["fixed", "exponential", "bimodal"];

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "latency_vs_load",
    params: &[
        RATE,
        Param::word("service", SERVICES),
        Param::number("scale", 1, 1, 1000),
        Param::number("idle_cpu", 0, 0, 100),
    ],
    open_loop: true,
};

/// The service of post `i` in nanoseconds, before scaling; `service` is one of `fixed exponential bimodal`.
pub fn service_ns(service: &str, seed: u64, i: u64) -> u64 {
    let u = (mix(mix(seed).wrapping_add(i)) >> 11) as f64 / (1u64 << 53) as f64; // [0, 1)
    match service {
        "fixed" => 1000,
        "exponential" => ((-1000.0 * (1.0 - u).ln()).round() as u64).max(1),
        "bimodal" if u < 0.995 => 500,
        "bimodal" => 500_000,
        other => panic!("the list of services has no `{other}`"),
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    let (service, scale) = (SERVICES[run.params.value("service") as usize], run.params.value("scale"));
    if run.params.value("idle_cpu") != 0 {
        return Err(Failure::Unsupported(
            "unsupported: it has no number for what looking for work may cost; idle_cpu=0 takes it as it is".into(),
        ));
    }
    let plan = open_loop::plan_of(run)?;
    // Worked out beforehand: a logarithm is no part of the service.
    let services = Vec::from_iter((0..plan.len()).map(|i| scale * service_ns(service, run.seed, i as u64)));
    host::busy_wait(1); // calibrates its loop, for the first task should not
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let record = open_loop::follow(&plan, ledger, |task| {
        let ns = services[task.number];
        runtime.post(move || {
            host::busy_wait(ns);
            task.finish()
        })
    })?;
    let mut report = open_loop::report(run, &plan, record);
    report.row.put_counters(&runtime.counters());
    Ok(report)
}
