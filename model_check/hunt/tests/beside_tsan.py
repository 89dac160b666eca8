"""A gtest suite's cases under ThreadSanitizer and under the hunt: processor time of a run, seconds, and runs in a minute.

    beside_tsan.py BUILD_FOLDER SOURCE…

BUILD_FOLDER has the runtime (preset model). Each case has three turns: a run of each kind by itself under ThreadSanitizer, and five runs
of other schedules in one process of the hunt. Prints the sums of medians over all cases, and the cases in which the hunt takes longer."""

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from beside_trial import OURS

ROOT = Path(__file__).resolve().parents[3]
COMPILE = ("g++", "-std=c++20", "-w", "-g", "-O1", "-fsanitize=thread", f"-I{ROOT}/impl")
GTEST = ("-lgtest_main", "-lgtest", "-pthread")
TURNS, RUNS = 3, 5


def built(build: Path, source: Path, folder: Path) -> tuple[Path, Path]:
    theirs, ours, library = folder / "tsan", folder / "ours", build / "model_check" / "hunt" / "libapiary_hunt.a"
    subprocess.run([*COMPILE, source, *GTEST, "-o", theirs], check=True)
    subprocess.run([*COMPILE, *OURS, "-UNDEBUG", "-c", source, "-o", f"{ours}.o"], check=True)
    subprocess.run(["g++", f"{ours}.o", "-Wl,--whole-archive", library, "-Wl,--no-whole-archive", "-rdynamic", "-no-pie", *GTEST, "-ldl",
                    "-o", ours], check=True)
    return theirs, ours


def cases_of(program: Path) -> list[str]:
    cases, suite = [], ""
    for line in subprocess.run([program, "--gtest_list_tests"], capture_output=True, text=True).stdout.splitlines():
        name = line.split("#")[0].strip()
        if line.startswith("  "):
            cases.append(suite + name)
        elif name.endswith("."):
            suite = name
    return [case for case in cases if not case.startswith("GoogleTestVerification")]


def spent(words: list, variables: dict[str, str]) -> tuple[float, float]:
    """Processor time, and seconds; it must pass."""
    began = time.monotonic()
    started = subprocess.Popen(words, env=os.environ | variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, used = os.wait4(started.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, words))}: status {status}")
    return used.ru_utime + used.ru_stime, time.monotonic() - began


def main() -> None:
    build = Path(sys.argv[1]).resolve()
    for source in map(Path, sys.argv[2:]):
        sums, dearer = [0.0] * 4, []
        with tempfile.TemporaryDirectory() as place:
            theirs, ours = built(build, source, Path(place))
            cases = cases_of(theirs)
            for case in cases:
                tsan, hunt = [], []
                for turn in range(TURNS):
                    tsan.append(spent([theirs, f"--gtest_filter={case}"], {}))
                    asked = f"runs={RUNS};first={1 + turn * RUNS};seconds=600;out={place}/told"
                    hunt.append(tuple(one / RUNS for one in spent([ours, f"--gtest_filter={case}"], {"APIARY_HUNT": asked})))
                medians = [statistics.median(one) for one in (*zip(*tsan), *zip(*hunt))]
                sums = [a + b for a, b in zip(sums, medians)]
                if medians[2] > medians[0]:
                    dearer.append(case)
        print(f"{source.stem}: {len(cases)} cases; processor time {sums[0]:.2f} s under TSan, {sums[2]:.2f} hunted; seconds {sums[1]:.2f}, {sums[3]:.2f}; "
              f"runs a minute {60 / sums[1]:.0f}, {60 / sums[3]:.0f}; dearer when hunted: {', '.join(dearer) or 'none'}", flush=True)


if __name__ == "__main__":
    main()
