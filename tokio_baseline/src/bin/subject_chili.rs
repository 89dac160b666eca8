//! See `src/subjects/chili_pool.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::CHILI)
}
