//! What the host gives: monotonic time, process time, absolute sleep, usage counters.
use crate::failure::Failure;
use std::mem::MaybeUninit;

const NS_PER_S: u64 = 1_000_000_000;

/// CLOCK_MONOTONIC in nanoseconds; also the clock behind the runtimes' timers.
#[inline]
pub fn now_ns() -> u64 {
    read_clock(libc::CLOCK_MONOTONIC)
}

/// Processor time of the whole process, all its threads, in nanoseconds.
pub fn process_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_PROCESS_CPUTIME_ID)
}

/// Processor time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    read_clock(libc::CLOCK_THREAD_CPUTIME_ID)
}

#[inline]
fn read_clock(clock: libc::clockid_t) -> u64 {
    let mut time = MaybeUninit::<libc::timespec>::uninit();
    // SAFETY: the kernel fills the timespec that it is handed; these clocks exist on every Linux.
    let time = unsafe {
        let status = libc::clock_gettime(clock, time.as_mut_ptr());
        debug_assert_eq!(status, 0);
        time.assume_init()
    };
    time.tv_sec as u64 * NS_PER_S + time.tv_nsec as u64
}

/// So many steps of a chain of dependent multiplications, which no processor can hurry. In a register, which `black_box`
/// would leave: a way through memory takes no constant time.
#[inline]
pub fn chain(mut x: u64, steps: u64) -> u64 {
    for _ in 0..steps {
        x = x.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(1);
        // SAFETY: no instruction at all.
        unsafe { std::arch::asm!("/* {0} */", inout(reg) x, options(nomem, nostack, preserves_flags)) };
    }
    x
}

/// One code for all callers, so that what is calibrated is what waits.
#[inline(never)]
fn multiply(times: u64) {
    chain(1, times);
}

/// What stands behind it begins when what stands in front of it is done, in the processor, too, which runs code out of
/// order.
#[inline]
fn finish_all_before() {
    // SAFETY: both instructions exist on every processor of their kind, and touch neither memory nor registers.
    #[cfg(any(target_arch = "x86_64", target_arch = "x86"))]
    unsafe {
        std::arch::asm!("lfence", options(nostack, preserves_flags));
    }
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("isb", options(nostack, preserves_flags));
    }
}

/// The best of several tries: an interrupted one only looks slower.
fn multiplications_per_ns() -> f64 {
    const TIMES: u64 = 100_000;
    let best = (0..20)
        .map(|_| {
            let start = now_ns();
            multiply(TIMES);
            (now_ns() - start).max(1)
        })
        .min()
        .unwrap_or(1);
    TIMES as f64 / best as f64
}

/// Keeps the processor busy for about `ns` nanoseconds. Below 2 µs by a calibrated loop, because one look
/// at the clock may take longer than the slow-down; the processor runs no other code of the thread beside it. What that
/// takes comes on top, some 10 ns.
#[cold]
#[inline(never)]
pub fn busy_wait(ns: u64) {
    if ns < 2_000 {
        static PER_NS: std::sync::OnceLock<f64> = std::sync::OnceLock::new();
        let times = ((ns as f64 * PER_NS.get_or_init(multiplications_per_ns)).round() as u64).max(1);
        finish_all_before(); // what comes before the wait would else run beside it,
        multiply(times);
        finish_all_before(); // and so would what comes after
        return;
    }
    let start = now_ns();
    while now_ns() - start < ns {
        std::hint::spin_loop();
    }
}

/// Sleeps until the monotonic clock reads at least `due_ns`; signals do not shorten it.
pub fn sleep_until(due_ns: u64) {
    let due = libc::timespec { tv_sec: (due_ns / NS_PER_S) as _, tv_nsec: (due_ns % NS_PER_S) as _ };
    // SAFETY: `due` is a valid timespec; with an absolute time the remainder may be null.
    while unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &due, std::ptr::null_mut()) }
        == libc::EINTR
    {}
}

/// Asks the kernel to wake the calling thread on time instead of within its usual 50 µs.
pub fn set_timer_slack_1ns() -> Result<(), Failure> {
    // SAFETY: PR_SET_TIMERSLACK takes one integer and touches no memory.
    match unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1 as libc::c_ulong) } {
        0 => Ok(()),
        _ => Err(Failure::machine("cannot set the timer slack", &std::io::Error::last_os_error())),
    }
}

/// Puts the calling thread before all threads of ordinary priority (SCHED_FIFO); false where it has no right to.
pub fn raise_priority() -> bool {
    let lowest = libc::sched_param { sched_priority: 1 };
    // A runtime may start workers in a post: without SCHED_RESET_ON_FORK they would inherit the priority.
    // SAFETY: the kernel reads one integer; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &lowest) == 0 }
}

/// Processors that the calling thread may run on.
pub fn usable_processors() -> usize {
    // SAFETY: zeroed is the empty set, which the kernel fills.
    unsafe {
        let mut usable = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        match libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut usable) {
            0 => libc::CPU_COUNT(&usable) as usize,
            _ => libc::CPU_SETSIZE as usize, // there are more than the set can hold
        }
    }
}

/// What `getrusage(RUSAGE_SELF)` says about the whole process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// Voluntary context switches.
    pub nvcsw: u64,
    /// Involuntary context switches.
    pub nivcsw: u64,
    /// Page faults without input or output.
    pub minflt: u64,
    /// Greatest resident set, KiB.
    pub maxrss_kib: u64,
}

fn usage_of(who: libc::c_int) -> libc::rusage {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: zeroed is a valid rusage, and the kernel fills it.
    unsafe {
        libc::getrusage(who, usage.as_mut_ptr());
        usage.assume_init()
    }
}

/// Reads the usage counters of the process.
pub fn usage() -> Usage {
    let usage = usage_of(libc::RUSAGE_SELF);
    Usage {
        nvcsw: usage.ru_nvcsw as u64,
        nivcsw: usage.ru_nivcsw as u64,
        minflt: usage.ru_minflt as u64,
        maxrss_kib: peak_resident_bytes() / 1024,
    }
}

/// The most memory of this program that was ever resident. Not `ru_maxrss`, which begins with what its parent had.
pub fn peak_resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("/proc is there");
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.strip_suffix("kB"));
    peak.and_then(|kib| kib.trim().parse::<u64>().ok()).expect("the kernel tells VmHWM") * 1024
}

/// Context switches of all threads of the process but the calling one, wanted or not.
pub fn switches_of_others() -> u64 {
    // The own ones first: a switch in between must not make the difference negative.
    let (own, all) = (usage_of(libc::RUSAGE_THREAD), usage_of(libc::RUSAGE_SELF));
    (all.ru_nvcsw + all.ru_nivcsw - own.ru_nvcsw - own.ru_nivcsw) as u64
}

/// Makes any panic end the process by a signal, after the usual message.
///
/// Tokio catches a panic inside a task and keeps it for the JoinHandle, which we drop; async-executor loses the
/// worker. Without this a panicking task would never be counted, and the run would hang instead of fail.
pub fn abort_on_panic() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |info| {
        print(info);
        std::process::abort();
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_never_runs_backwards() {
        let mut last = now_ns();
        for _ in 0..1000 {
            let next = now_ns();
            assert!(next >= last);
            last = next;
        }
    }

    #[test]
    fn sleeping_ends_at_or_after_the_due_time() {
        let due = now_ns() + 200_000;
        sleep_until(due);
        assert!(now_ns() >= due);
        sleep_until(0); // a time that has passed: returns at once
    }

    #[test]
    fn busy_waiting_uses_processor_time() {
        let (wall, cpu) = (now_ns(), process_cpu_ns());
        busy_wait(2_000_000);
        assert!(now_ns() - wall >= 2_000_000);
        assert!(process_cpu_ns() > cpu);
    }

    fn keep_least(least: &mut u64, times: u32, mut call: impl FnMut()) {
        let start = now_ns();
        for _ in 0..times {
            call();
        }
        *least = (now_ns() - start).min(*least);
    }

    // Of an unoptimised loop the processor sees too little at once: `cargo test --profile checked` runs these two.
    #[test]
    #[cfg_attr(not(optimised), ignore = "of optimised code")]
    fn short_waits_add_up() {
        let (mut short, mut long) = (u64::MAX, u64::MAX);
        // Both by the same calibrated loop, whose error is no matter here.
        for _ in 0..20 {
            keep_least(&mut short, 10_000, || busy_wait(100));
            keep_least(&mut long, 1_000, || busy_wait(1_000));
        }
        assert!(short as f64 >= 0.95 * long as f64, "{short} and {long}");
    }

    #[test]
    #[cfg_attr(not(optimised), ignore = "of optimised code")]
    fn nothing_runs_beside_a_short_wait() {
        let (mut waits, mut work, mut both) = (u64::MAX, u64::MAX, u64::MAX);
        let mut x = 3;
        // Takes long in few instructions, so that the processor sees what stands on both sides.
        let mut divide = || (0..10).for_each(|_| x = std::hint::black_box(u64::MAX / x));
        for _ in 0..20 {
            keep_least(&mut waits, 10_000, || busy_wait(50));
            keep_least(&mut work, 10_000, &mut divide);
            keep_least(&mut both, 10_000, || {
                divide();
                busy_wait(50);
            });
        }
        assert!(both as f64 >= 0.85 * (waits + work) as f64, "{both}: {waits} and {work}");
    }

    #[test]
    fn timer_slack_can_be_set() {
        set_timer_slack_1ns().expect("Linux lets a thread set its own slack");
        // SAFETY: PR_GET_TIMERSLACK takes no argument and touches no memory.
        assert_eq!(unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) }, 1);
    }

    #[test]
    fn what_a_thread_of_raised_priority_starts_is_ordinary() {
        // SAFETY: no memory is touched; 0 is the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) & !libc::SCHED_RESET_ON_FORK };
        let before = policy();
        let raised = move || (raise_priority(), policy(), std::thread::spawn(policy).join().expect("no panic"));
        match std::thread::spawn(raised).join().expect("no panic") {
            (true, own, child) => assert_eq!((own, child), (libc::SCHED_FIFO, libc::SCHED_OTHER)),
            (false, own, child) => assert_eq!((own, child), (before, before)),
        }
        assert_eq!(policy(), before, "only the thread that asked for it");
    }

    #[test]
    fn there_is_a_processor_to_run_on() {
        assert!(usable_processors() >= 1);
    }

    #[test]
    fn usage_counts_something() {
        let usage = usage();
        assert!(usage.maxrss_kib > 0 && usage.minflt > 0, "seen: {usage:?}");
    }
}
