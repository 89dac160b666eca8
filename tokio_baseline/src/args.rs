//! What a run was asked for: the arguments of `run`, read and checked by [`cli`](crate::cli).
use crate::scenario::Scenario;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The arguments of `run`, checked.
#[derive(Debug)]
pub struct RunArgs {
    /// What to run.
    pub scenario: &'static Scenario,
    /// Its parameters, defaults filled in.
    pub params: Params,
    /// Worker threads of the runtime.
    pub workers: usize,
    /// Printed in the row; Tokio's stable interface takes no seed.
    pub seed: u64,
    /// Most warm-up blocks.
    pub warmup_blocks: u64,
    /// Measured blocks.
    pub blocks: u64,
    /// Shortest calibrated block, milliseconds.
    pub block_ms: u64,
    /// Intended release times of an open loop.
    pub plan: Option<PathBuf>,
    /// Where the histogram goes.
    pub hist: Option<PathBuf>,
    /// The program that asks a server.
    pub load: Option<PathBuf>,
    /// Built-in slow-down of every task.
    pub slowdown_ns: u64,
}

/// Scenario parameters by name.
#[derive(Debug, Default)]
pub struct Params(pub(crate) BTreeMap<&'static str, u64>);

impl Params {
    /// The value given, else the default, else nothing.
    pub fn get(&self, name: &str) -> Option<u64> {
        self.0.get(name).copied()
    }

    /// The value of a parameter that has a default.
    ///
    /// # Panics
    /// If the scenario declares no default for `name`: a mistake of this program, not of its caller.
    pub fn value(&self, name: &str) -> u64 {
        self.get(name).unwrap_or_else(|| panic!("the scenario declares no default for `{name}`"))
    }
}
