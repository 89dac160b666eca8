"""What the tests share: running the command as a person would, in a made-up repository."""

from __future__ import annotations

import contextlib
import os
import runpy
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import unittest
from pathlib import Path
from typing import Callable, NoReturn

from . import fakes

APIARY = Path(__file__).resolve().parents[1] / "apiary"
REAL_ROOT = Path(__file__).resolve().parents[2]


def environment(root: Path) -> dict[str, str]:
    """The command keeps its compiled code in build/ of these scripts: compiled at each start, it takes three times as long."""
    left_out = ("APIARY_ROOT", "GITHUB_STEP_SUMMARY", "PYTHONDONTWRITEBYTECODE")
    kept = {key: value for key, value in os.environ.items() if key not in left_out}
    return kept | {"APIARY_ROOT": str(root), "NO_COLOR": "1"}


def start(root: Path, *words: str, **options) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, str(APIARY), *words],
        env=environment(root),
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **options,
    )


def apiary(root: Path, *words: str) -> subprocess.CompletedProcess:
    """As `start`, to its end, but in a fork of this process, which has read Python's own modules and the libraries already:
    less than half of what a start costs. The command's own are read anew, since they take their tree from the environment."""
    import jinja2  # noqa: F401
    import numpy  # noqa: F401

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if not child:
            be_apiary(environment(root), words, out.fileno(), err.fileno())
        ended = select.poll()
        handle = os.pidfd_open(child)
        ended.register(handle, select.POLLIN)
        if not ended.poll(300_000):
            os.kill(child, signal.SIGKILL)
        os.close(handle)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        told = []
        for file in (out, err):
            file.seek(0)
            told.append(file.read().decode())
    if code == -signal.SIGKILL:
        raise subprocess.TimeoutExpired(words, 300, *told)
    return subprocess.CompletedProcess(words, code, *told)


def be_apiary(env: dict[str, str], words: tuple[str, ...], out: int, err: int) -> NoReturn:
    """What a new process would be: its environment, three open files, and no module of the command."""
    code = 1
    try:
        os.environ.clear()
        os.environ.update(env)
        for given, wanted in ((os.open(os.devnull, os.O_RDONLY), 0), (out, 1), (err, 2)):
            os.dup2(given, wanted)
        os.closerange(3, 1 << 16)
        sys.stdin = open(0, closefd=False)
        sys.stdout = open(1, "w", closefd=False)
        sys.stderr = open(2, "w", buffering=1, errors="backslashreplace", closefd=False)
        for name in [name for name in sys.modules if name.partition(".")[0] == "apiary_cli"]:
            del sys.modules[name]
        sys.argv = [str(APIARY), *words]
        runpy.run_path(str(APIARY), run_name="__main__")
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else 0 if ended.code is None else 1
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


def processes_of(folder: Path) -> list[str]:
    """The command lines of live processes that name a folder."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            line = Path(f"/proc/{entry}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
            state = Path(f"/proc/{entry}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if str(folder) in line and state != "Z":
            found.append(line)
    return found


def comes_true(what: Callable[[], object], seconds: float = 120) -> bool:
    """Whether it does, in a time that no machine that works needs."""
    limit = time.monotonic() + seconds
    while not what():
        if time.monotonic() > limit:
            return False
        time.sleep(0.02)
    return True


def content(root: Path) -> dict[str, bytes]:
    """Every file below, without the place of the tree itself."""
    found = (path for path in sorted(root.rglob("*")) if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes().replace(bytes(root), b"ROOT") for path in found}


class Races:
    """What races of this process left in their trees. A race of fakes takes seconds and, begun from the same files by the same
    words, always says the same: tests that ask different things of one race run it once."""

    def __init__(self) -> None:
        self.kept: dict[object, tuple[Path, Path, subprocess.CompletedProcess]] = {}

    def run(self, root: Path, *words: str) -> subprocess.CompletedProcess:
        key = tuple(word.replace(str(root), "ROOT") for word in words), tuple(content(root).items())
        if key in self.kept:
            kept, place, done = self.kept[key]
            self.copy(kept, root, bytes(place), bytes(root))
            moved = [text.replace(str(place), str(root)) for text in (done.stdout, done.stderr)]
            return subprocess.CompletedProcess(words, done.returncode, *moved)
        done = apiary(root, *words)
        kept = Path(self.holder()) / str(len(self.kept))
        self.copy(root, kept, b"", b"")
        self.kept[key] = kept, root, done
        return done

    def holder(self) -> str:
        if not hasattr(self, "folder"):
            self.folder = tempfile.TemporaryDirectory(prefix="apiary-races-")
        return self.folder.name

    @staticmethod
    def copy(old: Path, new: Path, place: bytes, other: bytes) -> None:
        """All files, with their times and modes; where the old tree's place is written, the new one's."""
        for path in sorted(old.rglob("*")):
            target = new / path.relative_to(old)
            if path.is_dir():
                target.mkdir(parents=True, exist_ok=True)
            else:
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(path, target)
                text = path.read_bytes()
                if place and place in text:
                    target.write_bytes(text.replace(place, other))
                    shutil.copystat(path, target)


RACES = Races()


class TreeCase(unittest.TestCase):
    """A test with an empty made-up repository in self.root."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory(prefix="apiary-test-")
        self.addCleanup(holder.cleanup)
        self.root = fakes.tree(Path(holder.name))
        self.named: list[str] = []

    def subjects(self, *given: dict) -> list[Path]:
        """Fake subjects in the manifest of the release preset."""
        folder = self.root / "build" / "release" / "bin"
        programs = [fakes.subject(folder / f"program{i}", **one) for i, one in enumerate(given)]
        fakes.manifest(self.root, "release", "subjects", programs)
        self.named = [one["name"] for one in given if one.get("behaviour") != "no_version"]
        return programs

    def race(self, *words: str) -> subprocess.CompletedProcess:
        """Races all of them, unless the words say which. The fakes take no time for what they claim: they are believed,
        unless a test is about that."""
        words = words if "--audit" in words else (*words, "--believe")
        words = tuple(word for word in words if word != "--audit")
        if not {"--subject", "--plan", "--program"} & set(words):
            words = (*words, *(word for name in self.named for word in ("--subject", name)))
        return RACES.run(self.root, "race", "--no-build", "--no-sidecars", "--seed", "7", "--repeats", "0", *words)

    def one_point(self) -> tuple[str, str]:
        """Words for a race of one point, which is all that most tests need: it gates, and other work on the machine
        does not repeat it."""
        path = self.root / "build" / "one_point.toml"
        point = 'scenario = "post_throughput"\nparams = { batch = 1, producers = 1 }\nplacement = "one_cpu"\n'
        path.write_text(f"rounds = 1\n[[point]]\n{point}")
        return "--plan", str(path)

    def result(self) -> Path:
        """The one result folder."""
        folders = list((self.root / "results").iterdir())
        self.assertEqual(len(folders), 1, folders)
        return folders[0]
