//! Tasks that keep a runtime busy beside the measured ones, until they are told to end.
use crate::host;
use crate::runtime::{Computing, Runtime, Yielding};
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

/// Tasks that each keep a thread busy for a span of its processor time, are counted, and hand in the next; it lives as long
/// as the process.
pub struct ComputeLoad {
    work_ns: u64,
    on: AtomicBool,
    done: AtomicU64,
    live: AtomicU64,
    waiter: Thread,
}

impl ComputeLoad {
    /// For so many tasks of so long; the calling thread is the one that may call [`ComputeLoad::wait`].
    pub fn leak(tasks: u64, work_us: u64) -> &'static Self {
        Box::leak(Box::new(ComputeLoad {
            work_ns: work_us * 1000,
            on: AtomicBool::new(true),
            done: AtomicU64::new(0),
            live: AtomicU64::new(tasks),
            waiter: thread::current(),
        }))
    }

    /// One task of the runtime's pool for long tasks.
    pub fn run_compute<R: Computing>(&'static self) {
        if self.work() {
            R::spawn_compute(|| self.run_compute::<R>());
        }
    }

    /// One task of the runtime's workers.
    pub fn run_respawning<R: Runtime>(&'static self) {
        if self.work() {
            R::spawn(|| self.run_respawning::<R>());
        }
    }

    /// Whether another task is to follow.
    fn work(&self) -> bool {
        let end = host::thread_cpu_ns() + self.work_ns;
        while host::thread_cpu_ns() < end {}
        self.done.fetch_add(1, Ordering::Relaxed);
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
        self.done.load(Ordering::Relaxed)
    }

    /// Tells the tasks to hand in no more.
    pub fn call_end(&self) {
        self.on.store(false, Ordering::Relaxed);
    }

    /// Sleeps until the last task has ended.
    pub fn wait(&self) {
        while self.live.load(Ordering::Acquire) != 0 {
            thread::park();
        }
    }
}
