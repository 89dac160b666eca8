"""Source packages of the archives that this system installs from: by apt-get with lists of its own, which most machines lack for
sources, so that nothing of the system's is changed. apt-get holds them to the archive's signature. Standard library only."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Iterable

from . import packages, proc

TARGETS = ["apt-get", "indextargets", "--format", "$(SITE) $(RELEASE) $(COMPONENT)", "Created-By: Packages"]


def lists(targets: str, codename: str) -> str:
    """From what apt-get says of its archives, those of the system itself: another's packages may have no sources."""
    found = [line.split() for line in targets.splitlines()]
    return "".join(f"deb-src {' '.join(one)}\n" for one in sorted(found) if len(one) == 3 and codename and one[1].split("-")[0] == codename)


def download(wanted: str, folder: Path) -> tuple[Path | None, str]:
    """The archive NAME_VERSION.orig.tar.* of NAME or NAME=VERSION, in that folder; or None, and what apt-get said. Further ones
    in the same folder go by the lists that the first has fetched."""
    if not shutil.which("apt-get"):
        return None, "there is no apt-get"
    first = not (folder / "sources.list").exists()
    if first:
        for name in ("lists/partial", "cache/archives/partial"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        known = lists(proc.run(TARGETS).out, packages.read_os_release().get("VERSION_CODENAME", ""))
        (folder / "sources.list").write_text(known)
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::SourceList={folder}/sources.list", "-o", "Dir::Etc::SourceParts=/dev/null",
           "-o", f"Dir::State::Lists={folder}/lists", "-o", f"Dir::Cache={folder}/cache", "-o", "APT::Sandbox::User=root",
           "-o", "Acquire::Retries=5"]
    if first:
        proc.run([*apt, "update"], cwd=folder)  # one of several archives may not answer
    done = proc.run([*apt, "source", "--download-only", wanted], cwd=folder, merge=True)
    archives = sorted(folder.glob(f"{wanted.split('=')[0]}_*.orig.tar.*"))
    archives = [one for one in archives if one.suffix != ".asc"]
    return (archives[0], "") if done.ok and archives else (None, done.out)


def unpack(archive: Path, folder: Path, parts: tuple[str, ...] = ()) -> str:
    """What its authors released, without Debian's changes: all of it, or these parts (globs). Where that fails, what was said."""
    folder.mkdir(parents=True)
    done = proc.run(["tar", "-xf", archive, "-C", folder, "--strip-components=1", "--wildcards", *parts], merge=True)
    return "" if done.ok else f"tar {done.how()}: {done.out}"


def fetch(wanted: Iterable[packages.Package]) -> Iterable[tuple[packages.Package, str]]:
    """Each into its folder, whole or not at all; where it cannot be had, with the reason."""
    packages.SOURCES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=packages.SOURCES) as name:
        for package in wanted:
            made = Path(name) / "made" / package.name
            archive, said = download(f"{package.name}={package.version}", Path(name))
            said = unpack(archive, made) if archive else said or "apt-get said nothing"
            if not said:
                package.place(made)
            yield package, said
