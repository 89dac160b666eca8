//! THE list of scenarios, and what every scenario declares about itself.
pub mod post_latency;
pub mod post_throughput;
pub mod timer_lateness;

use crate::hist::Histogram;
use crate::row::Row;

/// Every scenario of CLI.md. A newcomer adds one file, one line here, and its name to the subjects that express it.
pub static SCENARIOS: [&Scenario; 3] = [&post_throughput::SCENARIO, &post_latency::SCENARIO, &timer_lateness::SCENARIO];

/// What the command line must know of a scenario. Its file has a function `measure` beside it, generic over the runtime.
#[derive(Debug)]
pub struct Scenario {
    /// Its name in CLI.md.
    pub name: &'static str,
    /// The parameters it takes; any other is refused.
    pub params: &'static [Param],
    /// Whether it takes its release times from a plan file.
    pub open_loop: bool,
}

/// A parameter and the values it may have.
#[derive(Debug)]
pub struct Param {
    /// Its key.
    pub name: &'static str,
    /// What it is when not given; nothing where the program decides.
    pub default: Option<u64>,
    /// The least value.
    pub least: u64,
    /// The greatest value.
    pub most: u64,
}

/// What a scenario hands back.
pub struct Report {
    /// The row to print.
    pub row: Row,
    /// The histogram for `--hist`; empty where the scenario has none.
    pub hist: Histogram,
    /// Why the run is wrong; empty when it is right.
    pub complaints: Vec<String>,
}

/// The scenario called `name`.
pub fn find(name: &str) -> Option<&'static Scenario> {
    SCENARIOS.into_iter().find(|scenario| scenario.name == name)
}

/// All names in one line.
pub fn names() -> String {
    SCENARIOS.map(|scenario| scenario.name).join(" ")
}

/// How many of `n` samples are discarded at the start: the first 10 %, rounded down.
pub(crate) fn discarded(n: usize) -> usize {
    n / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names = SCENARIOS.map(|scenario| scenario.name);
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]));
    }

    #[test]
    fn defaults_lie_within_their_bounds() {
        for param in SCENARIOS.iter().flat_map(|scenario| scenario.params) {
            let default = param.default.unwrap_or(param.least);
            assert!((param.least..=param.most).contains(&default), "{param:?}");
        }
    }

    #[test]
    fn a_tenth_is_discarded_rounded_down() {
        assert_eq!([1, 9, 10, 19, 20, 1000].map(discarded), [0, 0, 1, 1, 2, 100]);
    }
}
