//! `timers`: many timeouts are pending, and each operation ends the oldest one and arms it again.
use crate::args::RunArgs;
use crate::closed_loop;
use crate::failure::Failure;
use crate::ledger::{mix, Ledger};
use crate::report::Report;
use crate::runtime::Timeouts;
use crate::scenario::{Param, Scenario, OPS};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Wake, Waker};
use std::time::Duration;

/// The entry in the list.
pub static SCENARIO: Scenario =
    Scenario { name: "timers", params: &[Param::number("pending", 4000, 1, 4_000_000), OPS], open_loop: false };

/// Operations of one task, so that the runtime sees to what an end leaves to it.
const AT_ONCE: u64 = 64;

/// Measures it on the runtime `R`.
pub fn measure<R: Timeouts>(run: &RunArgs) -> Result<Report, Failure> {
    let pending = run.params.value("pending");
    let ledger = Ledger::leak(run.slowdown_ns);
    let runtime = R::start(run.workers)?;
    let fired = Arc::new(Fired::default());
    let place: &'static Place<R> = Box::leak(Box::new(Mutex::new(None)));

    let waker = Waker::from(fired.clone());
    ledger.open(1);
    runtime.post(move || Box::<All<R>>::default().arm(pending, waker, place, ledger));
    ledger.wait();
    let mut report = closed_loop::measure(run, 4096, |ops| {
        closed_loop::iterations(ledger, ops, ops, |_| {
            let all = take(place);
            runtime.post(move || all.some(0, ops, place, ledger))
        })
    });
    ledger.open(1);
    let (all, missed) = (take(place), Arc::new(AtomicU64::new(0)));
    let told = missed.clone();
    runtime.post(move || {
        told.store(all.missed, Ordering::Relaxed);
        drop(all);
        ledger.complete(0);
    });
    ledger.wait();

    if fired.0.load(Ordering::Relaxed) != 0 {
        report.wrong("a timeout fired that was to be cancelled a minute before");
    }
    if missed.load(Ordering::Relaxed) != 0 {
        report.wrong("the runtime said that a pending timeout was not pending");
    }
    report.row.put_counters(&runtime.counters());
    Ok(report)
}

/// What the runtime wakes when a timeout is over: counts those, which should be none.
#[derive(Default)]
struct Fired(AtomicU64);

impl Wake for Fired {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// Where the timeouts are between two blocks. Within a block they go from task to task.
type Place<R> = Mutex<Option<Box<All<R>>>>;

fn put<R: Timeouts>(place: &Place<R>, all: Box<All<R>>) {
    *place.lock().expect("no task panics") = Some(all);
}

fn take<R: Timeouts>(place: &Place<R>) -> Box<All<R>> {
    place.lock().expect("no task panics").take().expect("the block before has put them back")
}

/// Of the arming with this number: a minute, and up to a minute more.
fn delay(number: u64) -> Duration {
    const MINUTE_NS: u64 = 60_000_000_000;
    Duration::from_nanos(MINUTE_NS + mix(number) % MINUTE_NS)
}

struct All<R: Timeouts> {
    timeouts: Vec<R::Timeout>,
    oldest: usize,
    armed: u64,
    missed: u64,
}

impl<R: Timeouts> Default for All<R> {
    fn default() -> Self {
        All { timeouts: vec![], oldest: 0, armed: 0, missed: 0 }
    }
}

impl<R: Timeouts> All<R> {
    /// Arms so many, by a chain of tasks, too: Tokio lets a task poll 128 times before it must yield.
    fn arm(mut self: Box<Self>, pending: u64, waker: Waker, place: &'static Place<R>, ledger: &'static Ledger) {
        let until = pending.min(self.armed + AT_ONCE);
        self.timeouts.extend((self.armed..until).map(|number| R::arm(delay(number), &waker)));
        self.armed = until;
        if until == pending {
            put(place, self);
            ledger.complete(0);
        } else {
            R::spawn(move || self.arm(pending, waker, place, ledger));
        }
    }

    /// The operations from `i` on, one task at a time.
    fn some(mut self: Box<Self>, i: u64, end: u64, place: &'static Place<R>, ledger: &'static Ledger) {
        let until = end.min(i + AT_ONCE);
        for number in i..until - 1 {
            self.rearm();
            ledger.complete(number);
        }
        self.rearm();
        if until == end {
            put(place, self); // first: the block may be over with the last number
            ledger.complete(until - 1);
        } else {
            ledger.complete(until - 1);
            R::spawn(move || self.some(until, end, place, ledger));
        }
    }

    fn rearm(&mut self) {
        let was_pending = R::rearm(&mut self.timeouts[self.oldest], delay(self.armed));
        self.missed += u64::from(!was_pending);
        self.armed += 1;
        self.oldest += 1;
        if self.oldest == self.timeouts.len() {
            self.oldest = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subjects::{async_pool::AsyncExecutor, tokio::Tokio, tokio::TokioCurrentThread};
    use std::sync::mpsc;

    /// How often the runtime wakes for a timeout that is armed and, if `again`, armed again for a minute; and what it says of that.
    fn fire<R: Timeouts>(again: bool) -> (u64, bool) {
        let runtime = R::start(1).expect("a worker");
        let fired = Arc::new(Fired::default());
        let (waker, (tell, told)) = (Waker::from(fired.clone()), mpsc::channel());
        runtime.post(move || {
            let mut timeout = R::arm(Duration::from_millis(30), &waker);
            let was_pending = !again || R::rearm(&mut timeout, Duration::from_secs(60));
            // Ends after the timeout's first time has come.
            R::post_delayed(Duration::from_millis(60), move || {
                tell.send((timeout, was_pending)).expect("the test waits")
            });
        });
        let (_timeout, was_pending) = told.recv().expect("the task ends");
        let count = fired.0.load(Ordering::Relaxed);
        (count, was_pending)
    }

    #[test]
    fn a_timeout_fires_unless_it_is_armed_again() {
        for fire in [fire::<Tokio>, fire::<TokioCurrentThread>, fire::<AsyncExecutor>] {
            assert_eq!((fire(false), fire(true)), ((1, true), (0, true)));
        }
    }
}
