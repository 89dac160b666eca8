//! paralight: `par_iter_mut().enumerate()`, and `map` and `reduce` over a range, on a pool of N threads for which the caller waits.
//! Its ranges are stolen, since it has no default and that is what it recommends for items of different length.
//!
//! A loop takes the pool by `&mut`, so a pool for all is a static behind a mutex, as its documentation has it; each loop locks it.
use ::paralight::prelude::*;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_baseline::failure::Failure;
use tokio_baseline::runtime::{Looping, Start};

static POOL: Mutex<Option<ThreadPool>> = Mutex::new(None);

fn pool() -> MutexGuard<'static, Option<ThreadPool>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one of this process.
pub struct Paralight;

impl Drop for Paralight {
    fn drop(&mut self) {
        *pool() = None
    }
}

impl Start for Paralight {
    fn start(workers: usize) -> Result<Self, Failure> {
        let num_threads =
            ThreadCount::try_from(workers).map_err(|e| Failure::machine("no threads for paralight", &e))?;
        let builder = ThreadPoolBuilder {
            num_threads,
            range_strategy: RangeStrategy::WorkStealing,
            cpu_pinning: CpuPinningPolicy::No,
        };
        *pool() = Some(builder.build());
        Ok(Paralight)
    }
}

impl Looping for Paralight {
    fn with_loops(&self, root: impl FnOnce() + Send) {
        root()
    }

    fn for_each_of<T: Send>(all: &mut [T], body: impl Fn(usize, &mut T) + Send + Sync) {
        let mut pool = pool();
        let threads = pool.as_mut().expect("started");
        all.par_iter_mut().enumerate().with_thread_pool(threads).for_each(|(i, x)| body(i, x))
    }

    fn reduce(n: usize, map: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
        let mut pool = pool();
        let threads = pool.as_mut().expect("started");
        (0..n).into_par_iter().with_thread_pool(threads).map(map).reduce(|| 0, u64::wrapping_add)
    }
}
