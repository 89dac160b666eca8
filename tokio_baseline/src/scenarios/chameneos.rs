//! `chameneos`: Savina's Chameneos.
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
    name: "chameneos",
    params: &[Param::number("processes", 100, 2, 1_000_000), Param::number("meetings", 200_000, 1, 1_000_000_000), OPS],
    open_loop: false,
};

const MEET: u64 = 0;
const CHANGE: u64 = 1;
const END: u64 = 2;

struct Mall<R: Messaging> {
    all: Arc<Operation<R>>,
    processes: u64,
    meetings: u64,
    first: Option<u64>,
    met: u64,
    told: u64,
}

struct Creature<R: Messaging> {
    all: Arc<Operation<R>>,
    mall: R::Address,
    number: u64,
    colour: u64,
    met: u64,
}

impl<R: Messaging> Creature<R> {
    fn meet(&self) -> ControlFlow<()> {
        R::send(&self.mall, Letter { what: MEET, number: self.number * 3 + self.colour });
        ControlFlow::Continue(())
    }
}

impl<R: Messaging> Process<R> for Creature<R> {
    fn start(&mut self, _: &R::Address) -> ControlFlow<()> {
        self.meet()
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        match letter.what {
            END => return self.all.end(self.met),
            MEET => {
                let other = letter.number % 3;
                if other != self.colour {
                    self.colour = 3 - self.colour - other;
                }
                R::send(self.all.peer(letter.number / 3), Letter { what: CHANGE, number: self.colour });
            }
            _ => self.colour = letter.number,
        }
        self.met += 1;
        self.meet()
    }
}

impl<R: Messaging> Process<R> for Mall<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        let creature = |number| {
            let (all, mall) = (self.all.clone(), me.clone());
            R::spawn_process(Creature { all, mall, number, colour: number % 3, met: 0 })
        };
        self.all.peers.get_or_init(|| (0..self.processes).map(creature).collect());
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        let number = letter.number / 3;
        if self.met == self.meetings {
            R::send(self.all.peer(number), Letter { what: END, number: 0 });
            self.told += 1;
            if self.told == self.processes {
                return self.all.end(0);
            }
        } else if let Some(first) = self.first.take() {
            self.met += 1;
            R::send(self.all.peer(first), letter);
        } else {
            self.first = Some(number);
        }
        ControlFlow::Continue(())
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let (processes, meetings) = (run.params.value("processes"), run.params.value("meetings"));
    let (ends, answer) = (processes + 1, 2 * meetings);
    let program = Program { ends, answer, unit: "messages_per_op", units: 4 * meetings };
    messages::measure::<R, _>(run, program, |all| Mall { all, processes, meetings, first: None, met: 0, told: 0 })
}
