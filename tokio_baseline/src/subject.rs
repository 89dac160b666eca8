//! What a subject is: a name, a version, an allocator, and the scenarios that its runtime expresses.
use crate::args::RunArgs;
use crate::failure::Failure;
use crate::scenarios::{Report, Scenario};

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

/// The scenarios that a runtime expresses: `expresses![Runtime: module of the scenario, …]`.
#[macro_export]
macro_rules! expresses {
    ($runtime:ty: $($scenario:ident),+ $(,)?) => {
        &[$((&$crate::scenarios::$scenario::SCENARIO, $crate::scenarios::$scenario::measure::<$runtime>)),+]
    };
}

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

#[cfg(test)]
mod tests {
    use crate::scenarios::SCENARIOS;
    use crate::subjects;

    #[test]
    fn version_lines_are_json_with_the_four_keys() {
        for subject in subjects::all() {
            let line = subject.version_line();
            assert!(!line.contains('\n'));
            let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
            assert_eq!(json["subject"], subject.name);
            assert_eq!(json["language"], "rust");
            assert!(json["build_id"].as_str().expect("text").contains("rustc 1."));
            assert_eq!(json.as_object().expect("object").len(), 4);
        }
    }

    #[test]
    fn versions_are_the_locked_runtimes_and_not_ours() {
        for subject in subjects::all() {
            assert_eq!(subject.version.split('.').count(), 3, "{subject:?}");
            assert_ne!(subject.version, env!("CARGO_PKG_VERSION"));
        }
    }

    #[test]
    fn what_a_subject_expresses_stands_in_the_order_of_the_list_and_once() {
        for subject in subjects::all() {
            let places = subject.expresses.iter().map(|(scenario, _)| {
                SCENARIOS.iter().position(|known| known.name == scenario.name).expect("in the list")
            });
            let places = Vec::from_iter(places);
            assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{}: {places:?}", subject.name);
        }
    }

    #[test]
    fn every_scenario_is_expressed_by_somebody() {
        for scenario in SCENARIOS {
            assert!(subjects::all().iter().any(|subject| subject.measure(scenario).is_ok()), "{}", scenario.name);
        }
    }
}
