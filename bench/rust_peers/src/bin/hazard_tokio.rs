//! The hazards of Tokio: `Builder::new_multi_thread`, `spawn`, a JoinHandle that is awaited, Tokio's own mutex.
use rust_peers::hazards::*;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;

fn runtime(workers: usize) -> Runtime {
    Builder::new_multi_thread().worker_threads(workers).enable_time().build().expect("threads")
}

async fn all(handles: Vec<JoinHandle<()>>) {
    for handle in handles {
        handle.await.expect("no task panics");
    }
}

/// The guard of std's mutex must not live across an await: that does not compile in a task. Tokio's may.
fn lock_across_fork(asked: &Asked) -> Answer {
    let (lock, ran) = (Arc::new(tokio::sync::Mutex::new(())), counter());
    runtime(2 * asked.workers).block_on(async {
        let outer = (0..50 * 16).map(|_| {
            let (lock, ran) = (lock.clone(), ran.clone());
            tokio::spawn(async move {
                let _held = lock.lock().await;
                let inner = (0..8).map(|_| {
                    let ran = ran.clone();
                    tokio::spawn(async move {
                        std::thread::sleep(Duration::from_micros(20));
                        ran.fetch_add(1, Ordering::Relaxed);
                    })
                });
                all(inner.collect()).await
            })
        });
        all(outer.collect()).await
    });
    counted(ran.load(Ordering::Relaxed), 50 * 16 * 8)
}

/// A task for each level, which awaits the one below.
fn down(depth: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if depth == 0 {
            return 0;
        }
        tokio::spawn(down(depth - 1)).await.expect("no task panics") + 1
    })
}

fn deep_recursion(asked: &Asked) -> Answer {
    let depth = asked.depth;
    counted(runtime(asked.workers).block_on(async move { down(depth).await }), depth)
}

fn throws(asked: &Asked, task: impl Future<Output = ()> + Send + 'static) -> Answer {
    let (runtime, ran) = (runtime(asked.workers), counter());
    runtime.block_on(async {
        let seen = tokio::spawn(task).await.is_err();
        let more = (0..100).map(|_| {
            let ran = ran.clone();
            tokio::spawn(async move {
                {
                    ran.fetch_add(1, Ordering::Relaxed);
                }
            })
        });
        all(more.collect()).await;
        reported(seen, ran.load(Ordering::Relaxed))
    })
}

fn throw_body(asked: &Asked) -> Answer {
    throws(asked, async { panic!("thrown") })
}

fn throw_nested(asked: &Asked) -> Answer {
    throws(asked, async { tokio::spawn(async { panic!("thrown") }).await.expect("it panics") })
}

fn throw_destructor(asked: &Asked) -> Answer {
    throws(asked, async { drop(PanicsAtItsEnd) })
}

fn work_on(workers: usize, tasks: u64) -> u64 {
    let ran = counter();
    work(&runtime(workers), tasks, &ran);
    ran.load(Ordering::Relaxed)
}

fn work(runtime: &Runtime, tasks: u64, ran: &Arc<std::sync::atomic::AtomicU64>) {
    let spawn = |i| {
        let ran = ran.clone();
        runtime.spawn(async move {
            compute(i);
            ran.fetch_add(1, Ordering::Relaxed);
        })
    };
    runtime.block_on(all((0..tasks).map(spawn).collect()))
}

fn two_pools(asked: &Asked) -> Answer {
    let (one, other, ran) = (runtime(asked.workers), runtime(asked.workers), counter());
    let to = other.handle().clone();
    let outer = (0..100).map(|_| {
        let (to, ran) = (to.clone(), ran.clone());
        one.spawn(async move {
            let inner = (0..10).map(|_| {
                let ran = ran.clone();
                to.spawn(async move {
                    {
                        ran.fetch_add(1, Ordering::Relaxed);
                    }
                })
            });
            all(inner.collect()).await
        })
    });
    one.block_on(all(outer.collect()));
    counted(ran.load(Ordering::Relaxed), 1_000)
}

fn idle(asked: &Asked) -> Answer {
    let runtime = runtime(asked.workers);
    work(&runtime, 1_000, &counter());
    idle_burn(asked)
}

fn first_task(asked: &Asked) -> Answer {
    let before = Instant::now();
    let runtime = runtime(asked.workers);
    let began = runtime.block_on(runtime.spawn(async { Instant::now() })).expect("it does not panic");
    measured(began.duration_since(before).as_secs_f64() * 1e6, "us")
}

fn to_its_end(asked: &Asked) -> Answer {
    let runtime = runtime(asked.workers);
    work(&runtime, 1_000, &counter());
    let before = Instant::now();
    drop(runtime);
    measured(before.elapsed().as_secs_f64() * 1e6, "us")
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
    ("to_its_end", to_its_end),
];

fn main() {
    main_of("tokio", env!("PEER_VERSION_TOKIO"), HAZARDS)
}
