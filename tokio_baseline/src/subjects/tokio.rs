//! Tokio: its multi-threaded and its current-thread scheduler, as they come. A post is `spawn` with the JoinHandle dropped.
use crate::failure::Failure;
use crate::fork_join::by_await::{self, Awaiting};
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::letters::{self, Letter};
use crate::runtime::{
    Asking, Computing, Counters, Delayed, ForkJoin, Message, Messaging, Process, Runtime, Serving, ServingBeside,
    Slicing, Start, Targeted, Timeouts, Workers, Yielding,
};
use crate::service::{self, Service};
use std::future::Future;
use std::io;
use std::net::Ipv4Addr;
use std::pin::Pin;
use std::task::{ready, Context, Poll, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{self, Builder, Handle};
use tokio::sync::{mpsc, oneshot};
use tokio::task;
use tokio::time::{Instant, Sleep};

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
    /// Starts it with `workers` threads.
    fn start(workers: usize, needs: Needs) -> Result<(Handle, Self), Failure>;
}

/// What a scenario asks of a runtime besides timers.
#[derive(Default)]
pub struct Needs {
    /// At most so many threads for `spawn_blocking`, else Tokio's own limit.
    blocking: Option<usize>,
    /// Sockets. Workers then sleep in epoll, not at a condition variable.
    sockets: bool,
}

fn build(mut builder: Builder, needs: Needs) -> Result<runtime::Runtime, Failure> {
    builder.enable_time();
    if let Some(most) = needs.blocking {
        builder.max_blocking_threads(most);
    }
    if needs.sockets {
        builder.enable_io();
    }
    builder.build().map_err(|e| Failure::machine("cannot start Tokio", &e))
}

/// `Builder::new_multi_thread`.
pub struct MultiThread(#[allow(dead_code, reason = "held for its Drop")] runtime::Runtime);

impl Scheduler for MultiThread {
    fn start(workers: usize, needs: Needs) -> Result<(Handle, Self), Failure> {
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(workers);
        let runtime = build(builder, needs)?;
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
    fn start(workers: usize, needs: Needs) -> Result<(Handle, Self), Failure> {
        if workers != 1 {
            return Err(Failure::Unsupported(format!(
                "unsupported: tokio-current-thread has one worker, asked for {workers}; give --workers 1"
            )));
        }
        let runtime = build(Builder::new_current_thread(), needs)?;
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
        let (handle, _scheduler) = S::start(workers, Needs::default())?;
        Ok(OnTokio { handle, _scheduler })
    }

    fn counters(&self) -> Counters {
        Counters { parks: Some(parks(&self.handle)), ..Counters::default() }
    }
}

impl<S: Scheduler> Runtime for OnTokio<S> {
    const SEVERAL: bool = true;

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

/// As the documentation of `Sleep` has it: boxed, polled, and reset later. A reset keeps the waker, so nothing polls it again.
impl<S: Scheduler> Timeouts for OnTokio<S> {
    type Timeout = Pin<Box<Sleep>>;

    fn arm(delay: Duration, waker: &Waker) -> Self::Timeout {
        let mut timeout = Box::pin(tokio::time::sleep(delay));
        assert!(timeout.as_mut().poll(&mut Context::from_waker(waker)).is_pending(), "a minute is not over");
        timeout
    }

    fn rearm(timeout: &mut Self::Timeout, delay: Duration) -> bool {
        let was_pending = !timeout.is_elapsed();
        timeout.as_mut().reset(Instant::now() + delay);
        was_pending
    }
}

impl<S: Scheduler> Yielding for OnTokio<S> {
    fn post_yielding(&self, step: impl FnMut() -> bool + Send + 'static) {
        self.handle.spawn(in_steps(step));
    }
}

impl<S: Scheduler> Slicing for OnTokio<S> {
    fn spawn_yielding(step: impl FnMut() -> bool + Send + 'static) {
        tokio::spawn(in_steps(step));
    }
}

async fn in_steps(mut step: impl FnMut() -> bool) {
    while step() {
        task::yield_now().await;
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
        let (handle, _scheduler) = S::start(workers, Needs { blocking: Some(compute_workers), ..Needs::default() })?;
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

/// As the documentation of `TcpListener` has it: a loop that accepts, and spawns a task for each connection. A `BufReader` reads ahead,
/// since a read that fills its buffer is followed by one in vain.
impl<S: Scheduler> Serving for OnTokio<S> {
    fn serve(workers: usize, service: Service) -> Result<(Self, u16), Failure> {
        Self::serve_needing(workers, Needs { sockets: true, ..Needs::default() }, service)
    }

    fn counted(&self) -> Counters {
        self.counters()
    }
}

impl<S: Scheduler> ServingBeside for OnTokio<S> {
    fn serve_with_compute(workers: usize, compute_workers: usize, service: Service) -> Result<(Self, u16), Failure> {
        Self::serve_needing(workers, Needs { sockets: true, blocking: Some(compute_workers) }, service)
    }
}

impl<S: Scheduler> OnTokio<S> {
    fn serve_needing(workers: usize, needs: Needs, service: Service) -> Result<(Self, u16), Failure> {
        let (handle, _scheduler) = S::start(workers, needs)?;
        let runtime = OnTokio { handle, _scheduler };
        let (tell, told) = std::sync::mpsc::channel();
        runtime.handle.spawn(async move {
            let bound = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
            match bound.and_then(|listener| Ok((listener.local_addr()?.port(), listener))) {
                Err(why) => tell.send(Err(why)).expect("the caller waits"),
                Ok((port, listener)) => {
                    tell.send(Ok(port)).expect("the caller waits");
                    while let Ok((client, _)) = listener.accept().await {
                        tokio::spawn(answer(client, service));
                    }
                }
            }
        });
        let port = told.recv().expect("the task tells").map_err(|e| Failure::machine("cannot listen", &e))?;
        Ok((runtime, port))
    }
}

/// A connection until it ends, in whatever way. An echo answers all that a read has brought with one write, as in Tokio's example.
async fn answer(client: TcpStream, service: Service) -> io::Result<()> {
    client.set_nodelay(true)?;
    let writer = BufWriter::with_capacity(service.read_ahead(), client);
    let (mut client, mut backends) = (BufReader::with_capacity(service.read_ahead(), writer), vec![]);
    for address in service.backends {
        backends.push(buffered(TcpStream::connect(address).await?, service)?);
    }
    let (mut message, mut reply) = (service.message(), service.message());
    loop {
        client.read_exact(&mut message).await?;
        if backends.is_empty() {
            service.reply(&mut message);
        } else {
            for backend in service.asked(&message) {
                backends[backend].write_all(&message).await?;
            }
            let mut sum = 0u64;
            for backend in service.asked(&message) {
                backends[backend].read_exact(&mut reply).await?;
                sum = sum.wrapping_add(service::value(&reply));
            }
            service.reply_with(&mut message, sum);
        }
        client.write_all(&message).await?;
        if !backends.is_empty() || client.buffer().len() < message.len() {
            client.flush().await?;
        }
    }
}

fn buffered(stream: TcpStream, service: Service) -> io::Result<BufReader<TcpStream>> {
    stream.set_nodelay(true)?;
    Ok(BufReader::with_capacity(service.read_ahead(), stream))
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
            let runtime = build(Builder::new_current_thread(), Needs::default())?;
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
