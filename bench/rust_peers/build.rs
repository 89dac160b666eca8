//! Hands the versions of the runtimes, from Cargo.lock, to the programs.
use std::fs;

/// The version of `package` in a Cargo.lock text.
fn locked_version(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name);
    lines.next()?;
    Some(lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')?.to_string())
}

fn main() {
    println!("cargo:rerun-if-changed=Cargo.lock");
    let lock = fs::read_to_string("Cargo.lock").expect("Cargo.lock lies beside Cargo.toml");
    let packages = [
        "compio",
        "crossfire",
        "fork_union",
        "glommio",
        "kameo",
        "kanal",
        "may",
        "monoio",
        "paralight",
        "rayon",
        "smol",
        "tokio",
    ];
    for package in packages {
        let version = locked_version(&lock, package).unwrap_or_else(|| panic!("Cargo.lock names no {package}"));
        println!("cargo:rustc-env=PEER_VERSION_{}={version}", package.to_uppercase());
    }
}
