//! `bounded_buffer`: Savina's BoundedBuffer, without work for an item.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::letters::Letter;
use crate::messages::{self, Operation, Program};
use crate::report::Report;
use crate::runtime::{Messaging, Process};
use crate::scenario::{Param, Scenario, OPS};
use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::sync::Arc;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "bounded_buffer",
    params: &[
        Param::number("capacity", 50, 1, 1_000_000),
        Param::number("producers", 40, 1, 1_000_000),
        Param::number("consumers", 40, 1, 1_000_000),
        Param::number("items", 1000, 1, 1_000_000),
        OPS,
    ],
    open_loop: false,
};

const ASK: u64 = 0;
const ITEM: u64 = 1;
const FREE: u64 = 2;
const END: u64 = 3;

/// How many there are of each.
#[derive(Clone, Copy)]
struct Sizes {
    capacity: u64,
    producers: u64,
    consumers: u64,
    items: u64,
}

struct Buffer<R: Messaging> {
    all: Arc<Operation<R>>,
    sizes: Sizes,
    producers: Vec<R::Address>,
    consumers: Vec<R::Address>,
    held: VecDeque<u64>,
    willing: VecDeque<u64>,
    idle: VecDeque<u64>,
    asked: u64,
    /// How often a consumer has still to say that it is free.
    left: u64,
}

struct Producer<R: Messaging> {
    all: Arc<Operation<R>>,
    buffer: R::Address,
    next: u64,
}

struct Consumer<R: Messaging> {
    all: Arc<Operation<R>>,
    buffer: R::Address,
    number: u64,
    sum: u64,
}

impl<R: Messaging> Process<R> for Producer<R> {
    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        if letter.what == END {
            return self.all.end(0);
        }
        R::send(&self.buffer, Letter { what: ITEM, number: self.next });
        self.next += 1;
        ControlFlow::Continue(())
    }
}

impl<R: Messaging> Process<R> for Consumer<R> {
    fn start(&mut self, _: &R::Address) -> ControlFlow<()> {
        R::send(&self.buffer, Letter { what: FREE, number: self.number });
        ControlFlow::Continue(())
    }

    fn receive(&mut self, me: &R::Address, letter: Letter) -> ControlFlow<()> {
        if letter.what == END {
            return self.all.end(self.sum);
        }
        self.sum += letter.number;
        self.start(me)
    }
}

impl<R: Messaging> Buffer<R> {
    fn ask_for_more(&mut self) {
        while self.held.len() as u64 + self.asked < self.sizes.capacity {
            let Some(producer) = self.willing.pop_front() else { return };
            R::send(&self.producers[producer as usize], Letter { what: ASK, number: 0 });
            self.asked += 1;
        }
    }
}

impl<R: Messaging> Process<R> for Buffer<R> {
    fn start(&mut self, me: &R::Address) -> ControlFlow<()> {
        let Sizes { producers, consumers, items, .. } = self.sizes;
        self.left = producers * items + consumers;
        for producer in 0..producers {
            let (all, buffer) = (self.all.clone(), me.clone());
            self.producers.push(R::spawn_process(Producer { all, buffer, next: producer * items }));
            self.willing.push_back(producer);
        }
        for number in 0..consumers {
            let (all, buffer) = (self.all.clone(), me.clone());
            self.consumers.push(R::spawn_process(Consumer { all, buffer, number, sum: 0 }));
        }
        self.ask_for_more();
        ControlFlow::Continue(())
    }

    fn receive(&mut self, _: &R::Address, letter: Letter) -> ControlFlow<()> {
        if letter.what == ITEM {
            self.asked -= 1;
            self.held.push_back(letter.number);
            if (letter.number + 1) % self.sizes.items != 0 {
                self.willing.push_back(letter.number / self.sizes.items);
            }
        } else {
            self.idle.push_back(letter.number);
            self.left -= 1;
            if self.left == 0 {
                let all = self.producers.iter().chain(&self.consumers);
                all.for_each(|to| R::send(to, Letter { what: END, number: 0 }));
                return self.all.end(0);
            }
        }
        if let (Some(&item), Some(&consumer)) = (self.held.front(), self.idle.front()) {
            R::send(&self.consumers[consumer as usize], Letter { what: ITEM, number: item });
            self.held.pop_front();
            self.idle.pop_front();
        }
        self.ask_for_more();
        ControlFlow::Continue(())
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Messaging>(run: &RunArgs) -> Result<Report, Failure> {
    let [capacity, producers, consumers, items] =
        ["capacity", "producers", "consumers", "items"].map(|name| run.params.value(name));
    let sizes = Sizes { capacity, producers, consumers, items };
    let every = producers * items;
    let (ends, answer) = (producers + consumers + 1, every * (every - 1) / 2);
    let program = Program { ends, answer, unit: "messages_per_op", units: 4 * every };
    messages::measure::<R, _>(run, program, |all| Buffer {
        all,
        sizes,
        producers: vec![],
        consumers: vec![],
        held: VecDeque::new(),
        willing: VecDeque::new(),
        idle: VecDeque::new(),
        asked: 0,
        left: 0,
    })
}
