//! actix: an actor for each process, on actix-rt. It has nothing else.
//!
//! An actor stays on the arbiter, which is one thread, that it was started on. There is one arbiter for each worker, and actors are
//! dealt out in turn: nothing else spreads them. The thread of the system, which arbiters need, runs no actor.
use crate::failure::Failure;
use crate::letters::{self, Letter};
use crate::runtime::{Messaging, Process, Start};
use actix::{Actor, ActorContext, Addr, Arbiter, ArbiterHandle, AsyncContext, Context, Handler, Message, System};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc};
use std::thread;

/// The arbiters, one for each worker, and the thread that their system has.
pub struct Actix {
    arbiters: Vec<Arbiter>,
    dealer: Arc<Dealer>,
    system: System,
    thread: Option<thread::JoinHandle<()>>,
}

/// Says where the next actor goes.
struct Dealer {
    arbiters: Vec<ArbiterHandle>,
    dealt: AtomicUsize,
}

thread_local! {
    /// Of an arbiter's thread: its number, and who deals.
    static HERE: RefCell<Option<(usize, Arc<Dealer>)>> = const { RefCell::new(None) };
}

impl Start for Actix {
    fn start(workers: usize) -> Result<Self, Failure> {
        let (tell, told) = mpsc::channel();
        let body = move || {
            let runner = System::new();
            let arbiters = runner.block_on(async { Vec::from_iter((0..workers).map(|_| Arbiter::new())) });
            let _ = tell.send((arbiters, System::current()));
            let _ = runner.run();
        };
        let thread = thread::Builder::new().name("actix-system".into()).spawn(body);
        let thread = thread.map_err(|e| Failure::machine("cannot start the thread of actix's system", &e))?;
        let (arbiters, system) = told.recv().map_err(|e| Failure::machine("cannot start actix's arbiters", &e))?;
        let handles = Vec::from_iter(arbiters.iter().map(Arbiter::handle));
        let dealer = Arc::new(Dealer { arbiters: handles, dealt: AtomicUsize::new(0) });
        for (number, arbiter) in arbiters.iter().enumerate() {
            let dealer = dealer.clone();
            arbiter.spawn_fn(move || HERE.with(|here| *here.borrow_mut() = Some((number, dealer))));
        }
        Ok(Actix { arbiters, dealer, system, thread: Some(thread) })
    }
}

impl Drop for Actix {
    fn drop(&mut self) {
        for arbiter in self.arbiters.drain(..) {
            arbiter.stop();
            arbiter.join().expect("an arbiter's thread ends");
        }
        self.system.stop();
        self.thread.take().map(thread::JoinHandle::join).transpose().expect("the system's thread ends");
    }
}

/// An actor that holds a process. All have one type, so that a letter goes straight to an address and through no `Recipient`.
pub struct Host {
    process: Box<dyn Process<Actix>>,
    me: Option<Addr<Host>>, // an actor that nobody has the address of would be stopped
}

impl Host {
    fn new(process: impl Process<Actix>) -> Self {
        Host { process: Box::new(process), me: None }
    }
}

impl Message for Letter {
    type Result = ();
}

impl Actor for Host {
    type Context = Context<Self>;

    fn started(&mut self, context: &mut Self::Context) {
        let me = self.me.insert(context.address());
        stop_if_done(context, self.process.start(me));
    }
}

impl Handler<Letter> for Host {
    type Result = ();

    fn handle(&mut self, letter: Letter, context: &mut Self::Context) {
        letters::arrived();
        let me = self.me.as_ref().expect("it has started");
        stop_if_done(context, self.process.receive(me, letter));
    }
}

fn stop_if_done(context: &mut Context<Host>, alive: ControlFlow<()>) {
    if alive.is_break() {
        context.stop();
    }
}

impl Dealer {
    fn next(&self) -> usize {
        self.dealt.fetch_add(1, Ordering::Relaxed) % self.arbiters.len()
    }

    fn launch(&self, number: usize, process: impl Process<Actix>) -> Addr<Host> {
        Host::start_in_arbiter(&self.arbiters[number], move |_| Host::new(process))
    }
}

impl Messaging for Actix {
    type Address = Addr<Host>;

    fn begin(&self, process: impl Process<Self>) {
        self.dealer.launch(self.dealer.next(), process);
    }

    fn spawn_process(process: impl Process<Self>) -> Self::Address {
        HERE.with_borrow(|here| {
            let (mine, dealer) = here.as_ref().expect("a process spawns on its arbiter");
            match dealer.next() {
                number if number == *mine => Host::new(process).start(),
                number => dealer.launch(number, process),
            }
        })
    }

    /// Never waits: a mailbox takes what `do_send` gives it, whatever its capacity.
    fn send(to: &Self::Address, letter: Letter) {
        to.do_send(letter);
    }
}
