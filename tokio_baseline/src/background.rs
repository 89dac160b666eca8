//! Tasks that keep a runtime busy beside the measured ones, until they are told to end.
use crate::host;
use crate::ledger;
use crate::runtime::{Computing, Runtime, Slicing, Yielding};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Thread};

/// What the tasks share; it lives as long as the process.
pub struct Background {
    stall_ns: u64,
    on: AtomicBool,
    live: AtomicU64,
    waiter: Thread,
}

impl Background {
    /// For so many tasks that stall so long at a time; the calling thread is the one that may call [`Background::stop`].
    pub fn leak(tasks: u64, stall_us: u64) -> &'static Self {
        Box::leak(Box::new(Background {
            stall_ns: stall_us * 1000,
            on: AtomicBool::new(true),
            live: AtomicU64::new(tasks),
            waiter: thread::current(),
        }))
    }

    /// Each yields, stalls, and so on.
    pub fn start_yielders<R: Yielding>(&'static self, runtime: &R) {
        for _ in 0..self.live.load(Ordering::Relaxed) {
            let mut yielded = false;
            runtime.post_yielding(move || {
                if yielded {
                    self.stall();
                }
                yielded = true;
                let on = self.on.load(Ordering::Relaxed);
                if !on {
                    self.leave();
                }
                on
            });
        }
    }

    /// Each stalls and spawns itself again.
    pub fn start_stallers<R: Runtime>(&'static self, runtime: &R) {
        for _ in 0..self.live.load(Ordering::Relaxed) {
            runtime.post(|| self.stall_and_spawn::<R>());
        }
    }

    fn stall_and_spawn<R: Runtime>(&'static self) {
        if !self.on.load(Ordering::Relaxed) {
            return self.leave();
        }
        self.stall();
        R::spawn(|| self.stall_and_spawn::<R>());
    }

    /// As Tokio's benchmark has it: looks at the clock, and gives the processor away in between.
    fn stall(&self) {
        let end = host::now_ns() + self.stall_ns;
        while host::now_ns() < end {
            thread::yield_now();
        }
    }

    fn leave(&self) {
        // Pairs with the acquire in stop.
        self.live.fetch_sub(1, Ordering::Release);
        self.waiter.unpark();
    }

    /// Tells the tasks to end, and sleeps until the last has.
    pub fn stop(&self) {
        self.on.store(false, Ordering::Relaxed);
        while self.live.load(Ordering::Acquire) != 0 {
            thread::park();
        }
    }
}

/// Tasks that each keep a thread busy for a span of its processor time, are in an account of their own, and hand in the next; it
/// lives as long as the process. Each has the number of its hand-in, whose mark it adds when it ends.
pub struct ComputeLoad {
    work_ns: u64,
    slice_ns: u64,
    on: AtomicBool,
    handed_in: AtomicU64,
    sum: AtomicU64,
    live: AtomicU64,
    waiter: Thread,
}

/// What is left of a task of the load.
pub struct Work {
    number: u64,
    left_ns: u64,
}

impl ComputeLoad {
    /// For so many tasks of so long; the calling thread is the one that may call [`ComputeLoad::wait`].
    pub fn leak(tasks: u64, work_us: u64) -> &'static Self {
        Self::leak_sliced(tasks, work_us, 0)
    }

    /// The same, of tasks that yield after every `slice_us` of work; 0: they do not.
    pub fn leak_sliced(tasks: u64, work_us: u64, slice_us: u64) -> &'static Self {
        Box::leak(Box::new(ComputeLoad {
            work_ns: work_us * 1000,
            slice_ns: slice_us * 1000,
            on: AtomicBool::new(true),
            handed_in: AtomicU64::new(0),
            sum: AtomicU64::new(0),
            live: AtomicU64::new(tasks),
            waiter: thread::current(),
        }))
    }

    /// The work of one more task, which the caller hands in.
    pub fn hand_in(&self) -> Work {
        Work { number: self.handed_in.fetch_add(1, Ordering::Relaxed), left_ns: self.work_ns }
    }

    /// One task of the runtime's pool for long tasks.
    pub fn run_compute<R: Computing>(&'static self, work: Work) {
        keep_busy(work.left_ns);
        if self.end(&work) {
            let next = self.hand_in();
            R::spawn_compute(move || self.run_compute::<R>(next));
        }
    }

    /// One task of the runtime's workers.
    pub fn run_respawning<R: Runtime>(&'static self, work: Work) {
        keep_busy(work.left_ns);
        if self.end(&work) {
            let next = self.hand_in();
            R::spawn(move || self.run_respawning::<R>(next));
        }
    }

    /// A step of one task of the runtime's workers; true: the task yields, and takes another one.
    pub fn run_a_slice<R: Slicing>(&'static self, work: &mut Work) -> bool {
        let slice = work.left_ns.min(self.slice_ns);
        keep_busy(slice);
        work.left_ns -= slice;
        if work.left_ns == 0 && self.end(work) {
            let mut next = self.hand_in();
            R::spawn_yielding(move || self.run_a_slice::<R>(&mut next));
        }
        work.left_ns != 0
    }

    /// Whether another task is to follow.
    fn end(&self, work: &Work) -> bool {
        self.sum.fetch_add(ledger::mark(work.number), Ordering::Relaxed);
        let on = self.on.load(Ordering::Relaxed);
        if !on {
            // Pairs with the acquire in wait.
            self.live.fetch_sub(1, Ordering::Release);
            self.waiter.unpark();
        }
        on
    }

    /// Tasks done so far.
    pub fn done(&self) -> u64 {
        self.sum.load(Ordering::Relaxed) & u64::from(u32::MAX)
    }

    /// Tells the tasks to hand in no more.
    pub fn call_end(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    /// Sleeps until the last task has ended; then a complaint, if not each has run once.
    pub fn wait(&self) -> Result<(), String> {
        while self.live.load(Ordering::Acquire) != 0 {
            thread::park();
        }
        ledger::audit("the load", self.handed_in.load(Ordering::Relaxed), self.sum.load(Ordering::Relaxed))
    }
}

fn keep_busy(ns: u64) {
    let end = host::thread_cpu_ns() + ns;
    while host::thread_cpu_ns() < end {}
}
