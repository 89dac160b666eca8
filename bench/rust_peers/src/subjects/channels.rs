//! Channels of others between tasks of Tokio: a process is a task with an unbounded channel, as in the subject `tokio`, which has
//! Tokio's own. So the difference between the subjects is the channel.
use std::future::Future;
use tokio::runtime::{Builder, Runtime};
use tokio_baseline::failure::Failure;
use tokio_baseline::letters::{self, Letter};
use tokio_baseline::runtime::{Messaging, Process, Start};

/// A kind of channel: many senders that never wait, one receiver that is awaited.
pub trait Channel: Sized + Send + Sync + 'static {
    /// The sending half.
    type Sender: Clone + Send + Sync + 'static;
    /// The receiving half.
    type Receiver: Send + 'static;
    /// Both.
    fn unbounded() -> (Self::Sender, Self::Receiver);
    /// Whether it was taken.
    fn send(to: &Self::Sender, letter: Letter) -> bool;
    /// The next letter.
    fn receive(from: &Self::Receiver) -> impl Future<Output = Option<Letter>> + Send;
}

/// `kanal::unbounded_async`; its `try_send` never waits where there is no bound.
pub struct Kanal;
impl Channel for Kanal {
    type Sender = kanal::AsyncSender<Letter>;
    type Receiver = kanal::AsyncReceiver<Letter>;
    fn unbounded() -> (Self::Sender, Self::Receiver) {
        kanal::unbounded_async()
    }
    fn send(to: &Self::Sender, letter: Letter) -> bool {
        to.try_send(letter).unwrap_or(false)
    }
    async fn receive(from: &Self::Receiver) -> Option<Letter> {
        from.recv().await.ok()
    }
}

/// `crossfire::mpsc::unbounded_async`: one receiver, for which it has a channel of its own.
pub struct Crossfire;
impl Channel for Crossfire {
    type Sender = crossfire::MTx<crossfire::mpsc::List<Letter>>;
    type Receiver = crossfire::AsyncRx<crossfire::mpsc::List<Letter>>;
    fn unbounded() -> (Self::Sender, Self::Receiver) {
        crossfire::mpsc::unbounded_async()
    }
    fn send(to: &Self::Sender, letter: Letter) -> bool {
        to.send(letter).is_ok()
    }
    fn receive(from: &Self::Receiver) -> impl Future<Output = Option<Letter>> + Send {
        let next = from.recv();
        async move { next.await.ok() }
    }
}

/// Tokio's multi-threaded scheduler, and channels of another.
pub struct OnTokio<C> {
    runtime: Runtime,
    _channel: C,
}

impl Start for OnTokio<Kanal> {
    fn start(workers: usize) -> Result<Self, Failure> {
        Ok(OnTokio { runtime: tokio(workers)?, _channel: Kanal })
    }
}

impl Start for OnTokio<Crossfire> {
    fn start(workers: usize) -> Result<Self, Failure> {
        Ok(OnTokio { runtime: tokio(workers)?, _channel: Crossfire })
    }
}

/// Nothing tuned.
pub fn tokio(workers: usize) -> Result<Runtime, Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(workers).enable_time().build();
    runtime.map_err(|e| Failure::machine("cannot start Tokio", &e))
}

impl<C: Channel> OnTokio<C> {
    async fn live<P: Process<Self>>(mut process: P, me: C::Sender, mailbox: C::Receiver)
    where
        Self: Start,
    {
        let mut alive = process.start(&me);
        while alive.is_continue() {
            let letter = C::receive(&mailbox).await.expect("it has its own address");
            letters::arrived();
            alive = process.receive(&me, letter);
        }
    }
}

impl<C: Channel> Messaging for OnTokio<C>
where
    Self: Start,
{
    type Address = C::Sender;

    fn begin(&self, process: impl Process<Self>) {
        let (me, mailbox) = C::unbounded();
        self.runtime.spawn(Self::live(process, me, mailbox));
    }

    fn spawn_process(process: impl Process<Self>) -> Self::Address {
        let (me, mailbox) = C::unbounded();
        tokio::spawn(Self::live(process, me.clone(), mailbox));
        me
    }

    fn send(to: &Self::Address, letter: Letter) {
        assert!(C::send(to, letter), "nobody is sent to that has ended");
    }
}
