//! `msg_ring`: Savina's ThreadRing.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::letters::Letter;
use crate::messages::{self, Operation, Program};
use crate::report::Report;
use crate::runtime::{Messaging, Process};
use crate::scenario::{Param, Scenario, OPS};
use std::ops::ControlFlow;
use std::sync::Arc;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "msg_ring",
    params: &[Param::number("processes", 100, 2, 1_000_000), Param::number("hops", 100_000, 1, 1_000_000_000), OPS],
    open_loop: false,
};

const TOKEN: u64 = 0;
const END: u64 = 1;

/// The root is one that has no next yet.
struct Node<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
    hops: u64,
    next: Option<R::Address>,
    sum: u64,
}

impl<R: Messaging> Process<R> for Node<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        if self.next.is_some() {
            return ControlFlow::Continue(());
        }
        let mut to = me.clone();
        for _ in 1..self.processes {
            to = R::spawn_process(Node { all: self.all.clone(), next: Some(to), ..*self });
        }
        R::send(&to, Letter { what: TOKEN, number: self.hops });
        self.next = Some(to);
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        let next = self.next.as_ref().expect("it has started");
        if letter.what == TOKEN {
            self.sum += letter.number;
            if letter.number > 0 {
                R::send(next, Letter { what: TOKEN, number: letter.number - 1 });
                return ControlFlow::Continue(());
            }
            R::send(next, Letter { what: END, number: self.processes - 1 });
        } else if letter.number > 1 {
            R::send(next, Letter { what: END, number: letter.number - 1 });
        }
        self.all.end(self.sum)
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let (processes, hops) = (run.params.value("processes"), run.params.value("hops"));
    let program = Program { ends: processes, answer: hops * (hops + 1) / 2, unit: "messages_per_op", units: hops };
    messages::measure::<R, _>(run, program, |all| Node { all, processes, hops, next: None, sum: 0 })
}
