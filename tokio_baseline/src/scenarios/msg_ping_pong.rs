//! `msg_ping_pong`: Savina's PingPong.
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
    name: "msg_ping_pong",
    params: &[Param::number("pings", 40_000, 1, 1_000_000_000), OPS],
    open_loop: false,
};

const BALL: u64 = 0;
const END: u64 = 1;

struct Root<R: Messaging> {
    all: Arc<Operation<R>>,
    pings: u64,
    sum: u64,
    partner: Option<R::Address>,
}

struct Other<R: Messaging> {
    all: Arc<Operation<R>>,
    root: R::Address,
    sum: u64,
}

impl<R: Messaging> Process<R> for Other<R> {
    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        if letter.what == END {
            return self.all.end(self.sum);
        }
        self.sum += letter.number;
        R::send(&self.root, Letter { what: BALL, number: letter.number + 1 });
        ControlFlow::Continue(())
    }
}

impl<R: Messaging> Process<R> for Root<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        let partner = R::spawn_process(Other { all: self.all.clone(), root: me.clone(), sum: 0 });
        R::send(&partner, Letter { what: BALL, number: 0 });
        self.partner = Some(partner);
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        let partner = self.partner.as_ref().expect("it has started");
        self.sum += letter.number;
        if letter.number + 1 == 2 * self.pings {
            R::send(partner, Letter { what: END, number: 0 });
            return self.all.end(self.sum);
        }
        R::send(partner, Letter { what: BALL, number: letter.number + 1 });
        ControlFlow::Continue(())
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let pings = run.params.value("pings");
    let program = Program { ends: 2, answer: pings * (2 * pings - 1), unit: "messages_per_op", units: 2 * pings };
    messages::measure::<R, _>(run, program, |all| Root { all, pings, sum: 0, partner: None })
}
