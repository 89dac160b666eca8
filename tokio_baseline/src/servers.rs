//! The frame of the scenarios in which the runtime is a server, and the load program asks it over loopback.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::hist::Histogram;
use crate::host;
use crate::ledger;
use crate::load::{Load, Measured};
use crate::plan;
use crate::report::Report;
use crate::row::Row;
use crate::runtime::Serving;
use crate::scenario::Param;
use crate::service::Service;

/// How many connections ask.
pub(crate) const CONNECTIONS: Param = Param::number("connections", 1, 1, 20_000);
/// The length of a message.
pub(crate) const BYTES: Param = Param::number("bytes", 64, 16, 65_536);

/// Has the runtime `R` serve, with `backends` of which each request asks `ask`.
pub fn measure<R: Serving>(run: &RunArgs, backends: u64, ask: u64) -> Result<Report, Failure> {
    let serve = |service| R::serve(run.workers, service);
    measure_around(run, run.scenario.name, backends, ask, serve, |_| (), || ())
}

/// The same as the client of `scenario` sees it, of a server that `serve` starts; `before` runs once all connections are warm, `after`
/// when all is answered.
pub(crate) fn measure_around<R: Serving>(
    run: &RunArgs,
    scenario: &str,
    backends: u64,
    ask: u64,
    serve: impl FnOnce(Service) -> Result<(R, u16), Failure>,
    before: impl FnOnce(&R),
    after: impl FnOnce(),
) -> Result<Report, Failure> {
    if let Some(path) = &run.plan {
        plan::read(path)?; // its faults are bad arguments
    }
    let mut load = Load::start(run, scenario)?;
    let service = Service {
        bytes: run.params.value("bytes") as usize,
        backends: load.backends(backends as usize)?.leak(),
        ask: ask as usize,
        slowdown_ns: run.slowdown_ns,
    };
    let (server, port) = serve(service)?;
    load.connect(port)?;
    before(&server);
    let cpu_start = host::process_cpu_ns();
    let measured = load.go()?;
    let cpu_ns = host::process_cpu_ns() - cpu_start;
    after();
    let all_ended = load.end()?;
    let counters = server.counted();
    drop(server);

    let complaints = complaints(&measured, all_ended)?;
    let mut row = Row::new(run);
    row.put("warmup_blocks", 0);
    row.put("blocks", 1);
    for (column, cell) in measured.cells {
        row.put(column, cell);
    }
    row.put("cpu_ns", cpu_ns);
    row.put_counters(&counters);
    row.put_usage(&host::usage());
    row.put("status", if complaints.is_empty() { "ok" } else { "wrong" }.to_string());
    Ok(Report { row, hist: Histogram::new(), complaints })
}

fn complaints(measured: &Measured, all_ended: bool) -> Result<Vec<String>, Failure> {
    let cell = |column| measured.cell(column);
    let ops =
        cell("ops").parse().map_err(|e| Failure::machine(&format!("ops={} of the load program", cell("ops")), &e))?;
    let check = u64::from_str_radix(cell("check"), 16)
        .map_err(|e| Failure::machine(&format!("check={} of the load program", cell("check")), &e))?;
    let mut complaints = Vec::from_iter(ledger::audit("the run", ops, check).err());
    if measured.wrong {
        complaints.push("the load program saw a wrong answer".into());
    }
    if !all_ended {
        complaints.push("the load program saw an answer after the end, or a connection that the server kept".into());
    }
    Ok(complaints)
}
