//! See `src/subjects/actix_pool.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::ACTIX)
}
