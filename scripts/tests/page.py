"""For tests that do what a newcomer does, outside of this tree: the package installed, a page's files and commands in an empty
folder, a race whose results stay there."""

import os
import re
import resource
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"(?:// |# )(\S+\.(?:hpp|cpp|txt|toml))\n")


def must(condition: object, what: str, shown: str = "") -> None:
    if not condition:
        sys.exit(f"{what}\n{shown}")


def outside(**more: object) -> dict[str, str]:
    """This environment without what it says about this tree, and with `more`."""
    return {k: v for k, v in os.environ.items() if not k.startswith("APIARY_")} | {k: str(v) for k, v in more.items()}


def race_elsewhere(root: Path) -> dict[str, str]:
    """Makes `root` a tree of its own, which has nothing built; returns what makes scripts/apiary race there."""
    for name in ("results", "build"):
        (root / name).mkdir(parents=True)
    (root / "CMakePresets.json").write_text('{"configurePresets": [{"name": "release"}]}')
    return {"APIARY_ROOT": str(root), "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"}


def _spent() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess:
    began, spent = time.monotonic(), _spent()
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    took = f"{time.monotonic() - began:6.1f} s, of processors {_spent() - spent:.1f} s"
    print(f"{took}, status {done.returncode}: {command.strip()}\n{done.stdout[-1500:]}", flush=True)
    return done


def call(*words: object, **environment: str) -> subprocess.CompletedProcess:
    return run(shlex.join(map(str, words)), Path.cwd(), outside(**environment))


def install(build: Path, prefix: Path) -> None:
    done = call("cmake", "--install", build, "--prefix", prefix)
    must(done.returncode == 0, "cmake --install", done.stdout)


def followed(text: str, folder: Path, environment: dict[str, str]) -> Iterator[subprocess.CompletedProcess]:
    """Writes each file of the page into `folder`, applies each diff, and gives what each block of commands came to."""
    for kind, block in re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
        named = _NAME.match(block)
        if kind == "diff":
            (folder / "page.diff").write_text(block)
            must(run("git apply -p0 --unidiff-zero page.diff", folder, environment).returncode == 0, "a diff of the page", block)
        elif kind == "sh":
            yield run(block, folder, environment)
        else:
            must(named, "a file of the page without its name", block)
            (folder / named[1]).write_text(block)
