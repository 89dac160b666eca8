//! The ledger: every task adds its number's mark, so that a lost, doubled or swapped task shows in the sum.
use crate::host;
use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::thread::{self, Thread};

/// Of a thread's tasks, how many for each that the built-in slow-down reaches.
const SLOWDOWN_EVERY: u32 = 64;

/// The finaliser of SplitMix64.
pub fn mix(i: u64) -> u64 {
    let mut z = i.wrapping_add(0x9E37_79B9_7F4A_7C15);
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// What task number `i` adds: 32 bits of hash above a one, so that the low half of a sum counts the tasks and the
/// high half adds up which they were.
pub fn mark(i: u64) -> u64 {
    (mix(i) & !u64::from(u32::MAX)) | 1
}

/// The sum that a block of `n` tasks must end with: `mark(0) + … + mark(n − 1)`, wrapping.
pub fn expected_sum(n: u64) -> u64 {
    (0..n).fold(0, |sum, i| sum.wrapping_add(mark(i)))
}

/// The tasks that a sum counts.
fn counted(sum: u64) -> u32 {
    sum as u32
}

/// [`Ledger::slow_down`] where no ledger is at hand.
#[inline]
pub fn slow_down(ns: u64) {
    if ns != 0 {
        burst(ns);
    }
}

#[cold]
fn burst(ns: u64) {
    thread_local! { static CALLS: Cell<u32> = const { Cell::new(0) } }
    let calls = CALLS.get().wrapping_add(1);
    CALLS.set(calls);
    if calls % SLOWDOWN_EVERY == 0 {
        host::busy_wait(ns);
    }
}

/// One block's account. The word that tasks write has a cache line to itself; what they only read lies on another.
///
/// A task calls [`Ledger::complete`] as its last act, the thread that called [`Ledger::open`] waits in
/// [`Ledger::wait`]. The release in `complete` pairs with the acquire in `wait`.
pub struct Ledger {
    written: Written,
    read: ReadOnly,
}

#[repr(align(64))]
#[derive(Default)]
struct Written {
    sum: AtomicU64,
}

#[repr(align(64))]
struct ReadOnly {
    expected: AtomicU32,
    slowdown_ns: u64,
    /// When the last task ended; 0 until then.
    end_ns: AtomicU64,
    waiter: Thread,
}

impl Ledger {
    /// A ledger of which every 64th task of a thread busy-waits `slowdown_ns`, and whose waiter is the calling thread.
    ///
    /// It lives as long as the process: tasks then hold a plain reference, and no task pays for the
    /// shared reference count that an `Arc` would put between the workers.
    pub fn leak(slowdown_ns: u64) -> &'static Ledger {
        Box::leak(Box::new(Ledger {
            written: Written::default(),
            read: ReadOnly {
                expected: AtomicU32::new(0),
                slowdown_ns,
                end_ns: AtomicU64::new(0),
                waiter: thread::current(),
            },
        }))
    }

    /// Opens the account of a block of `n` tasks; none of them may exist yet, and none of the block before.
    pub fn open(&self, n: u64) {
        assert!(n > 0 && n <= u64::from(u32::MAX), "a block of {n} tasks; 1 to 4294967295 can be counted");
        self.written.sum.store(0, Ordering::Relaxed);
        self.read.end_ns.store(0, Ordering::Relaxed);
        self.read.expected.store(n as u32, Ordering::Release);
    }

    /// Task number `i` has run: slows down if asked to, adds its mark, and wakes the waiter if it was the last.
    #[inline]
    pub fn complete(&self, i: u64) {
        self.slow_down();
        // Read first: once this task is counted, the next account may be opened.
        let expected = self.read.expected.load(Ordering::Relaxed);
        let mark = mark(i);
        let sum = self.written.sum.fetch_add(mark, Ordering::Release).wrapping_add(mark);
        if counted(sum) == expected {
            self.close();
        }
    }

    /// The built-in slow-down of a control arm: every 64th call of a thread. Producers call it, too: whichever side
    /// is the bottleneck, it shows. In bursts, because a whole nanosecond is too coarse where a task takes
    /// twenty, and because a wait of a nanosecond or two would be the time of its fences.
    #[inline]
    pub fn slow_down(&self) {
        slow_down(self.read.slowdown_ns);
    }

    #[cold]
    fn close(&self) {
        self.read.end_ns.store(host::now_ns(), Ordering::Release);
        self.read.waiter.unpark();
    }

    /// Sleeps until all tasks of the block have run; returns when the last one ended.
    pub fn wait(&self) -> u64 {
        loop {
            let ran = counted(self.written.sum.load(Ordering::Acquire));
            let end_ns = self.read.end_ns.load(Ordering::Acquire);
            if ran >= self.read.expected.load(Ordering::Relaxed) && end_ns != 0 {
                return end_ns;
            }
            thread::park();
        }
    }

    /// The sum of the marks so far; final after [`Ledger::wait`].
    pub fn sum(&self) -> u64 {
        self.written.sum.load(Ordering::Relaxed)
    }
}

/// Compares a finished account with the expected answer; the complaint names both sums.
pub fn audit(what: &str, n: u64, sum: u64) -> Result<(), String> {
    let expected = expected_sum(n);
    if sum == expected {
        return Ok(());
    }
    Err(format!(
        "{what}: {n} tasks left the sum {sum:016x}, expected {expected:016x}: a task was lost, doubled or swapped"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_of_the_tasks_does_not_matter() {
        let ledger = Ledger::leak(0);
        ledger.open(100);
        (0..100).rev().for_each(|i| ledger.complete(i));
        assert!(ledger.wait() > 0);
        assert_eq!(ledger.sum(), expected_sum(100));
        assert_eq!(audit("block", 100, ledger.sum()), Ok(()));
    }

    #[test]
    fn a_doubled_task_in_place_of_another_is_seen() {
        let ledger = Ledger::leak(0);
        ledger.open(3);
        [0, 1, 1].into_iter().for_each(|i| ledger.complete(i));
        ledger.wait();
        let complaint = audit("block 2", 3, ledger.sum()).unwrap_err();
        assert!(complaint.contains("block 2") && complaint.contains("expected"), "seen: {complaint}");
    }

    #[test]
    fn a_ledger_serves_block_after_block() {
        let ledger = Ledger::leak(0);
        for n in [1, 5, 2] {
            ledger.open(n);
            (0..n).for_each(|i| ledger.complete(i));
            ledger.wait();
            assert_eq!(ledger.sum(), expected_sum(n));
        }
    }

    #[test]
    fn the_last_of_many_threads_wakes_the_waiter() {
        let ledger = Ledger::leak(0);
        ledger.open(4000);
        for part in 0..4 {
            thread::spawn(move || (part..4000).step_by(4).for_each(|i| ledger.complete(i)));
        }
        ledger.wait();
        assert_eq!(ledger.sum(), expected_sum(4000));
    }

    #[test]
    fn every_64th_task_of_a_thread_takes_its_time_longer() {
        // On a thread of its own, whose count begins at 0.
        let spent = thread::spawn(|| {
            let ledger = Ledger::leak(1_000_000);
            ledger.open(129);
            let before = host::now_ns();
            (0..129).for_each(|i| ledger.complete(i));
            ledger.wait() - before
        });
        assert!(spent.join().expect("no panic") >= 2_000_000);
    }
}
