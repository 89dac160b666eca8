//! Every scenario on every program of this crate and, where the C++ subjects are built, on the hive: the same work,
//! by the same `check`, the same counts, the same columns filled, the same refusals.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tokio_baseline::ledger::expected_sum;
use tokio_baseline::scenarios::latency_vs_load::service_ns;
use tokio_baseline::scenarios::SCENARIOS;

/// The programs, and the workers they are run with.
const PROGRAMS: [(&str, &str); 8] = [
    (env!("CARGO_BIN_EXE_subject_tokio"), "2"),
    (env!("CARGO_BIN_EXE_subject_tokio-mimalloc"), "2"),
    (env!("CARGO_BIN_EXE_subject_tokio-current-thread"), "1"),
    (env!("CARGO_BIN_EXE_subject_rayon"), "2"),
    (env!("CARGO_BIN_EXE_subject_async-executor"), "2"),
    (env!("CARGO_BIN_EXE_subject_chili"), "2"),
    (env!("CARGO_BIN_EXE_subject_ractor"), "2"),
    (env!("CARGO_BIN_EXE_subject_machine_rust"), "2"),
];

/// A small run of each scenario: its words, its operations.
const RUNS: &[(&str, &str, u64)] = &[
    ("post_throughput", "ops=1000 producers=3 batch=16", 1000),
    ("post_latency", "rate=50000", 200),
    ("post_latency", "respawners=3 task_us=100", 200),
    ("timer_lateness", "ops=30 pending=7 delay_us=500", 30),
    ("timers", "ops=300 pending=50", 300),
    ("timers", "ops=1 pending=1", 1),
    ("targeted_throughput", "ops=1000 producers=2", 1000),
    ("targeted_throughput", "ops=999 targets=WORKERS", 999),
    ("targeted_latency", "targets=WORKERS", 200),
    ("targeted_latency", "service_ns=3000", 200),
    ("steal_pressure", "ops=2000", 2000),
    ("steal_pressure", "ops=100 work_ns=0", 100),
    ("mixed_load", "compute_us=100000", 200), // never a hundred of them: the share is not told
    ("latency_vs_load", "service=bimodal", 200),
    ("latency_vs_load", "service=exponential scale=2", 200),
    ("successor", "ops=1000", 1000),
    ("successor", "ops=1000 chains=7", 1000),
    ("spawn_many_local", "tasks=100 ops=300", 300),
    ("spawn_many_remote_idle", "tasks=100 ops=300", 300),
    ("spawn_many_remote_busy1", "tasks=100 ops=300", 300),
    ("spawn_many_remote_busy2", "tasks=100 ops=300", 300),
    ("ping_pong", "tasks=100 ops=300", 300),
    ("yield_many", "tasks=20 yields=30 ops=40", 40),
    ("yield_many", "tasks=3 yields=0 ops=3", 3),
    ("chained_spawn", "tasks=100 ops=300", 300),
    ("remote_spawn", "tasks=128 threads=3 ops=256", 256),
    ("fib", "n=12 ops=2", 2),
    ("fib", "n=1 ops=2", 2),
    ("tree_sum", "nodes=127 ops=5", 5),
    ("tree_sum", "nodes=1 ops=5", 5),
    ("skynet", "leaves=1000 ops=2", 2),
    ("skynet", "leaves=1 ops=2", 2),
    ("nqueens", "n=6 ops=2", 2),
    ("uts", "depth=3 ops=2", 2),
    ("matmul", "n=128 ops=2", 2),
    ("matmul", "n=32 ops=2", 2),
    ("loop_empty", "ops=300", 300),
    ("loop_for", "n=1000 ops=3", 3),
    ("loop_for", "n=1000 iterations=3 lengths=pareto ops=3", 3),
    ("loop_reduce", "n=1000 lengths=pareto ops=3", 3),
    ("loop_scan", "n=5000 ops=3", 3),
    ("loop_scan", "n=1 ops=3", 3),
    ("loop_sort", "n=5000 ops=3", 3),
    ("msg_ping_pong", "pings=200 ops=3", 3),
    ("msg_count", "messages=1000 ops=3", 3),
    ("msg_ring", "processes=7 hops=100 ops=3", 3),
    ("msg_ring", "processes=2 hops=1 ops=1", 1),
    ("msg_create", "processes=100 ops=3", 3),
    ("msg_throughput", "processes=7 messages=50 ops=3", 3),
    ("msg_throughput", "processes=7 messages=50 rounds=8 ops=3", 3),
    ("chameneos", "processes=5 meetings=100 ops=3", 3),
    ("big", "processes=30 pings=10 ops=3", 3),
    ("bounded_buffer", "capacity=3 producers=4 consumers=5 items=20 ops=3", 3),
    ("idle_processes", "processes=100 ops=3", 3),
    ("graph", "pattern=stencil_1d width=7 steps=30 ops=3", 3),
    ("graph", "pattern=nearest width=7 steps=30 iterations=20 ops=3", 3),
    ("graph", "pattern=spread width=7 steps=30 ops=3", 3),
    ("graph", "pattern=fft width=7 steps=30 ops=3", 3),
    ("graph", "pattern=tree width=7 steps=30 ops=3", 3),
    ("graph", "pattern=random_nearest width=7 steps=30 ops=3", 3),
    ("graph", "pattern=chain width=1 steps=30 ops=3", 3),
    ("graph", "pattern=wavefront width=7 steps=30 ops=3", 3),
    ("graph", "pattern=layered width=7 steps=30 ops=3", 3),
    ("graph", "pattern=cholesky width=5 ops=3", 3),
    ("graph_again", "pattern=stencil_1d width=7 steps=30 ops=3", 3),
    ("graph_again", "pattern=cholesky width=5 iterations=20 ops=3", 3),
    ("wake_chain", "ops=51 sleep_us=20", 51),
    ("idle_cpu", "seconds=1 rate=20", 20),
    ("idle_cpu", "seconds=1", 0),
    ("echo", "connections=3 bytes=100", 200),
    ("fan_out", "connections=3 backends=4 ask=2", 200),
    ("echo_beside", "connections=3 compute_us=200", 200),
];

/// The program that asks servers, where it is built.
fn load() -> Option<String> {
    let of = |preset| Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../build/{preset}/bin/apiary_load"));
    let mut built = ["release", "ci", "dev"].map(of).into_iter().filter(|path| path.exists());
    built.next().map(|path| path.display().to_string())
}

/// Whether `run` needs a program that is not built.
fn skipped(run: (&str, &str, u64)) -> bool {
    let skip = matches!(run.0, "echo" | "fan_out" | "echo_beside") && load().is_none();
    if skip {
        eprintln!("skipped: apiary_load is not built");
    }
    skip
}

/// 200 releases in bursts of five.
fn plan() -> &'static Path {
    static PLAN: LazyLock<PathBuf> = LazyLock::new(|| {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("every_scenario.plan");
        let lines: String = (0..200).map(|i| format!("{}\n", i / 5 * 100_000)).collect();
        std::fs::write(&path, lines).expect("cargo's scratch folder can be written");
        path
    });
    &PLAN
}

fn call(program: &str, scenario: &str, params: &str, workers: &str, extra: &str) -> Output {
    let mut words: Vec<String> = ["run", "--scenario", scenario, "--workers", workers].map(String::from).into();
    words.extend(["--blocks", "2", "--warmup-blocks", "1", "--plan"].map(String::from));
    words.push(plan().display().to_string());
    words.extend(["--load".into(), load().unwrap_or_default()]);
    for param in params.replace("WORKERS", workers).split_whitespace() {
        words.extend(["--param".into(), param.into()]);
    }
    words.extend(extra.split_whitespace().map(String::from));
    Command::new(program).args(&words).output().expect("the program starts")
}

fn expresses(program: &str, scenario: &str) -> bool {
    let listed = Command::new(program).arg("--list").output().expect("the program starts");
    String::from_utf8_lossy(&listed.stdout).lines().any(|name| name == scenario)
}

fn row(output: &Output) -> BTreeMap<String, String> {
    let text = String::from_utf8_lossy(&output.stdout);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "a header and a row, seen {text:?} and {}", String::from_utf8_lossy(&output.stderr));
    lines[0].split(',').map(String::from).zip(lines[1].split(',').map(String::from)).collect()
}

/// Asserts that the run is right and returns its row.
fn prove(program: &str, (scenario, params, ops): (&str, &str, u64), workers: &str) -> BTreeMap<String, String> {
    let output = call(program, scenario, params, workers, "");
    let what = format!("{program}: {scenario} {params}");
    assert_eq!(output.status.code(), Some(0), "{what}: {}", String::from_utf8_lossy(&output.stderr));
    let row = row(&output);
    assert_eq!((row["status"].as_str(), row["ops"].as_str()), ("ok", ops.to_string().as_str()), "{what}");
    assert_eq!(row["check"], format!("{:016x}", expected_sum(ops)), "{what}");
    row
}

fn prove_all(program: &str, workers: &str) {
    for &run in RUNS {
        if expresses(program, run.0) {
            if !skipped(run) {
                prove(program, run, workers);
            }
        } else {
            let output = call(program, run.0, run.1, workers, "");
            assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), &[][..]), "{program}: {}", run.0);
            assert!(String::from_utf8_lossy(&output.stderr).contains("unsupported"));
        }
    }
}

#[test]
fn every_scenario_has_a_run() {
    for scenario in SCENARIOS {
        assert!(RUNS.iter().any(|run| run.0 == scenario.name), "{}", scenario.name);
    }
}

#[test]
fn tokio() {
    prove_all(PROGRAMS[0].0, PROGRAMS[0].1);
}

#[test]
fn tokio_with_mimalloc() {
    prove_all(PROGRAMS[1].0, PROGRAMS[1].1);
}

#[test]
fn tokio_on_the_current_thread() {
    prove_all(PROGRAMS[2].0, PROGRAMS[2].1);
    let output = call(PROGRAMS[2].0, "post_throughput", "ops=10", "2", "");
    assert_eq!(output.status.code(), Some(3), "one worker is all it has");
}

#[test]
fn rayon() {
    prove_all(PROGRAMS[3].0, PROGRAMS[3].1);
}

#[test]
fn async_executor() {
    prove_all(PROGRAMS[4].0, PROGRAMS[4].1);
}

#[test]
fn chili() {
    prove_all(PROGRAMS[5].0, PROGRAMS[5].1);
}

#[test]
fn ractor() {
    prove_all(PROGRAMS[6].0, PROGRAMS[6].1);
}

#[test]
fn the_floor() {
    prove_all(PROGRAMS[7].0, PROGRAMS[7].1);
}

#[cfg(feature = "actix")]
#[test]
fn actix() {
    prove_all(env!("CARGO_BIN_EXE_subject_actix"), "2");
}

#[test]
fn tokio_computes_beside_posts_by_every_means() {
    let (program, workers) = PROGRAMS[0];
    for (params, starves) in [
        ("beside=workers compute_us=1000", true),
        ("beside=workers compute_us=1000 slice_us=300", true),
        ("beside=second compute_us=1000", false),
        ("beside=rayon compute_us=1000", false),
    ] {
        let row = prove(program, ("mixed_load", params, 200), workers);
        assert!(row["flags"].contains("compute_ns="), "{params}: {}", row["flags"]);
        assert_eq!(row["flags"].contains("starved_ppm="), starves, "{params}: {}", row["flags"]);
    }
}

#[test]
fn tokio_serves_beside_tasks_that_compute_by_every_means() {
    let (program, workers) = PROGRAMS[0];
    for means in ["own", "workers", "second", "rayon"] {
        let params = format!("beside={means} compute_us=200 connections=2");
        let run = ("echo_beside", params.as_str(), 200);
        if skipped(run) {
            return;
        }
        let row = prove(program, run, workers);
        assert!(row["flags"].contains("compute_ns="), "{means}: {}", row["flags"]);
    }
}

#[test]
fn short_posts_have_a_histogram_of_their_own() {
    let (program, workers) = PROGRAMS[0];
    let short = (20..200).filter(|&i| service_ns("bimodal", 2, i) == 500).count();
    assert!(short < 180, "the seed has a long one");
    for params in ["service=bimodal latency_of=short", "service=bimodal latency_of=short slice_us=5"] {
        let row = row(&call(program, "latency_vs_load", params, workers, "--seed 2"));
        assert_eq!((row["lat_count"].clone(), row["status"].as_str()), (short.to_string(), "ok"), "{params}");
    }
}

#[test]
fn what_cannot_be_run_is_refused_with_what_was_seen() {
    for (scenario, params, seen) in [
        ("targeted_throughput", "targets=3", "targets=3 is more than --workers 2"),
        ("targeted_latency", "targets=3", "targets=3 is more than --workers 2"),
        ("successor", "chains=5 ops=4", "chains=5 is more than ops=4"),
        ("ping_pong", "tasks=7 ops=20", "ops=20 is not a multiple of tasks=7"),
        ("remote_spawn", "tasks=7 ops=20", "ops=20 is not a multiple of tasks=7"),
        ("tree_sum", "nodes=1024", "nodes=1024 is not one less than a power of two"),
        ("skynet", "leaves=999", "leaves=999 is not a power of ten"),
        ("matmul", "n=96", "n=96 is not 32 times a power of two"),
        ("graph", "width=4096 steps=5000", "width=4096 and steps=5000 make more than 16777216 tasks"),
        ("graph", "pattern=star", "`star`; there are: stencil_1d, nearest, spread"),
        ("latency_vs_load", "latency_of=short", "latency_of=short: of the services bimodal alone has short ones"),
        ("mixed_load", "slice_us=9", "slice_us: compute tasks offer their slice"),
        ("latency_vs_load", "service=normal", "`normal`; there are: fixed, exponential, bimodal"),
    ] {
        let output = call(PROGRAMS[0].0, scenario, params, "2", "");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &[][..]), "{scenario} {params}");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(told.contains(seen), "{scenario} {params}: {told}");
    }
}

#[test]
fn the_slow_down_reaches_the_tasks_of_every_kind() {
    // A millisecond for every 64th of so many tasks or nodes of a thread, on two workers.
    for (run, tasks) in [
        (("successor", "ops=1000", 1000), 1000),
        (("spawn_many_local", "tasks=1000 ops=1000", 1000), 1000),
        (("targeted_throughput", "ops=1000", 1000), 1000),
        (("matmul", "n=256 ops=1", 1), 512),
        (("msg_ring", "hops=1000 ops=1", 1), 1000),
        (("graph", "width=8 steps=125 ops=1", 1), 1000),
    ] {
        let output = call(PROGRAMS[0].0, run.0, run.1, "2", "--slowdown-ns 1000000");
        let wall: u64 = row(&output)["wall_ns"].parse().expect("a number");
        assert!(wall >= (tasks / 64 - 2) / 2 * 1_000_000, "{}: {wall}", run.0);
    }
    for run in [("fib", "n=15 ops=20", 20), ("tree_sum", "nodes=2047 ops=20", 20)] {
        let output = call(PROGRAMS[0].0, run.0, run.1, "2", "--slowdown-ns 1000000");
        let wall: u64 = row(&output)["wall_ns"].parse().expect("a number");
        assert!(wall >= 20 * 1_000_000, "{}: a millisecond after each of 20 computations, {wall}", run.0);
    }
}

/// A child that is spawned alone waits in memory of its own: 40 bytes and more. Halves wait on the stack, a few at a time.
#[test]
fn runtimes_of_two_branches_halve_the_children_of_steal_pressure() {
    for program in [PROGRAMS[3].0, PROGRAMS[5].0, PROGRAMS[7].0] {
        let output = call(program, "steal_pressure", "ops=200000 work_ns=0", "1", "");
        let flags = row(&output)["flags"].clone();
        let each = flags.split(';').find_map(|flag| flag.strip_prefix("bytes_each=")).expect("it tells");
        let each: u64 = each.parse().expect("a number");
        assert!(each < 8, "{program}: {each} bytes for each child");
    }
}

/// Else one of them would be a floor without the other to set it beside.
#[test]
fn both_floors_of_calls_have_the_same_scenarios() {
    let theirs = include_str!("../../bench/subjects/machine_calls.cpp").split("entry_of<").skip(1);
    let theirs = Vec::from_iter(theirs.map(|entry| entry.split(',').next().expect("a name")));
    let ours = Command::new(PROGRAMS[7].0).arg("--list").output().expect("the program starts");
    assert_eq!(Vec::from_iter(String::from_utf8_lossy(&ours.stdout).lines()), theirs);
}

/// The C++ subject of the same name as ours in what it expresses, where it is built.
fn hive() -> Option<String> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../build/release/bin/subject_hive");
    path.exists().then(|| path.display().to_string())
}

#[test]
fn the_c_plus_plus_twin_does_the_same_work_and_fills_the_same_columns() {
    let Some(hive) = hive() else {
        eprintln!("skipped: build/release/bin/subject_hive is not built");
        return;
    };
    // What a runtime counts or not, and what depends on how the run went.
    let own = ["allocs", "wakes", "parks", "steals", "flags", "lateness_p99_ns"];
    for &run in RUNS.iter().filter(|run| expresses(&hive, run.0) && !skipped(**run)) {
        let (ours, theirs) = (prove(PROGRAMS[0].0, run, "2"), prove(&hive, run, "2"));
        assert_eq!(ours["check"], theirs["check"]);
        for (column, cell) in &ours {
            let on_first_steal = run.0 == "steal_pressure" && column.starts_with("lat_");
            if !own.contains(&column.as_str()) && !on_first_steal {
                assert_eq!(cell.is_empty(), theirs[column].is_empty(), "{} {}: column {column}", run.0, run.1);
            }
        }
        let names = |row: &BTreeMap<String, String>| -> Vec<String> {
            // Only where a child ran elsewhere, which is how the run went.
            let sure = |flag: &&str| flag.contains('=') && !flag.starts_with("lat_mean_ns=");
            let figures = row["flags"].split(';').filter(sure);
            figures.map(|flag| flag.split('=').next().unwrap_or_default().to_string()).collect()
        };
        assert_eq!(names(&ours), names(&theirs), "{}: figures in flags", run.0);
    }
}
