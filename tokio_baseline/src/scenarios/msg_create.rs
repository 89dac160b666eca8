//! `msg_create`: Savina's ForkJoinCreate.
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
pub static SCENARIO: Scenario =
    Scenario { name: "msg_create", params: &[Param::number("processes", 40_000, 1, 1 << 24), OPS], open_loop: false };

struct Root<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
}

struct Child<R: Messaging> {
    all: Arc<Operation<R>>,
    number: u64,
}

impl<R: Messaging> Process<R> for Child<R> {
    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        self.all.end(self.number + letter.number)
    }
}

impl<R: Messaging> Process<R> for Root<R> {
    fn start(&mut self, _: &R::Address) -> ControlFlow<()> {
        for number in 0..self.processes {
            let child = R::spawn_process(Child { all: self.all.clone(), number });
            R::send(&child, Letter { what: 0, number });
        }
        self.all.end(0)
    }

    fn receive(&mut self, _: &R::Address, _: Letter) -> ControlFlow<()> {
        unreachable!("nobody sends to it")
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let processes = run.params.value("processes");
    let answer = processes * (processes - 1);
    let program = Program { ends: processes + 1, answer, unit: "spawns_per_op", units: processes };
    messages::measure::<R, _>(run, program, |all| Root { all, processes })
}
