//! See `src/subjects/`.

fn main() {
    tokio_baseline::main(&rust_peers::subjects::PARALIGHT)
}
