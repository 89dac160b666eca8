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
    params: &[
        Param::number("processes", 60, 1, 1_000_000),
        Param::number("messages", 10_000, 1, 1_000_000_000),
        Param::number("rounds", 0, 0, 1_000_000_000),
        OPS,
    ],
    open_loop: false,
};

struct Root<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
    messages: u64,
    rounds: u64,
    children: Vec<R::Address>,
    next: u64,
}

impl<R: Messaging> Root<R> {
    /// So many rounds, or all that are left; then a message to itself.
    fn go_on(&mut self, me: &R::Address) -> ControlFlow<()> {
        let until = match self.rounds {
            0 => self.messages,
            rounds => self.messages.min(self.next + rounds),
        };
        for number in self.next..until {
            self.children.iter().for_each(|to| R::send(to, Letter { what: 0, number }));
        }
        self.next = until;
        if until < self.messages {
            R::send(me, Letter { what: 0, number: 0 });
            return ControlFlow::Continue(());
        }
        self.all.end(0)
    }
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
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        let child = |_| R::spawn_process(Child { all: self.all.clone(), left: self.messages, sum: 0 });
        self.children = Vec::from_iter((0..self.processes).map(child));
        self.go_on(me)
    }

    fn receive(&mut self, me: &R::Address, _: Letter) -> ControlFlow<()> {
        self.go_on(me)
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let [processes, messages, rounds] = ["processes", "messages", "rounds"].map(|name| run.params.value(name));
    let answer = processes.wrapping_mul(messages * (messages - 1) / 2);
    let program = Program { ends: processes + 1, answer, unit: "messages_per_op", units: processes * messages };
    let root = |all| Root { all, processes, messages, rounds, children: Vec::new(), next: 0 };
    messages::measure::<R, _>(run, program, root)
}
