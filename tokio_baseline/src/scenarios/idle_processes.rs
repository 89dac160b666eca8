//! `idle_processes`: many processes that wait, get one message each, and end.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::host;
use crate::letters::Letter;
use crate::messages::{self, Operation, Program};
use crate::report::Report;
use crate::runtime::{Messaging, Process};
use crate::scenario::{Param, Scenario, OPS};
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::sync::Arc;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "idle_processes",
    params: &[Param::number("processes", 100_000, 1, 1 << 24), OPS],
    open_loop: false,
};

struct Root<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
    children: Vec<R::Address>,
}

struct Child<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
    root: R::Address,
    number: u64,
}

impl<R: Messaging> Process<R> for Child<R> {
    fn start(&mut self, _: &R::Address) -> ControlFlow<()> {
        if self.all.waiting.fetch_add(1, Ordering::AcqRel) + 1 == self.processes {
            R::send(&self.root, Letter { what: 0, number: 0 });
        }
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        self.all.end(self.number + letter.number)
    }
}

impl<R: Messaging> Process<R> for Root<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        self.children.reserve_exact(self.processes as usize);
        for number in 0..self.processes {
            let (all, root, processes) = (self.all.clone(), me.clone(), self.processes);
            self.children.push(R::spawn_process(Child { all, processes, root, number }));
        }
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, _: Letter) -> ControlFlow<()> {
        self.all.peak.get_or_init(host::peak_resident_bytes);
        for (number, to) in self.children.drain(..).enumerate() {
            R::send(&to, Letter { what: 0, number: number as u64 });
        }
        self.all.end(0)
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let processes = run.params.value("processes");
    let answer = processes * (processes - 1);
    let program = Program { ends: processes + 1, answer, unit: "spawns_per_op", units: processes };
    messages::measure::<R, _>(run, program, |all| Root { all, processes, children: vec![] })
}
