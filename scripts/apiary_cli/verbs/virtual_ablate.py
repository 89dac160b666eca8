"""virtual --ablate: every rule and number of the schedulers, otherwise than it ships, on the virtual machine."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path

from ..analysis import virtual_ablation, virtual_points
from ..base import proc, repo
from ..base.errors import Fault, USAGE, unknown
from ..base.say import counted, heading, say, table


def run(binary: Path, wanted: list[tuple[str, str]], workers: list[int], prices: Path, given: list[str], seconds: float,
        numbers: list[str], out: str | None) -> tuple[list[list[str]], list[str]]:
    """The table, and what went wrong."""
    listing = proc.run([binary, "--tunables"], timeout=30)
    if not listing.ok:
        raise Fault(f"{binary.name} --tunables {listing.how()}", listing.err)
    every = virtual_ablation.settings([line.split() for line in listing.out.splitlines()], [subject for subject, _ in wanted])
    known = sorted({one.name for one in every})
    for name in numbers:
        if name not in known:
            raise unknown("number", name, known)
    every = [one for one in every if not numbers or one.name in numbers]
    if not every:
        raise Fault("nothing to ablate", "these schedulers have no numbers of their own", "hive, coro_pool or processes", USAGE)
    tunable = {one.subject for one in every}
    points = [(subject, scenario, n) for n in sorted(workers, reverse=True) for subject, scenario in wanted if subject in tunable]
    words = ["--profile", str(prices), *(word for price in given for word in ("--price", price))]
    alike = virtual_ablation.alike(virtual_points.prices_of(prices))
    specs = [proc.Spec([binary, *map(str, key), *words, *(more for word in tuned for more in ("--tune", word)),
                        *(more for word in price for more in ("--price", word))], timeout=seconds, tag=("".join(tuned), key, "".join(price)))
             for key in points for tuned in [[], *([one.word] for one in every if one.subject == key[0])]
             for price in [[], *([one] for one in alike)]]
    runs: dict[tuple[str, tuple[str, str, int]], dict[str, float]] = defaultdict(dict)
    wrong, refused = [], defaultdict(list)
    for done in counted("ablation", proc.run_many(specs, os.cpu_count() or 1), len(specs)):
        if done.ok:
            runs[done.tag[:2]][done.tag[2]] = json.loads(done.out)["ns"]
            continue
        name, key, _ = done.tag
        if name and done.rc == USAGE:  # this scheduler cannot be so here
            refused[key[0], name].append(done.err.strip().split("\n")[0])
        else:
            wrong.append(f"{' '.join(map(str, key))} {name}: {'did not end' if done.timed_out else done.err.strip() or done.how()}")
    found = {tag: [by[price] for price in ("", *alike)] for tag, by in runs.items() if len(by) == 1 + len(alike)}
    told = virtual_ablation.rows(found, every)
    summary = virtual_ablation.table(told, every)
    heading(f"ablation with {', '.join(map(str, workers))} workers: time for each operation, otherwise than it ships")
    say(table(virtual_ablation.HEAD, summary))
    say("each point ran with blocks at three prices, 1 % apart; a difference counts where all three lie 3 % beyond all three as it ships")
    for (subject, name), said in refused.items():
        say(f"{subject} with {name} is refused in {len(said)} runs, e.g. {said[0]}")
    if out:
        repo.write_csv(Path(out), virtual_ablation.COLUMNS, told)
    return summary, wrong
