"""What apiary needs from the system (scripts/packages.toml), from PyPI, too, and how to see whether it is there."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from .errors import Fault

RUST_AT_LEAST = (1, 85)
SYSTEMS_TEXT = "Debian 12 and 13 and Ubuntu 24.04"
PYPI = Path(os.environ.get("APIARY_ROOT") or Path(__file__).resolve().parents[3]) / "build" / "pypi"
SOURCES = PYPI.parent / "sources"
VERSION = ".version"  # beside the files of a package that was fetched
ELSEWHERE = ("/usr/local/go/bin", "/usr/lib/go/bin")  # where CMake looks for programs, too


@dataclass(frozen=True)
class Package:
    """A Debian package, or with a version one of PyPI or a source package, and the commands or files (globs) by which its presence
    is seen."""

    name: str
    why: str
    commands: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    version: str = ""
    instead: tuple[str, ...] = ()  # a command of the system, and the least version of it, that will do as well
    source: bool = False  # Debian's source package of that version

    @property
    def folder(self) -> Path:
        """Of one that is fetched."""
        return (SOURCES if self.source else PYPI) / self.name

    def present(self) -> bool:
        if self.version:
            unpacked = self.has_version() and all((self.folder / name).exists() for name in self.files)
            return unpacked or bool(self.instead) and new_enough(*self.instead)
        path = os.pathsep.join((os.environ.get("PATH", os.defpath), *ELSEWHERE))
        return all(shutil.which(command, path=path) for command in self.commands) and all(
            glob.glob(pattern, recursive=True) for pattern in self.files
        )

    def has_version(self) -> bool:
        try:
            return (self.folder / VERSION).read_text() == self.version
        except OSError:
            return False

    def place(self, made: Path) -> None:
        """What was fetched comes into its folder, instead of another version."""
        (made / VERSION).write_text(self.version)
        shutil.rmtree(self.folder, ignore_errors=True)
        made.rename(self.folder)
        if not self.present():
            raise Fault(f"{self.name} {self.version} has another shape than it had", f"{', '.join(self.files)} is not in it", "mend scripts/packages.toml")


def new_enough(command: str, least: str) -> bool:
    """Whether this system has that command in this version, or newer."""
    path = shutil.which(command, path=os.pathsep.join((os.environ.get("PATH", os.defpath), *ELSEWHERE)))
    try:
        done = path and subprocess.run([path, "version"], capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    found = done and re.search(r"(\d+)\.(\d+)", done.stdout)
    return bool(found) and (int(found[1]), int(found[2])) >= tuple(map(int, least.split(".")))


def listed() -> tuple[dict, dict[str, Package]]:
    with (Path(__file__).resolve().parents[2] / "packages.toml").open("rb") as file:
        told = tomllib.load(file)
    return told, {name: Package(name, **{key: tuple(value) if isinstance(value, list) else value for key, value in one.items()})
                  for name, one in told["package"].items()}


LISTED, KNOWN = listed()
SYSTEMS = LISTED["systems"]
REQUIRED, LINT = (tuple(KNOWN[name] for name in LISTED["needs"][key]) for key in ("required", "lint"))
PEERS, OUTSIDE = ({of: tuple(KNOWN[name] for name in names) for of, names in LISTED[key].items()} for key in ("peers", "outside"))
CARGO = KNOWN["cargo"]  # present where find_cargo finds one
TOOL_FOR = {command: package.name for package in KNOWN.values() for command in package.commands}


def of_peers(names: Iterable[str]) -> tuple[Package, ...]:
    """What these subjects need, and checks of outside code; nothing for what is neither, or comes with the compiler."""
    return tuple(dict.fromkeys(package for name in names for package in (PEERS | OUTSIDE).get(name, ())))


def missing(packages: tuple[Package, ...]) -> list[Package]:
    return [package for package in packages if not package.present()]


def parse_os_release(text: str) -> dict[str, str]:
    """The KEY=VALUE lines of /etc/os-release, quotes removed."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def names_of_system(os_release: dict[str, str]) -> dict[str, str] | None:
    """What is called otherwise on this system; None where setup does not know its packages (derivatives, other versions)."""
    return SYSTEMS.get(os_release.get("ID", ""), {}).get(os_release.get("VERSION_ID", ""))


def names_here(needed: Iterable[Package]) -> list[str]:
    """As this system calls them; Debian 12's names on a system that setup does not know. None that is fetched."""
    names = names_of_system(read_os_release()) or {}
    return list(dict.fromkeys(names.get(package.name, package.name) for package in needed if not package.version))


def read_os_release(path: str = "/etc/os-release") -> dict[str, str]:
    try:
        return parse_os_release(Path(path).read_text())
    except OSError:
        return {}


def parse_version(text: str) -> tuple[int, int, int] | None:
    """'cargo 1.95.0 (…)' -> (1, 95, 0)."""
    match = re.search(r"\b(\d+)\.(\d+)(?:\.(\d+))?", text)
    return (int(match[1]), int(match[2]), int(match[3] or 0)) if match else None


def cargo_candidates() -> list[str]:
    homes = [os.environ.get("CARGO_HOME"), str(Path.home() / ".cargo")]
    places = [shutil.which("cargo"), *(f"{home}/bin/cargo" for home in homes if home), "/usr/bin/cargo"]
    places += sorted(glob.glob("/usr/lib/rust-*/bin/cargo"), reverse=True)  # Ubuntu's, each beside its own rustc
    seen = dict.fromkeys(place for place in places if place and os.access(place, os.X_OK))
    return list(seen)


def tool_version(path: str) -> str:
    """The first line of `path --version`, or an empty string."""
    try:
        done = subprocess.run([path, "--version"], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout else ""


def find_cargo(candidates: list[str] | None = None) -> tuple[str | None, list[str]]:
    """The first cargo that is new enough, and what was seen of the others."""
    seen = []
    for path in cargo_candidates() if candidates is None else candidates:
        version = parse_version(tool_version(path))
        if version and version[:2] >= RUST_AT_LEAST:
            return path, seen
        seen.append(f"{path}: " + (".".join(map(str, version)) if version else "does not run"))
    return None, seen


def rustc_version() -> str:
    """Of the compiler beside the cargo that is taken; nothing where there is none."""
    found = find_cargo()[0]
    return tool_version(shutil.which("rustc", path=Path(found).parent) or shutil.which("rustc") or "rustc") if found else ""


def version_here(name: str) -> str:
    """Of a package that the list pins; else as the system's dpkg knows it, and nothing where that knows none."""
    if name in KNOWN and KNOWN[name].version:
        return KNOWN[name].version
    try:
        return subprocess.run(["dpkg-query", "-W", "-f=${Version}", name], capture_output=True, text=True, check=False).stdout
    except OSError:
        return ""


def cargo() -> str:
    """A cargo that is new enough, or a fault that says how to get one."""
    path, seen = find_cargo()
    if path is None:
        wanted = ".".join(map(str, RUST_AT_LEAST))
        raise Fault(f"no cargo of version {wanted} or newer", "; ".join(seen) or "none was found",
                    "scripts/apiary setup   (Debian 12: sudo apt-get install cargo-web; Ubuntu 24.04: cargo-1.85)")
    return path


def cargo_env() -> dict[str, str]:
    """The environment in which cargo finds its own rustc before any other, and asks a registry that fails once more."""
    folder = str(Path(cargo()).parent)
    return {"CARGO_NET_RETRY": "10"} | os.environ | {"PATH": folder + os.pathsep + os.environ.get("PATH", "")}


def require(*commands: str) -> None:
    """A fault that names the missing tool and the command that installs it."""
    absent = [command for command in commands if not shutil.which(command)]
    if absent:
        names = " ".join(dict.fromkeys(TOOL_FOR.get(command, command) for command in absent))
        lint = " --with-lint" if any(set(absent) & set(package.commands) for package in LINT) else ""
        raise Fault(f"{', '.join(absent)} not found", "the toolchain is not complete",
                    f"scripts/apiary setup{lint}   (or: sudo apt-get install {names})")
