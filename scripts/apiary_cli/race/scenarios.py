"""The scenarios, as bench/contract/scenarios.toml tells of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from . import tables
from .arithmetic import Sum
from .metrics import NAMED, OPERATION, PROCESSOR, THROUGHPUT, Metric, counting
from .toml_file import TomlFile

BENCH = Path(__file__).resolve().parents[3] / "bench"  # beside these scripts, wherever a race's results go
LIST = BENCH / "contract" / "scenarios.toml"
CLASSES = ("throughput", "makespan", "latency", "lateness")
NAME = re.compile(r"[a-z][a-z0-9_]{0,39}")
OF_THE_PLAN = ("blocks", "block_ms", "warmup_blocks")
FLAGS = ("open_loop", "histogram", "calibrated", "discards_tenth", "by_threads", "answer_first")
FRAME_KEYS = ("metric_class", "metrics", "required", "run_s", *FLAGS)
KEYS = (*FRAME_KEYS, "frame", "parameters", "words", "what", "poor", "operation", "slow_every", "defaults", "brief")
SLOW_EVERY = 64  # tasks of a thread, as bench/contract/CLI.md says
NEEDED = ("metric_class", "metrics", "required", "run_s", "parameters", "what", "poor")


@dataclass(frozen=True)
class Scenario:
    """What the tool must know of a scenario; the subjects know the rest."""

    name: str
    frame: str  # how a run goes
    metric_class: str
    metrics: tuple[Metric, ...]
    required: tuple[str, ...]  # columns that a good row cannot leave empty
    parameters: tuple[str, ...]
    words: tuple[str, ...]  # of these, those whose values are words; the others' are whole numbers
    run_s: Sum  # the forecast: seconds of a run beside its process
    what: str
    poor: str  # what a poor result means
    open_loop: bool = False
    histogram: bool = False
    calibrated: bool = False  # its points get the control arm with a built-in slow-down, free ones too
    discards_tenth: bool = False  # of the latencies
    by_threads: bool = False  # posted by threads that live for one block
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
    told = file.read()
    file.only(told, ("frame", "scenario"), "the list of scenarios")
    frames = file.table("frame", told.get("frame", {}), "…   ([frame.blocks])")
    for name, frame in frames.items():
        file.only(file.table(f"frame.{name}", frame, "…   ([frame.blocks])"), FRAME_KEYS, f"the frame {name}")
    found = file.table("scenario", told.get("scenario", {}), "…   ([scenario.fib])")
    if not found:
        raise file.refuse("it has no scenario", "at least one [scenario.NAME]")
    return {name: scenario(file, name, one, frames) for name, one in found.items()}


def scenario(file: TomlFile, name: str, own: object, frames: dict[str, dict]) -> Scenario:
    if not NAME.fullmatch(name):
        raise file.refuse(f"a scenario is called {name!r}", "at most 40 small letters, digits and _")
    of = f"the scenario {name}"
    file.only(file.table(f"scenario.{name}", own, "…   ([scenario.fib])"), KEYS, of)
    frame = file.text(f"frame of {name}", own.get("frame"))
    if frame not in frames:
        raise file.unknown("frame", frame, frames)
    told = frames[frame] | own
    for key in NEEDED:
        if key not in told:
            raise file.refuse(f"{of} has no {key}", f"the comment at its head says what {key} is")
    kind = told["metric_class"]
    if kind not in CLASSES:
        raise file.unknown("metric class", kind, CLASSES)
    operation = file.text(f"operation of {name}", told.get("operation", OPERATION))
    groups = chosen(file, f"metrics of {name}", told["metrics"], NAMED, "metric")
    parameters = file.names(f"parameters of {name}", told["parameters"], '["n", "ops"]')
    flags = {key: file.flag(f"{key} of {name}", told[key]) for key in FLAGS if key in told}
    open_loop = flags.get("open_loop", False)
    if open_loop and "rate" not in parameters:
        raise file.refuse(f"{of} has no parameter rate", 'parameters = ["rate", …]', "an open loop is offered at a rate")
    words = chosen(file, f"words of {name}", told["words"], parameters, f"parameter of {name}") if "words" in told else ()
    counted = tuple(one for one in parameters if one not in words)
    defaults = numbers(file, f"defaults of {name}", told.get("defaults", {}), counted)
    brief = numbers(file, f"brief of {name}", told.get("brief", {}), counted)
    return Scenario(
        name,
        frame,
        kind,
        tuple(counting(metric, operation) for group in groups for metric in NAMED[group]),
        chosen(file, f"required of {name}", told["required"], tables.SUBJECT, "column of a subject's row"),
        parameters,
        words,
        forecast(file, name, told["run_s"], {*defaults, *OF_THE_PLAN, *(("seconds", "rate") if open_loop else ())}),
        file.text(f"what of {name}", told["what"]),
        file.text(f"poor of {name}", told["poor"]),
        **flags,
        operation=operation,
        slow_every=file.whole(f"slow_every of {name}", told.get("slow_every", SLOW_EVERY)),
        defaults=tuple(defaults.items()),
        brief=tuple((key, str(value)) for key, value in brief.items()),
    )


def chosen(file: TomlFile, key: str, value: object, known: object, kind: str) -> tuple[str, ...]:
    """At least one of these names."""
    names = file.names(key, value, f'["{next(iter(known))}"]')
    for one in names:
        if one not in known:
            raise file.unknown(kind, one, known)
    if not names:
        raise file.refuse(f"{key} is empty", f"at least one {kind}")
    return names


def numbers(file: TomlFile, key: str, value: object, parameters: tuple[str, ...]) -> dict[str, int]:
    told = file.table(key, value, "{ n = 18 }")
    for name, number in told.items():
        if name not in parameters:
            raise file.unknown(f"parameter in {key}", name, parameters)
        file.whole(f"{name} in {key}", number, 0)
    return told


def forecast(file: TomlFile, name: str, text: object, known: set[str]) -> Sum:
    """`known` is what every point of the scenario has a number of."""
    try:
        found = Sum(file.text(f"run_s of {name}", text))
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
