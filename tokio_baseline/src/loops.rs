//! Loops over indices and arrays: what each loops over, how it is checked, and the frame that measures it. Every operation
//! changes what it works on, so that an answer of the one before is a wrong one.
use crate::args::RunArgs;
use crate::closed_loop::{self, Meter};
use crate::failure::Failure;
use crate::host;
use crate::ledger::{mark, mix};
use crate::report::Report;
use crate::runtime::{Looping, Sorting};
use crate::scenario::{Param, OPS};
use std::marker::PhantomData;

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// Words of the answer that are checked after each operation.
const PLACES: u64 = 8;

/// What one operation does.
pub trait Work<R: Looping>: Send {
    /// Before each, outside the time.
    fn prepare(&mut self) {}
    /// The loop.
    fn run(&mut self);
    /// How many words the answer has.
    fn size(&self) -> usize;
    /// 0 if word `j` of the answer is right.
    fn wrong(&self, j: usize) -> u64;

    /// All words.
    fn wrong_anywhere(&self) -> u64 {
        (0..self.size()).fold(0, |found, j| found | self.wrong(j))
    }
}

/// What `wrong` says of a few words of `n` after operation `i`, other words after each.
fn wrong_at_places(i: u64, n: usize, wrong: impl Fn(usize) -> u64) -> u64 {
    (i * PLACES..(i + 1) * PLACES).fold(0, |found, k| found | wrong((mix(k) % n as u64) as usize))
}

/// A scenario whose operation is one loop of `work`. A block is one call of the runtime, which does them all.
pub fn measure<R: Looping>(run: &RunArgs, mut work: impl Work<R>) -> Result<Report, Failure> {
    let runtime = R::start(run.workers)?;
    let slowdown_ns = run.slowdown_ns;
    let mut report = closed_loop::measure(run, 1, |ops| {
        let (mut meter, work) = (Meter::default(), &mut work);
        runtime.with_loops(|| {
            for i in 0..ops {
                work.prepare();
                meter.start();
                work.run();
                slow_down(slowdown_ns);
                let end = host::now_ns();
                meter.stop(end, mark(i.wrapping_add(wrong_at_places(i, work.size(), |j| work.wrong(j)))));
            }
        });
        let mut block = meter.block(ops);
        block.check = block.check.wrapping_add(work.wrong_anywhere());
        block
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}

fn slow_down(ns: u64) {
    if ns != 0 {
        host::busy_wait(ns);
    }
}

#[repr(align(64))]
struct Line(u64);

/// A loop of one index for each worker, whose body adds one to a word of its own cache line.
pub fn measure_empty<R: Looping>(run: &RunArgs) -> Result<Report, Failure> {
    let mut lines = Vec::from_iter((0..run.workers).map(|_| Line(0)));
    let runtime = R::start(run.workers)?;
    let slowdown_ns = run.slowdown_ns;
    let mut report = closed_loop::measure(run, 1, |ops| {
        let (mut meter, lines) = (Meter::default(), &mut lines);
        lines.iter_mut().for_each(|line| line.0 = 0);
        runtime.with_loops(|| {
            meter.start();
            for _ in 0..ops {
                R::for_each_of(lines, |_, line| line.0 += 1);
                slow_down(slowdown_ns);
            }
            let end = host::now_ns();
            let wrong = lines.iter().fold(0, |sum: u64, line| sum.wrapping_add(line.0 ^ ops));
            meter.stop(end, (0..ops).fold(0, |sum: u64, i| sum.wrapping_add(mark(i.wrapping_add(wrong)))));
        });
        meter.block(ops)
    });
    report.row.put_counters(&runtime.counters());
    Ok(report)
}

const LENGTHS: &[&str] = &["equal", "pareto"];

/// What `loop_for` and `loop_reduce` take.
pub const BODIES: &[Param] = &[
    Param::number("n", 100_000, 1, 1 << 28),
    Param::number("iterations", 10, 1, 1 << 20),
    Param::word("lengths", LENGTHS),
    OPS,
];

/// Bodies, each a chain of multiplications and additions. Lengths by Pareto have the exponent 1 and are cut at 4,096 times the
/// shortest: an eighth of `iterations` for the shortest, 1.16 of them in the mean.
struct Bodies {
    lengths: Vec<u64>,
    operation: u64,
    answer: u64,
    step: u64,
}

impl Bodies {
    fn new(run: &RunArgs) -> Self {
        let (n, iterations) = (run.params.value("n"), run.params.value("iterations"));
        let pareto = run.params.value("lengths") == 1;
        let mut all = Bodies { lengths: Vec::with_capacity(n as usize), operation: 0, answer: 0, step: 0 };
        for i in 0..n {
            let longer = ((1 << 24) / ((mix(i) >> 40) + 1)).min(4096);
            let length = if pareto { iterations * longer / 8 } else { iterations };
            let (mut factor, mut value) = (1_u64, mix(i));
            for _ in 0..length {
                factor = factor.wrapping_mul(FACTOR);
                value = value.wrapping_mul(FACTOR).wrapping_add(1);
            }
            all.lengths.push(length);
            all.answer = all.answer.wrapping_add(value);
            all.step = all.step.wrapping_add(factor);
        }
        all
    }

    fn body(&self, i: usize) -> u64 {
        let mut x = mix(i as u64).wrapping_add(self.operation);
        let mut left = self.lengths[i];
        while left != 0 {
            left -= 1;
            x = x.wrapping_mul(FACTOR).wrapping_add(1);
            // Else the compiler shortens the chain.
            // SAFETY: no instruction at all.
            unsafe { std::arch::asm!("/* {0} */", inout(reg) x, options(pure, nomem, nostack, preserves_flags)) };
        }
        x
    }

    fn expected(&self, i: usize) -> u64 {
        (0..self.lengths[i])
            .fold(mix(i as u64).wrapping_add(self.operation), |x, _| x.wrapping_mul(FACTOR).wrapping_add(1))
    }

    fn expected_sum(&self) -> u64 {
        self.answer.wrapping_add(self.operation.wrapping_mul(self.step))
    }
}

/// The work of `loop_for`.
pub struct For<R> {
    bodies: Bodies,
    out: Vec<u64>,
    runtime: PhantomData<fn(R)>,
}

impl<R> For<R> {
    /// Works out the answers.
    pub fn new(run: &RunArgs) -> Self {
        let bodies = Bodies::new(run);
        For { out: vec![0; bodies.lengths.len()], bodies, runtime: PhantomData }
    }
}

impl<R: Looping> Work<R> for For<R> {
    fn prepare(&mut self) {
        self.bodies.operation += 1;
    }
    fn run(&mut self) {
        let bodies = &self.bodies;
        R::for_each_of(&mut self.out, |i, x| *x = bodies.body(i))
    }
    fn size(&self) -> usize {
        self.out.len()
    }
    fn wrong(&self, j: usize) -> u64 {
        self.out[j].wrapping_sub(self.bodies.expected(j))
    }
}

/// The work of `loop_reduce`.
pub struct Reduce<R> {
    bodies: Bodies,
    sum: u64,
    runtime: PhantomData<fn(R)>,
}

impl<R> Reduce<R> {
    /// Works out the answers.
    pub fn new(run: &RunArgs) -> Self {
        Reduce { bodies: Bodies::new(run), sum: 0, runtime: PhantomData }
    }
}

impl<R: Looping> Work<R> for Reduce<R> {
    fn prepare(&mut self) {
        self.bodies.operation += 1;
    }
    fn run(&mut self) {
        self.sum = R::reduce(self.bodies.lengths.len(), |i| self.bodies.body(i))
    }
    fn size(&self) -> usize {
        1
    }
    fn wrong(&self, _: usize) -> u64 {
        self.sum.wrapping_sub(self.bodies.expected_sum())
    }
}

/// The work of `loop_scan`.
pub struct Scan<R> {
    input: &'static mut [u64],
    out: &'static mut [u64],
    sums: Vec<u64>,
    operation: u64,
    runtime: PhantomData<fn(R)>,
}

impl<R> Scan<R> {
    /// Works out the answers.
    pub fn new(run: &RunArgs) -> Self {
        let n = run.params.value("n") as usize;
        let input = crate::huge_pages::leak_mut(n, |i| mix(i as u64));
        let mut sum = 0_u64;
        let next = |x: &u64| {
            sum = sum.wrapping_add(*x);
            sum
        };
        let sums = input.iter().map(next).collect();
        Scan { input, out: crate::huge_pages::leak_mut(n, |_| 0), sums, operation: 0, runtime: PhantomData }
    }
}

impl<R: Sorting> Work<R> for Scan<R> {
    /// Each output grows by one.
    fn prepare(&mut self) {
        self.input[0] = self.input[0].wrapping_add(1);
        self.operation += 1;
    }
    fn run(&mut self) {
        R::scan(self.input, self.out)
    }
    fn size(&self) -> usize {
        self.out.len()
    }
    fn wrong(&self, j: usize) -> u64 {
        self.out[j].wrapping_sub(self.sums[j].wrapping_add(self.operation))
    }
}

/// The work of `loop_sort`.
pub struct Sort<R> {
    input: &'static [u64],
    all: &'static mut [u64],
    sorted: Vec<u64>,
    operation: u64,
    lost: u64,
    runtime: PhantomData<fn(R)>,
}

impl<R> Sort<R> {
    /// Works out the answer.
    pub fn new(run: &RunArgs) -> Self {
        let n = run.params.value("n") as usize;
        let input = crate::huge_pages::leak(n, |i| mix(i as u64));
        let all = crate::huge_pages::leak_mut(n, |i| input[i]);
        let mut sorted = input.to_vec();
        sorted.sort_unstable();
        Sort { input, all, sorted, operation: 0, lost: 0, runtime: PhantomData }
    }
}

impl<R: Sorting> Work<R> for Sort<R> {
    /// By all workers: a copy by one of many takes longer than the sort does. Where the loop copies nothing, the right answer of
    /// before is still there, so the copy is checked, too. A part alone that is lost makes the answer wrong.
    fn prepare(&mut self) {
        const PART: usize = 4096;
        let mut parts = Vec::from_iter(self.all.chunks_mut(PART).zip(self.input.chunks(PART)));
        R::for_each_of(&mut parts, |_, (to, from)| to.copy_from_slice(from));
        self.lost = wrong_at_places(self.operation, self.all.len(), |j| self.all[j] ^ self.input[j]);
        self.operation += 1;
    }
    fn run(&mut self) {
        R::sort(self.all)
    }
    fn size(&self) -> usize {
        self.all.len()
    }
    fn wrong(&self, j: usize) -> u64 {
        self.lost | (self.all[j] ^ self.sorted[j])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    static COPIES: AtomicBool = AtomicBool::new(true);

    /// On the calling thread; its loops over entries do nothing while it does not copy.
    struct Losing;

    impl crate::runtime::Start for Losing {
        fn start(_: usize) -> Result<Self, Failure> {
            Ok(Losing)
        }
    }
    impl Looping for Losing {
        fn with_loops(&self, root: impl FnOnce() + Send) {
            root()
        }
        fn for_each_of<T: Send>(all: &mut [T], body: impl Fn(usize, &mut T) + Send + Sync) {
            if COPIES.load(Ordering::Relaxed) {
                all.iter_mut().enumerate().for_each(|(i, x)| body(i, x))
            }
        }
        fn reduce(n: usize, map: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
            (0..n).map(map).fold(0, u64::wrapping_add)
        }
    }
    impl Sorting for Losing {
        fn scan(_: &[u64], _: &mut [u64]) {}
        fn sort(all: &mut [u64]) {
            all.sort_unstable()
        }
    }

    #[test]
    fn a_copy_before_a_sort_that_was_lost_is_seen() {
        let input = crate::huge_pages::leak(1000, |i| mix(i as u64));
        let mut sorted = input.to_vec();
        sorted.sort_unstable();
        let all = crate::huge_pages::leak_mut(1000, |_| 0);
        let mut work = Sort::<Losing> { input, all, sorted, operation: 0, lost: 0, runtime: PhantomData };
        for copies in [true, false, true] {
            COPIES.store(copies, Ordering::Relaxed);
            work.prepare();
            work.run();
            assert_eq!(work.wrong_anywhere() == 0, copies);
        }
    }
}
