//! What a subject is: a name, a version, an allocator, and the scenarios that its runtime expresses.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::report::Report;
use crate::scenario::Scenario;

/// One program of this crate.
#[derive(Debug)]
pub struct Subject {
    /// As in `--version` and the rows.
    pub name: &'static str,
    /// The runtime's own version, taken from Cargo.lock at build time.
    pub version: &'static str,
    /// What the program allocates with.
    pub allocator: &'static str,
    /// The scenarios that the runtime expresses, in the order of THE list; any other is `unsupported`.
    pub expresses: &'static [Expressed],
}

/// A scenario and the function that measures it on one runtime.
pub type Expressed = (&'static Scenario, Measure);

/// Does the work of a scenario and reports it.
pub type Measure = fn(&RunArgs) -> Result<Report, Failure>;

impl Subject {
    /// How to measure `scenario` on this subject, or `unsupported`.
    pub fn measure(&self, scenario: &Scenario) -> Result<Measure, Failure> {
        let expressed = self.expresses.iter().find(|(known, _)| known.name == scenario.name);
        expressed.map(|(_, measure)| *measure).ok_or_else(|| {
            Failure::Unsupported(format!(
                "unsupported: {} cannot express {}; --list names what it can",
                self.name, scenario.name
            ))
        })
    }

    /// The answer to `--list`: one name per line.
    pub fn list(&self) -> String {
        self.expresses.iter().map(|(scenario, _)| format!("{}\n", scenario.name)).collect()
    }

    /// The answer to `--version`: one JSON line without its line end.
    pub fn version_line(&self) -> String {
        let Subject { name, version, .. } = self;
        let build_id = self.build_id();
        format!(r#"{{"subject":"{name}","subject_version":"{version}","language":"rust","build_id":"{build_id}"}}"#)
    }

    /// Compiler, target, profile and allocator, without commas, so that it fits into a CSV cell as it is.
    fn build_id(&self) -> String {
        let (rustc, target, profile) = (env!("TB_RUSTC"), env!("TB_TARGET"), env!("TB_PROFILE"));
        format!("{rustc}; {target}; {profile}; allocator={}", self.allocator).replace([',', '"', '\\'], " ")
    }
}
