//! Loops over indices and arrays: what each loops over, how it is checked, and the frame that measures it. Every operation
//! changes what it works on, so that an answer of the one before is a wrong one.
use crate::args::RunArgs;
use crate::closed_loop::{self, Meter};
use crate::failure::Failure;
use crate::host;
use crate::ledger::{mark, mix};
use crate::report::Report;
use crate::runtime::Looping;
use crate::scenario::{Param, OPS};
use std::marker::PhantomData;

const FACTOR: u64 = 0x9E37_79B9_7F4A_7C15;

/// The polynomial of the words at [`FACTOR`]: it tells their order, too.
pub fn hash_of(all: &[u64]) -> u64 {
    all.iter().fold(0, |h: u64, &x| h.wrapping_mul(FACTOR).wrapping_add(x))
}

/// What one operation does.
pub trait Work<R: Looping>: Send {
    /// Before each, outside the time.
    fn prepare(&mut self) {}
    /// The loop.
    fn run(&mut self);
    /// The answer less the expected one.
    fn wrong(&self) -> u64;
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
                meter.stop(host::now_ns(), mark(i.wrapping_add(work.wrong())));
            }
        });
        meter.block(ops)
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

    fn expected(&self) -> u64 {
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
    fn wrong(&self) -> u64 {
        self.out.iter().fold(0, |sum: u64, &x| sum.wrapping_add(x)).wrapping_sub(self.bodies.expected())
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
    fn wrong(&self) -> u64 {
        self.sum.wrapping_sub(self.bodies.expected())
    }
}

/// The work of `loop_scan`.
pub struct Scan<R> {
    input: &'static mut [u64],
    out: &'static mut [u64],
    answer: u64,
    step: u64,
    runtime: PhantomData<fn(R)>,
}

impl<R> Scan<R> {
    /// Works out the answers.
    pub fn new(run: &RunArgs) -> Self {
        let n = run.params.value("n") as usize;
        let input = crate::huge_pages::leak_mut(n, |i| mix(i as u64));
        let (mut sum, mut answer, mut step) = (0_u64, 0_u64, 0_u64);
        for x in input.iter() {
            sum = sum.wrapping_add(*x);
            answer = answer.wrapping_mul(FACTOR).wrapping_add(sum);
            step = step.wrapping_mul(FACTOR).wrapping_add(1);
        }
        Scan { input, out: crate::huge_pages::leak_mut(n, |_| 0), answer, step, runtime: PhantomData }
    }
}

impl<R: Looping> Work<R> for Scan<R> {
    /// Each output grows by one.
    fn prepare(&mut self) {
        self.input[0] = self.input[0].wrapping_add(1);
        self.answer = self.answer.wrapping_add(self.step);
    }
    fn run(&mut self) {
        R::scan(self.input, self.out)
    }
    fn wrong(&self) -> u64 {
        hash_of(self.out).wrapping_sub(self.answer)
    }
}

/// The work of `loop_sort`.
pub struct Sort<R> {
    input: &'static [u64],
    all: &'static mut [u64],
    answer: u64,
    runtime: PhantomData<fn(R)>,
}

impl<R> Sort<R> {
    /// Works out the answer.
    pub fn new(run: &RunArgs) -> Self {
        let n = run.params.value("n") as usize;
        let input = crate::huge_pages::leak(n, |i| mix(i as u64));
        let all = crate::huge_pages::leak_mut(n, |i| input[i]);
        all.sort_unstable();
        Sort { answer: hash_of(all), input, all, runtime: PhantomData }
    }
}

impl<R: Looping> Work<R> for Sort<R> {
    fn prepare(&mut self) {
        self.all.copy_from_slice(self.input)
    }
    fn run(&mut self) {
        R::sort(self.all)
    }
    fn wrong(&self) -> u64 {
        hash_of(self.all).wrapping_sub(self.answer)
    }
}
