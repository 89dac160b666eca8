//! ractor: an actor for each process, on Tokio's multi-threaded scheduler. It has nothing else.
use crate::failure::Failure;
use crate::letters::{self, Letter};
use crate::runtime::{Messaging, Process, Start};
use ractor::{Actor, ActorProcessingErr, ActorRef, ActorRuntime};
use std::marker::PhantomData;
use std::ops::ControlFlow;
use tokio::runtime::{Builder, Runtime};

/// The runtime that the actors run on.
pub struct Ractor(Runtime);

impl Start for Ractor {
    fn start(workers: usize) -> Result<Self, Failure> {
        let runtime = Builder::new_multi_thread().worker_threads(workers).enable_time().build();
        runtime.map(Ractor).map_err(|e| Failure::machine("cannot start Tokio", &e))
    }
}

/// An actor whose state is the process.
struct Host<P>(PhantomData<fn(P)>);

impl<P: Process<Ractor>> Actor for Host<P> {
    type Msg = Letter;
    type State = P;
    type Arguments = P;

    async fn pre_start(&self, me: ActorRef<Letter>, mut process: P) -> Result<P, ActorProcessingErr> {
        stop_if_done(&me, process.start(&me));
        Ok(process)
    }

    async fn handle(&self, me: ActorRef<Letter>, letter: Letter, process: &mut P) -> Result<(), ActorProcessingErr> {
        letters::arrived();
        stop_if_done(&me, process.receive(&me, letter));
        Ok(())
    }
}

fn stop_if_done(me: &ActorRef<Letter>, alive: ControlFlow<()>) {
    if alive.is_break() {
        me.stop(None);
    }
}

impl Messaging for Ractor {
    type Address = ActorRef<Letter>;

    fn begin(&self, process: impl Process<Self>) {
        let _context = self.0.enter();
        Self::spawn_process(process);
    }

    fn spawn_process(process: impl Process<Self>) -> Self::Address {
        let started = ActorRuntime::spawn_instant(None, Host(PhantomData), process);
        started.expect("no actor has a name that could be taken").0
    }

    fn send(to: &Self::Address, letter: Letter) {
        assert!(to.send_message(letter).is_ok(), "nobody is sent to that has ended");
    }
}
