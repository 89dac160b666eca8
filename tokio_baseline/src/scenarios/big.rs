//! `big`: Savina's Big.
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
    name: "big",
    params: &[Param::number("processes", 120, 1, 1_000_000), Param::number("pings", 20_000, 1, 1_000_000), OPS],
    open_loop: false,
};

const BEGIN: u64 = 0;
const ASK: u64 = 1;
const ANSWER: u64 = 2;
const DONE: u64 = 3;
const END: u64 = 4;

struct Root<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
    pings: u64,
    done: u64,
}

struct Node<R: Messaging> {
    all: Arc<Operation<R>>,
    root: R::Address,
    processes: u64,
    pings: u64,
    number: u64,
    random: u64,
    k: u64,
    sum: u64,
}

impl<R: Messaging> Node<R> {
    fn ask(&mut self) {
        self.random = self.random * 16_807 % 2_147_483_647;
        R::send(self.all.peer(self.random % self.processes), Letter { what: ASK, number: self.number });
    }
}

impl<R: Messaging> Process<R> for Node<R> {
    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        match letter.what {
            BEGIN => self.ask(),
            ASK => {
                self.sum += letter.number;
                R::send(self.all.peer(letter.number), Letter { what: ANSWER, ..letter });
            }
            ANSWER => {
                self.sum += self.k;
                self.k += 1;
                if self.k < self.pings {
                    self.ask();
                } else {
                    R::send(&self.root, Letter { what: DONE, number: 0 });
                }
            }
            _ => return self.all.end(self.sum),
        }
        ControlFlow::Continue(())
    }
}

impl<R: Messaging> Root<R> {
    fn tell_all(&self, what: u64) {
        (0..self.processes).for_each(|i| R::send(self.all.peer(i), Letter { what, number: 0 }));
    }
}

impl<R: Messaging> Process<R> for Root<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        let Root { processes, pings, .. } = *self;
        let node = |number| {
            let (all, root) = (self.all.clone(), me.clone());
            R::spawn_process(Node { all, root, processes, pings, number, random: number + 1, k: 0, sum: 0 })
        };
        self.all.peers.get_or_init(|| (0..processes).map(node).collect());
        self.tell_all(BEGIN);
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, _: Letter) -> ControlFlow<()> {
        self.done += 1;
        if self.done < self.processes {
            return ControlFlow::Continue(());
        }
        self.tell_all(END);
        self.all.end(0)
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let (processes, pings) = (run.params.value("processes"), run.params.value("pings"));
    let answer = pings * (processes * (processes - 1) / 2) + processes * (pings * (pings - 1) / 2);
    let program = Program { ends: processes + 1, answer, unit: "messages_per_op", units: 2 * processes * pings };
    messages::measure::<R, _>(run, program, |all| Root { all, processes, pings, done: 0 })
}
