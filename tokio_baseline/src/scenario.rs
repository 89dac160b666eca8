//! What every scenario declares about itself. The list of them is [`scenarios`](crate::scenarios).

/// What the command line must know of a scenario. Its file has a function `measure` beside it, generic over the runtime.
#[derive(Debug)]
pub struct Scenario {
    /// Its name in CLI.md.
    pub name: &'static str,
    /// The parameters it takes; any other is refused.
    pub params: &'static [Param],
    /// Whether it takes its release times from a plan file.
    pub open_loop: bool,
}

impl Scenario {
    /// Whether the load program asks the runtime over sockets, and writes the histogram.
    pub(crate) fn is_server(&self) -> bool {
        matches!(self.name, "echo" | "fan_out" | "echo_beside")
    }
}

/// A parameter and the values it may have.
#[derive(Debug)]
pub struct Param {
    /// Its key.
    pub name: &'static str,
    /// What it is when not given; nothing where the program decides.
    pub default: Option<u64>,
    /// The least value.
    pub least: u64,
    /// The greatest value.
    pub most: u64,
    /// Where the value is one of these words; its index then.
    pub words: &'static [&'static str],
}

impl Param {
    /// A whole number with a default.
    pub(crate) const fn number(name: &'static str, default: u64, least: u64, most: u64) -> Self {
        Param { name, default: Some(default), least, most, words: &[] }
    }

    /// One of `words`, the first unless given.
    pub(crate) const fn word(name: &'static str, words: &'static [&'static str]) -> Self {
        Param { name, default: Some(0), least: 0, most: 0, words }
    }
}

/// The operation count of a block; calibrated unless given.
pub(crate) const OPS: Param = Param { name: "ops", default: None, least: 1, most: 1 << 40, words: &[] };

/// Informative: the plan rules.
pub(crate) const RATE: Param = Param::number("rate", 1000, 1, 1_000_000_000);
