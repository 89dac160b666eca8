//! THE list of scenarios, and what every scenario declares about itself.
pub mod chained_spawn;
pub mod fib;
pub mod idle_cpu;
pub mod latency_vs_load;
pub mod matmul;
pub mod mixed_load;
pub mod nqueens;
pub mod ping_pong;
pub mod post_latency;
pub mod post_throughput;
pub mod remote_spawn;
pub mod skynet;
pub mod spawn_many_local;
pub mod spawn_many_remote_busy1;
pub mod spawn_many_remote_busy2;
pub mod spawn_many_remote_idle;
pub mod steal_pressure;
pub mod successor;
pub mod targeted_latency;
pub mod targeted_throughput;
pub mod timer_lateness;
pub mod uts;
pub mod wake_chain;
pub mod yield_many;

use crate::expresses;
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::row::Row;
use crate::runtime::{Asking, Computing, Delayed, ForkJoin, Targeted, Yielding};
use crate::subject::Expressed;
use std::marker::PhantomData;

/// Every scenario of CLI.md that is for runtimes. A newcomer adds one file, a line above, a name here and below, and its
/// name to those subjects that do not express everything.
pub static SCENARIOS: [&Scenario; 24] = [
    &post_throughput::SCENARIO,
    &post_latency::SCENARIO,
    &timer_lateness::SCENARIO,
    &targeted_throughput::SCENARIO,
    &targeted_latency::SCENARIO,
    &steal_pressure::SCENARIO,
    &mixed_load::SCENARIO,
    &latency_vs_load::SCENARIO,
    &successor::SCENARIO,
    &spawn_many_local::SCENARIO,
    &spawn_many_remote_idle::SCENARIO,
    &spawn_many_remote_busy1::SCENARIO,
    &spawn_many_remote_busy2::SCENARIO,
    &ping_pong::SCENARIO,
    &yield_many::SCENARIO,
    &chained_spawn::SCENARIO,
    &remote_spawn::SCENARIO,
    &fib::SCENARIO,
    &skynet::SCENARIO,
    &nqueens::SCENARIO,
    &uts::SCENARIO,
    &matmul::SCENARIO,
    &wake_chain::SCENARIO,
    &idle_cpu::SCENARIO,
];

/// The list for a runtime that has every capability.
pub struct Everything<R>(PhantomData<R>);

impl<R: Asking + Computing + Delayed + ForkJoin + Targeted + Yielding> Everything<R> {
    /// Every scenario, measured on `R`.
    pub const LIST: &'static [Expressed] = expresses![R: post_throughput, post_latency, timer_lateness, targeted_throughput, targeted_latency, steal_pressure, mixed_load, latency_vs_load, successor, spawn_many_local, spawn_many_remote_idle, spawn_many_remote_busy1, spawn_many_remote_busy2, ping_pong, yield_many, chained_spawn, remote_spawn, fib, skynet, nqueens, uts, matmul, wake_chain, idle_cpu];
}

/// What the command line must know of a scenario. Its file has a function `measure` beside it, generic over the runtime.
#[derive(Debug)]
pub struct Scenario {
    /// Its name in CLI.md.
    pub name: &'static str,
    /// The parameters it takes; any other is refused.
    pub params: &'static [Param],
    /// Whether it takes its release times from a plan file.
    pub open_loop: bool,
}

/// A parameter and the values it may have.
#[derive(Debug)]
pub struct Param {
    /// Its key.
    pub name: &'static str,
    /// What it is when not given; nothing where the program decides.
    pub default: Option<u64>,
    /// The least value.
    pub least: u64,
    /// The greatest value.
    pub most: u64,
    /// Where the value is one of these words; its index then.
    pub words: &'static [&'static str],
}

impl Param {
    /// A whole number with a default.
    const fn number(name: &'static str, default: u64, least: u64, most: u64) -> Self {
        Param { name, default: Some(default), least, most, words: &[] }
    }

    /// One of `words`, the first unless given.
    const fn word(name: &'static str, words: &'static [&'static str]) -> Self {
        Param { name, default: Some(0), least: 0, most: 0, words }
    }
}

/// The operation count of a block; calibrated unless given.
const OPS: Param = Param { name: "ops", default: None, least: 1, most: 1 << 40, words: &[] };

/// Informative: the plan rules.
const RATE: Param = Param::number("rate", 1000, 1, 1_000_000_000);

/// What a scenario hands back.
pub struct Report {
    /// The row to print.
    pub row: Row,
    /// The histogram for `--hist`; empty where the scenario has none.
    pub hist: Histogram,
    /// Why the run is wrong; empty when it is right.
    pub complaints: Vec<String>,
}

/// The scenario called `name`.
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.into_iter().find(|scenario| scenario.name == name)
}

/// All names in one line.
pub fn names() -> String {
    SCENARIOS.map(|scenario| scenario.name).join(" ")
}

/// How many of `n` samples are discarded at the start: the first 10 %, rounded down.
pub(crate) fn discarded(n: usize) -> usize {
    n / 10
}

/// Refuses more targets than workers.
fn check_targets(targets: u64, workers: usize) -> Result<(), Failure> {
    if targets <= workers as u64 {
        return Ok(());
    }
    Err(Failure::bad(format!("--param targets={targets} is more than --workers {workers}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names = SCENARIOS.map(|scenario| scenario.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn defaults_lie_within_their_bounds() {
        for param in SCENARIOS.iter().flat_map(|scenario| scenario.params) {
            let default = param.default.unwrap_or(param.least);
            assert!((param.least..=param.most).contains(&default), "{param:?}");
        }
    }

    #[test]
    fn a_tenth_is_discarded_rounded_down() {
        assert_eq!([1, 9, 10, 19, 20, 1000].map(discarded), [0, 0, 1, 1, 2, 100]);
    }
}
