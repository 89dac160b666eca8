"""THE list of what apiary needs from the system, and how to see whether it is there."""

from __future__ import annotations

import glob
import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Iterable

from .errors import Fault

RUST_AT_LEAST = (1, 85)
# The systems on which setup installs: os-release's ID, its versions, and what is called otherwise there than below. Debian 12's
# own cargo is 0.66, that of Ubuntu 24.04 is 1.75; both have a newer one under another name. The names were tried on Debian 12;
# for Debian 13 and Ubuntu 24.04 names and files were looked up in the archives' packages, and nothing was built there.
SYSTEMS = {
    "debian": {(12,): {"cargo": "cargo-web"}, (13,): {}},
    "ubuntu": {(24, 4): {"cargo": "cargo-1.85"}},
}
SYSTEMS_TEXT = "Debian 12 and 13 and Ubuntu 24.04"
ELSEWHERE = ("/usr/local/go/bin", "/usr/lib/go/bin")  # where CMake looks for programs, too


@dataclass(frozen=True)
class Package:
    """A Debian package and the commands or files (globs) by which its presence is seen."""

    name: str
    why: str
    commands: tuple[str, ...] = ()
    files: tuple[str, ...] = ()

    def present(self) -> bool:
        path = os.pathsep.join((os.environ.get("PATH", os.defpath), *ELSEWHERE))
        return all(shutil.which(command, path=path) for command in self.commands) and all(
            glob.glob(pattern, recursive=True) for pattern in self.files
        )


REQUIRED = (
    Package("ca-certificates", "lets cargo fetch crates", files=("/etc/ssl/certs/ca-certificates.crt",)),
    Package("git", "names the commit in every record", commands=("git",)),
    Package("python3", "runs this command", commands=("python3",)),
    Package("python3-pip", "fetches the libraries of scripts/requirements.txt", commands=("pip3",)),
    Package("cmake", "configures, runs the tests (CTest)", commands=("cmake", "ctest")),
    Package("ninja-build", "builds", commands=("ninja",)),
    Package("pkg-config", "the test of the package's own file for it", commands=("pkg-config",)),
    Package("g++", "C++20 compiler", commands=("g++", "gcc")),
    Package("binutils", "objdump: the disassembly test of the Sync policy", commands=("objdump",)),
    Package("relacy-dev", "Relacy Race Detector", files=("/usr/include/relacy/relacy.hpp",)),
    Package("libgtest-dev", "unit tests", files=("/usr/include/gtest/gtest.h",)),
    Package("libbenchmark-dev", "micro-benchmarks", files=("/usr/include/benchmark/benchmark.h",)),
    Package("nettle-dev", "SHA-1 of the scenario uts", files=("/usr/include/nettle/sha1.h",)),
    Package("libcli11-dev", "command lines of subjects, checks and stresses", files=("/usr/include/CLI/CLI.hpp",)),
    Package("nlohmann-json3-dev", "JSON of checks and stresses, golden vectors", files=("/usr/include/nlohmann/json.hpp",)),
    Package("valgrind", "callgrind: exact counts of instructions", commands=("valgrind",)),
    Package("hyperfine", "whole-process times", commands=("hyperfine",)),
)

CARGO = Package("cargo", "cargo and rustc, 1.85 or newer")  # present where find_cargo finds one

CLANG = Package("clang-19", "second compiler", commands=("clang++-19",))

BOOST = Package("libboost-dev", "the peer Boost.Asio", files=("/usr/include/boost/asio/thread_pool.hpp",))

# What a peer needs beyond that, by its subject's name. It is installed when a plan names the peer, or by setup --peers.
PEERS = {
    "onetbb": (Package("libtbb-dev", "the peer oneTBB", files=("/usr/include/tbb/version.h",)),),
    "asio": (BOOST,),
    "asio_awaitable": (BOOST,),
    "moodycamel_pool": (
        Package("libconcurrentqueue-dev", "the peer moodycamel_pool",
                files=("/usr/include/concurrentqueue/**/concurrentqueue.h",)),
    ),
    "caf": (Package("libcaf-dev", "the peer CAF", files=("/usr/include/caf/all.hpp",)),),
    "boost_fiber": (
        Package("libboost-fiber-dev", "the peer Boost.Fiber", files=("/usr/lib/*/libboost_fiber.so",)),
    ),
    "erlang": (Package("erlang-base", "the peer Erlang/OTP", commands=("erl", "erlc")),),
    "starpu": (Package("libstarpu-dev", "the peer StarPU", files=("/usr/include/starpu/*/starpu.h",)),),
    "go": (Package("golang-go", "the peer Go", commands=("go",)),),
    "libomp": (
        CLANG,
        Package("libomp-19-dev", "OpenMP for clang", files=("/usr/lib/llvm-19/lib/clang/19/include/omp.h",)),
    ),
}

# What checks of code that nobody here wrote need, by the name of the program or test that is left out without it. Each comes
# with setup --peers.
OUTSIDE = {
    "boost_as_is": (
        Package("libboost-dev", "Boost.Lockfree, checked as it is", files=("/usr/include/boost/lockfree/queue.hpp",)),
    ),
    "moodycamel_as_is": PEERS["moodycamel_pool"],
    "tbb_as_is": PEERS["onetbb"],
    "as_it_is_by_clang": (CLANG,),
}

LINT = (
    CLANG,
    Package("clang-tidy-19", "lint", commands=("clang-tidy-19",)),
    Package("clang-format-19", "format", commands=("clang-format-19",)),
)

ALL = tuple(dict.fromkeys((*REQUIRED, *(package for needs in PEERS.values() for package in needs), *LINT)))
TOOL_FOR = {command: package.name for package in ALL for command in package.commands}


def of_peers(names: Iterable[str]) -> tuple[Package, ...]:
    """What these subjects need; nothing for those that are no peers, or come with the compiler."""
    return tuple(dict.fromkeys(package for name in names for package in PEERS.get(name, ())))


def missing(packages: tuple[Package, ...]) -> list[Package]:
    return [package for package in packages if not package.present()]


def parse_os_release(text: str) -> dict[str, str]:
    """The KEY=VALUE lines of /etc/os-release, quotes removed."""
    pairs = (line.split("=", 1) for line in text.splitlines() if "=" in line and line[0] != "#")
    return {key.strip(): value.strip().strip("\"'") for key, value in pairs}


def names_of_system(os_release: dict[str, str]) -> dict[str, str] | None:
    """What is called otherwise on this system; None where setup does not know its packages (derivatives, other versions)."""
    version = tuple(map(int, re.findall(r"\d+", os_release.get("VERSION_ID", ""))))
    return SYSTEMS.get(os_release.get("ID", ""), {}).get(version)


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
        lint = " --with-lint" if any(command in package.commands for package in LINT for command in absent) else ""
        raise Fault(f"{', '.join(absent)} not found", "the toolchain is not complete",
                    f"scripts/apiary setup{lint}   (or: sudo apt-get install {names})")
