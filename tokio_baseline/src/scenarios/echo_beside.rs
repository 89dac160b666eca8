//! `echo_beside`: a server answers each request by itself, while long tasks keep every processor busy.
use crate::args::RunArgs;
use crate::background::ComputeLoad;
use crate::failure::Failure;
use crate::open_loop;
use crate::report::Report;
use crate::runtime::{ServingBeside, Start};
use crate::scenario::{Param, Scenario, RATE};
use crate::scenarios::echo;
use crate::scenarios::mixed_load::{
    at, compute, count_alone, put_flags, respawn, unsupported, Moment, COMPUTE_US, COMPUTE_WORKERS, MEANS,
};
use crate::servers::{self, BYTES, CONNECTIONS};
use crate::service::Service;
use crate::subjects::rayon_pool::Rayon;
use std::cell::Cell;

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "echo_beside",
    params: &[CONNECTIONS, BYTES, RATE, COMPUTE_US, COMPUTE_WORKERS, Param::word("beside", MEANS)],
    open_loop: true,
};

/// Measures it on the runtime `R`.
pub fn measure<R: ServingBeside>(run: &RunArgs) -> Result<Report, Failure> {
    let workers = run.params.get("compute_workers").unwrap_or(run.workers as u64);
    let load = ComputeLoad::leak(2 * workers, run.params.value("compute_us"));
    let each = |start: &dyn Fn()| (0..2 * workers).for_each(|_| start());
    let serve = |service| R::serve(run.workers, service);
    match MEANS[run.params.value("beside") as usize] {
        "own" => {
            let serve = |service| R::serve_with_compute(run.workers, workers as usize, service);
            measure_beside(run, load, serve, |server: &R| each(&|| compute(server, load)), workers)
        }
        "workers" => measure_beside(run, load, serve, |server: &R| each(&|| respawn(server, load)), run.workers as u64),
        "second" if R::SEVERAL => {
            let second = R::start(workers as usize)?;
            measure_beside(run, load, serve, |_: &R| each(&|| respawn(&second, load)), workers)
        }
        "second" => Err(unsupported("two of it do not compute beside each other")),
        _ => {
            let pool = Rayon::start(workers as usize)?;
            measure_beside(run, load, serve, |_: &R| each(&|| respawn(&pool, load)), workers)
        }
    }
}

/// However the run ends, the tasks hand in no more.
struct Ending(&'static ComputeLoad);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.call_end();
    }
}

/// `begin` has the tasks compute, on up to `threads`.
fn measure_beside<R: ServingBeside>(
    run: &RunArgs,
    load: &'static ComputeLoad,
    serve: impl FnOnce(Service) -> Result<(R, u16), Failure>,
    begin: impl FnOnce(&R),
    threads: u64,
) -> Result<Report, Failure> {
    let plan = open_loop::plan_of(run)?;
    let _ending = Ending(load);
    let (alone, last) = (Cell::new([Moment::default(); 2]), Cell::new((Moment::default(), Ok(()))));
    let before = |server: &R| {
        begin(server);
        alone.set(count_alone(load, &plan));
    };
    let after = || {
        let moment = at(load);
        load.call_end();
        last.set((moment, load.wait()));
    };
    let mut report = servers::measure_around(run, echo::SCENARIO.name, 0, 0, serve, before, after)?;
    let ([first, middle], (last, found)) = (alone.get(), last.into_inner());
    report.hold_to(found);
    put_flags(&mut report, [first, middle, last], threads, 0);
    Ok(report)
}
