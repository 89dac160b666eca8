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

/// A subject: in a release a constant, which only the program that names it compiles; where assertions are checked, as by the tests, a
/// static, whose scenarios are compiled once, in the library, for all programs and tests. The library's own tests name none.
macro_rules! subject {
    ($(#[$about:meta])* $name:ident = $subject:expr) => {
        #[cfg(any(test, not(debug_assertions)))]
        $(#[$about])*
        pub const $name: Subject = $subject;
        #[cfg(all(debug_assertions, not(test)))]
        $(#[$about])*
        pub static $name: Subject = $subject;
    };
}

subject! {
    /// Tokio with the system's allocator.
    TOKIO = Subject {
        name: "tokio",
        version: env!("TB_VERSION_TOKIO"),
        allocator: "system",
        expresses: Everything::<Tokio>::LIST,
    }
}

subject! {
    /// The same with mimalloc: the difference between the two is the allocator's share.
    TOKIO_MIMALLOC = Subject { name: "tokio-mimalloc", allocator: concat!("mimalloc-crate-", env!("TB_VERSION_MIMALLOC")), ..TOKIO }
}

subject! {
    /// Tokio's other scheduler: one worker, no stealing, no atomic run queue. More than one worker is `unsupported`,
    /// but where every worker is a runtime of its own.
    TOKIO_CURRENT_THREAD = Subject { name: "tokio-current-thread", expresses: Everything::<TokioCurrentThread>::LIST, ..TOKIO }
}

subject! {
    /// rayon with the system's allocator.
    ///
    /// `timer_lateness` would need timers, `yield_many` and `spawn_many_remote_busy1` tasks that can be resumed: a task that spawns
    /// itself again is the next to run, also by `spawn_fifo`. `spawn_many_remote_busy2` would not end: a rayon worker looks at work
    /// from outside only when it has none of its own, and tasks that respawn themselves never leave it without.
    RAYON = Subject {
        name: "rayon",
        version: env!("TB_VERSION_RAYON"),
        allocator: "system",
        expresses: expresses![
            Rayon: post_throughput, post_latency, targeted_throughput, targeted_latency,
            steal_pressure by measure_by_halves, mixed_load,
            latency_vs_load, successor, spawn_many_local, spawn_many_remote_idle, ping_pong, chained_spawn,
            remote_spawn, fib, tree_sum, skynet, nqueens, uts, matmul, loop_empty, loop_for, loop_reduce, loop_scan, loop_sort,
            graph, graph_again, wake_chain, idle_cpu,
        ],
    }
}

subject! {
    /// chili with the system's allocator. Its one call is `join`, which is all that fork-join needs.
    CHILI = Subject {
        name: "chili",
        version: env!("TB_VERSION_CHILI"),
        allocator: "system",
        expresses: expresses![
            Chili: steal_pressure by measure_by_halves, fib, tree_sum, skynet, nqueens, uts, matmul
        ],
    }
}

subject! {
    /// No runtime: what the C++ subject `machine_calls` does, and the same list. Its version is that of the compiler, which is what it
    /// measures.
    MACHINE_RUST = Subject {
        name: "machine_rust",
        version: env!("TB_VERSION_RUSTC"),
        allocator: "system",
        expresses: expresses![
            Machine: steal_pressure by measure_by_halves, fib, tree_sum, skynet, nqueens, uts, matmul
        ],
    }
}

subject! {
    /// ractor with the system's allocator: actors, and nothing else.
    RACTOR = Subject {
        name: "ractor",
        version: env!("TB_VERSION_RACTOR"),
        allocator: "system",
        expresses: expresses![
            Ractor: msg_ping_pong, msg_count, msg_ring, msg_create, msg_throughput, chameneos, big, bounded_buffer,
            idle_processes,
        ],
    }
}

subject! {
    /// actix with the system's allocator: actors, and nothing else. In a build with the feature of its name alone.
    #[cfg(feature = "actix")]
    ACTIX = Subject {
        name: "actix",
        version: env!("TB_VERSION_ACTIX"),
        allocator: "system",
        expresses: expresses![
            Actix: msg_ping_pong, msg_count, msg_ring, msg_create, msg_throughput, chameneos, big, bounded_buffer,
            idle_processes,
        ],
    }
}

subject! {
    /// async-executor with the system's allocator.
    ASYNC_EXECUTOR = Subject {
        name: "async-executor",
        version: env!("TB_VERSION_ASYNC_EXECUTOR"),
        allocator: "system",
        expresses: Everything::<AsyncExecutor>::LIST,
    }
}
