//! What the traits of `runtime` promise, on every runtime that has them. A broken promise shows as a wrong answer, or as
//! a wait that does not end: `within_a_minute` turns it into a failure.
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{mpsc, Arc, Barrier, Mutex};
use std::thread::{self, ThreadId};
use std::time::Duration;
use tokio_baseline::letters::Letter;
use tokio_baseline::runtime::{Asking, Computing, Message, Messaging, Process, Targeted, Workers, Yielding};
use tokio_baseline::subjects::async_pool::AsyncExecutor;
use tokio_baseline::subjects::ractor_pool::Ractor;
use tokio_baseline::subjects::rayon_pool::Rayon;
use tokio_baseline::subjects::tokio::{Tokio, TokioCurrentThread};

/// Runs `body` on a thread of its own; a hang is a failure. One at a time: async-executor's executor is one for all, and
/// another test's workers must not help.
fn within_a_minute(body: impl FnOnce() + Send + 'static) {
    static ALONE: Mutex<()> = Mutex::new(());
    let _alone = ALONE.lock();
    let (tell, told) = mpsc::channel::<()>();
    let thread = thread::spawn(move || {
        body();
        drop(tell);
    });
    assert_ne!(told.recv_timeout(Duration::from_secs(60)), Err(mpsc::RecvTimeoutError::Timeout), "it hangs");
    thread.join().expect("the body's own assertions");
}

/// Tells on which thread it ran.
struct Where(mpsc::Sender<ThreadId>);

impl Message for Where {
    fn run(self) {
        self.0.send(thread::current().id()).expect("the test waits");
    }
}

fn each_queue_has_a_thread<R: Targeted>() {
    let workers = R::Workers::<Where>::start(3).expect("three threads");
    let threads_of = |worker| {
        let (tell, told) = mpsc::channel();
        (0..20).for_each(|_| workers.send(worker, Where(tell.clone())));
        drop(tell);
        BTreeSet::from_iter(told.iter().map(|id| format!("{id:?}")))
    };
    let threads = Vec::from_iter((0..3).map(threads_of));
    assert!(threads.iter().all(|of_one| of_one.len() == 1), "{threads:?}");
    assert_eq!(BTreeSet::from_iter(threads.iter().flatten()).len(), 3, "{threads:?}");
}

#[test]
fn a_message_runs_on_the_worker_it_was_sent_to() {
    within_a_minute(|| {
        each_queue_has_a_thread::<Tokio>();
        each_queue_has_a_thread::<TokioCurrentThread>();
        each_queue_has_a_thread::<Rayon>();
        each_queue_has_a_thread::<AsyncExecutor>();
    });
}

fn meet_on_compute_threads<R: Computing>() {
    let runtime = R::start_with_compute(1, 2).expect("threads");
    let (meeting, (tell, told)) = (Arc::new(Barrier::new(2)), mpsc::channel());
    for _ in 0..2 {
        let (meeting, tell) = (meeting.clone(), tell.clone());
        runtime.post_compute(move || {
            R::spawn_compute(move || {
                meeting.wait();
                tell.send(()).expect("the test waits");
            })
        });
    }
    // The one worker is free meanwhile.
    let (ran, running) = mpsc::channel();
    runtime.post(move || ran.send(()).expect("the test waits"));
    running.recv().expect("the post");
    assert_eq!(told.iter().take(2).count(), 2);
}

#[test]
fn long_tasks_have_as_many_threads_as_asked_for_and_leave_the_worker_alone() {
    within_a_minute(|| {
        meet_on_compute_threads::<Tokio>();
        meet_on_compute_threads::<TokioCurrentThread>();
        meet_on_compute_threads::<Rayon>();
        meet_on_compute_threads::<AsyncExecutor>();
    });
}

/// On one worker, a task that waits for another by yielding waits for ever unless the other gets its turn.
fn a_spawned_task_gets_its_turn<R: Yielding>() {
    let runtime = R::start(1).expect("one worker");
    let (tell, told) = mpsc::channel();
    let (ran, mut spawned) = (Arc::new(AtomicBool::new(false)), false);
    runtime.post_yielding(move || {
        if !spawned {
            spawned = true;
            let ran = ran.clone();
            R::spawn(move || ran.store(true, Ordering::Release));
        }
        if ran.load(Ordering::Acquire) {
            tell.send(()).expect("the test waits");
            return false;
        }
        true
    });
    told.recv().expect("the yielding task's end");
}

fn steps<R: Yielding>() -> u64 {
    let runtime = R::start(1).expect("one worker");
    let (tell, told) = mpsc::channel();
    let mut left = 100;
    runtime.post_yielding(move || {
        tell.send(()).expect("the test waits");
        left -= 1;
        left > 0
    });
    told.iter().count() as u64
}

#[test]
fn a_yield_lets_others_go_first_and_each_step_runs_once() {
    within_a_minute(|| {
        a_spawned_task_gets_its_turn::<Tokio>();
        a_spawned_task_gets_its_turn::<TokioCurrentThread>();
        a_spawned_task_gets_its_turn::<AsyncExecutor>();
        assert_eq!([steps::<Tokio>(), steps::<TokioCurrentThread>(), steps::<AsyncExecutor>()], [100; 3]);
    });
}

fn pings<R: Asking>(workers: usize) -> usize {
    let runtime = R::start(workers).expect("workers");
    let (tell, told) = mpsc::channel();
    runtime.post(move || {
        for _ in 0..50 {
            let tell = tell.clone();
            R::spawn_ping(move || tell.send(()).expect("the test waits"));
        }
    });
    told.iter().count()
}

#[test]
fn every_ping_ends_once() {
    within_a_minute(|| {
        assert_eq!([pings::<Tokio>(2), pings::<Rayon>(2), pings::<AsyncExecutor>(2)], [50; 3]);
        assert_eq!(pings::<TokioCurrentThread>(1), 50);
    });
}

/// Sends what it is sent on to the test, and ends with a zero; the first one starts another and sends it all at once.
struct Teller<R: Messaging>(mpsc::Sender<u64>, Option<R::Address>, u64);

impl<R: Messaging> Process<R> for Teller<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        if self.2 == 0 {
            return ControlFlow::Continue(());
        }
        let other = R::spawn_process(Teller::<R>(self.0.clone(), Some(me.clone()), 0));
        (0..=self.2).rev().for_each(|number| R::send(&other, Letter { what: 0, number }));
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        self.0.send(letter.number).expect("the test waits");
        if letter.number > 0 {
            return ControlFlow::Continue(());
        }
        if let Some(first) = &self.1 {
            R::send(first, letter);
        }
        ControlFlow::Break(())
    }
}

fn letters_in_order<R: Messaging>(workers: usize) -> Vec<u64> {
    let runtime = R::start(workers).expect("workers");
    let (tell, told) = mpsc::channel();
    runtime.begin(Teller::<R>(tell, None, 100));
    told.iter().collect()
}

#[test]
fn letters_of_one_sender_come_in_order_and_a_process_that_has_ended_is_gone() {
    within_a_minute(|| {
        let wanted = Vec::from_iter((0..=100).rev().chain([0]));
        assert_eq!(letters_in_order::<Tokio>(2), wanted);
        assert_eq!(letters_in_order::<TokioCurrentThread>(1), wanted);
        assert_eq!(letters_in_order::<AsyncExecutor>(2), wanted);
        assert_eq!(letters_in_order::<Ractor>(2), wanted);
    });
}

#[cfg(feature = "actix")]
mod actix {
    use super::*;
    use tokio_baseline::runtime::Start;
    use tokio_baseline::subjects::actix_pool::Actix;

    #[test]
    fn letters_of_one_sender_come_in_order_from_another_arbiter_and_from_its_own() {
        within_a_minute(|| {
            let wanted = Vec::from_iter((0..=100).rev().chain([0]));
            assert_eq!(letters_in_order::<Actix>(1), wanted);
            assert_eq!(letters_in_order::<Actix>(2), wanted);
        });
    }

    /// Tells its thread, and starts the next one, until there are so many.
    struct Spreader(mpsc::Sender<ThreadId>, usize);

    impl Process<Actix> for Spreader {
        fn start(&mut self, _: &<Actix as Messaging>::Address) -> ControlFlow<()> {
            self.0.send(thread::current().id()).expect("the test waits");
            if self.1 > 1 {
                Actix::spawn_process(Spreader(self.0.clone(), self.1 - 1));
            }
            ControlFlow::Break(())
        }

        fn receive(&mut self, _: &<Actix as Messaging>::Address, _: Letter) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }

    #[test]
    fn actors_are_dealt_out_to_the_arbiters_in_turn() {
        within_a_minute(|| {
            let runtime = Actix::start(3).expect("workers");
            let (tell, told) = mpsc::channel();
            runtime.begin(Spreader(tell, 6));
            let threads = Vec::from_iter(told.iter());
            assert_eq!(threads[..3], threads[3..]);
            assert!(threads[0] != threads[1] && threads[1] != threads[2] && threads[2] != threads[0]);
        });
    }
}
