//! Why a call produced no row: what was seen, the remedy, and the exit status that goes with it.
use std::fmt::{self, Display};

/// A call that ends without a measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Failure {
    /// The words of the command line, or a file they name, are wrong: exit status 2.
    BadArguments(String),
    /// The machine refused something that a correct call needs: exit status 1.
    Machine(String),
    /// The runtime cannot express what was asked: exit status 3.
    Unsupported(String),
}

impl Failure {
    /// A wrong argument, described by `message`.
    pub fn bad(message: impl Into<String>) -> Self {
        Failure::BadArguments(message.into())
    }

    /// A refusal of the machine while doing `what`.
    pub fn machine(what: &str, cause: &dyn Display) -> Self {
        Failure::Machine(format!("{what}: {cause}"))
    }

    /// The exit status of the process, as CLI.md has it.
    pub fn exit_status(&self) -> i32 {
        match self {
            Failure::BadArguments(_) => 2,
            Failure::Machine(_) => 1,
            Failure::Unsupported(_) => 3,
        }
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::BadArguments(message) | Failure::Machine(message) | Failure::Unsupported(message) => {
                f.write_str(message)
            }
        }
    }
}

impl std::error::Error for Failure {}
