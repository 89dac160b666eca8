//! The program from outside, as the runner sees it: rows, checks, files and exit statuses.
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tokio_baseline::ledger::expected_sum;
use tokio_baseline::scenarios;

const HEADER: &str = "scenario,workers,seed,warmup_blocks,steady,blocks,ops,wall_ns,cpu_ns,ns_per_op,ops_per_s,offered_per_s,achieved_per_s,lat_count,lat_min_ns,lat_p50_ns,lat_p90_ns,lat_p95_ns,lat_p99_ns,lat_p999_ns,lat_max_ns,lateness_p99_ns,nvcsw,nivcsw,minflt,maxrss_kib,allocs,wakes,parks,steals,check,flags,status";

/// Every program of this crate, by the subject's name.
const PROGRAMS: [(&str, &str); 5] = [
    ("tokio", env!("CARGO_BIN_EXE_subject_tokio")),
    ("tokio-mimalloc", env!("CARGO_BIN_EXE_subject_tokio-mimalloc")),
    ("tokio-current-thread", env!("CARGO_BIN_EXE_subject_tokio-current-thread")),
    ("rayon", env!("CARGO_BIN_EXE_subject_rayon")),
    ("async-executor", env!("CARGO_BIN_EXE_subject_async-executor")),
];

fn subject(line: &str) -> Output {
    call(PROGRAMS[0].1, line)
}

fn call(program: &str, line: &str) -> Output {
    Command::new(program).args(line.split_whitespace()).output().expect("the program starts")
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("UTF-8")
}

/// Runs to success and returns the row by column.
fn row(line: &str) -> BTreeMap<&'static str, String> {
    let output = subject(line);
    assert_eq!(output.status.code(), Some(0), "`{line}`: {}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.ends_with('\n'));
    let lines: Vec<&str> = printed.lines().collect();
    assert_eq!(lines.len(), 2, "a header and exactly one row, seen:\n{printed}");
    assert_eq!(lines[0], HEADER);
    let cells: Vec<String> = lines[1].split(',').map(String::from).collect();
    assert_eq!(cells.len(), HEADER.split(',').count());
    HEADER.split(',').zip(cells).collect()
}

/// Asserts that exactly `filled` of the columns that depend on the scenario hold a number.
fn assert_filled(row: &BTreeMap<&str, String>, filled: &str) {
    let always =
        "scenario workers seed warmup_blocks blocks ops cpu_ns nvcsw nivcsw minflt maxrss_kib parks check status";
    for (column, cell) in row {
        let expected = always.split(' ').chain(filled.split(' ')).any(|name| name == *column);
        assert_eq!(!cell.is_empty(), expected, "column {column} holds `{cell}`");
        if expected && !["scenario", "check", "status", "flags"].contains(column) {
            assert!(cell.parse::<f64>().is_ok_and(|number| number >= 0.0), "column {column} holds `{cell}`");
        }
    }
}

/// Asserts a refusal: status 2, nothing on standard output, every one of `seen` on standard error.
fn assert_refused(line: &str, seen: &[&str]) {
    let output = subject(line);
    assert_eq!(output.status.code(), Some(2), "`{line}`");
    assert!(output.stdout.is_empty(), "`{line}` printed a row");
    for word in seen {
        assert!(text(&output.stderr).contains(word), "`{line}` said: {}", text(&output.stderr));
    }
}

/// A file in cargo's own scratch folder, named after its test.
fn scratch(name: &str, content: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, content).expect("cargo's scratch folder can be written");
    path
}

fn plan(name: &str, n: u64, step_ns: u64) -> PathBuf {
    let lines: String = (0..n).map(|i| format!("{}\n", i * step_ns)).collect();
    scratch(name, &format!("# {n} releases\n{lines}"))
}

#[test]
fn version_is_one_json_line() {
    for (name, program) in PROGRAMS {
        let output = call(program, "--version");
        assert_eq!(output.status.code(), Some(0));
        let printed = text(&output.stdout);
        assert_eq!(printed.lines().count(), 1);
        let json: serde_json::Value = serde_json::from_str(printed).expect("JSON");
        assert_eq!(json["subject"], name);
        assert!(!json["subject_version"].as_str().expect("a version").is_empty());
        let mimalloc = json["build_id"].as_str().expect("a build").contains("allocator=mimalloc");
        assert_eq!(mimalloc, name == "tokio-mimalloc");
    }
}

#[test]
fn list_names_every_scenario_that_is_no_loop_on_a_line() {
    let output = subject("--list");
    assert_eq!(output.status.code(), Some(0));
    let names = scenarios::SCENARIOS.iter().map(|s| s.name).filter(|name| !name.starts_with("loop_"));
    assert_eq!(text(&output.stdout), names.map(|name| format!("{name}\n")).collect::<String>());
    let rayon = call(PROGRAMS[3].1, "--list");
    assert!(!text(&rayon.stdout).contains("timer_lateness") && text(&rayon.stdout).contains("post_latency"));
    assert!(text(&rayon.stdout).contains("loop_sort"));
}

#[test]
fn post_throughput_prints_its_row() {
    for params in ["", "--param producers=3", "--param batch=16 --param producers=2", "--slowdown-ns 100"] {
        let row = row(&format!("run --scenario post_throughput --workers 2 --seed 9 --param ops=1000 {params}"));
        assert_filled(&row, "steady wall_ns ns_per_op ops_per_s");
        assert_eq!(row["check"], "432adc2b000003e8", "the golden sum of 1000 tasks");
        assert_eq!((row["scenario"].as_str(), row["status"].as_str()), ("post_throughput", "ok"));
        assert_eq!([&row["workers"], &row["seed"], &row["ops"], &row["blocks"]], ["2", "9", "1000", "3"]);
        assert!(["0", "1"].contains(&row["steady"].as_str()));
    }
}

#[test]
fn calibration_doubles_from_the_floor() {
    let row = row("run --scenario post_throughput --workers 1 --block-ms 5 --blocks 1 --warmup-blocks 0");
    let ops: u64 = row["ops"].parse().expect("a number");
    assert!(ops >= 16384 && ops % 16384 == 0 && (ops / 16384).is_power_of_two(), "seen {ops}");
    assert_eq!(row["check"], format!("{:016x}", expected_sum(ops)));
    assert_eq!([&row["warmup_blocks"], &row["steady"], &row["blocks"]], ["0", "0", "1"]);
}

#[test]
fn post_latency_prints_its_row_and_its_histogram() {
    let (plan, hist) = (plan("latency.plan", 200, 20_000), scratch("latency.hist", ""));
    let row = row(&format!(
        "run --scenario post_latency --workers 2 --param rate=50000 --plan {} --hist {}",
        plan.display(),
        hist.display()
    ));
    assert_filled(&row, "offered_per_s achieved_per_s lat_count lat_min_ns lat_p50_ns lat_max_ns flags");
    let own = row["flags"].split(';').next_back().expect("a flag");
    assert!(own.strip_prefix("injector_us=").is_some_and(|us| us.parse::<u64>().is_ok()), "seen: {own}");
    assert_eq!((row["ops"].as_str(), row["lat_count"].as_str(), row["status"].as_str()), ("200", "180", "ok"));
    assert_eq!(row["check"], format!("{:016x}", expected_sum(200)));

    let hist = std::fs::read_to_string(hist).expect("the histogram was written");
    let mut lines = hist.lines();
    assert_eq!(lines.next(), Some("value_lo_ns,value_hi_ns,count"));
    let counts =
        lines.map(|line| line.rsplit(',').next().and_then(|count| count.parse::<u64>().ok()).expect("a count"));
    assert_eq!(counts.sum::<u64>(), 180);
}

#[test]
fn percentiles_appear_with_the_samples_they_need() {
    let plan = plan("percentiles.plan", 1200, 1000);
    let row = row(&format!("run --scenario post_latency --workers 1 --plan {}", plan.display()));
    assert_eq!(row["lat_count"], "1080");
    assert!(!row["lat_p90_ns"].is_empty(), "108 samples lie above it");
    assert!(row["lat_p95_ns"].is_empty() && row["lateness_p99_ns"].is_empty(), "54 and 10 do");
}

#[test]
fn timer_lateness_prints_its_row() {
    for (params, ops) in [("--param ops=20", 20), ("--param ops=30 --param pending=30 --param delay_us=5000", 30)] {
        let row = row(&format!("run --scenario timer_lateness --workers 2 {params}"));
        assert_filled(&row, "wall_ns lat_count lat_min_ns lat_p50_ns lat_max_ns");
        assert_eq!((row["ops"].as_str(), row["status"].as_str()), (ops.to_string().as_str(), "ok"));
        assert_eq!(row["lat_count"], (ops - ops / 10).to_string());
        assert_eq!(row["check"], format!("{:016x}", expected_sum(ops)));
    }
}

#[test]
fn bad_arguments_end_with_2_and_say_what_was_seen() {
    let throughput = "run --scenario post_throughput --workers";
    assert_refused("", &["usage"]);
    assert_refused("run --scenario nope --workers 1", &["`nope`", "post_throughput post_latency timer_lateness"]);
    assert_refused(&format!("{throughput} 0"), &["--workers", "`0`"]);
    assert_refused(&format!("{throughput} 1 --param ops=0"), &["ops", "`0`"]);
    assert_refused(&format!("{throughput} 1 --param size=1"), &["'size'", "producers, batch, ops"]);
    assert_refused(&format!("{throughput} 1 --fast"), &["`--fast`", "--slowdown-ns"]);
    assert_refused(&format!("{throughput} 1 --hist /nonexistent/hist"), &["--hist", "/nonexistent/hist"]);
    assert_refused("run --scenario timer_lateness --workers 1 --param pending=201", &["pending=201", "ops=200"]);
}

#[test]
fn a_bad_plan_ends_with_2_and_names_the_line() {
    let run = "run --scenario post_latency --workers 1";
    assert_refused(run, &["--plan is missing"]);
    assert_refused(&format!("{run} --plan /nonexistent/plan"), &["/nonexistent/plan"]);
    let malformed = scratch("malformed.plan", "# comment\n100\n2OO\n");
    assert_refused(&format!("{run} --plan {}", malformed.display()), &["line 3", "`2OO`"]);
    let descending = scratch("descending.plan", "100\n99\n");
    assert_refused(&format!("{run} --plan {}", descending.display()), &["line 2", "99 after 100"]);
    let empty = scratch("empty.plan", "# nothing\n");
    assert_refused(&format!("{run} --plan {}", empty.display()), &["no release time"]);
}
