//! may: coroutines with stacks, `coroutine::spawn`, `coroutine::scope` for two branches, its own channels. Its threads belong to the
//! process and are never stopped. A stack has its default, 32 KiB, and no guard of its own: what recurses deeper would be another
//! program.
use ::may::coroutine::{self, yield_now};
use ::may::sync::mpsc;
use std::hint::black_box;
use tokio_baseline::failure::Failure;
use tokio_baseline::fork_join::by_join::{self, Joining};
use tokio_baseline::fork_join::forks::Fork;
use tokio_baseline::fork_join::matrices::Matrices;
use tokio_baseline::fork_join::tree::Tree;
use tokio_baseline::letters::{self, Letter};
use tokio_baseline::runtime::{Asking, ForkJoin, Messaging, Process, Runtime, Start, Yielding};

/// The scheduler of this process.
pub struct May;

/// Starts a coroutine; its handle is dropped.
fn go(body: impl FnOnce() + Send + 'static) {
    // SAFETY: no body keeps a reference to thread-local state across a suspension, which is what may asks for.
    drop(unsafe { coroutine::spawn(body) });
}

impl Start for May {
    fn start(workers: usize) -> Result<Self, Failure> {
        ::may::config().set_workers(workers);
        Ok(May)
    }
}

impl Runtime for May {
    fn post(&self, task: impl FnOnce() + Send + 'static) {
        go(task)
    }

    fn spawn(task: impl FnOnce() + Send + 'static) {
        go(task)
    }
}

impl Yielding for May {
    fn post_yielding(&self, mut step: impl FnMut() -> bool + Send + 'static) {
        go(move || {
            while step() {
                yield_now();
            }
        })
    }
}

impl Asking for May {
    fn spawn_ping(then: impl FnOnce() + Send + 'static) {
        go(move || {
            let (ask, asked) = mpsc::channel::<()>();
            let (answer, answered) = mpsc::channel::<()>();
            go(move || {
                asked.recv().expect("the ping lives");
                answer.send(()).expect("the ping lives");
            });
            ask.send(()).expect("the pong lives");
            answered.recv().expect("the pong answers");
            then()
        })
    }
}

/// A process is a coroutine with an unbounded channel.
impl Messaging for May {
    type Address = mpsc::Sender<Letter>;

    fn begin(&self, process: impl Process<Self>) {
        Self::spawn_process(process);
    }

    fn spawn_process(mut process: impl Process<Self>) -> Self::Address {
        let (me, mailbox) = mpsc::channel();
        let own = me.clone();
        go(move || {
            let mut alive = process.start(&own);
            while alive.is_continue() {
                let letter = mailbox.recv().expect("it has its own address");
                letters::arrived();
                alive = process.receive(&own, letter);
            }
        });
        me
    }

    fn send(to: &Self::Address, letter: Letter) {
        assert!(to.send(letter).is_ok(), "nobody is sent to that has ended");
    }
}

impl Joining for May {
    /// The second in a coroutine of the scope, the first here.
    fn join<A: Send, B: Send>(a: impl FnOnce() -> A + Send, b: impl FnOnce() -> B + Send) -> (A, B) {
        let (mut one, mut other) = (None, None);
        coroutine::scope(|scope| {
            // SAFETY: as in `go`; the scope waits for it.
            unsafe { scope.spawn(|| other = Some(b())) };
            one = Some(a());
        });
        (one.expect("it has run"), other.expect("the scope has waited"))
    }
}

impl ForkJoin for May {
    fn post_forks<N: Fork>(&self, root: N, ops: u64, done: impl Fn(u64, u64) + Send + Sync + 'static) {
        go(move || (0..ops).for_each(|i| done(i, by_join::fork_sum::<Self, N>(black_box(root)))))
    }

    fn post_sum<T: Tree>(&self, tree: &'static T, done: impl FnOnce(u64) + Send + 'static) {
        go(move || done(by_join::sum::<Self, T>(tree, &tree.root())))
    }

    fn post_product(&self, matrices: &'static Matrices, done: impl FnOnce() + Send + 'static) {
        go(move || {
            // SAFETY: one product at a time, and this is its first step.
            let whole = unsafe { matrices.begin() };
            by_join::multiply::<Self>(matrices, whole);
            done()
        })
    }
}
