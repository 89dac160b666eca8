//! THE list of subjects of this crate. Beside it one file per runtime: how its own users would write what the scenarios ask for.
pub mod channels;
pub mod compio;
pub mod fork_union;
pub mod glommio;
pub mod kameo;
pub mod may;
pub mod monoio;
pub mod paralight;
pub mod per_core;
pub mod smol;

use channels::{Crossfire, Kanal, OnTokio};
use per_core::{PerCore, Workers};
use tokio_baseline::runtime::Messaging;
use tokio_baseline::scenarios::*;
use tokio_baseline::subject::{Expressed, Subject};

macro_rules! expresses {
    ($runtime:ty: $($scenario:ident),+ $(,)?) => { &[$((&$scenario::SCENARIO, $scenario::measure::<$runtime>)),+] };
}

/// What a runtime of messages alone expresses.
struct Messages<R>(std::marker::PhantomData<R>);
impl<R: Messaging> Messages<R> {
    const LIST: &'static [Expressed] = expresses![
        R: msg_ping_pong, msg_count, msg_ring, msg_create, msg_throughput, chameneos, big, bounded_buffer, idle_processes,
    ];
}

/// What a runtime with a thread for each core expresses here: servers.
struct Servers<R>(std::marker::PhantomData<R>);
impl<R: PerCore> Servers<R> {
    const LIST: &'static [Expressed] = expresses![Workers<R>: echo, fan_out];
}

/// monoio on io_uring.
pub const MONOIO: Subject = Subject {
    name: "monoio",
    version: env!("PEER_VERSION_MONOIO"),
    allocator: "system",
    expresses: Servers::<monoio::Uring>::LIST,
};

/// monoio on epoll.
pub const MONOIO_LEGACY: Subject =
    Subject { name: "monoio-legacy", expresses: Servers::<monoio::Legacy>::LIST, ..MONOIO };

/// compio on io_uring.
pub const COMPIO: Subject = Subject {
    name: "compio",
    version: env!("PEER_VERSION_COMPIO"),
    allocator: "system",
    expresses: Servers::<compio::Uring>::LIST,
};

/// compio on epoll.
pub const COMPIO_POLLING: Subject =
    Subject { name: "compio-polling", expresses: Servers::<compio::Polling>::LIST, ..COMPIO };

/// glommio, which has io_uring alone.
pub const GLOMMIO: Subject = Subject {
    name: "glommio",
    version: env!("PEER_VERSION_GLOMMIO"),
    allocator: "system",
    expresses: Servers::<glommio::Glommio>::LIST,
};

/// kanal's channels between tasks of Tokio.
pub const KANAL: Subject = Subject {
    name: "kanal",
    version: concat!(env!("PEER_VERSION_KANAL"), " on Tokio ", env!("PEER_VERSION_TOKIO")),
    allocator: "system",
    expresses: Messages::<OnTokio<Kanal>>::LIST,
};

/// crossfire's channels between tasks of Tokio.
pub const CROSSFIRE: Subject = Subject {
    name: "crossfire",
    version: concat!(env!("PEER_VERSION_CROSSFIRE"), " on Tokio ", env!("PEER_VERSION_TOKIO")),
    allocator: "system",
    expresses: Messages::<OnTokio<Crossfire>>::LIST,
};

/// kameo's actors, on Tokio.
pub const KAMEO: Subject = Subject {
    name: "kameo",
    version: concat!(env!("PEER_VERSION_KAMEO"), " on Tokio ", env!("PEER_VERSION_TOKIO")),
    allocator: "system",
    expresses: Messages::<kameo::Kameo>::LIST,
};

/// smol's global executor.
pub const SMOL: Subject = Subject {
    name: "smol",
    version: env!("PEER_VERSION_SMOL"),
    allocator: "system",
    expresses: expresses![
        smol::Smol: post_throughput, post_latency, timer_lateness, latency_vs_load, successor, spawn_many_local,
        spawn_many_remote_idle, spawn_many_remote_busy1, spawn_many_remote_busy2, yield_many, chained_spawn,
        remote_spawn, fib, tree_sum, skynet, nqueens, uts, matmul,
    ],
};

/// may's coroutines with stacks.
///
/// fib, tree_sum, skynet and uts have more branches alive at once than Linux maps stacks (65,530 mappings by default, two for each).
/// spawn_many_remote_busy1 does not end: a coroutine that yields is the next to run.
pub const MAY: Subject = Subject {
    name: "may",
    version: env!("PEER_VERSION_MAY"),
    allocator: "system",
    expresses: expresses![
        may::May: post_throughput, post_latency, latency_vs_load, successor, spawn_many_local, spawn_many_remote_idle,
        ping_pong, chained_spawn, remote_spawn, nqueens, matmul, msg_ping_pong, msg_count, msg_ring, msg_create,
        msg_throughput, chameneos, big, bounded_buffer,
    ],
};

/// paralight's pool, for loops. It has neither scan nor sort.
pub const PARALIGHT: Subject = Subject {
    name: "paralight",
    version: env!("PEER_VERSION_PARALIGHT"),
    allocator: "system",
    expresses: expresses![paralight::Paralight: loop_empty, loop_for, loop_reduce],
};

/// fork_union's pool, for loops. It has neither scan nor sort.
pub const FORK_UNION: Subject = Subject {
    name: "fork_union",
    version: env!("PEER_VERSION_FORK_UNION"),
    allocator: "system",
    expresses: expresses![fork_union::ForkUnion: loop_empty, loop_for, loop_reduce],
};
