//! THE list of subjects. Beside it one file per runtime: how its own users would write what the scenarios ask for.
#[cfg(feature = "actix")]
pub mod actix_pool;
pub mod async_pool;
pub mod chili_pool;
pub mod machine_rust;
pub mod ractor_pool;
pub mod rayon_pool;
pub mod tokio;

use self::tokio::{Tokio, TokioCurrentThread};
use crate::scenarios::{expresses, Everything};
use crate::subject::Subject;
#[cfg(feature = "actix")]
use actix_pool::Actix;
use async_pool::AsyncExecutor;
use chili_pool::Chili;
use machine_rust::Machine;
use ractor_pool::Ractor;
use rayon_pool::Rayon;

/// Tokio with the system's allocator.
pub const TOKIO: Subject = Subject {
    name: "tokio",
    version: env!("TB_VERSION_TOKIO"),
    allocator: "system",
    expresses: Everything::<Tokio>::LIST,
};

/// The same with mimalloc: the difference between the two is the allocator's share.
pub const TOKIO_MIMALLOC: Subject =
    Subject { name: "tokio-mimalloc", allocator: concat!("mimalloc-crate-", env!("TB_VERSION_MIMALLOC")), ..TOKIO };

/// Tokio's other scheduler: one worker, no stealing, no atomic run queue. More than one worker is `unsupported`,
/// but where every worker is a runtime of its own.
pub const TOKIO_CURRENT_THREAD: Subject =
    Subject { name: "tokio-current-thread", expresses: Everything::<TokioCurrentThread>::LIST, ..TOKIO };

/// rayon with the system's allocator.
///
/// `timer_lateness` would need timers, `yield_many` and `spawn_many_remote_busy1` tasks that can be resumed: a task that spawns
/// itself again is the next to run, also by `spawn_fifo`. `spawn_many_remote_busy2` would not end: a rayon worker looks at work
/// from outside only when it has none of its own, and tasks that respawn themselves never leave it without.
pub const RAYON: Subject = Subject {
    name: "rayon",
    version: env!("TB_VERSION_RAYON"),
    allocator: "system",
    expresses: expresses![
        Rayon: post_throughput, post_latency, targeted_throughput, targeted_latency,
        steal_pressure by measure_by_halves, mixed_load,
        latency_vs_load, successor, spawn_many_local, spawn_many_remote_idle, ping_pong, chained_spawn,
        remote_spawn, fib, tree_sum, skynet, nqueens, uts, matmul, graph, graph_again, wake_chain, idle_cpu,
    ],
};

/// chili with the system's allocator. Its one call is `join`, which is all that fork-join needs.
pub const CHILI: Subject = Subject {
    name: "chili",
    version: env!("TB_VERSION_CHILI"),
    allocator: "system",
    expresses: expresses![
        Chili: steal_pressure by measure_by_halves, fib, tree_sum, skynet, nqueens, uts, matmul
    ],
};

/// No runtime: what the C++ subject `machine_calls` does, and the same list. Its version is that of the compiler, which is what it
/// measures.
pub const MACHINE_RUST: Subject = Subject {
    name: "machine_rust",
    version: env!("TB_VERSION_RUSTC"),
    allocator: "system",
    expresses: expresses![
        Machine: steal_pressure by measure_by_halves, fib, tree_sum, skynet, nqueens, uts, matmul
    ],
};

/// ractor with the system's allocator: actors, and nothing else.
pub const RACTOR: Subject = Subject {
    name: "ractor",
    version: env!("TB_VERSION_RACTOR"),
    allocator: "system",
    expresses: expresses![
        Ractor: msg_ping_pong, msg_count, msg_ring, msg_create, msg_throughput, chameneos, big, bounded_buffer,
        idle_processes,
    ],
};

/// actix with the system's allocator: actors, and nothing else. In a build with the feature of its name alone.
#[cfg(feature = "actix")]
pub const ACTIX: Subject = Subject {
    name: "actix",
    version: env!("TB_VERSION_ACTIX"),
    allocator: "system",
    expresses: expresses![
        Actix: msg_ping_pong, msg_count, msg_ring, msg_create, msg_throughput, chameneos, big, bounded_buffer,
        idle_processes,
    ],
};

/// async-executor with the system's allocator.
pub const ASYNC_EXECUTOR: Subject = Subject {
    name: "async-executor",
    version: env!("TB_VERSION_ASYNC_EXECUTOR"),
    allocator: "system",
    expresses: Everything::<AsyncExecutor>::LIST,
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::SCENARIOS;

    /// Each has a program in `src/bin/`.
    const ALL: &[&Subject] = &[
        &TOKIO,
        &TOKIO_MIMALLOC,
        &TOKIO_CURRENT_THREAD,
        &RAYON,
        &CHILI,
        &MACHINE_RUST,
        &RACTOR,
        #[cfg(feature = "actix")]
        &ACTIX,
        &ASYNC_EXECUTOR,
    ];

    #[test]
    fn version_lines_are_json_with_the_four_keys() {
        for subject in ALL {
            let line = subject.version_line();
            assert!(!line.contains('\n'));
            let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(json["subject"], subject.name);
            assert_eq!(json["language"], "rust");
            assert!(json["build_id"].as_str().expect("text").contains("rustc 1."));
            assert_eq!(json.as_object().expect("object").len(), 4);
        }
    }

    #[test]
    fn versions_are_the_locked_runtimes_and_not_ours() {
        for subject in ALL {
            assert_eq!(subject.version.split('.').count(), 3, "{subject:?}");
            assert_ne!(subject.version, env!("CARGO_PKG_VERSION"));
        }
    }

    #[test]
    fn what_a_subject_expresses_stands_in_the_order_of_the_list_and_once() {
        for subject in ALL {
            let places = subject.expresses.iter().map(|(scenario, _)| {
                SCENARIOS.iter().position(|known| known.name == scenario.name).expect("in the list")
            });
            let places = Vec::from_iter(places);
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{}: {places:?}", subject.name);
        }
    }

    #[test]
    fn every_scenario_is_expressed_by_somebody() {
        for scenario in SCENARIOS {
            assert!(ALL.iter().any(|subject| subject.measure(scenario).is_ok()), "{}", scenario.name);
        }
    }
}
