//! The judge of the C++ subjects (`bench/tests/subject_smoke_test.py`, a third implementation) over the Rust ones: one treaty,
//! one test of it. The current-thread subject is left out, for the judge asks for two workers.
use std::path::Path;
use std::process::Command;

const CASES: [&str; 11] = [
    "treaty",
    "post_throughput",
    "post_latency",
    "timers",
    "blocks",
    "tokio",
    "fork_join",
    "messages",
    "graphs",
    "open_loops",
    "waking",
];

fn judge(program: &str) {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/tests/subject_smoke_test.py");
    for case in CASES {
        let judged = Command::new("python3").arg(&script).args([program, case]).output().expect("python3 starts");
        assert!(judged.status.success(), "{program}: {case}: {}", String::from_utf8_lossy(&judged.stderr));
    }
}

/// Servers need the program that asks them; where it is not built, they are asked by tests/servers.rs alone.
fn judge_servers(program: &str) {
    let of = |preset| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../build/{preset}/bin/apiary_load"));
    let Some(load) = ["release", "ci", "dev"].map(of).into_iter().find(|path| path.exists()) else {
        eprintln!("skipped: apiary_load is not built");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../bench/tests/subject_smoke_test.py");
    let mut judge = Command::new("python3");
    let judged =
        judge.arg(&script).args([program, "servers"]).env("APIARY_LOAD", load).output().expect("python3 starts");
    assert!(judged.status.success(), "{program}: {}", String::from_utf8_lossy(&judged.stderr));
}

#[test]
fn tokio_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_tokio"));
    judge_servers(env!("CARGO_BIN_EXE_subject_tokio"));
}

#[test]
fn tokio_with_mimalloc_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_tokio-mimalloc"));
}

#[test]
fn rayon_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_rayon"));
}

#[test]
fn chili_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_chili"));
}

#[test]
fn the_floor_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_machine_rust"));
}

#[test]
fn ractor_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_ractor"));
}

#[test]
fn async_executor_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_async-executor"));
}

#[cfg(feature = "actix")]
#[test]
fn actix_keeps_the_treaty() {
    judge(env!("CARGO_BIN_EXE_subject_actix"));
}
