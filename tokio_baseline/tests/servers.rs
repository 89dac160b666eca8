//! Servers, asked by clients and answered by backends of ours (asking/mod.rs); and what a subject makes of a load program that misbehaves.
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tokio_baseline::runtime::Serving;
use tokio_baseline::subjects::{async_pool::AsyncExecutor, tokio::Tokio, tokio::TokioCurrentThread};

mod asking;

fn answers<R: Serving>(workers: usize) {
    asking::answers(|service| Some(R::serve(workers, service).expect("a server")));
}

#[test]
fn every_request_is_answered_once_and_in_order() {
    answers::<Tokio>(2);
    answers::<TokioCurrentThread>(1);
    answers::<AsyncExecutor>(2);
}

/// A load program that is a script.
fn load(name: &str, script: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{script}\n")).expect("cargo's scratch folder can be written");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

fn run(scenario: &str, load: &Path, params: &[&str]) -> Output {
    let plan = Path::new(env!("CARGO_TARGET_TMPDIR")).join("servers.plan");
    std::fs::write(&plan, "0\n1000\n").expect("cargo's scratch folder can be written");
    let mut command = Command::new(env!("CARGO_BIN_EXE_subject_tokio"));
    command.args(["run", "--scenario", scenario, "--workers", "1"]).arg("--plan").arg(plan).arg("--load").arg(load);
    for param in params {
        command.args(["--param", param]);
    }
    command.output().expect("the program starts")
}

const BEGIN: &str = "echo backends; read port; echo begin; read go";
const END: &str =
    "ops=2 wall_ns=9 offered_per_s=1 achieved_per_s=1 lat_count=2 lat_min_ns=1 lat_p50_ns=1 lat_p90_ns= lat_p95_ns= \
                   lat_p99_ns= lat_p999_ns= lat_max_ns=3 lateness_p99_ns=1 flags=a;b=2";

#[test]
fn what_the_load_program_says_becomes_the_row_or_the_fault() {
    let sum = format!("check={:016x}", tokio_baseline::ledger::expected_sum(2));
    let end =
        |wrong: u8, check: &str, status: u8| format!("{BEGIN}; echo 'end wrong={wrong} {END} {check}'; exit {status}");
    for (name, script, status, seen) in [
        ("good", end(0, &sum, 0), 0, ""),
        ("wrong", end(1, &sum, 0), 4, "saw a wrong answer"),
        ("lost", end(0, "check=0000000000000002", 0), 4, "2 tasks left the sum 0000000000000002"),
        ("kept", end(0, &sum, 4), 4, "that the server kept"),
        ("failed", end(0, &sum, 3), 1, "exit status: 3"),
        ("dead", "exit 7".into(), 1, "should have said `backends`: it ended (exit status: 7)"),
        ("foreign", "echo hello".into(), 1, "should have said `backends`: seen `hello`"),
        ("ports", "echo backends 1 2".into(), 1, "should have said 0 ports: seen `1 2`"),
        ("early", "echo backends; read port; exit 1".into(), 1, "should have said `begin`"),
        ("short", format!("{BEGIN}; echo end wrong=0 ops=2"), 1, "it should hold wrong and ops"),
    ] {
        let done = run("echo", &load(name, &script), &[]);
        let told = String::from_utf8_lossy(&done.stderr);
        assert_eq!((done.status.code(), told.contains(seen)), (Some(status), true), "{name}: {told}");
        let text = String::from_utf8_lossy(&done.stdout);
        assert_eq!(text.lines().count(), if status == 1 { 0 } else { 2 }, "{name}: {text}");
        if status == 0 {
            assert!(
                text.contains("echo,1,1,0,,1,2,9,") && text.ends_with(&format!("{},a;b=2,ok\n", &sum[6..])),
                "{text}"
            );
        }
    }
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let absent = run("echo", Path::new("/nonexistent/load"), &[]);
    assert_eq!(absent.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&absent.stderr).contains("/nonexistent/load"));
    let ask = run("fan_out", Path::new("/bin/true"), &["backends=2", "ask=3"]);
    assert_eq!(ask.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&ask.stderr).contains("ask=3 is more than backends=2"));
}
