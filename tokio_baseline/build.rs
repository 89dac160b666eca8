//! Hands the exact versions of the build to the programs: those of the runtimes from Cargo.lock, and rustc's.
use std::{env, fs, process::Command};

/// Packages whose version a program tells.
const TOLD: [&str; 7] = ["actix", "async-executor", "chili", "mimalloc", "ractor", "rayon", "tokio"];

/// The version of `package` in a Cargo.lock text.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.next()?;
    let version = lines.next()?.strip_prefix("version = \"")?;
    Some(version.strip_suffix('"')?.to_string())
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=Cargo.lock");
    println!("cargo:rerun-if-changed=Cargo.toml");

    let lock = fs::read_to_string("Cargo.lock").expect("Cargo.lock lies beside Cargo.toml");
    for package in TOLD {
        let version = locked_version(&lock, package).unwrap_or_else(|| panic!("Cargo.lock names no {package}"));
        println!("cargo:rustc-env=TB_VERSION_{}={version}", package.to_uppercase().replace('-', "_"));
    }

    let rustc = env::var("RUSTC").expect("cargo sets RUSTC");
    let output = Command::new(rustc).arg("--version").output().expect("rustc --version runs");
    let rustc = String::from_utf8(output.stdout).expect("rustc prints UTF-8");

    let profile = env::var("PROFILE").expect("cargo sets PROFILE");
    let opt_level = env::var("OPT_LEVEL").expect("cargo sets OPT_LEVEL");
    // LTO is the one setting cargo does not tell a build script; the release profile in Cargo.toml fixes it. `checked`, which cargo
    // calls by the name of what it inherits from, has assertions, and no LTO.
    let checked = env::var_os("CARGO_CFG_DEBUG_ASSERTIONS").is_some();
    let profile = if checked && profile == "release" { "checked".to_string() } else { profile };
    // Tests of code whose speed matters ask for it.
    println!("cargo:rustc-check-cfg=cfg(optimised)");
    if opt_level != "0" {
        println!("cargo:rustc-cfg=optimised");
    }
    let lto = if profile == "release" { " lto=fat codegen-units=1" } else { "" };
    let flags = env::var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default().replace('\x1f', " ");
    let flags = if flags.is_empty() { String::new() } else { format!(" rustflags={flags}") };

    println!("cargo:rustc-env=TB_RUSTC={}", rustc.trim());
    println!("cargo:rustc-env=TB_VERSION_RUSTC={}", rustc.split(' ').nth(1).expect("rustc tells its version"));
    println!("cargo:rustc-env=TB_PROFILE={profile} opt-level={opt_level}{lto}{flags}");
    println!("cargo:rustc-env=TB_TARGET={}", env::var("TARGET").expect("cargo sets TARGET"));
}
