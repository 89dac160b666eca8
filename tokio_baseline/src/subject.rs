//! Who this subject is: its name, Tokio's version, and how it was built.

/// The subject's name; the allocator is the only difference between the two.
pub const NAME: &str = if cfg!(feature = "mimalloc") { "tokio-mimalloc" } else { "tokio" };

/// Tokio's own version, taken from Cargo.lock at build time.
pub const VERSION: &str = env!("TB_TOKIO_VERSION");

/// Compiler, target, profile and allocator, without commas, so that it fits into a CSV cell as it is.
pub fn build_id() -> String {
    let allocator =
        if cfg!(feature = "mimalloc") { concat!("mimalloc-crate-", env!("TB_MIMALLOC_VERSION")) } else { "system" };
    let rustc = env!("TB_RUSTC");
    let (target, profile) = (env!("TB_TARGET"), env!("TB_PROFILE"));
    format!("{rustc}; {target}; {profile}; allocator={allocator}").replace([',', '"', '\\'], " ")
}

/// The answer to `--version`: one JSON line without its line end.
pub fn version_line() -> String {
    format!(r#"{{"subject":"{NAME}","subject_version":"{VERSION}","language":"rust","build_id":"{}"}}"#, build_id())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_line_is_json_with_the_four_keys() {
        let line = version_line();
        assert!(!line.contains('\n'));
        let json: serde_json::Value = serde_json::from_str(&line).expect("JSON");
        assert_eq!(json["subject"], NAME);
        assert_eq!(json["language"], "rust");
        assert!(json["build_id"].as_str().expect("text").contains("rustc 1."));
        assert_eq!(json.as_object().expect("object").len(), 4);
    }

    #[test]
    fn subject_version_is_the_locked_tokio_and_not_ours() {
        assert!(VERSION.starts_with("1."), "seen: {VERSION}");
        assert_eq!(VERSION.split('.').count(), 3);
        assert_ne!(VERSION, env!("CARGO_PKG_VERSION"));
    }
}
