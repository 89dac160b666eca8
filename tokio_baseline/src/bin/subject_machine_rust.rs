//! See `src/subjects/machine_rust.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::MACHINE_RUST)
}
