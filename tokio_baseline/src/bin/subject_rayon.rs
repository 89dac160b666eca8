//! See `src/subjects/rayon_pool.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::RAYON)
}
