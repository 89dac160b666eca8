"""Configures and builds presets, and the Rust twins: quiet unless something fails."""

from __future__ import annotations

import os
import re
import time
import tomllib
from pathlib import Path

from . import packages, proc, repo, sources
from .errors import Fault, tail, unknown
from .say import Progress, duration, say

NINJA_LINE = re.compile(r"^\[(\d+)/(\d+)\] ")
CARGO_LINE = re.compile(r"^\s+Compiling (\S+)")


def stale(folder: Path) -> bool:
    """True when the folder must be configured (again) before Ninja can look after itself."""
    cache, rules = folder / "CMakeCache.txt", folder / "build.ninja"
    whole = cache.exists() and rules.exists() and (folder / "manifest").is_dir()
    return not whole or bool(sources.misconfigured(folder)) or bool(arrived(folder))


def absent(folder: Path) -> list[str]:
    """What was left out when the folder was configured."""
    try:
        return (folder / "manifest" / "absent.txt").read_text().split()
    except OSError:
        return []


def arrived(folder: Path) -> list[str]:
    """What was left out when the folder was configured, and whose packages are there now."""
    known = packages.PEERS | packages.OUTSIDE
    return [name for name in absent(folder) if name in known and not packages.missing(known[name])]


def left_out(folder: Path) -> str:
    """The checks that this folder was configured without, and the remedy; nothing where it has them all."""
    names = [name for name in absent(folder) if name in packages.OUTSIDE]
    if not names:
        return ""
    needs = packages.names_here(package for name in names for package in packages.OUTSIDE[name])
    by_hand = f"   (or: sudo apt-get install {' '.join(needs)})" if needs else ""
    return f"left out, because not installed: {', '.join(names)}. Remedy: scripts/apiary setup --peers{by_hand}"


def configure(preset: str) -> None:
    done = proc.run(["cmake", "--preset", preset], cwd=repo.ROOT, merge=True)
    if not done.ok:
        raise Fault(f"configuring {preset} failed", tail(done.out, 6000), f"cmake --preset {preset}   shows it again")


def failing_part(lines: list[str], limit: int = 150) -> str:
    """From the first failed command on, without progress lines."""
    start = next((i for i, line in enumerate(lines) if line.startswith("FAILED:")), 0)
    kept = [line for line in lines[start:] if not NINJA_LINE.match(line)]
    cut = [f"… {len(kept) - limit} more lines in the log"] if len(kept) > limit else []
    return "\n".join(kept[:limit] + cut)


def compiler(preset: str) -> str:
    return "clang++-19" if preset == "clang" else "g++"


def build(preset: str, jobs: int | None = None, only: str | None = None, names: tuple[str, ...] = ()) -> float:
    """Configure if needed and build: all that the preset has, or the programs of one manifest, or those of it with these names. Ninja goes by
    time stamps; what differs from the source is made anew whatever they say, and what comes out is
    of this source. Returns seconds."""
    packages.require("cmake", "ninja", compiler(preset))
    if preset not in repo.presets():
        raise unknown("preset", preset, repo.presets())
    folder, started = repo.BUILD / preset, time.monotonic()
    with repo.locked(preset):
        if stale(folder):
            configure(preset)
        targets = repo.preset_targets(preset)
        kinds = [only] if only else [] if targets else repo.KINDS
        aside = [] if only else repo.manifest(preset, "aside")  # in no build of everything
        wanted = [path for kind in kinds for path in repo.manifest(preset, kind) if path not in aside and (not names or path.name in names)]
        if only and not wanted:  # without a target it would build everything, and not this
            raise Fault(f"the preset {preset} has no program of the kind {only}{' called ' + ', '.join(names) if names else ''}",
                        f"build/{preset}/manifest/{only}.txt names none", f"which it has, build/{preset}/manifest/ says")
        sources.drop_differing(folder, wanted)
        targets = [path.name for path in wanted] if only else targets
        command = ["cmake", "--build", str(folder), *(["--target", *targets] if targets else [])]
        command += ["-j", str(jobs)] if jobs else []
        lines: list[str] = []
        with Progress(f"build {preset}", 0) as progress:

            def on_line(line: str) -> None:
                if match := NINJA_LINE.match(line):
                    progress.update(int(match[1]), int(match[2]))
                lines.append(line)

            env = os.environ | {"NINJA_STATUS": "[%f/%t] "}
            done = proc.run(command, cwd=repo.ROOT, merge=True, on_line=on_line, env=env)
        log = folder / "apiary-build.log"
        log.write_text(done.out)
    if not done.ok:
        raise Fault(f"building {preset} failed ({done.how()})", failing_part(lines), f"the whole log: {repo.shown(log)}")
    why = "; while this built, or a library of an older build is in the way"
    sources.refuse_other(folder, wanted, f"scripts/apiary build {preset} once more, else remove build/{preset}", why)
    seconds = time.monotonic() - started
    say(f"build {preset}: done in {duration(seconds)}")
    return seconds


def hazard_programs() -> list[Path]:
    """Those that meet hazards and are built: of the preset release, and of the crate of peers."""
    return [path for path in [*repo.manifest("release", "hazards"), *peer_programs("hazard_")] if path.exists()]


def build_hazards() -> None:
    """They are in no other build: one program for each runtime whose packages are there."""
    build("release", only="hazards")
    build_peers([path.name for path in peer_programs("hazard_")])


def peer_programs(prefix: str = "subject_") -> list[Path]:
    """Of the second crate, which no preset and no part of `check` builds: subjects, or programs that meet hazards."""
    return [repo.PEERS / "target" / "release" / path.stem for path in sorted((repo.PEERS / "src" / "bin").glob(f"{prefix}*.rs"))]


def build_peers(names: list[str]) -> None:
    """These programs of the second crate, with their source beside them."""
    programs = [path for path in [*peer_programs("hazard_"), *peer_programs()] if path.name in names]
    if not programs:
        return
    files = [*rust_files(), *files_of(repo.PEERS)]
    started = time.monotonic()
    with repo.locked("rust_peers"), Progress("cargo", 0) as progress:
        touch_differing(programs, files)
        before = {path: sources.digest(path) for path in files}
        done = cargo(progress, "build", "--release", *(word for path in programs for word in ("--bin", path.name)), crate=repo.PEERS)
        if not done.ok:
            raise Fault(f"cargo build {done.how()}", tail(done.out, 6000), "cd bench/rust_peers && cargo build --release --locked")
        refuse_changed(before, "scripts/apiary hazards, or the race again")
        for program in programs:
            sources.write_beside(program, files)
    say(f"build bench/rust_peers: done in {duration(time.monotonic() - started)}")


def crate() -> dict:
    """The Rust twins' Cargo.toml."""
    return tomllib.loads(repo.must_read(repo.RUST / "Cargo.toml"))


def rust_programs() -> list[Path]:
    """The programs of the Rust twins, one for each file in src/bin."""
    names = sorted(path.stem for path in (repo.RUST / "src" / "bin").glob("*.rs"))
    return [repo.RUST / "target" / "release" / name for name in names]


def rust_builds() -> list[list[str]]:
    """What cargo is told to build: all that needs no feature at once, then each program that needs one, alone. A feature may turn
    on one of a library that others link, too, so no two of these builds share what they link."""
    alone = [one for one in crate().get("bin", []) if one.get("required-features")]
    return [[]] + [["--features", ",".join(one["required-features"]), "--bin", one["name"]] for one in alone]


def rust_files(*more: str) -> list[Path]:
    """What the Rust twins are compiled from."""
    return files_of(repo.RUST, *more)


def files_of(home: Path, *more: str) -> list[Path]:
    """What a crate is compiled from."""
    files = [path for folder in ("src", *more) for path in (home / folder).rglob("*") if path.is_file()]
    return files + [path for path in map(home.joinpath, ("Cargo.toml", "Cargo.lock", "build.rs")) if path.exists()]


def touch_differing(records: list[Path], files: list[Path]) -> None:
    """Cargo goes by time stamps: a file that one of the records tells otherwise is touched where it
    looks older than the record, and so are all where a record is missing. Not for a program that is not there beside
    one that was made of these very files: Cargo builds it anyway."""
    now = {path: (sources.digest(path), str(path.relative_to(repo.ROOT))) for path in files}
    told = {record: sources.recorded(record) for record in records}
    same = any(found and all(one in found for one in now.values()) for found in told.values())
    for record, found in told.items():
        if same and not record.exists():
            continue
        made = record.stat().st_mtime if found else time.time()
        for path in files:
            if now[path] not in (found or ()) and path.stat().st_mtime <= made:
                path.touch()


def cargo_command(*words: str, crate: Path | None = None) -> list[str]:
    crate = crate or repo.RUST
    places = ["--manifest-path", str(crate / "Cargo.toml"), "--target-dir", str(crate / "target")]
    return [packages.cargo(), *words, "--locked", *places]


def cargo(progress: Progress, *words: str, crate: Path | None = None) -> proc.Done:
    def on_line(line: str) -> None:
        if match := CARGO_LINE.match(line):
            progress.advance(match[1])

    env = packages.cargo_env() | {"CARGO_TERM_COLOR": "never"}
    return proc.run(cargo_command(*words, crate=crate), cwd=crate or repo.RUST, merge=True, on_line=on_line, env=env)


def build_rust(only: str | None = None) -> list[Path]:
    """Build the Rust twins in release mode, or the one of this name; returns their programs, with their source beside them."""
    started, programs = time.monotonic(), [path for path in rust_programs() if only in (None, path.name)]
    with repo.locked("rust"), Progress("cargo", 0) as progress:
        files = rust_files()
        touch_differing(programs, files)
        before = {path: sources.digest(path) for path in files}
        for words in [["--bin", only]] if only else rust_builds():
            done = cargo(progress, "build", "--release", *words)
            if not done.ok:
                by_hand = " ".join(["cd tokio_baseline && cargo build --release --locked", *words])
                raise Fault(f"cargo build {done.how()}", tail(done.out, 6000), by_hand)
        refuse_changed(before, "scripts/apiary build rust")
        for program in programs:
            sources.write_beside(program, files)
    say(f"build tokio_baseline: done in {duration(time.monotonic() - started)}")
    return programs


def refuse_changed(before: dict[Path, str], remedy: str) -> None:
    changed = [str(path.relative_to(repo.ROOT)) for path, digest in before.items() if sources.digest(path) != digest]
    if changed:
        raise Fault(f"{repo.some(changed)} changed while cargo built it", "", remedy)


def compile_flags(preset: str) -> str:
    """The compiler and flags that a preset uses, as CMake recorded them."""
    cache = repo.BUILD / preset / "CMakeCache.txt"
    wanted = ("CMAKE_CXX_COMPILER:", "CMAKE_CXX_FLAGS:", "CMAKE_BUILD_TYPE:", "CMAKE_CXX_FLAGS_RELEASE:")
    try:
        lines = cache.read_text().splitlines()
    except OSError:
        return ""
    return " ".join(line.split("=", 1)[1] for line in lines if line.startswith(wanted)).strip()
