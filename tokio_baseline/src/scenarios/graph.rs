//! `graph`: dependent tasks in the patterns of Task Bench and others, by counters: one of producers for each task, a list of
//! its consumers. All tasks are submitted first; then those without producers are posted. `graph_again` is the same graph,
//! built once and run again and again.
use crate::args::RunArgs;
use crate::closed_loop::{self, Meter};
use crate::failure::Failure;
use crate::graphs::{tasks_of, Tasks, PATTERNS};
use crate::host;
use crate::ledger::{mark, mix, Ledger};
use crate::report::Report;
use crate::runtime::Runtime;
use crate::scenario::{Param, Scenario, OPS};
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

const MOST_TASKS: u64 = 1 << 24;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario { name: "graph", params: PARAMS, open_loop: false };

/// Of `graph_again`, too.
pub(super) const PARAMS: &[Param] = &[
    Param::word("pattern", PATTERNS),
    Param::number("width", 8, 1, 4096),
    Param::number("steps", 1000, 1, MOST_TASKS),
    Param::number("iterations", 0, 0, 1 << 32),
    OPS,
];

const NONE: u64 = u64::MAX;

/// What tasks share. Plain values but for `pending` and `ends`: a producer's are written before it takes itself off.
struct Graph {
    list: Tasks,
    iterations: u64,
    ledger: &'static Ledger,
    values: Vec<AtomicU64>,
    nodes: Vec<Node>,
    edges: Vec<Edge>,
    /// Tasks without consumers that have not ended.
    ends: AtomicU64,
}

#[derive(Default)]
struct Node {
    /// The first of its edges.
    consumers: AtomicU64,
    pending: AtomicU32,
    producers: AtomicU32,
}

/// What is known of a graph that was built.
struct Built {
    roots: Vec<u64>,
    /// How many tasks have no consumers.
    ends: u64,
}

#[derive(Default)]
struct Edge {
    consumer: AtomicU64,
    next: AtomicU64,
}

impl Graph {
    fn value(&self, id: u64) -> u64 {
        let value = |&producer: &u64| self.values[producer as usize].load(Ordering::Relaxed);
        let sum = self.list.producers(id).iter().map(value).fold(id, u64::wrapping_add);
        host::chain(mix(sum), self.iterations)
    }

    fn answer(&self) -> u64 {
        self.values.iter().map(|value| value.load(Ordering::Relaxed)).fold(0, u64::wrapping_add)
    }

    /// Submits all tasks.
    fn build(&self) -> Built {
        let (mut edges, mut roots) = (self.edges.iter().enumerate(), Vec::new());
        for id in 0..self.list.tasks() {
            let (mine, producers) = (&self.nodes[id as usize], self.list.producers(id));
            mine.consumers.store(NONE, Ordering::Relaxed);
            mine.producers.store(producers.len() as u32, Ordering::Relaxed);
            mine.pending.store(producers.len() as u32, Ordering::Relaxed);
            if producers.is_empty() {
                roots.push(id);
            }
            for &producer in producers {
                let (at, edge) = edges.next().expect("as many as were counted");
                let consumers = &self.nodes[producer as usize].consumers;
                edge.consumer.store(id, Ordering::Relaxed);
                edge.next.store(consumers.load(Ordering::Relaxed), Ordering::Relaxed);
                consumers.store(at as u64, Ordering::Relaxed);
            }
        }
        let ends = self.nodes.iter().filter(|node| node.consumers.load(Ordering::Relaxed) == NONE).count();
        Built { roots, ends: ends as u64 }
    }

    /// Sets the counters of a graph that has run.
    fn set_again(&self) {
        for node in &self.nodes {
            node.pending.store(node.producers.load(Ordering::Relaxed), Ordering::Relaxed);
        }
    }

    /// Posts the tasks without producers.
    fn start(&'static self, runtime: &impl Runtime, built: &Built) {
        self.ends.store(built.ends, Ordering::Relaxed);
        for &id in &built.roots {
            self.post(runtime, id);
        }
    }

    fn post<R: Runtime>(&'static self, runtime: &R, id: u64) {
        runtime.post(move || self.run::<R>(id));
    }

    fn run<R: Runtime>(&'static self, id: u64) {
        self.ledger.slow_down();
        self.values[id as usize].store(self.value(id), Ordering::Relaxed);
        let mut at = self.nodes[id as usize].consumers.load(Ordering::Relaxed);
        if at == NONE && self.ends.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.ledger.complete(0);
        }
        let mut ready = None;
        while at != NONE {
            let edge = &self.edges[at as usize];
            let consumer = edge.consumer.load(Ordering::Relaxed);
            at = edge.next.load(Ordering::Relaxed); // read first: the last one taken off may end the graph
            if self.nodes[consumer as usize].pending.fetch_sub(1, Ordering::AcqRel) == 1 {
                if let Some(ready) = ready.replace(consumer) {
                    R::spawn(move || self.run::<R>(ready));
                }
            }
        }
        if let Some(ready) = ready {
            R::spawn(move || self.run::<R>(ready));
        }
    }
}

/// Measures it on the runtime `R`.
pub fn measure<R: Runtime>(run: &RunArgs) -> Result<Report, Failure> {
    measure_form::<R, false>(run)
}

/// Each operation builds the graph and runs it; with `AGAIN` it runs the one that was built before.
pub(super) fn measure_form<R: Runtime, const AGAIN: bool>(run: &RunArgs) -> Result<Report, Failure> {
    let pattern = PATTERNS[run.params.value("pattern") as usize];
    let (width, steps) = (run.params.value("width"), run.params.value("steps"));
    if tasks_of(pattern, width, steps) > MOST_TASKS {
        return Err(Failure::bad(format!("--param width={width} and steps={steps} make more than {MOST_TASKS} tasks")));
    }
    let list = Tasks::new(pattern, width, steps);
    let (tasks, edges) = (list.tasks(), list.edges());
    let graph: &'static Graph = Box::leak(Box::new(Graph {
        list,
        iterations: run.params.value("iterations"),
        ledger: Ledger::leak(run.slowdown_ns),
        values: (0..tasks).map(|_| AtomicU64::new(0)).collect(),
        nodes: (0..tasks).map(|_| Node::default()).collect(),
        edges: (0..edges).map(|_| Edge::default()).collect(),
        ends: AtomicU64::new(0),
    }));
    for id in 0..tasks {
        graph.values[id as usize].store(graph.value(id), Ordering::Relaxed);
    }
    let expected = graph.answer();

    let runtime = R::start(run.workers)?;
    let before = host::peak_resident_bytes();
    let once = AGAIN.then(|| graph.build());
    let mut grown = None;
    let mut report = closed_loop::measure(run, 1, |ops| {
        let mut meter = Meter::default();
        for i in 0..ops {
            graph.values.iter().for_each(|value| value.store(0, Ordering::Relaxed));
            graph.ledger.open(1);
            meter.start();
            if let Some(built) = &once {
                graph.set_again();
                graph.start(&runtime, built);
            } else {
                graph.start(&runtime, &graph.build());
            }
            let ended = graph.ledger.wait();
            meter.stop(ended, mark(i.wrapping_add(graph.answer()).wrapping_sub(expected)));
            grown.get_or_insert_with(|| host::peak_resident_bytes() - before);
        }
        meter.block(ops)
    });
    report.row.put_counters(&runtime.counters());
    for (name, figure) in [("tasks_per_op", tasks), ("edges_per_op", edges), ("answer", expected % 1_000_000_000)] {
        report.row.put_flag(&format!("{name}={figure}"));
    }
    report.row.put_flag(&format!("bytes_each={}", grown.unwrap_or_default() / tasks));
    Ok(report)
}
