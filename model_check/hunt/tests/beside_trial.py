"""Processor time of the trial's programs under its runtime and under this one, by turns: how many times as much the trial takes.

    beside_trial.py BUILD_FOLDER TRIAL_FOLDER [ROUNDS [PROGRAM[:RUNS]…]]

BUILD_FOLDER has the runtime (preset model); TRIAL_FOLDER has hunt.cpp and tests/. A round of a program is RUNS runs under each of the
trial's runtime, this one, and this one with a child for each run (`restarts=0`)."""

import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

COMPILE = ("g++", "-std=c++20", "-w", "-g")
SEEN = ("-fsanitize=thread", "-O1")
OURS = ("-fno-builtin", "-fno-omit-frame-pointer", "-fno-tree-loop-im", "-fno-hoist-adjacent-loads", "-fno-ipa-pure-const", "-fno-ipa-modref")
PROGRAMS = ("clean:100", "pingpong:4", "plainwork:4")


def built(build: Path, trial: Path, name: str, folder: Path) -> tuple[Path, Path]:
    """The program with the trial's runtime, and with ours."""
    source, runtime = trial / "tests" / f"{name}.cpp", folder / "trial.o"
    if not runtime.exists():
        subprocess.run([*COMPILE, "-O2", "-fno-builtin", "-c", trial / "hunt.cpp", "-o", runtime], check=True)
    theirs, ours = folder / f"{name}.trial", folder / f"{name}.ours"
    for flags, object_file in ((SEEN, f"{theirs}.o"), (SEEN + OURS, f"{ours}.o")):
        subprocess.run([*COMPILE, *flags, "-c", source, "-o", object_file], check=True)
    library = build / "model_check" / "hunt" / "libapiary_hunt.a"
    subprocess.run(["g++", f"{theirs}.o", runtime, "-rdynamic", "-pthread", "-ldl", "-o", theirs], check=True)
    subprocess.run(["g++", f"{ours}.o", "-Wl,--whole-archive", library, "-Wl,--no-whole-archive", "-rdynamic", "-no-pie", "-pthread", "-ldl",
                    "-o", ours], check=True)
    return theirs, ours


def seconds(program: Path, variables: dict[str, str], output: Path) -> float:
    """Processor time of all its processes."""
    with output.open("w") as file:
        started = subprocess.Popen([program], env=os.environ | variables, stdout=file, stderr=file)
        _, _, used = os.wait4(started.pid, 0)
    return used.ru_utime + used.ru_stime


def main() -> None:
    build, trial = (Path(one).resolve() for one in sys.argv[1:3])
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        print(f"{'program':10} {'runs':>5} {'the trial':>10} {'ours':>8} {'a child each':>13}  ms of a run;  trial / ours: quartiles, median; / a child each")
        for words in sys.argv[4:] or PROGRAMS:
            name, _, count = words.partition(":")
            runs = int(count or 100)
            theirs, ours = built(build, trial, name, folder)
            taken: list[tuple[float, ...]] = []
            for first in (1 + i * runs for i in range(rounds)):
                asked = f"runs={runs};first={first};seconds=600;out={folder}/{name}.told"
                turns = [lambda: seconds(theirs, {"HUNT_RUNS": str(runs), "HUNT_FIRST": str(first), "HUNT_TIME": "600"}, folder / "output"),
                         lambda: seconds(ours, {"APIARY_HUNT": asked}, folder / "output"),
                         lambda: seconds(ours, {"APIARY_HUNT": asked + ";restarts=0"}, folder / "output")]
                got = [0.0] * 3
                for i in range(3):
                    which = (i + len(taken)) % 3
                    got[which] = turns[which]()
                taken.append(tuple(got))
            told = (folder / f"{name}.told").read_text().splitlines()
            if any(line.startswith("run\t") for line in told):
                print(f"{name}: a run failed, so that the others were not done", file=sys.stderr)
            middle = [statistics.median(one) * 1e3 / runs for one in zip(*taken)]
            ratios = [statistics.quantiles([one[0] / one[which] for one in taken], n=4) for which in (1, 2)]
            print(f"{name:10} {runs:5} {middle[0]:10.2f} {middle[1]:8.2f} {middle[2]:13.2f}  " +
                  "  ".join(f"{low:.2f} {half:.2f} {high:.2f}" for low, half, high in ratios), flush=True)


if __name__ == "__main__":
    main()
