"""A control group with a quota of processor time around each run of a point that asks for one, as a container with --cpus has
it: of cgroup v1 or v2, below this process's own group or one above it, whichever can be written."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import time
from pathlib import Path
from typing import Iterator

from ..base import proc
from ..base.environment import read
from ..base.errors import Fault
from .plans import Point

PERIOD_US = 100_000  # the usual one: with N workers on N processors a quota of one is used up in an Nth of it
GONE_S = 5.0  # the kernel lets go of a group some time after its last process
ESCAPE = re.compile(r"\\([0-7]{3})")


class NoGroup(OSError):
    """No group with a quota can be made here."""


def hierarchy(groups: str, mounts: str) -> tuple[int, Path, str] | None:
    """The version, the mount and this process's path below it of the hierarchy that has the controller cpu."""
    found = None
    for line in groups.splitlines():
        number, controllers, path = (*line.split(":", 2), "", "")[:3]
        if "cpu" in controllers.split(","):
            found = 1, path or "/"
            break
        if number == "0" and not controllers:
            found = 2, path or "/"
    for line in mounts.splitlines() if found else ():
        before, _, behind = line.partition(" - ")
        fields, kinds = before.split(" "), behind.split(" ")
        if len(fields) < 5 or len(kinds) < 3:
            continue
        right = kinds[0] == "cgroup2" if found[0] == 2 else kinds[0] == "cgroup" and "cpu" in kinds[2].split(",")
        if right and all(fields[3:5]):
            root, point = (ESCAPE.sub(lambda escape: chr(int(escape[1], 8)), field) for field in fields[3:5])
            below = os.path.relpath(found[1], root) if "/.." not in found[1] else "."  # above what this namespace sees
            return found[0], Path(point), "" if below == "." or below.startswith("..") else below
    return None


def above(groups: str, mounts: str) -> tuple[int, list[Path]]:
    """The version, and the groups below which one with a quota may be made, the nearest first."""
    version, mount, below = hierarchy(groups, mounts) or (0, Path(), "")
    every = [mount / below, *(mount / one for one in Path(below).parents)] if version else []
    able = [one for one in every if version == 1 or "cpu" in read(one / "cgroup.subtree_control").split()]
    return version, list(dict.fromkeys(able))


def make(version: int, group: Path, hundredths: int) -> None:
    """With a quota of so many hundredths of a processor. OSError: not here."""
    group.mkdir()
    try:
        quota = hundredths * PERIOD_US // 100
        if version == 1:
            (group / "cpu.cfs_period_us").write_text(f"{PERIOD_US}")
            (group / "cpu.cfs_quota_us").write_text(f"{quota}")
        else:
            (group / "cpu.max").write_text(f"{quota} {PERIOD_US}")
    except OSError:
        remove(group)
        raise


def remove(group: Path) -> None:
    until = time.monotonic() + GONE_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError):
            return group.rmdir()
        time.sleep(0.005)


@contextlib.contextmanager
def group(hundredths: int) -> Iterator[Path | None]:
    """The file by which a process joins a group with a quota of so many hundredths of a processor; None for 0. OSError: none can be
    made here."""
    if not hundredths:
        yield None
        return
    version, places = above(read("/proc/self/cgroup"), read("/proc/self/mountinfo"))
    why = "no group here has a controller of processor time that it could give to another"
    for place in places:
        made = place / f"apiary-quota-{os.getpid()}"
        try:
            make(version, made, hundredths)
        except OSError as error:
            why = f"{made}: {error.strerror}"
            continue
        try:
            yield made / "cgroup.procs"
        finally:
            remove(made)
        return
    raise NoGroup(why)


@contextlib.contextmanager
def around(point: Point) -> Iterator[Path | None]:
    """The file by which a run of the point joins its group; None where it asks for no quota."""
    with contextlib.ExitStack() as held:
        try:
            procs = held.enter_context(group(point.quota))
        except NoGroup as error:
            raise refusal(point, str(error)) from error
        yield procs


def refusal(point: Point, why: str) -> Fault:
    remedy = "as root, where the control groups are writable; or points without quota: --point LABEL, another --plan"
    return Fault(f"{point.label}: no quota of processor time can be set", why, remedy)


def must_be_possible(points: tuple[Point, ...]) -> None:
    """Before anything is built: a group can be made, and joined."""
    for point in [point for point in points if point.quota][:1]:
        with around(point) as procs:
            try:
                proc.run(["/bin/sh", "-c", ":"], group=procs, timeout=30)
            except (OSError, subprocess.SubprocessError) as error:
                raise refusal(point, f"no process can join {procs.parent}: {error}") from error
