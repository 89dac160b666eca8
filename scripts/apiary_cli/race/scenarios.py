"""The scenarios, as bench/contract/scenarios.toml tells of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from . import tables, toml_file
from .arithmetic import Sum
from .metrics import NAMED, OPERATION, PROCESSOR, THROUGHPUT, Metric, counting
from .toml_file import TomlFile

BENCH = Path(__file__).resolve().parents[3] / "bench"  # beside these scripts, wherever a race's results go
LIST = BENCH / "contract" / "scenarios.toml"
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
OF_THE_PLAN = ("blocks", "block_ms", "warmup_blocks")
SLOW_EVERY = 64  # tasks of a thread, as bench/contract/CLI.md says
FLAGS = ("open_loop", "histogram", "calibrated", "discards_tenth", "by_threads", "answer_first", "served")
FRAME = dict.fromkeys(FLAGS, toml_file.flag) | {
    "metric_class": toml_file.one_of("metric class", ("throughput", "makespan", "latency", "lateness")),
    "metrics": toml_file.names(kind="metric", known=NAMED),
    "required": toml_file.names(kind="column of a subject's row", known=tables.SUBJECT),
    "run_s": toml_file.text,
}
KINDS = FRAME | {
    "frame": toml_file.text, "parameters": toml_file.names('["n", "ops"]', 0), "words": toml_file.names('["pattern"]'),
    "what": toml_file.text, "poor": toml_file.text, "operation": toml_file.text, "slow_every": toml_file.whole(),
    "defaults": toml_file.table("{ n = 18 }"), "brief": toml_file.table("{ n = 18 }"),
}
NEEDED = ("metric_class", "metrics", "required", "run_s", "parameters", "what", "poor")
TABLES = {"frame": toml_file.table("…   ([frame.blocks])"), "scenario": toml_file.table("…   ([scenario.fib])")}


@dataclass(frozen=True)
class Scenario:
    """What the tool must know of a scenario; the subjects know the rest."""

    name: str
    frame: str  # how a run goes
    metric_class: str
    metrics: tuple[Metric, ...]
    required: tuple[str, ...]  # columns that a good row cannot leave empty
    parameters: tuple[str, ...]
    run_s: Sum  # the forecast: seconds of a run beside its process
    what: str
    poor: str  # what a poor result means
    words: tuple[str, ...] = ()  # parameters whose values are words; the others' are whole numbers
    open_loop: bool = False
    histogram: bool = False
    calibrated: bool = False  # its points get the control arm with a built-in slow-down, free ones too
    discards_tenth: bool = False  # of the latencies
    by_threads: bool = False  # posted by threads that live for one block
    served: bool = False  # asked by the load program
    answer_first: bool = False  # which is worked out serially, before the blocks
    operation: str = OPERATION  # what a row counts in `ops`
    slow_every: int = SLOW_EVERY  # of how many operations one takes the slow-down, about: where the search for it begins
    defaults: tuple[tuple[str, int], ...] = ()  # the treaty's, of the parameters that run_s names
    brief: tuple[tuple[str, str], ...] = ()  # parameters at which a run takes a moment

    def metrics_at(self, placement: str) -> tuple[Metric, ...]:
        """What is compared there; the first is what the scenario is known by. On one CPU the processor time is the
        whole cost, and who else runs does not enter it."""
        processor = counting(PROCESSOR, self.operation)
        return (processor, *self.metrics) if placement == "one_cpu" and self.metrics == THROUGHPUT else self.metrics


def read(path: Path = LIST) -> dict[str, Scenario]:
    file = TomlFile(path, "the list of scenarios", f"bench/contract/{LIST.name} of the commit")
    told = {"frame": {}, "scenario": {}} | file.record(file.read(), TABLES, "the list of scenarios")
    for name, frame in told["frame"].items():
        file.record(TABLES["frame"](file, f"frame.{name}", frame), FRAME, f"the frame {name}", f"the frame {name}")
    if not told["scenario"]:
        raise file.refuse("it has no scenario", "at least one [scenario.NAME]")
    return {name: scenario(file, name, one, told["frame"]) for name, one in told["scenario"].items()}


def scenario(file: TomlFile, name: str, own: object, frames: dict[str, dict]) -> Scenario:
    if not NAME.fullmatch(name):
        raise file.refuse(f"a scenario is called {name!r}", "at most 40 small letters, digits and _")
    of, own = f"the scenario {name}", TABLES["scenario"](file, f"scenario.{name}", own)
    frame = toml_file.one_of("frame", frames)(file, "frame", own.get("frame"))
    told = file.record(frames[frame] | own, KINDS, of, name, NEEDED)
    parameters, open_loop = told["parameters"], told.get("open_loop", False)
    if open_loop and "rate" not in parameters:
        raise file.refuse(f"{of} has no parameter rate", 'parameters = ["rate", …]', "an open loop is offered at a rate")
    for one in told.get("words", ()):
        if one not in parameters:
            raise file.unknown(f"parameter of {name}", one, parameters)
    counted = [one for one in parameters if one not in told.get("words", ())]
    for key in ("defaults", "brief"):
        told[key] = numbers(file, f"{key} of {name}", told.get(key, {}), counted)
    known = {*told["defaults"], *OF_THE_PLAN, *(("seconds", "rate") if open_loop else ())}
    operation = told.get("operation", OPERATION)
    return Scenario(name, **told | {
        "metrics": tuple(counting(metric, operation) for group in told["metrics"] for metric in NAMED[group]),
        "run_s": forecast(file, name, told["run_s"], known),
        "defaults": tuple(told["defaults"].items()),
        "brief": tuple((key, str(value)) for key, value in told["brief"].items()),
    })


def numbers(file: TomlFile, key: str, told: dict, parameters: list[str]) -> dict[str, int]:
    for name, number in told.items():
        if name not in parameters:
            raise file.unknown(f"parameter in {key}", name, parameters)
        toml_file.whole(0, 2**27)(file, f"{name} in {key}", number)
    return told


def forecast(file: TomlFile, name: str, text: str, known: set[str]) -> Sum:
    """`known` is what every point of the scenario has a number of."""
    try:
        found = Sum(text)
    except ValueError as error:
        raise file.refuse(f"run_s of {name} is {text!r}", 'run_s = "seconds"', str(error)) from error
    for one in sorted(found.names - known):
        remedy = f"one of {', '.join(sorted(known))}; a parameter's default stands in defaults = {{ {one} = 1 }}"
        raise file.refuse(f"run_s of {name} names {one}", remedy, "a point may say nothing of it")
    return found


SCENARIOS = read()
METRICS = (PROCESSOR, *dict.fromkeys(metric for one in SCENARIOS.values() for metric in one.metrics))


def metrics_of(name: str, placement: str) -> tuple[Metric, ...]:
    """What is compared of a scenario where it ran, first what it is known by; nothing where nobody knows the scenario."""
    return SCENARIOS[name].metrics_at(placement) if name in SCENARIOS else ()


def known_by(name: str, placement: str) -> Metric | None:
    return next(iter(metrics_of(name, placement)), None)
