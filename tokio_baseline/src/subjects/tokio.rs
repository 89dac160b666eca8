//! Tokio: its multi-threaded and its current-thread scheduler, as they come. A post is `spawn` with the JoinHandle dropped.
use crate::failure::Failure;
use crate::fork_join::by_await::{self, Awaiting};
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::letters::{self, Letter};
use crate::runtime::{
    Asking, Computing, Counters, Delayed, ForkJoin, Message, Messaging, Process, Runtime, Start, Targeted, Workers,
    Yielding,
};
use std::future::Future;
use std::pin::Pin;
use std::task::{ready, Context, Poll};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::runtime::{self, Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::task;

/// Tokio's multi-threaded scheduler.
pub type Tokio = OnTokio<MultiThread>;
/// Tokio's current-thread scheduler.
pub type TokioCurrentThread = OnTokio<CurrentThread>;

/// One of Tokio's schedulers, and the handle by which it is used from outside.
pub struct OnTokio<S> {
    handle: Handle,
    _scheduler: S,
}

/// What keeps a scheduler running; dropping it stops and joins its threads.
pub trait Scheduler: Sized + Send + Sync + 'static {
    /// Starts it with `workers` threads and at most `blocking` for `spawn_blocking`, else Tokio's own limit.
    fn start(workers: usize, blocking: Option<usize>) -> Result<(Handle, Self), Failure>;
}

fn build(mut builder: Builder, blocking: Option<usize>) -> Result<runtime::Runtime, Failure> {
    builder.enable_time();
    if let Some(most) = blocking {
        builder.max_blocking_threads(most);
    }
    builder.build().map_err(|e| Failure::machine("cannot start Tokio", &e))
}

/// `Builder::new_multi_thread`.
pub struct MultiThread(#[allow(dead_code, reason = "held for its Drop")] runtime::Runtime);

impl Scheduler for MultiThread {
    fn start(workers: usize, blocking: Option<usize>) -> Result<(Handle, Self), Failure> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(workers);
        let runtime = build(builder, blocking)?;
        Ok((runtime.handle().clone(), MultiThread(runtime)))
    }
}

/// `Builder::new_current_thread`, driven by `block_on` on a thread of its own.
pub struct CurrentThread {
    /// Dropped to end the worker.
    stop: Option<oneshot::Sender<()>>,
    worker: Option<JoinHandle<()>>,
}

impl Scheduler for CurrentThread {
    fn start(workers: usize, blocking: Option<usize>) -> Result<(Handle, Self), Failure> {
        if workers != 1 {
            return Err(Failure::Unsupported(format!(
                "unsupported: tokio-current-thread has one worker, asked for {workers}; give --workers 1"
            )));
        }
        let runtime = build(Builder::new_current_thread(), blocking)?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let run = move || {
            // An error says that the sender was dropped: the end.
            let _ended = runtime.block_on(stopped);
        };
        let worker = thread::Builder::new().name("worker".into()).spawn(run);
        let worker = worker.map_err(|e| Failure::machine("cannot start Tokio's thread", &e))?;
        Ok((handle, CurrentThread { stop: Some(stop), worker: Some(worker) }))
    }
}

impl Drop for CurrentThread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(worker) = self.worker.take() {
            worker.join().expect("a panic would have ended the process");
        }
    }
}

fn parks(handle: &Handle) -> u64 {
    let metrics = handle.metrics();
    (0..metrics.num_workers()).map(|worker| metrics.worker_park_count(worker)).sum()
}

impl<S: Scheduler> Start for OnTokio<S> {
    fn start(workers: usize) -> Result<Self, Failure> {
        let (handle, _scheduler) = S::start(workers, None)?;
        Ok(OnTokio { handle, _scheduler })
    }

    fn counters(&self) -> Counters {
        Counters { parks: Some(parks(&self.handle)), ..Counters::default() }
    }
}

impl<S: Scheduler> Runtime for OnTokio<S> {
    fn post(&self, task: impl FnOnce() + Send + 'static) {
        self.handle.spawn(async move { task() });
    }

    fn spawn(task: impl FnOnce() + Send + 'static) {
        tokio::spawn(async move { task() });
    }
}

impl<S: Scheduler> Delayed for OnTokio<S> {
    /// A task that sleeps first. The deadline is fixed by the call of `sleep`, before the task is spawned.
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static) {
        let sleep = tokio::time::sleep(delay);
        tokio::spawn(async move {
            sleep.await;
            task()
        });
    }

    fn enter(&self, f: impl FnOnce()) {
        let _context = self.handle.enter();
        f()
    }
}

impl<S: Scheduler> Yielding for OnTokio<S> {
    fn post_yielding(&self, mut step: impl FnMut() -> bool + Send + 'static) {
        self.handle.spawn(async move {
            while step() {
                task::yield_now().await;
            }
        });
    }
}

impl<S: Scheduler> Asking for OnTokio<S> {
    /// As in Tokio's own benchmark: two oneshot channels.
    fn spawn_ping(then: impl FnOnce() + Send + 'static) {
        tokio::spawn(async move {
            let (ask, asked) = oneshot::channel();
            let (answer, answered) = oneshot::channel();
            tokio::spawn(async move {
                asked.await.expect("the ping lives");
                answer.send(()).expect("the ping lives");
            });
            ask.send(()).expect("the pong lives");
            answered.await.expect("the pong answers");
            then()
        });
    }
}

impl<S: Scheduler> OnTokio<S> {
    async fn live(
        mut process: impl Process<Self>,
        me: mpsc::UnboundedSender<Letter>,
        mut mailbox: mpsc::UnboundedReceiver<Letter>,
    ) {
        let mut alive = process.start(&me);
        while alive.is_continue() {
            let letter = mailbox.recv().await.expect("it has its own address");
            letters::arrived();
            alive = process.receive(&me, letter);
        }
    }
}

/// A process is a task with an unbounded channel.
impl<S: Scheduler> Messaging for OnTokio<S> {
    type Address = mpsc::UnboundedSender<Letter>;

    fn begin(&self, process: impl Process<Self>) {
        let (me, mailbox) = mpsc::unbounded_channel();
        self.handle.spawn(Self::live(process, me, mailbox));
    }

    fn spawn_process(process: impl Process<Self>) -> Self::Address {
        let (me, mailbox) = mpsc::unbounded_channel();
        tokio::spawn(Self::live(process, me.clone(), mailbox));
        me
    }

    fn send(to: &Self::Address, letter: Letter) {
        assert!(to.send(letter).is_ok(), "nobody is sent to that has ended");
    }
}

impl<S: Scheduler> Computing for OnTokio<S> {
    fn start_with_compute(workers: usize, compute_workers: usize) -> Result<Self, Failure> {
        let (handle, _scheduler) = S::start(workers, Some(compute_workers))?;
        Ok(OnTokio { handle, _scheduler })
    }

    fn post_compute(&self, task: impl FnOnce() + Send + 'static) {
        self.handle.spawn_blocking(task);
    }

    fn spawn_compute(task: impl FnOnce() + Send + 'static) {
        task::spawn_blocking(task);
    }
}

/// A JoinHandle whose task cannot fail: panics end the process, and nobody aborts it.
pub struct Answer(task::JoinHandle<u64>);

impl Future for Answer {
    type Output = u64;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<u64> {
        let answer = ready!(Pin::new(&mut self.0).poll(context));
        Poll::Ready(answer.expect("a panic would have ended the process"))
    }
}

impl<S: Scheduler> Awaiting for OnTokio<S> {
    type Handle = Answer;

    fn spawn_task(task: impl Future<Output = u64> + Send + 'static) -> Answer {
        Answer(tokio::spawn(task))
    }
}

impl<S: Scheduler> ForkJoin for OnTokio<S> {
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static) {
        self.handle.spawn(by_await::fork_sums::<Self, N>(root, ops, done));
    }

    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static) {
        self.handle.spawn(async move { done(by_await::sum::<Self, T>(tree, tree.root()).await) });
    }

    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static) {
        self.handle.spawn(async move {
            // SAFETY: one product at a time, and this is its first step.
            let whole = unsafe { matrices.begin() };
            by_await::multiply::<Self>(matrices, whole).await;
            done()
        });
    }
}

impl<S: Scheduler> Targeted for OnTokio<S> {
    type Workers<M: Message> = Actors<M>;
}

/// A current-thread runtime per worker, whose one task receives from an unbounded channel.
pub struct Actors<M> {
    queues: Vec<mpsc::UnboundedSender<M>>,
    handles: Vec<Handle>,
    threads: Vec<JoinHandle<()>>,
}

impl<M: Message> Workers<M> for Actors<M> {
    fn start(workers: usize) -> Result<Self, Failure> {
        let mut all = Actors { queues: vec![], handles: vec![], threads: vec![] };
        for _ in 0..workers {
            let runtime = build(Builder::new_current_thread(), None)?;
            all.handles.push(runtime.handle().clone());
            let (queue, mut messages) = mpsc::unbounded_channel::<M>();
            all.queues.push(queue);
            let receive = async move {
                while let Some(message) = messages.recv().await {
                    message.run();
                }
            };
            let thread = thread::Builder::new().name("worker".into()).spawn(move || runtime.block_on(receive));
            all.threads.push(thread.map_err(|e| Failure::machine("cannot start Tokio's threads", &e))?);
        }
        Ok(all)
    }

    fn send(&self, worker: usize, message: M) {
        assert!(self.queues[worker].send(message).is_ok(), "the worker receives until its queue is dropped");
    }

    fn counters(&self) -> Counters {
        Counters { parks: Some(self.handles.iter().map(parks).sum()), ..Counters::default() }
    }
}

impl<M> Drop for Actors<M> {
    fn drop(&mut self) {
        self.queues.clear();
        for thread in self.threads.drain(..) {
            thread.join().expect("a panic would have ended the process");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_runtime_has_the_workers_it_was_asked_for() {
        let runtime = Tokio::start(3).expect("three threads");
        assert_eq!(runtime.handle.metrics().num_workers(), 3);
        assert!(runtime.counters().parks.is_some());
    }

    #[test]
    fn two_workers_on_the_current_thread_are_unsupported() {
        let failure = TokioCurrentThread::start(2).err().expect("a refusal");
        assert_eq!(failure.exit_status(), 3);
        assert!(failure.to_string().contains("asked for 2"), "seen: {failure}");
    }
}
