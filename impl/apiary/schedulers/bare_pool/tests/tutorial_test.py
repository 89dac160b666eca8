"""TUTORIAL.md: every file and command of that page, in an empty folder, against an installed package.

    tutorial_test.py BUILD_FOLDER CXX_COMPILER [short]

`short` is what `check` runs: the same steps, in programs that are compiled without optimisation, and a race of two rounds."""

import re
import sys
import tempfile
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "TUTORIAL.md"
APIARY = PAGE.parents[4]
sys.path.insert(0, str(APIARY / "scripts" / "tests"))
from page import followed, install, must, outside, race_elsewhere  # noqa: E402


def main() -> None:
    build, compiler = Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as parent:
        prefix, folder, races = (Path(parent) / name for name in ("prefix", "my_pool", "races"))
        folder.mkdir()
        # The page's CMakeLists.txt says Release unless a build type is given; None has no flags, and compiles in half of the time.
        short = {"CMAKE_BUILD_TYPE": "None"} if sys.argv[3:] == ["short"] else {}
        environment = outside(PREFIX=prefix, CXX=compiler, APIARY=APIARY, **race_elsewhere(races), **short)
        install(build, prefix)
        page = PAGE.read_text()
        if short:  # two rounds cost seconds, and show that the race runs; a figure they are not
            page = page.replace("rounds = 10", "rounds = 2")
        said = list(followed(page, folder, environment))
        must(len(said) == 7, f"the page has {len(said)} blocks of commands, not 7")
        _, copied, buggy, fixed, weakened, _, raced = said
        must(all(done.returncode == 0 for done in said[:2]) and re.search(r"pass +my_pool_lives +explorer exhaustive", copied.stdout),
             "the copy is proved and stressed", copied.stdout)
        must(buggy.returncode == 1 and re.search(r"FAIL +my_pool_waits +explorer .*deadlock", buggy.stdout)
             and re.search(r"wait idle_ .*my_pool\.hpp:\d+", buggy.stdout), "the lost wake is caught", buggy.stdout)
        must(fixed.returncode == 0 and re.search(r"pass +my_pool_waits +explorer exhaustive", fixed.stdout), "the mutex mends it", fixed.stdout)
        for order in ("load +acquire -> relaxed", "fetch_sub +release -> relaxed"):
            must(re.search(rf"my_pool\.hpp:\S+{order} +killed by my_pool_waits", weakened.stdout), f"{order} is needed", weakened.stdout)
        must(said[5].returncode == 0, "the stress passes", said[5].stdout)
        # So few rounds decide nothing (4), or that the pool is slower than its copy (1), or not (0).
        tables = list(races.glob("results/*/compare.csv"))
        must(raced.returncode in (0, 1, 4) and len(tables) == 1 and "my_pool-base" in tables[0].read_text(),
             "the race against the copy", raced.stdout)


main()
