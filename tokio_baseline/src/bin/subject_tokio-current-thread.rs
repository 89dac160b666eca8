//! See `src/subjects/tokio.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::tokio::CURRENT_THREAD)
}
