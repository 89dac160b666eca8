//! The golden vectors of the treaty, computed elsewhere: both languages must reproduce them.
use serde_json::Value;
use tokio_baseline::fork_join::forks::{self, FibNode, TreeNode};
use tokio_baseline::fork_join::matrices::Matrices;
use tokio_baseline::fork_join::tree::{serial_sum, Tree};
use tokio_baseline::fork_join::{trees, uts::Uts};
use tokio_baseline::hist::{self, Histogram, Permille};
use tokio_baseline::ledger::{self, Ledger};
use tokio_baseline::open_loop::{OwnCost, OwnLateness, SPIN_NS};
use tokio_baseline::scenarios::latency_vs_load::service_ns;

fn golden(section: &str) -> Vec<Value> {
    let text = include_str!("../../bench/contract/golden.json");
    let json: Value = serde_json::from_str(text).expect("golden.json is JSON");
    let rows = json[section].as_array().unwrap_or_else(|| panic!("golden.json has no `{section}`")).clone();
    assert!(!rows.is_empty(), "`{section}` is empty");
    rows
}

/// A number of golden.json: an integer, or a string `0x…` beyond 2^53.
fn number(value: &Value) -> u64 {
    match value {
        Value::String(text) => {
            let digits = text.strip_prefix("0x").unwrap_or_else(|| panic!("`{text}` lacks 0x"));
            u64::from_str_radix(digits, 16).unwrap_or_else(|e| panic!("`{text}`: {e}"))
        }
        other => other.as_u64().unwrap_or_else(|| panic!("`{other}` is no number")),
    }
}

#[test]
fn mix_is_as_written() {
    for row in golden("mix") {
        assert_eq!(ledger::mix(number(&row["i"])), number(&row["mix"]), "{row}");
    }
}

#[test]
fn mark_is_as_written() {
    for row in golden("mark") {
        assert_eq!(ledger::mark(number(&row["i"])), number(&row["mark"]), "{row}");
    }
}

#[test]
fn block_sums_are_as_written() {
    for row in golden("block_sum") {
        assert_eq!(ledger::expected_sum(number(&row["n"])), number(&row["sum"]), "{row}");
    }
}

#[test]
fn values_fall_into_the_buckets_written() {
    for row in golden("bucket") {
        let index = hist::index_of(number(&row["value"]));
        assert_eq!(index as u64, number(&row["index"]), "{row}");
        assert_eq!(hist::bounds_of(index), (number(&row["lo"]), number(&row["hi"])), "{row}");
    }
}

#[test]
fn percentiles_are_as_written() {
    for row in golden("percentile") {
        let name = &row["name"];
        let list = |key: &str| -> Vec<u64> { row[key].as_array().expect("a list").iter().map(number).collect() };
        let mut hist = Histogram::new();
        for (value, count) in list("values").into_iter().zip(list("counts")) {
            hist.record_n(value, count);
        }
        assert_eq!(hist.count(), number(&row["count"]), "{name}");
        assert_eq!(hist.min(), Some(number(&row["min"])), "{name}");
        assert_eq!(hist.max(), Some(number(&row["max"])), "{name}");
        for quantile in row["quantiles"].as_array().expect("a list") {
            let q = Permille(number(&quantile["permille"]));
            let value = number(&quantile["value"]);
            assert_eq!(q.rank(hist.count()), number(&quantile["rank"]), "{name} {quantile}");
            assert_eq!(hist.percentile(q), Some(value), "{name} {quantile}");
            let printed = (number(&quantile["printed"]) == 1).then_some(value);
            assert_eq!(hist.printed_percentile(q), printed, "{name} {quantile}");
        }
    }
}

#[test]
fn service_times_are_as_written() {
    for row in golden("service") {
        let service = row["service"].as_str().expect("a word");
        let ns = number(&row["scale"]) * service_ns(service, number(&row["seed"]), number(&row["i"]));
        assert_eq!(ns, number(&row["ns"]), "{row}");
    }
}

#[test]
fn the_injector_spins_as_long_as_written() {
    let json: Value = serde_json::from_str(include_str!("../../bench/contract/golden.json")).expect("JSON");
    assert_eq!(SPIN_NS, number(&json["injector"]["spin_ns"]));
}

#[test]
fn the_injectors_own_lateness_is_as_written() {
    for row in golden("own_lateness") {
        let mut late = OwnLateness::new(row["undisplaced"].as_bool().expect("a word"));
        for (post, expected) in
            row["posts"].as_array().expect("a list").iter().zip(row["late"].as_array().expect("a list"))
        {
            let found = late.of(number(&post[0]), number(&post[1]), number(&post[2]));
            assert_eq!(found, number(expected), "{row}");
        }
    }
}

#[test]
fn the_injectors_own_cost_is_as_written() {
    for row in golden("own_cost") {
        let mut cost = OwnCost::new(row["undisplaced"].as_bool().expect("a word"));
        let times = |name: &str| row[name].as_array().expect("a list").iter().map(number);
        times("slept").for_each(|ns| cost.slept(ns));
        times("looked").for_each(|ns| cost.looked(ns));
        assert_eq!(cost.of(number(&row["thread"])), number(&row["cost"]), "{row}");
    }
}

#[test]
fn answers_are_as_written() {
    fn sum(tree: impl Tree) -> u64 {
        serial_sum(&tree, &tree.root())
    }
    for row in golden("answer") {
        let value = number(&row["value"]);
        // The greatest take seconds without optimisation; the release build of a race works them out itself.
        if cfg!(debug_assertions) && row["scenario"] == "uts" && value > 7 {
            continue;
        }
        let answer = match row["scenario"].as_str().expect("a name") {
            "fib" => forks::serial_sum(FibNode(value)),
            "tree_sum" => forks::serial_sum(TreeNode::balanced(value as usize)),
            "skynet" => sum(trees::Skynet(value)),
            "nqueens" => sum(trees::Queens(value as u32)),
            "uts" => sum(Uts::new(value as u32)),
            "matmul" => Matrices::new(value as usize, Ledger::leak(0)).expected(),
            other => panic!("no answer to `{other}`"),
        };
        assert_eq!(answer, number(&row["answer"]), "{row}");
    }
}

#[test]
fn forks_are_counted_as_written() {
    for row in golden("forks") {
        let value = number(&row["value"]);
        let forks = match row["scenario"].as_str().expect("a name") {
            "fib" => forks::forks_of(FibNode(value)),
            _ => forks::forks_of(TreeNode::balanced(value as usize)),
        };
        assert_eq!(forks, number(&row["forks"]), "{row}");
    }
}
