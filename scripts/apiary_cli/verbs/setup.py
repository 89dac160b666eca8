"""setup: install from Debian packages what is missing, and the Python libraries into build/python. Standard library only."""

from __future__ import annotations

import argparse
import os
import shutil
from typing import Callable, Iterable

from ..base import libraries, packages, proc
from ..base.errors import Fault, tail
from ..base.say import say
from ..race import plans

SUMMARY = "install from Debian packages what is missing (asks nothing)"
DESCRIPTION = """\
Looks for the compiler, CMake, Ninja, the libraries, and a cargo that is new enough
(1.85; also the one that rustup installs), and installs what is missing with apt-get:
what the build, the checks and the plan quick need. What another plan's peers need comes
when `race` is given that plan, or with --peers. Asks nothing; works as root or with sudo.
On a system that is not Debian 12 or newer it prints the list of what is needed and stops.
The Python libraries of scripts/requirements.txt come by pip, in the versions named there.

writes:  system packages; build/python
takes:   under a second when all is there; a minute or two on a bare system"""


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="say what would be installed, install nothing")
    parser.add_argument("--peers", action="store_true", help="also what every peer needs, whatever plan names it")
    parser.add_argument("--with-lint", action="store_true", help="also clang, clang-tidy and clang-format 19")


def needed(with_lint: bool, version: int | None, peers: Iterable[str] | None = None) -> list[str]:
    """The package names that are missing here, for these peers or for those of the plan quick."""
    peers = plans.plan("quick").subjects if peers is None else peers
    wanted = (*packages.REQUIRED, *packages.of_peers(peers), *(packages.LINT if with_lint else ()))
    names = [package.name for package in packages.missing(tuple(dict.fromkeys(wanted)))]
    if packages.find_cargo()[0] is None:
        names.append(packages.cargo_package(version or packages.DEBIAN_AT_LEAST))
    return names


def install_commands(names: list[str], euid: int, sudo: str | None) -> list[list[str]]:
    """The two apt-get commands, with sudo where this is not root."""
    prefix = [] if euid == 0 else [sudo or "sudo", "-n"]
    base = [*prefix, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-y"]
    return [[*base, "update"], [*base, "install", "--no-install-recommends", *names]]


def not_debian(names: list[str], os_release: dict[str, str]) -> Fault:
    reasons = {package.name: package.why for package in packages.ALL}
    seen = os_release.get("PRETTY_NAME") or "an unknown system"
    listing = "\n".join(f"{name:<18} {reasons.get(name, 'cargo and rustc, 1.85 or newer')}" for name in names)
    return Fault(
        f"this is {seen}, and {len(names)} of the things apiary needs are missing",
        "setup installs packages on Debian 12 or newer only",
        "install these (Debian's names) with your package manager, then run this again:\n" + listing,
    )


def ensure(
    dry_run: bool = False,
    with_lint: bool = False,
    quiet: bool = False,
    os_release: dict[str, str] | None = None,
    peers: Iterable[str] | None = None,
) -> None:
    """Install what is missing. Called by the verbs that begin with set-up, too. `peers`: the subjects that are to run,
    if others than those of the plan quick."""
    os_release = packages.read_os_release() if os_release is None else os_release
    version = packages.debian_version(os_release)
    names = needed(with_lint, version, peers)
    if not names and libraries.ready():
        if not quiet:
            say("setup: everything is there; nothing to install")
        return
    if names:
        install(names, version, os_release, dry_run, lambda: needed(with_lint, version, peers))
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
        os_release = packages.read_os_release()
        pip = ["python3-pip"]
        install(pip, packages.debian_version(os_release), os_release, False, lambda: [] if libraries.has_pip() else pip)
    libraries.install()


def install(
    names: list[str], version: int | None, os_release: dict[str, str], dry_run: bool, still: Callable[[], list[str]]
) -> None:
    """By apt-get. `still`: what is missing afterwards."""
    if version is None or version < packages.DEBIAN_AT_LEAST:
        raise not_debian(names, os_release)
    if {"cargo-web", "cargo"} & set(names):
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
    for command in install_commands(names, euid, sudo):
        done = proc.run(command, merge=True)
        if not done.ok:
            raise Fault(f"{' '.join(command[-len(names) - 4:])} {done.how()}", tail(done.out, 2000), by_hand)
    left = still()
    if left:
        raise Fault(
            f"still missing after the installation: {' '.join(left)}",
            "the packages installed, but what they should bring was not found",
            "scripts/apiary doctor shows what is seen",
        )


def run(args: argparse.Namespace) -> int:
    ensure(args.dry_run, args.with_lint, peers=packages.PEERS if args.peers else None)
    return 0
