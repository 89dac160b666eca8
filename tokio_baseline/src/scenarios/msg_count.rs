//! `msg_count`: Savina's Count.
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
    name: "msg_count",
    params: &[Param::number("messages", 1_000_000, 1, 1_000_000_000), OPS],
    open_loop: false,
};

const ADD: u64 = 0;
const TELL: u64 = 1;

struct Root<R: Messaging> {
    all: Arc<Operation<R>>,
    messages: u64,
}

struct Counter<R: Messaging> {
    all: Arc<Operation<R>>,
    root: R::Address,
    sum: u64,
}

impl<R: Messaging> Process<R> for Counter<R> {
    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        if letter.what == ADD {
            self.sum += letter.number;
            return ControlFlow::Continue(());
        }
        R::send(&self.root, Letter { what: TELL, number: self.sum });
        self.all.end(0)
    }
}

impl<R: Messaging> Process<R> for Root<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        let counter = R::spawn_process(Counter { all: self.all.clone(), root: me.clone(), sum: 0 });
        (0..self.messages).for_each(|number| R::send(&counter, Letter { what: ADD, number }));
        R::send(&counter, Letter { what: TELL, number: 0 });
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        self.all.end(letter.number)
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let messages = run.params.value("messages");
    let answer = messages * (messages - 1) / 2;
    let program = Program { ends: 2, answer, unit: "messages_per_op", units: messages };
    messages::measure::<R, _>(run, program, |all| Root { all, messages })
}
