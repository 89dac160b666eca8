//! The row that `run` prints: the measured columns of CSV.md, everything else left empty.
use crate::args::RunArgs;
use crate::hist::{Histogram, Permille};
use crate::host::Usage;
use crate::runtime::Counters;

/// The columns a subject prints, in the treaty's order.
pub const MEASURED: [&str; 33] = [
    "scenario",
    "workers",
    "seed",
    "warmup_blocks",
    "steady",
    "blocks",
    "ops",
    "wall_ns",
    "cpu_ns",
    "ns_per_op",
    "ops_per_s",
    "offered_per_s",
    "achieved_per_s",
    "lat_count",
    "lat_min_ns",
    "lat_p50_ns",
    "lat_p90_ns",
    "lat_p95_ns",
    "lat_p99_ns",
    "lat_p999_ns",
    "lat_max_ns",
    "lateness_p99_ns",
    "nvcsw",
    "nivcsw",
    "minflt",
    "maxrss_kib",
    "allocs",
    "wakes",
    "parks",
    "steals",
    "check",
    "flags",
    "status",
];

/// The percentiles that have a column.
pub const PERCENTILES: [(&str, Permille); 5] = [
    ("lat_p50_ns", Permille(500)),
    ("lat_p90_ns", Permille(900)),
    ("lat_p95_ns", Permille(950)),
    ("lat_p99_ns", Permille(990)),
    ("lat_p999_ns", Permille(999)),
];

/// A cell's text, as CSV.md wants it.
pub trait Cell {
    /// The text of the cell; empty means not measured.
    fn cell(self) -> String;
}

impl Cell for u64 {
    fn cell(self) -> String {
        self.to_string()
    }
}

impl Cell for bool {
    fn cell(self) -> String {
        u8::from(self).to_string()
    }
}

impl Cell for f64 {
    fn cell(self) -> String {
        if !self.is_finite() {
            return String::new();
        }
        let text = format!("{self:.3}");
        text.trim_end_matches('0').trim_end_matches('.').to_string()
    }
}

impl Cell for String {
    fn cell(self) -> String {
        debug_assert!(!self.contains([',', '"', '\n', '\r']), "this cell would need quotes: {self}");
        self
    }
}

impl<T: Cell> Cell for Option<T> {
    fn cell(self) -> String {
        self.map_or(String::new(), Cell::cell)
    }
}

fn column_index(column: &str) -> usize {
    let index = MEASURED.iter().position(|name| *name == column);
    index.unwrap_or_else(|| panic!("no column `{column}` in CSV.md"))
}

/// One row; a column that is never put stays empty.
#[derive(Debug, Clone)]
pub struct Row([String; MEASURED.len()]);

impl Row {
    fn empty() -> Self {
        Row(std::array::from_fn(|_| String::new()))
    }

    /// The row of `run`, with the columns that only repeat its arguments.
    pub fn new(run: &RunArgs) -> Self {
        let mut row = Row::empty();
        row.put("scenario", run.scenario.name.to_string());
        row.put("workers", run.workers as u64);
        row.put("seed", run.seed);
        row
    }

    /// Fills one column.
    ///
    /// # Panics
    /// If the treaty has no such column: a mistake of this program.
    pub fn put(&mut self, column: &str, value: impl Cell) {
        self.0[column_index(column)] = value.cell();
    }

    /// Fills `lat_*` from a histogram; percentiles only where enough samples lie above.
    pub fn put_latency(&mut self, hist: &Histogram) {
        self.put("lat_count", hist.count());
        self.put("lat_min_ns", hist.min());
        self.put("lat_max_ns", hist.max());
        for (column, q) in PERCENTILES {
            self.put(column, hist.printed_percentile(q));
        }
    }

    /// Fills the columns that come from `getrusage`.
    pub fn put_usage(&mut self, usage: &Usage) {
        self.put("nvcsw", usage.nvcsw);
        self.put("nivcsw", usage.nivcsw);
        self.put("minflt", usage.minflt);
        self.put("maxrss_kib", usage.maxrss_kib);
    }

    /// Fills the columns that the runtime counts itself.
    pub fn put_counters(&mut self, counters: &Counters) {
        self.put("wakes", counters.wakes);
        self.put("parks", counters.parks);
        self.put("steals", counters.steals);
    }

    /// Adds a flag after those that are there.
    pub fn put_flag(&mut self, flag: &str) {
        let flags = &mut self.0[column_index("flags")];
        if !flags.is_empty() {
            flags.push(';');
        }
        flags.push_str(flag);
    }

    /// Fills `check` and `status`.
    pub fn put_verdict(&mut self, check: u64, ok: bool) {
        self.put("check", format!("{check:016x}"));
        self.put("status", if ok { "ok" } else { "wrong" }.to_string());
    }

    /// The header and this row, each with its line end.
    pub fn to_csv(&self) -> String {
        format!("{}\n{}\n", MEASURED.join(","), self.0.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_have_at_most_three_decimals() {
        assert_eq!(1.0f64.cell(), "1");
        assert_eq!(0.0f64.cell(), "0");
        assert_eq!(100.0f64.cell(), "100");
        assert_eq!(2.5f64.cell(), "2.5");
        assert_eq!((1.0f64 / 3.0).cell(), "0.333");
        assert_eq!(2_123_456.789_9f64.cell(), "2123456.79");
        assert_eq!(f64::INFINITY.cell(), "", "a figure that does not exist is not measured");
        assert_eq!(f64::NAN.cell(), "");
    }

    #[test]
    fn booleans_are_digits_and_nothing_is_empty() {
        assert_eq!((true.cell(), false.cell(), None::<u64>.cell()), ("1".into(), "0".into(), String::new()));
    }

    #[test]
    fn a_fresh_row_has_every_column_and_no_value() {
        let row = Row::empty();
        let csv = row.to_csv();
        let lines: Vec<&str> = csv.lines().collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
        assert_eq!(lines[1], ",".repeat(MEASURED.len() - 1));
    }

    #[test]
    fn the_check_is_sixteen_lower_case_digits() {
        let mut row = Row::empty();
        row.put_verdict(0xABC, false);
        assert!(row.to_csv().ends_with(",0000000000000abc,,wrong\n"), "seen: {}", row.to_csv());
    }

    #[test]
    fn flags_are_joined_by_semicolons() {
        let mut row = Row::empty();
        row.put_flag("injector_limited");
        row.put_flag("compute_tasks=3");
        assert!(row.to_csv().ends_with(",injector_limited;compute_tasks=3,\n"), "seen: {}", row.to_csv());
    }

    #[test]
    #[should_panic(expected = "no column `latency`")]
    fn a_column_that_the_treaty_does_not_know_is_a_mistake() {
        Row::empty().put("latency", 1u64);
    }

    #[test]
    fn the_header_is_the_one_in_csv_md() {
        let treaty = include_str!("../../bench/contract/CSV.md");
        let header = MEASURED.join(",");
        assert!(treaty.lines().any(|line| line == header), "CSV.md has no line {header}");
    }
}
