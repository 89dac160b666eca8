//! See `src/subjects/async_pool.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::async_pool::SUBJECT)
}
