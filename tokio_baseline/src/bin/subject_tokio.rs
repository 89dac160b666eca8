//! See `src/subjects/tokio.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::TOKIO)
}
