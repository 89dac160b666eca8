//! See `src/subjects/async_pool.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::ASYNC_EXECUTOR)
}
