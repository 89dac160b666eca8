"""The example as a stranger's project: built against an installed prefix, and against the build folder; raced; gated.

    outside_test.py BUILD_FOLDER CXX_COMPILER"""

import csv
import shutil
import sys
import tempfile
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parent
APIARY = EXAMPLE.parents[1] / "scripts" / "apiary"
sys.path.insert(0, str(APIARY.parent / "tests"))
from page import call, install, must, race_elsewhere  # noqa: E402

PLAN = """rounds = {rounds}
[[point]]
scenario = "post_throughput"
placement = "one_cpu"
params = {{ producers = 1, batch = 1, ops = 2048 }}
"""


def built(at: Path, find: str, compiler: str) -> Path:
    """The example at `at`, configured by `find` and built. Returns the subject's program."""
    if not at.exists():
        shutil.copytree(EXAMPLE, at)
    for command in (["cmake", "-G", "Ninja", "-S", at, "-B", at / "build", find, f"-DCMAKE_CXX_COMPILER={compiler}",
                     "-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"],  # as `check` compiles subjects
                    ["cmake", "--build", at / "build"]):
        done = call(*command)
        must(done.returncode == 0, " ".join(map(str, command)), done.stdout)
    return at / "build" / "bin" / "subject_tiny_pool"


def treaty(program: Path) -> None:
    """The work is right where the pool can express it, and what it lacks is said to be unsupported."""
    for scenario, code in (("post_throughput", 0), ("fib", 0), ("timer_lateness", 3)):
        done = call(program, "run", "--scenario", scenario, "--workers", 2, "--blocks", 1, "--block-ms", 1)
        must(done.returncode == code, f"{scenario} ends with {done.returncode}, not {code}", done.stdout)


def raced(root: Path, rounds: int, *words: object) -> tuple[int, str, list[dict[str, str]]]:
    """A race of one point in a tree of its own, which has nothing of ours built. Status, output and compare.csv."""
    environment = race_elsewhere(root)
    plan = root / "plan.toml"
    plan.write_text(PLAN.format(rounds=rounds))
    done = call(APIARY, "race", "--no-build", "--no-sidecars", "--plan", plan, *words, **environment)
    tables = list((root / "results").glob("*/compare.csv"))
    must(len(tables) == 1, "the race left no result folder", done.stdout)
    with tables[0].open(newline="") as handle:
        return done.returncode, done.stdout, list(csv.DictReader(handle))


def undecided(shown: str) -> bool:
    """Over controls that a busy machine has spoilt the command decides nothing: it ends with 4 if the pool looks slower, else with 0."""
    return "Batch: INVALID" in shown


def gate(folder: Path, program: Path, slower: Path) -> None:
    """Against an older build of itself: equal is green, many times slower is red, in two batches."""
    old = shutil.copy2(program, folder / "older")
    status, shown, found = raced(folder / "same", 2, "--program", program, "--subject", "tiny_pool", "--baseline", old)
    must(status in ((0, 4) if undecided(shown) else (0,)), f"a build against its own copy ends with {status}", shown)
    must(any(row["baseline"] == "tiny_pool-base" for row in found), "nothing was compared with the baseline", shown)
    status, shown, found = raced(folder / "slower", 6, "--program", slower, "--subject", "tiny_pool", "--baseline", old)
    if undecided(shown):
        must(status in (0, 4), f"over spoilt controls the race ends with {status}", shown)
        return
    must(status == 1 and "a second batch must agree" in shown, f"a pool that is many times slower ends with {status}, not 1", shown)
    verdicts = {row["verdict"] for row in found if row["baseline"] == "tiny_pool-base" and row["metric"] == "cpu_ns_per_op"}
    must(verdicts == {"REGRESSED"}, f"its verdicts are {verdicts}", shown)


def main() -> None:
    build, compiler = Path(sys.argv[1]).resolve(), sys.argv[2]
    with tempfile.TemporaryDirectory() as name:
        folder, prefix = Path(name), Path(name) / "prefix"
        install(build, prefix)
        program = built(folder / "installed", f"-DCMAKE_PREFIX_PATH={prefix}", compiler)
        treaty(program)
        shutil.copytree(EXAMPLE, folder / "from_build_folder")
        header = folder / "from_build_folder" / "tiny_pool.hpp"
        task = "            task();\n"
        must(header.read_text().count(task) == 1, "the example has changed: no line `task();` to slow down")
        header.write_text(header.read_text().replace(task, task + "            for (volatile int i = 0; i < 20000; i = i + 1) {}\n"))
        slower = built(folder / "from_build_folder", f"-Dapiary_DIR={build}", compiler)
        treaty(slower)
        gate(folder, program, slower)


main()
