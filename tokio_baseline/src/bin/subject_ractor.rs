//! See `src/subjects/ractor_pool.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::RACTOR)
}
