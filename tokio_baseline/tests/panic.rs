//! A panic inside a task must end the process by a signal: a failed run, never a hang.
use std::os::unix::process::ExitStatusExt;
use std::process::Command;
use tokio_baseline::host;
use tokio_baseline::runtime::{Runtime, Start};
use tokio_baseline::subjects::tokio::Tokio;

/// Not a test of its own: the child that the test below starts. It waits for a task that never comes to its end.
#[test]
#[ignore = "started by a_panicking_task_ends_the_process"]
fn child_with_a_panicking_task() {
    host::abort_on_panic();
    let runtime = Tokio::start(1).expect("one worker");
    runtime.post(|| panic!("this panic is the test's own"));
    loop {
        std::thread::park();
    }
}

#[test]
fn a_panicking_task_ends_the_process() {
    let output = Command::new(std::env::current_exe().expect("this test's own path"))
        .args(["--ignored", "--exact", "child_with_a_panicking_task", "--nocapture"])
        .output()
        .expect("the child starts");
    assert_eq!(output.status.signal(), Some(6), "SIGABRT, seen {:?}", output.status);
    assert!(String::from_utf8_lossy(&output.stderr).contains("the test's own"));
}
