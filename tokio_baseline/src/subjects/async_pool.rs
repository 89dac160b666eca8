//! async-executor, the scheduler of smol: one static executor, and threads that run it until they are told to stop.
use crate::failure::Failure;
use crate::fork_join::by_await::{self, Awaiting};
use crate::fork_join::forks::Fork;
use crate::fork_join::matrices::Matrices;
use crate::fork_join::tree::Tree;
use crate::letters::{self, Letter};
use crate::runtime::{
    Asking, Computing, Delayed, ForkJoin, Message, Messaging, Process, Runtime, Serving, ServingBeside, Slicing, Start,
    Targeted, Timeouts, Workers, Yielding,
};
use crate::service::{self, Service};
use async_channel::{Receiver, Sender};
use async_executor::{LocalExecutor, StaticExecutor, Task};
use async_io::{Async, Timer};
use futures_channel::oneshot;
use futures_lite::io::BufReader;
use futures_lite::{future, AsyncReadExt, AsyncWriteExt};
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::pin::Pin;
use std::task::{Context, Waker};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// The form of the executor that its documentation calls the fastest. A program has one, as smol has.
static EXECUTOR: StaticExecutor = StaticExecutor::new();

/// Threads that run the executor. Inside async-io's own `block_on`, as smol's do, they woke later and cost more per post.
pub struct AsyncExecutor {
    stop: Sender<()>,
    workers: Vec<JoinHandle<()>>,
}

impl Start for AsyncExecutor {
    fn start(workers: usize) -> Result<Self, Failure> {
        let (stop, stopped) = async_channel::bounded(1);
        let worker = |stopped: Receiver<()>| {
            let run = move || {
                // An error says that the channel was closed: the end, as drop() tells it.
                let _closed = future::block_on(EXECUTOR.run(stopped.recv()));
            };
            thread::Builder::new().name("worker".into()).spawn(run)
        };
        let workers = (0..workers).map(|_| worker(stopped.clone())).collect::<Result<_, _>>();
        let workers = workers.map_err(|e| Failure::machine("cannot start the executor's threads", &e))?;
        Ok(AsyncExecutor { stop, workers })
    }
}

impl Runtime for AsyncExecutor {
    fn post(&self, task: impl FnOnce() + Send + 'static) {
        Self::spawn(task)
    }

    fn spawn(task: impl FnOnce() + Send + 'static) {
        EXECUTOR.spawn(async move { task() }).detach();
    }
}

impl Drop for AsyncExecutor {
    fn drop(&mut self) {
        self.stop.close();
        for worker in self.workers.drain(..) {
            worker.join().expect("a panic would have ended the process");
        }
    }
}

impl Delayed for AsyncExecutor {
    /// A task that awaits async-io's timer first. The deadline is fixed by the call of `after`, before the task is spawned.
    fn post_delayed(delay: Duration, task: impl FnOnce() + Send + 'static) {
        let timer = Timer::after(delay);
        let delayed = async move {
            timer.await;
            task()
        };
        EXECUTOR.spawn(delayed).detach();
    }

    fn enter(&self, f: impl FnOnce()) {
        f()
    }
}

/// `Timer::set_after`, which keeps the waker (its documentation). It does not say whether the timer was over.
impl Timeouts for AsyncExecutor {
    type Timeout = Timer;

    fn arm(delay: Duration, waker: &Waker) -> Timer {
        let mut timeout = Timer::after(delay);
        assert!(Pin::new(&mut timeout).poll(&mut Context::from_waker(waker)).is_pending(), "a minute is not over");
        timeout
    }

    fn rearm(timeout: &mut Timer, delay: Duration) -> bool {
        timeout.set_after(delay);
        true
    }
}

impl Yielding for AsyncExecutor {
    fn post_yielding(&self, step: impl FnMut() -> bool + Send + 'static) {
        Self::spawn_yielding(step)
    }
}

impl Slicing for AsyncExecutor {
    fn spawn_yielding(mut step: impl FnMut() -> bool + Send + 'static) {
        let task = async move {
            while step() {
                future::yield_now().await;
            }
        };
        EXECUTOR.spawn(task).detach();
    }
}

/// async-io's sockets, as smol has them: a loop that accepts, and spawns a task for each connection.
impl Serving for AsyncExecutor {
    fn serve(workers: usize, service: Service) -> Result<(Self, u16), Failure> {
        let bound = Async::<TcpListener>::bind((Ipv4Addr::LOCALHOST, 0));
        let bound = bound.and_then(|listener| Ok((listener.get_ref().local_addr()?.port(), listener)));
        let (port, listener) = bound.map_err(|e| Failure::machine("cannot listen", &e))?;
        let runtime = Self::start(workers)?;
        let accept = async move {
            while let Ok((client, _)) = listener.accept().await {
                EXECUTOR.spawn(answer(client, service)).detach();
            }
        };
        EXECUTOR.spawn(accept).detach();
        Ok((runtime, port))
    }
}

/// A connection until it ends, in whatever way. An echo answers all that a read has brought with one write.
async fn answer(client: Async<TcpStream>, service: Service) -> io::Result<()> {
    let (mut client, mut backends) = (buffered(client, service)?, vec![]);
    for address in service.backends {
        backends.push(buffered(Async::<TcpStream>::connect(*address).await?, service)?);
    }
    let (mut message, mut reply, mut answers) = (service.message(), service.message(), vec![]);
    loop {
        client.read_exact(&mut message).await?;
        if backends.is_empty() {
            service.reply(&mut message);
        } else {
            for backend in service.asked(&message) {
                backends[backend].get_mut().write_all(&message).await?;
            }
            let mut sum = 0u64;
            for backend in service.asked(&message) {
                backends[backend].read_exact(&mut reply).await?;
                sum = sum.wrapping_add(service::value(&reply));
            }
            service.reply_with(&mut message, sum);
        }
        answers.extend_from_slice(&message);
        if !backends.is_empty() || client.buffer().len() < message.len() {
            client.get_mut().write_all(&answers).await?;
            answers.clear();
        }
    }
}

fn buffered(stream: Async<TcpStream>, service: Service) -> io::Result<BufReader<Async<TcpStream>>> {
    stream.get_ref().set_nodelay(true)?;
    Ok(BufReader::with_capacity(service.read_ahead(), stream))
}

impl Asking for AsyncExecutor {
    fn spawn_ping(then: impl FnOnce() + Send + 'static) {
        let ping = async move {
            let (ask, asked) = oneshot::channel();
            let (answer, answered) = oneshot::channel();
            let pong = async move {
                asked.await.expect("the ping lives");
                answer.send(()).expect("the ping lives");
            };
            EXECUTOR.spawn(pong).detach();
            ask.send(()).expect("the pong lives");
            answered.await.expect("the pong answers");
            then()
        };
        EXECUTOR.spawn(ping).detach();
    }
}

impl AsyncExecutor {
    async fn live(mut process: impl Process<Self>, me: Sender<Letter>, mailbox: Receiver<Letter>) {
        let mut alive = process.start(&me);
        while alive.is_continue() {
            let letter = mailbox.recv().await.expect("it has its own address");
            letters::arrived();
            alive = process.receive(&me, letter);
        }
    }
}

/// A process is a task with an unbounded channel.
impl Messaging for AsyncExecutor {
    type Address = Sender<Letter>;

    fn begin(&self, process: impl Process<Self>) {
        Self::spawn_process(process);
    }

    fn spawn_process(process: impl Process<Self>) -> Self::Address {
        let (me, mailbox) = async_channel::unbounded();
        EXECUTOR.spawn(Self::live(process, me.clone(), mailbox)).detach();
        me
    }

    fn send(to: &Self::Address, letter: Letter) {
        assert!(to.try_send(letter).is_ok(), "nobody is sent to that has ended");
    }
}

impl AsyncExecutor {
    /// Long tasks go to smol's pool for blocking calls, whose size is told by the environment, once per process.
    fn limit_blocking(threads: usize) {
        std::env::set_var("BLOCKING_MAX_THREADS", threads.to_string());
    }
}

impl Computing for AsyncExecutor {
    fn start_with_compute(workers: usize, compute_workers: usize) -> Result<Self, Failure> {
        Self::limit_blocking(compute_workers);
        Self::start(workers)
    }

    fn post_compute(&self, task: impl FnOnce() + Send + 'static) {
        Self::spawn_compute(task)
    }

    fn spawn_compute(task: impl FnOnce() + Send + 'static) {
        blocking::unblock(task).detach();
    }
}

impl ServingBeside for AsyncExecutor {
    fn serve_with_compute(workers: usize, compute_workers: usize, service: Service) -> Result<(Self, u16), Failure> {
        Self::limit_blocking(compute_workers);
        Self::serve(workers, service)
    }
}

impl Awaiting for AsyncExecutor {
    type Handle = Task<u64>;

    fn spawn_task(task: impl Future<Output = u64> + Send + 'static) -> Task<u64> {
        EXECUTOR.spawn(task)
    }
}

impl ForkJoin for AsyncExecutor {
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static) {
        EXECUTOR.spawn(by_await::fork_sums::<Self, N>(root, ops, done)).detach();
    }

    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static) {
        EXECUTOR.spawn(async move { done(by_await::sum::<Self, T>(tree, tree.root()).await) }).detach();
    }

    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static) {
        let product = async move {
            // SAFETY: one product at a time, and this is its first step.
            let whole = unsafe { matrices.begin() };
            by_await::multiply::<Self>(matrices, whole).await;
            done()
        };
        EXECUTOR.spawn(product).detach();
    }
}

impl Targeted for AsyncExecutor {
    type Workers<M: Message> = Actors<M>;
}

/// An executor and a thread per worker, whose one task receives from an unbounded channel.
pub struct Actors<M> {
    queues: Vec<Sender<M>>,
    threads: Vec<JoinHandle<()>>,
}

impl<M: Message> Workers<M> for Actors<M> {
    fn start(workers: usize) -> Result<Self, Failure> {
        let mut all = Actors { queues: vec![], threads: vec![] };
        for _ in 0..workers {
            let (queue, messages) = async_channel::unbounded::<M>();
            all.queues.push(queue);
            let receive = async move {
                while let Ok(message) = messages.recv().await {
                    message.run();
                }
            };
            let run = || future::block_on(LocalExecutor::new().run(receive));
            let thread = thread::Builder::new().name("worker".into()).spawn(run);
            all.threads.push(thread.map_err(|e| Failure::machine("cannot start the executor's threads", &e))?);
        }
        Ok(all)
    }

    fn send(&self, worker: usize, message: M) {
        assert!(self.queues[worker].try_send(message).is_ok(), "the worker receives until its queue is dropped");
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
