//! What every subject says of itself, and that each scenario is expressed by somebody.
use tokio_baseline::scenarios::SCENARIOS;
use tokio_baseline::subject::Subject;
use tokio_baseline::subjects::*;

/// Each has a program in `src/bin/`.
static ALL: &[&Subject] = &[
    &TOKIO,
    &TOKIO_MIMALLOC,
    &TOKIO_CURRENT_THREAD,
    &RAYON,
    &CHILI,
    &MACHINE_RUST,
    &RACTOR,
    #[cfg(feature = "actix")]
    &ACTIX,
    &ASYNC_EXECUTOR,
];

#[test]
fn version_lines_are_json_with_the_four_keys() {
    for subject in ALL {
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
    for subject in ALL {
        assert_eq!(subject.version.split('.').count(), 3, "{subject:?}");
        assert_ne!(subject.version, env!("CARGO_PKG_VERSION"));
    }
}

#[test]
fn what_a_subject_expresses_stands_in_the_order_of_the_list_and_once() {
    for subject in ALL {
        let places = subject
            .expresses
            .iter()
            .map(|(scenario, _)| SCENARIOS.iter().position(|known| known.name == scenario.name).expect("in the list"));
        let places = Vec::from_iter(places);
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{}: {places:?}", subject.name);
    }
}

#[test]
fn every_scenario_is_expressed_by_somebody() {
    for scenario in SCENARIOS {
        assert!(ALL.iter().any(|subject| subject.measure(scenario).is_ok()), "{}", scenario.name);
    }
}
