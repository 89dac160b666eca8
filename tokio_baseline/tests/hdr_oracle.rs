//! Our histogram against the `hdrhistogram` crate, on the same values.
use hdrhistogram::Histogram as Oracle;
use tokio_baseline::hist::{self, Histogram, Permille};
use tokio_baseline::ledger::mix;

/// Three digits: the oracle's buckets are narrower than ours everywhere.
fn oracle(values: &[u64]) -> Oracle<u64> {
    let mut oracle = Oracle::new(3).expect("three digits are allowed");
    values.iter().for_each(|&value| oracle.record(value).expect("an oracle that resizes takes every value"));
    oracle
}

fn ours(values: &[u64]) -> Histogram {
    let mut hist = Histogram::new();
    values.iter().for_each(|&value| hist.record(value));
    hist
}

/// Values spread evenly over the octaves 0 to `bits`, the same on every call.
fn spread(salt: u64, n: u64, bits: u64) -> Vec<u64> {
    (0..n).map(|i| mix(i ^ (salt << 32))).map(|z| (z >> 6) >> (58 - (z & 63).min(bits))).collect()
}

/// The two agree when the oracle's value lies in the bucket of ours, give or take the oracle's own bucket.
fn assert_agree(hist: &Histogram, oracle: &Oracle<u64>) {
    for permille in [1, 10, 100, 250, 500, 750, 900, 950, 990, 999, 1000] {
        let ours = hist.percentile(Permille(permille)).expect("values were recorded");
        let theirs = oracle.value_at_quantile(permille as f64 / 1000.0);
        let (lo, hi) = hist::bounds_of(hist::index_of(ours));
        let (least, most) = (oracle.lowest_equivalent(theirs), oracle.highest_equivalent(theirs));
        assert!(least <= hi && lo <= most, "{permille}‰: ours {ours} in {lo}..={hi}, theirs {least}..={most}");
    }
}

#[test]
fn percentiles_agree_within_a_bucket() {
    for (salt, bits) in [(1, 8), (2, 12), (3, 30), (4, 45), (5, 57)] {
        let values = spread(salt, 20_001, bits);
        assert_agree(&ours(&values), &oracle(&values));
    }
}

#[test]
fn percentiles_of_small_sets_agree() {
    for n in 1..40 {
        let values = spread(100 + n, n, 40);
        assert_agree(&ours(&values), &oracle(&values));
    }
}

#[test]
fn merging_is_recording_everything_in_one() {
    let parts: Vec<Vec<u64>> = (0..4).map(|part| spread(part, 5000, 10 + 10 * part)).collect();
    let (mut merged, mut oracle_merged) = (Histogram::new(), oracle(&[]));
    for part in &parts {
        merged.merge(&ours(part));
        oracle_merged.add(oracle(part)).expect("an oracle that resizes takes every histogram");
    }
    let whole = ours(&parts.concat());
    assert!(merged.buckets().eq(whole.buckets()));
    assert_eq!((merged.count(), merged.min(), merged.max()), (whole.count(), whole.min(), whole.max()));
    assert_eq!(merged.count(), oracle_merged.len());
    assert_agree(&merged, &oracle_merged);
}

#[test]
fn buckets_hold_what_the_oracle_counts_between_their_edges() {
    let values = spread(9, 10_000, 24);
    let hist = ours(&values);
    for (lo, hi, count) in hist.buckets() {
        assert_eq!(values.iter().filter(|&&value| (lo..=hi).contains(&value)).count() as u64, count);
        // Our buckets' edges are edges of the oracle's finer buckets too, so its counts must be the same.
        assert_eq!(oracle(&values).count_between(lo, hi), count, "{lo}..={hi}");
    }
}
