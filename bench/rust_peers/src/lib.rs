//! Rust runtimes that `check` does not build. The subjects speak `../contract/CLI.md` by the harness of `tokio_baseline`; the programs
//! that meet hazards speak `../hazards/README.md`.
pub mod hazards;
pub mod subjects;
