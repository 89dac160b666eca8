"""The five minutes of README.md: every file and command of that section, in an empty folder, against an installed package.

    newcomer_test.py BUILD_FOLDER CXX_COMPILER"""

import json
import re
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "scripts" / "tests"))
from page import followed, install, must, outside, run  # noqa: E402

PAGE = Path(__file__).resolve().parents[1] / "README.md"


def main() -> None:
    build, compiler = Path(sys.argv[1]).resolve(), sys.argv[2]
    section = PAGE.read_text().split("## Five minutes")[1].split("\n## ")[0]
    # So many runs however slow the machine is.
    section = section.replace("--time 10s", "--time 120s --runs 400")
    with tempfile.TemporaryDirectory() as parent:
        prefix, folder = Path(parent) / "prefix", Path(parent) / "mailbox"
        folder.mkdir()
        environment = outside(PREFIX=prefix, CXX=compiler, APIARY=ROOT, NO_COLOR=1, PYTHONDONTWRITEBYTECODE=1)
        install(build, prefix)
        said = list(followed(section, folder, environment))
        must(len(said) == 2, f"the page has {len(said)} blocks of commands, not 2")
        buggy, mended = said
        told = next(line for line in section.splitlines() if line.startswith("== "))
        must(buggy.returncode == 1 and f"\n{told}\n" in buggy.stdout, "the lost wake is found, and told as the page says", buggy.stdout)
        must("waits: condition wait" in buggy.stdout and "mailbox.hpp:" in buggy.stdout, "with who waits, and where", buggy.stdout)
        must("mailbox.wakes_its_taker" in (folder / "hunt.html").read_text(), "the page is written")
        must(mended.returncode == 0 and re.search(r"mailbox\.keeps_a_letter +[1-9]", mended.stdout), "the mended one is silent", mended.stdout)

        replay = re.search(r"^replay: cd \S+ && (\S+/scripts/apiary hunt --seed \S+ -- \S+ \S+)$", buggy.stdout, re.M)
        must(replay, "its verdict has a line that replays it", buggy.stdout)
        done = run(replay[1], folder, environment)
        must(done.returncode == 2 and "the seed is of build" in done.stdout, "a seed of another build is refused", done.stdout)


main()
