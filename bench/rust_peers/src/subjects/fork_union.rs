//! fork_union, the C++ library under its Rust interface: `for_slices`, which cuts a range into one slice for each thread and balances
//! nothing; the caller is one of the N. Partial sums go to a place of each thread's own, as its documentation has it.
//!
//! A loop takes the pool by `&mut`: it is a static behind a mutex, which each loop locks. Its threads spin while there is no loop.
use ::fork_union::{CacheAligned, SyncMutPtr, ThreadPool};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio_baseline::failure::Failure;
use tokio_baseline::runtime::{Looping, Start};

struct Pool {
    threads: ThreadPool,
    sums: Vec<CacheAligned<u64>>,
}

static POOL: Mutex<Option<Pool>> = Mutex::new(None);

fn pool() -> MutexGuard<'static, Option<Pool>> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The one of this process.
pub struct ForkUnion;

impl Drop for ForkUnion {
    fn drop(&mut self) {
        *pool() = None
    }
}

impl Start for ForkUnion {
    fn start(workers: usize) -> Result<Self, Failure> {
        let threads = ThreadPool::try_spawn(workers).map_err(|e| Failure::machine("cannot start fork_union", &e))?;
        *pool() = Some(Pool { threads, sums: (0..workers).map(|_| CacheAligned(0)).collect() });
        Ok(ForkUnion)
    }
}

impl Looping for ForkUnion {
    fn with_loops(&self, root: impl FnOnce() + Send) {
        root()
    }

    fn for_each_of<T: Send>(all: &mut [T], body: impl Fn(usize, &mut T) + Send + Sync) {
        let (mut pool, n, entries) = (pool(), all.len(), SyncMutPtr::new(all.as_mut_ptr()));
        let _joins_at_its_end = pool.as_mut().expect("started").threads.for_slices(n, |first, count| {
            for i in first.task_index..first.task_index + count {
                // SAFETY: slices do not overlap, and the loop ends before `all` does.
                body(i, unsafe { &mut *entries.get(i) })
            }
        });
    }

    fn reduce(n: usize, map: impl Fn(usize) -> u64 + Send + Sync) -> u64 {
        let mut pool = pool();
        let Pool { threads, sums } = pool.as_mut().expect("started");
        sums.iter_mut().for_each(|sum| sum.0 = 0);
        let each = SyncMutPtr::new(sums.as_mut_ptr());
        drop(threads.for_slices(n, |first, count| {
            let part = first.task_index..first.task_index + count;
            // SAFETY: a thread has one slice of a loop and this place for its own.
            unsafe { &mut *each.get(first.thread_index) }.0 = part.fold(0, |sum: u64, i| sum.wrapping_add(map(i)))
        }));
        sums.iter().fold(0, |sum: u64, part| sum.wrapping_add(part.0))
    }
}
