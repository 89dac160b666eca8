//! What a scenario hands back, and which of its samples count.
use crate::hist::Histogram;
use crate::row::Row;

/// What a scenario hands back.
pub struct Report {
    /// The row to print.
    pub row: Row,
    /// The histogram for `--hist`; empty where the scenario has none.
    pub hist: Histogram,
    /// Why the run is wrong; empty when it is right.
    pub complaints: Vec<String>,
}

impl Report {
    /// The run is wrong for one more reason.
    pub(crate) fn wrong(&mut self, why: impl Into<String>) {
        self.row.put("status", "wrong".to_string());
        self.complaints.push(why.into());
    }

    /// Holds the run to what the scenario found.
    pub fn hold_to(&mut self, found: Result<(), String>) {
        if let Err(complaint) = found {
            self.wrong(complaint);
        }
    }
}

/// How many of `n` samples are discarded at the start: the first 10 %, rounded down.
pub(crate) fn discarded(n: usize) -> usize {
    n / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenth_is_discarded_rounded_down() {
        assert_eq!([1, 9, 10, 19, 20, 1000].map(discarded), [0, 0, 1, 1, 2, 100]);
    }
}
