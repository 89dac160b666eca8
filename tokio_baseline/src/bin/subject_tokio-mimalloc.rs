//! See `src/subjects/tokio.rs`; the allocator is the only difference from `subject_tokio`.

#[global_allocator]
static GLOBAL: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    tokio_baseline::main(&tokio_baseline::subjects::TOKIO_MIMALLOC)
}
