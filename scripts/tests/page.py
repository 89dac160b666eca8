"""A page's files and commands, for tests that do what the page says, in an empty folder, as a newcomer would."""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

_NAME = re.compile(r"(?:// |# )(\S+\.(?:hpp|cpp|txt|toml))\n")


def must(condition: object, what: str, shown: str = "") -> None:
    if not condition:
        sys.exit(f"{what}\n{shown}")


def run(command: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess:
    began = time.monotonic()
    done = subprocess.run(["sh", "-c", command], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    print(f"{time.monotonic() - began:6.1f} s, status {done.returncode}: {command.strip()}\n{done.stdout[-1500:]}", flush=True)
    return done


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
