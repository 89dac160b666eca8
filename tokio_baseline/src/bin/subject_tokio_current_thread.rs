//! See `src/subjects/tokio_current_thread.rs`.

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::tokio_current_thread::SUBJECT)
}
