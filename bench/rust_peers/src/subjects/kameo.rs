//! kameo: an actor for each process, on Tokio's multi-threaded scheduler, with an unbounded mailbox. It has nothing else.
//!
//! An actor's type is that of its process, and an address must not know it: letters go by a `Recipient`, kameo's own way to hide it.
use super::channels::tokio;
use ::kameo::actor::{ActorRef, Recipient};
use ::kameo::error::Infallible;
use ::kameo::message::{Context, Message};
use ::kameo::{mailbox, Actor};
use ::tokio::runtime::Runtime;
use std::ops::ControlFlow;
use tokio_baseline::failure::Failure;
use tokio_baseline::letters::{self, Letter};
use tokio_baseline::runtime::{Messaging, Process, Start};

/// The runtime that the actors run on.
pub struct Kameo(Runtime);

impl Start for Kameo {
    fn start(workers: usize) -> Result<Self, Failure> {
        tokio(workers).map(Kameo)
    }
}

/// A letter, of this crate, for which a message can be declared.
pub struct Posted(Letter);

struct Host<P> {
    process: P,
    me: Recipient<Posted>,
}

impl<P: Process<Kameo>> Host<P> {
    fn stop_if_done(me: &ActorRef<Self>, alive: ControlFlow<()>) {
        if alive.is_break() {
            me.kill();
        }
    }
}

impl<P: Process<Kameo>> Actor for Host<P> {
    type Args = P;
    type Error = Infallible;

    async fn on_start(mut process: P, actor: ActorRef<Self>) -> Result<Self, Infallible> {
        let me = actor.clone().recipient::<Posted>();
        let alive = process.start(&me);
        Self::stop_if_done(&actor, alive);
        Ok(Host { process, me })
    }
}

impl<P: Process<Kameo>> Message<Posted> for Host<P> {
    type Reply = ();

    async fn handle(&mut self, Posted(letter): Posted, all: &mut Context<Self, ()>) {
        letters::arrived();
        let alive = self.process.receive(&self.me, letter);
        Self::stop_if_done(&all.actor_ref(), alive);
    }
}

impl Messaging for Kameo {
    type Address = Recipient<Posted>;

    fn begin(&self, process: impl Process<Self>) {
        let _context = self.0.enter();
        Self::spawn_process(process);
    }

    fn spawn_process(process: impl Process<Self>) -> Self::Address {
        Host::spawn_with_mailbox(process, mailbox::unbounded()).recipient()
    }

    fn send(to: &Self::Address, letter: Letter) {
        assert!(to.tell(Posted(letter)).try_send().is_ok(), "nobody is sent to that has ended");
    }
}
