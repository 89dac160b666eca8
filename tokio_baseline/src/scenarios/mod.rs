//! THE list of scenarios, and of those that a runtime with every capability expresses.
pub mod big;
pub mod bounded_buffer;
pub mod chained_spawn;
pub mod chameneos;
pub mod echo;
pub mod echo_beside;
pub mod fan_out;
pub mod fib;
pub mod graph;
pub mod graph_again;
pub mod idle_cpu;
pub mod idle_processes;
pub mod latency_vs_load;
pub mod loop_empty;
pub mod loop_for;
pub mod loop_reduce;
pub mod loop_scan;
pub mod loop_sort;
pub mod matmul;
pub mod mixed_load;
pub mod msg_count;
pub mod msg_create;
pub mod msg_ping_pong;
pub mod msg_ring;
pub mod msg_throughput;
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
pub mod timers;
pub mod tree_sum;
pub mod uts;
pub mod wake_chain;
pub mod yield_many;

use crate::runtime::{Asking, Delayed, ForkJoin, Messaging, ServingBeside, Slicing, Targeted, Timeouts};
use crate::scenario::Scenario;
use crate::subject::Expressed;
use std::marker::PhantomData;

/// Every scenario of CLI.md that is for runtimes. A newcomer adds one file, a line above, a name here and below, and its
/// name to those subjects that do not express everything.
pub static SCENARIOS: [&Scenario; 45] = [
    &post_throughput::SCENARIO,
    &post_latency::SCENARIO,
    &timer_lateness::SCENARIO,
    &timers::SCENARIO,
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
    &tree_sum::SCENARIO,
    &skynet::SCENARIO,
    &nqueens::SCENARIO,
    &uts::SCENARIO,
    &matmul::SCENARIO,
    &loop_empty::SCENARIO,
    &loop_for::SCENARIO,
    &loop_reduce::SCENARIO,
    &loop_scan::SCENARIO,
    &loop_sort::SCENARIO,
    &msg_ping_pong::SCENARIO,
    &msg_count::SCENARIO,
    &msg_ring::SCENARIO,
    &msg_create::SCENARIO,
    &msg_throughput::SCENARIO,
    &chameneos::SCENARIO,
    &big::SCENARIO,
    &bounded_buffer::SCENARIO,
    &idle_processes::SCENARIO,
    &graph::SCENARIO,
    &graph_again::SCENARIO,
    &wake_chain::SCENARIO,
    &idle_cpu::SCENARIO,
    &echo::SCENARIO,
    &fan_out::SCENARIO,
    &echo_beside::SCENARIO,
];

/// The scenarios that a runtime expresses: `expresses![Runtime: module of the scenario, …]`.
macro_rules! expresses {
    ($runtime:ty: $($scenario:ident $(by $way:ident)?),+ $(,)?) => {
        &[$((&$crate::scenarios::$scenario::SCENARIO, expresses!(@way $runtime, $scenario $(, $way)?))),+]
    };
    (@way $runtime:ty, $scenario:ident) => { $crate::scenarios::$scenario::measure::<$runtime> };
    (@way $runtime:ty, $scenario:ident, $way:ident) => { $crate::scenarios::$scenario::$way::<$runtime> };
}
pub(crate) use expresses;

/// The list for a runtime that has every capability.
pub struct Everything<R>(PhantomData<R>);

impl<R: Asking + Delayed + ForkJoin + Messaging + ServingBeside + Slicing + Targeted + Timeouts> Everything<R> {
    /// Every scenario but the loops, which async runtimes do not have, measured on `R`.
    pub const LIST: &'static [Expressed] = expresses![R: post_throughput, post_latency, timer_lateness, timers, targeted_throughput, targeted_latency, steal_pressure, mixed_load by measure_in_slices, latency_vs_load by measure_in_slices, successor, spawn_many_local, spawn_many_remote_idle, spawn_many_remote_busy1, spawn_many_remote_busy2, ping_pong, yield_many, chained_spawn, remote_spawn, fib, tree_sum, skynet, nqueens, uts, matmul, msg_ping_pong, msg_count, msg_ring, msg_create, msg_throughput, chameneos, big, bounded_buffer, idle_processes, graph, graph_again, wake_chain, idle_cpu, echo, fan_out, echo_beside];
}

/// The scenario called `name`.
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.into_iter().find(|scenario| scenario.name == name)
}

/// All names in one line.
pub fn names() -> String {
    SCENARIOS.map(|scenario| scenario.name).join(" ")
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
}
