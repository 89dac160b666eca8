//! Which block counts: calibration, warm-up until steady, and the median of the measured blocks.

/// Two warm-up blocks agree when they differ by at most this share of the smaller one.
const AGREEMENT: f64 = 0.02;
/// Calibration gives up doubling here; no real block is that long.
const MOST_OPS: u64 = 1 << 40;

/// How a closed-loop scenario is to be measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Most warm-up blocks.
    pub warmup_blocks: u64,
    /// Measured blocks, at least 1.
    pub blocks: u64,
    /// A calibrated block lasts at least this long.
    pub block_ns: u64,
    /// Fixed operation count: no calibration.
    pub fixed_ops: Option<u64>,
    /// Where calibration starts.
    pub floor_ops: u64,
}

/// What one block gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Operations done.
    pub ops: u64,
    /// Wall time from the start flag to the last task.
    pub wall_ns: u64,
    /// Processor time of the process over the block.
    pub cpu_ns: u64,
    /// The ledger's sum.
    pub check: u64,
}

impl Block {
    /// Nanoseconds of wall time per operation.
    pub fn ns_per_op(&self) -> f64 {
        self.wall_ns as f64 / self.ops as f64
    }
}

/// The outcome of a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// The median block by `ns_per_op`, the lower one of an even count.
    pub median: Block,
    /// Warm-up blocks run.
    pub warmup_blocks: u64,
    /// Whether two warm-up blocks in succession agreed.
    pub steady: bool,
    /// Measured blocks run.
    pub blocks: u64,
}

/// Calibrates, warms up and measures; `run_block` does one block of the count it is given.
///
/// Blocks of the calibration are neither warm-up nor measured blocks.
pub fn measure(settings: &Settings, mut run_block: impl FnMut(u64) -> Block) -> Outcome {
    let ops = settings.fixed_ops.unwrap_or_else(|| calibrate(settings, &mut run_block));
    let (warmup_blocks, steady) = warm_up(settings.warmup_blocks, || run_block(ops));
    let measured = (0..settings.blocks).map(|_| run_block(ops)).collect();
    Outcome { median: median(measured), warmup_blocks, steady, blocks: settings.blocks }
}

/// Doubles the count from its floor until a block lasts long enough.
fn calibrate(settings: &Settings, run_block: &mut impl FnMut(u64) -> Block) -> u64 {
    let mut ops = settings.floor_ops;
    while run_block(ops).wall_ns < settings.block_ns && ops < MOST_OPS {
        ops *= 2;
    }
    ops
}

/// Runs blocks until two in succession agree; returns their number and whether they did.
fn warm_up(most: u64, mut run_block: impl FnMut() -> Block) -> (u64, bool) {
    let mut before: Option<f64> = None;
    for done in 1..=most {
        let now = run_block().ns_per_op();
        if before.is_some_and(|before| agree(before, now)) {
            return (done, true);
        }
        before = Some(now);
    }
    (most, false)
}

fn agree(a: f64, b: f64) -> bool {
    (a - b).abs() <= AGREEMENT * a.min(b)
}

fn median(mut blocks: Vec<Block>) -> Block {
    assert!(!blocks.is_empty(), "at least one measured block");
    blocks.sort_by(|a, b| a.ns_per_op().total_cmp(&b.ns_per_op()));
    blocks[(blocks.len() - 1) / 2]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SETTINGS: Settings =
        Settings { warmup_blocks: 5, blocks: 3, block_ns: 100_000, fixed_ops: Some(10), floor_ops: 16 };

    /// A machine that answers with the given wall times, one per block, and remembers the counts it was asked for.
    struct Script {
        walls: Vec<u64>,
        asked: Vec<u64>,
    }

    impl Script {
        fn new(walls: &[u64]) -> Self {
            Script { walls: walls.to_vec(), asked: Vec::new() }
        }

        fn block(&mut self, ops: u64) -> Block {
            let wall_ns = self.walls[self.asked.len()];
            self.asked.push(ops);
            Block { ops, wall_ns, cpu_ns: wall_ns, check: wall_ns }
        }

        fn used_up(&self) -> bool {
            self.asked.len() == self.walls.len()
        }
    }

    #[test]
    fn warm_up_ends_when_two_in_succession_agree() {
        let mut script = Script::new(&[5000, 3000, 3060, 1, 2, 3]);
        let outcome = measure(&SETTINGS, |ops| script.block(ops));
        assert!(script.used_up());
        assert_eq!((outcome.warmup_blocks, outcome.steady, outcome.blocks), (3, true, 3));
        assert_eq!(outcome.median.wall_ns, 2);
    }

    #[test]
    fn agreement_must_be_in_succession() {
        let mut script = Script::new(&[1000, 2000, 1000, 2000, 1000, 7, 7, 7]);
        let outcome = measure(&SETTINGS, |ops| script.block(ops));
        assert!(script.used_up());
        assert_eq!((outcome.warmup_blocks, outcome.steady), (5, false));
    }

    #[test]
    fn two_percent_of_the_smaller_one_is_the_limit() {
        assert!(agree(100.0, 102.0) && agree(102.0, 100.0));
        assert!(!agree(100.0, 102.1) && !agree(102.1, 100.0));
    }

    #[test]
    fn without_or_with_one_warm_up_block_nothing_can_agree() {
        for warmup_blocks in [0, 1] {
            let outcome =
                measure(&Settings { warmup_blocks, ..SETTINGS }, |ops| Block { ops, wall_ns: 9, cpu_ns: 0, check: 0 });
            assert_eq!((outcome.warmup_blocks, outcome.steady), (warmup_blocks, false));
        }
    }

    #[test]
    fn calibration_doubles_from_the_floor_and_the_count_is_kept() {
        // 16 and 32 are too short, 64 is long enough; then two warm-up and three measured blocks.
        let mut script = Script::new(&[30_000, 60_000, 120_000, 120_000, 120_000, 90_000, 91_000, 92_000]);
        let outcome = measure(&Settings { fixed_ops: None, ..SETTINGS }, |ops| script.block(ops));
        assert_eq!(script.asked, [16, 32, 64, 64, 64, 64, 64, 64]);
        assert_eq!((outcome.median.ops, outcome.median.wall_ns), (64, 91_000));
        assert_eq!((outcome.warmup_blocks, outcome.steady), (2, true));
    }

    #[test]
    fn a_floor_that_is_long_enough_is_kept() {
        let mut asked = Vec::new();
        measure(&Settings { fixed_ops: None, ..SETTINGS }, |ops| {
            asked.push(ops);
            Block { ops, wall_ns: 100_000, cpu_ns: 0, check: 0 }
        });
        assert!(asked.iter().all(|&ops| ops == 16));
    }

    #[test]
    fn calibration_of_a_block_that_takes_no_time_ends() {
        let settings = Settings { fixed_ops: None, ..SETTINGS };
        let outcome = measure(&settings, |ops| Block { ops, wall_ns: 0, cpu_ns: 0, check: 0 });
        assert_eq!(outcome.median.ops, MOST_OPS);
    }

    #[test]
    fn an_even_count_takes_the_lower_median() {
        let mut script = Script::new(&[40, 10, 30, 20]);
        let outcome = measure(&Settings { warmup_blocks: 0, blocks: 4, ..SETTINGS }, |ops| script.block(ops));
        assert_eq!(outcome.median.wall_ns, 20);
    }

    #[test]
    fn all_values_come_from_the_same_block() {
        let mut script = Script::new(&[300, 100, 200]);
        let outcome = measure(&Settings { warmup_blocks: 0, ..SETTINGS }, |ops| script.block(ops));
        assert_eq!(outcome.median, Block { ops: 10, wall_ns: 200, cpu_ns: 200, check: 200 });
    }
}
