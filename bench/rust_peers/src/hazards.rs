//! A hazard's program, as `../hazards/hazard.hpp`: one line of JSON and a status for each hazard that a runtime meets.
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio_baseline::host::process_cpu_ns;

/// What is asked for on the command line.
#[derive(Debug, Clone, Copy)]
pub struct Asked {
    /// Workers of the runtime.
    pub workers: usize,
    /// How long after its last task the runtime is left alone before its idleness is watched.
    pub settle: Duration,
    /// Of the recursion.
    pub depth: u64,
}

/// What came of it.
pub struct Answer {
    /// Whether the runtime survived.
    pub survived: bool,
    /// A figure and its unit.
    pub figure: Option<(f64, &'static str)>,
    /// In words, without quotes.
    pub told: String,
}

/// The answer of a count.
pub fn counted(ran: u64, expected: u64) -> Answer {
    let told = if ran == expected { String::new() } else { format!("{ran} of {expected} ran") };
    Answer { survived: ran == expected, figure: None, told }
}

/// The answer of a measurement.
pub fn measured(figure: f64, unit: &'static str) -> Answer {
    Answer { survived: true, figure: Some((figure, unit)), told: String::new() }
}

/// The answer of what went wrong.
pub fn lost(told: &str) -> Answer {
    Answer { survived: false, figure: None, told: told.into() }
}

/// Seen: whether the panic came to the code that waits. `goes_on`: how many of 100 tasks ran after it.
pub fn reported(seen: bool, goes_on: u64) -> Answer {
    if seen {
        counted(goes_on, 100)
    } else {
        lost("the panic was lost")
    }
}

/// About ten microseconds of a processor. With a factor that it knows the compiler takes many steps at once.
pub fn compute(mut x: u64) {
    let factor = black_box(6_364_136_223_846_793_005_u64);
    for _ in 0..10_000 {
        x = x.wrapping_mul(factor).wrapping_add(1_442_695_040_888_963_407);
    }
    black_box(x);
}

/// Of this process.
pub fn processor_seconds() -> f64 {
    process_cpu_ns() as f64 * 1e-9
}

/// What the process spends in a second after the settling time, while it has no work.
pub fn idle_burn(asked: &Asked) -> Answer {
    std::thread::sleep(asked.settle);
    let (clock, spent) = (Instant::now(), processor_seconds());
    std::thread::sleep(Duration::from_secs(1));
    measured((processor_seconds() - spent) / clock.elapsed().as_secs_f64() * 1e3, "ms/s")
}

/// Work on sixteen times as many workers, over the same on as many as asked for: processor time of both.
pub fn many_over_few(asked: &Asked, work: impl Fn(usize, u64) -> u64) -> Answer {
    let (mut spent, mut ran) = (vec![], 0);
    for times in [1, 16] {
        let before = processor_seconds();
        ran += work(asked.workers * times, 4_000);
        spent.push(processor_seconds() - before);
    }
    Answer { figure: Some((spent[1] / spent[0], "times")), ..counted(ran, 8_000) }
}

/// A loop whose bodies hold a lock while they run a loop of their own. `each(n, body)` returns when all n bodies have ended.
pub fn locked_loops(each: impl Fn(u64, &(dyn Fn(u64) + Sync)) + Sync) -> Answer {
    let (lock, ran) = (Mutex::new(()), AtomicU64::new(0));
    for _ in 0..50 {
        each(16, &|_| {
            let _held = lock.lock().expect("no body panics");
            each(8, &|_| {
                std::thread::sleep(Duration::from_micros(20));
                ran.fetch_add(1, Ordering::Relaxed);
            })
        });
    }
    counted(ran.into_inner(), 50 * 16 * 8)
}

/// A counter that tasks share.
pub fn counter() -> Arc<AtomicU64> {
    Arc::default()
}

/// A value whose end panics.
pub struct PanicsAtItsEnd;
impl Drop for PanicsAtItsEnd {
    fn drop(&mut self) {
        panic!("thrown by a drop")
    }
}

/// By name. (Nothing is asked of a copy that fails where a task is spawned: Rust moves, and a move cannot fail.)
pub type Hazards = &'static [(&'static str, fn(&Asked) -> Answer)];

/// The whole main function of a program.
pub fn main_of(runtime: &str, version: &str, hazards: Hazards) -> ! {
    let words: Vec<String> = std::env::args().skip(1).collect();
    std::process::exit(command_line(runtime, version, hazards, &words))
}

fn command_line(runtime: &str, version: &str, hazards: Hazards, words: &[String]) -> i32 {
    match words {
        [word] if word == "--list" => hazards.iter().for_each(|(name, _)| println!("{runtime} {name}")),
        [word] if word == "--version" => println!("{version}"),
        [who, what, options @ ..] if who == runtime && options.len() % 2 == 0 => {
            let Some((_, meet)) = hazards.iter().find(|(name, _)| name == what) else {
                eprintln!("{runtime} cannot meet {what}");
                return 3;
            };
            let Some(asked) = asked(options) else { return usage(runtime) };
            let Answer { survived, figure, told } = meet(&asked);
            let figure = figure.map_or(String::new(), |(n, unit)| format!(r#""figure": {n:.6}, "unit": "{unit}", "#));
            println!(r#"{{"survived": {survived}, {figure}"told": "{told}"}}"#);
            return if survived { 0 } else { 4 };
        }
        _ => return usage(runtime),
    }
    0
}

fn asked(options: &[String]) -> Option<Asked> {
    let mut all = Asked { workers: 2, settle: Duration::from_secs(10), depth: 1_000_000 };
    for pair in options.chunks(2) {
        let n: u64 = pair[1].parse().ok()?;
        match pair[0].as_str() {
            "--workers" if n > 0 => all.workers = n as usize,
            "--settle-ms" => all.settle = Duration::from_millis(n),
            "--depth" => all.depth = n,
            _ => return None,
        }
    }
    Some(all)
}

fn usage(runtime: &str) -> i32 {
    eprintln!("usage: --list | --version | {runtime} HAZARD [--workers N] [--settle-ms N] [--depth N]");
    2
}
