//! `fan_out`: for each request a server asks some of its backends, and answers when all have.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::report::Report;
use crate::runtime::Serving;
use crate::scenario::{Param, Scenario, RATE};
use crate::servers::{self, BYTES, CONNECTIONS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario {
    name: "fan_out",
    params: &[CONNECTIONS, BYTES, RATE, Param::number("backends", 8, 1, 64), Param::number("ask", 3, 1, 64)],
    open_loop: true,
};

/// Measures it on the runtime `R`.
pub fn measure<R: Serving>(run: &RunArgs) -> Result<Report, Failure> {
    let (backends, ask) = (run.params.value("backends"), run.params.value("ask"));
    if ask > backends {
        return Err(Failure::bad(format!("--param ask={ask} is more than backends={backends}")));
    }
    servers::measure::<R>(run, backends, ask)
}
