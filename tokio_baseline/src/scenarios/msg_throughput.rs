//! `msg_throughput`: Savina's ForkJoinThroughput.
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
    name: "msg_throughput",
    params: &[Param::number("processes", 60, 1, 1_000_000), Param::number("messages", 10_000, 1, 1_000_000_000), OPS],
    open_loop: false,
};

struct Root<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
    messages: u64,
}

struct Child<R: Messaging> {
    all: Arc<Operation<R>>,
    left: u64,
    sum: u64,
}

impl<R: Messaging> Process<R> for Child<R> {
    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        self.sum += letter.number;
        self.left -= 1;
        match self.left {
            0 => self.all.end(self.sum),
            _ => ControlFlow::Continue(()),
        }
    }
}

impl<R: Messaging> Process<R> for Root<R> {
    fn start(&mut self, _: &R::Address) -> ControlFlow<()> {
        let child = |_| R::spawn_process(Child { all: self.all.clone(), left: self.messages, sum: 0 });
        let children = Vec::from_iter((0..self.processes).map(child));
        for number in 0..self.messages {
            children.iter().for_each(|to| R::send(to, Letter { what: 0, number }));
        }
        self.all.end(0)
    }

    fn receive(&mut self, _: &R::Address, _: Letter) -> ControlFlow<()> {
        unreachable!("nobody sends to it")
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let (processes, messages) = (run.params.value("processes"), run.params.value("messages"));
    let answer = processes.wrapping_mul(messages * (messages - 1) / 2);
    let program = Program { ends: processes + 1, answer, unit: "messages_per_op", units: processes * messages };
    messages::measure::<R, _>(run, program, |all| Root { all, processes, messages })
}
