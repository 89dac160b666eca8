//! `echo`: a server answers each request by itself, on many connections.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::report::Report;
use crate::runtime::Serving;
use crate::scenario::{Scenario, RATE};
use crate::servers::{self, BYTES, CONNECTIONS};

/// The entry in the list.
pub static SCENARIO: Scenario = Scenario { name: "echo", params: &[CONNECTIONS, BYTES, RATE], open_loop: true };

/// Measures it on the runtime `R`.
pub fn measure<R: Serving>(run: &RunArgs) -> Result<Report, Failure> {
    servers::measure::<R>(run, 0, 0)
}
