"""What an operation consists of, where a row tells it (`forks_per_op=K`, `messages_per_op=K` and others in flags, CLI.md): its
figures for one of them. Ratios are the same either way; but two nanoseconds a fork can be read, and half a millisecond cannot."""

from __future__ import annotations

from collections import defaultdict

from ..base import stats
from ..base.say import markdown
from ..race.metrics import unit_of
from .comparing import Row, by_size, good, words_of


def table(rows: list[Row]) -> list[str]:
    """The median nanoseconds of a fork, a node, a message, a spawn or a task, by point and subject; nothing where no row tells of them."""
    found: dict[tuple, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in good(rows):
        unit = unit_of(row)
        if unit and row["row_kind"] == "measure":
            point = (row["scenario"], row["scenario_params"], row["placement"], unit[0])
            found[point][row["subject"]].append(float(row["ns_per_op"]) / unit[1])
    subjects = sorted({name for by in found.values() for name in by})
    out = []
    for (scenario, params, placement, unit), by in sorted(found.items(), key=lambda one: (by_size(one[0][:3]), one[0][3])):
        words = filter(None, (f"`{scenario}`", words_of(params), "" if placement == "free" else placement))
        out.append([" ".join(words), unit, *(f"{stats.median(by[name]):.2f}" if name in by else "–" for name in subjects)])
    return markdown(["median ns", "of a", *subjects], out)
