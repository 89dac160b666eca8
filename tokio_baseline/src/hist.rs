//! The log-linear histogram of CSV.md: 128 sub-buckets per octave, 64-bit counts, merged by addition.
use std::io::{self, Write};

/// Values below this have a bucket each.
const LINEAR: u64 = 256;
/// Sub-buckets of every octave above the linear part.
const SUB_BUCKETS: u64 = 128;
/// Buckets in all: 256 single values and the octaves of bit 8 to bit 63.
pub const BUCKETS: usize = LINEAR as usize + (64 - 8) * SUB_BUCKETS as usize;
/// A percentile is printed only with at least this many samples above its rank.
const SAMPLES_ABOVE: u64 = 100;

/// The bucket that `value` falls into.
pub fn index_of(value: u64) -> usize {
    if value < LINEAR {
        return value as usize;
    }
    let octave = u64::from(value.ilog2());
    let sub_bucket = (value >> (octave - 7)) - SUB_BUCKETS;
    (LINEAR + (octave - 8) * SUB_BUCKETS + sub_bucket) as usize
}

/// The least and the greatest value of bucket `index`, both inclusive.
pub fn bounds_of(index: usize) -> (u64, u64) {
    let index = index as u64;
    if index < LINEAR {
        return (index, index);
    }
    let octave = 8 + (index - LINEAR) / SUB_BUCKETS;
    let sub_bucket = (index - LINEAR) % SUB_BUCKETS;
    let width = 1 << (octave - 7);
    let lo = (SUB_BUCKETS + sub_bucket) * width;
    (lo, lo + (width - 1))
}

/// A quantile in thousandths, so that ranks are exact integers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Permille(pub u64);

impl Permille {
    /// The rank `ceil(q × n)`, at least 1.
    pub fn rank(self, n: u64) -> u64 {
        let product = u128::from(self.0) * u128::from(n);
        (product.div_ceil(1000) as u64).max(1)
    }
}

/// Counts of values, with the exact least and greatest value beside them.
#[derive(Debug, Clone)]
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    min: u64,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { counts: vec![0; BUCKETS], total: 0, min: u64::MAX, max: 0 }
    }
}

impl Histogram {
    /// An empty histogram; all its memory is allocated here.
    pub fn new() -> Self {
        Self::default()
    }

    /// Counts one `value`.
    pub fn record(&mut self, value: u64) {
        self.record_n(value, 1);
    }

    /// Counts `value` `times` times.
    pub fn record_n(&mut self, value: u64, times: u64) {
        if times == 0 {
            return;
        }
        self.counts[index_of(value)] += times;
        self.total += times;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds every count of `other`.
    pub fn merge(&mut self, other: &Histogram) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// How many values were counted.
    pub fn count(&self) -> u64 {
        self.total
    }

    /// The least value, exact.
    pub fn min(&self) -> Option<u64> {
        (self.total > 0).then_some(self.min)
    }

    /// The greatest value, exact.
    pub fn max(&self) -> Option<u64> {
        (self.total > 0).then_some(self.max)
    }

    /// The upper edge of the bucket that holds rank `ceil(q × n)`, never above the recorded maximum.
    pub fn percentile(&self, q: Permille) -> Option<u64> {
        let rank = q.rank(self.total);
        let mut cumulative = 0;
        let bucket = self.counts.iter().position(|count| {
            cumulative += count;
            cumulative >= rank
        })?;
        Some(bounds_of(bucket).1.min(self.max))
    }

    /// [`Self::percentile`], or nothing where fewer than 100 samples lie above its rank; the median needs one sample.
    pub fn printed_percentile(&self, q: Permille) -> Option<u64> {
        let above = self.total.saturating_sub(q.rank(self.total));
        (q == Permille(500) || above >= SAMPLES_ABOVE).then(|| self.percentile(q)).flatten()
    }

    /// The buckets with a count: `(value_lo, value_hi, count)`, ascending.
    pub fn buckets(&self) -> impl Iterator<Item = (u64, u64, u64)> + '_ {
        self.counts.iter().enumerate().filter(|(_, &count)| count > 0).map(|(index, &count)| {
            let (lo, hi) = bounds_of(index);
            (lo, hi, count)
        })
    }

    /// Writes the file of `--hist`: its header, then the buckets with a count.
    pub fn write_csv(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "value_lo_ns,value_hi_ns,count")?;
        self.buckets().try_for_each(|(lo, hi, count)| writeln!(out, "{lo},{hi},{count}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_tile_the_whole_range_without_gap_or_overlap() {
        let mut next = 0;
        for index in 0..BUCKETS {
            let (lo, hi) = bounds_of(index);
            assert_eq!(lo, next, "bucket {index}");
            assert_eq!((index_of(lo), index_of(hi)), (index, index));
            next = hi.wrapping_add(1);
        }
        assert_eq!(next, 0, "the last bucket ends at 2^64 - 1");
    }

    #[test]
    fn no_bucket_is_wider_than_its_share_of_the_value() {
        for index in 256..BUCKETS {
            let (lo, hi) = bounds_of(index);
            assert!((hi - lo) < lo / 127, "bucket {index}: {lo}..={hi}");
        }
    }

    #[test]
    fn ranks_are_exact_integers() {
        assert_eq!(Permille(500).rank(0), 1);
        assert_eq!(Permille(500).rank(1), 1);
        assert_eq!(Permille(500).rank(3), 2);
        assert_eq!(Permille(990).rank(100), 99);
        assert_eq!(Permille(999).rank(1001), 1000);
        assert_eq!(Permille(1000).rank(u64::MAX), u64::MAX);
    }

    #[test]
    fn an_empty_histogram_has_no_values() {
        let empty = Histogram::new();
        assert_eq!((empty.count(), empty.min(), empty.max()), (0, None, None));
        assert_eq!(empty.percentile(Permille(500)), None);
        assert_eq!(empty.buckets().count(), 0);
    }

    #[test]
    fn a_percentile_is_never_above_the_recorded_maximum() {
        let mut one = Histogram::new();
        one.record(1_000_000);
        assert_eq!(one.percentile(Permille(500)), Some(1_000_000));
        assert_eq!(one.percentile(Permille(999)), Some(1_000_000));
    }

    #[test]
    fn a_percentile_is_printed_with_a_hundred_samples_above_its_rank() {
        let mut h = Histogram::new();
        h.record_n(10, 9_999);
        assert_eq!(h.printed_percentile(Permille(990)), None);
        h.record(10);
        assert_eq!(h.printed_percentile(Permille(990)), Some(10));
        assert_eq!(h.printed_percentile(Permille(999)), None);
        h.record_n(10, 90_000);
        assert_eq!(h.printed_percentile(Permille(999)), Some(10));
    }

    #[test]
    fn the_median_needs_one_sample_only() {
        let mut h = Histogram::new();
        h.record(7);
        assert_eq!(h.printed_percentile(Permille(500)), Some(7));
        assert_eq!(h.printed_percentile(Permille(900)), None);
    }

    #[test]
    fn the_file_holds_only_buckets_with_a_count() {
        let mut h = Histogram::new();
        h.record_n(3, 2);
        h.record(257);
        let mut text = Vec::new();
        h.write_csv(&mut text).expect("a Vec takes everything");
        assert_eq!(String::from_utf8(text).expect("UTF-8"), "value_lo_ns,value_hi_ns,count\n3,3,2\n256,257,1\n");
    }

    #[test]
    fn merging_keeps_counts_and_extremes() {
        let (mut a, mut b) = (Histogram::new(), Histogram::new());
        a.record_n(5, 3);
        b.record(1);
        b.record_n(90_000, 2);
        a.merge(&b);
        a.merge(&Histogram::new());
        assert_eq!((a.count(), a.min(), a.max()), (6, Some(1), Some(90_000)));
    }
}
