//! See `src/subjects/tokio_multi_thread.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::tokio_multi_thread::SUBJECT)
}
