//! The hazards of rayon: a `ThreadPool` of its own, parallel iterators, `join`, `scope`, `install`.
use rayon::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use rust_peers::hazards::*;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

fn pool(workers: usize) -> ThreadPool {
    ThreadPoolBuilder::new().num_threads(workers).build().expect("threads")
}

fn lock_across_fork(asked: &Asked) -> Answer {
    pool(2 * asked.workers).install(|| locked_loops(|n, body| (0..n).into_par_iter().for_each(body)))
}

fn down(depth: u64) -> u64 {
    if depth == 0 {
        return 0;
    }
    let (x, y) = rayon::join(|| down(depth - 1), || 1);
    x + y
}

fn deep_recursion(asked: &Asked) -> Answer {
    counted(pool(asked.workers).install(|| down(asked.depth)), asked.depth)
}

fn hundred(pool: &ThreadPool) -> u64 {
    let ran = AtomicU64::new(0);
    pool.install(|| {
        (0..100).into_par_iter().for_each(|_| {
            ran.fetch_add(1, Ordering::Relaxed);
        })
    });
    ran.into_inner()
}

fn throws(asked: &Asked, what: fn()) -> Answer {
    let pool = pool(asked.workers);
    let seen = catch_unwind(AssertUnwindSafe(|| pool.install(what))).is_err();
    reported(seen, hundred(&pool))
}

fn throw_body(asked: &Asked) -> Answer {
    throws(asked, || rayon::scope(|all| all.spawn(|_| panic!("thrown"))))
}

fn throw_nested(asked: &Asked) -> Answer {
    throws(asked, || {
        rayon::join(|| rayon::join(|| panic!("thrown"), || ()), || ());
    })
}

fn throw_destructor(asked: &Asked) -> Answer {
    throws(asked, || rayon::scope(|all| all.spawn(|_| drop(PanicsAtItsEnd))))
}

fn work_on(workers: usize, tasks: u64) -> u64 {
    let (pool, ran) = (pool(workers), AtomicU64::new(0));
    pool.scope(|all| {
        for i in 0..tasks {
            let ran = &ran;
            all.spawn(move |_| {
                compute(i);
                ran.fetch_add(1, Ordering::Relaxed);
            })
        }
    });
    ran.into_inner()
}

fn two_pools(asked: &Asked) -> Answer {
    let (one, other, ran) = (pool(asked.workers), pool(asked.workers), AtomicU64::new(0));
    one.install(|| {
        (0..100).into_par_iter().for_each(|_| {
            other.install(|| {
                (0..10).into_par_iter().for_each(|_| {
                    ran.fetch_add(1, Ordering::Relaxed);
                })
            })
        })
    });
    counted(ran.into_inner(), 1_000)
}

fn idle(asked: &Asked) -> Answer {
    let pool = pool(asked.workers);
    pool.install(|| (0..1_000).into_par_iter().for_each(compute));
    idle_burn(asked)
}

fn first_task(asked: &Asked) -> Answer {
    let before = Instant::now();
    let began = pool(asked.workers).install(Instant::now);
    measured(began.duration_since(before).as_secs_f64() * 1e6, "us")
}

const HAZARDS: Hazards = &[
    ("lock_across_fork", lock_across_fork),
    ("deep_recursion", deep_recursion),
    ("throw_body", throw_body),
    ("throw_nested", throw_nested),
    ("throw_destructor", throw_destructor),
    ("oversubscribed", |asked| many_over_few(asked, work_on)),
    ("two_pools", two_pools),
    ("half_quota", |asked| counted(work_on(asked.workers, 40_000), 40_000)),
    ("idle", idle),
    ("first_task", first_task),
];

fn main() {
    main_of("rayon", env!("PEER_VERSION_RAYON"), HAZARDS)
}
