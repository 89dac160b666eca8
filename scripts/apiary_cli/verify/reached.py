"""What a hunt reached (hunt --reach): of each case how many of its places two threads came to together; of all cases of a program the
places where they never did, and the waits that no thread entered."""

from __future__ import annotations

from pathlib import Path

from ..base.say import table
from .hunting import Found, Places

STATES = ("one thread", "never together", "met")  # the best of all cases counts
WAITS = ("", "never waited", "waited")
COLUMNS = ("sites", "by_two", "met", "pairs", "waits", "waited", "freed", "used_again")
SHOWN = 20


class Reached:
    def __init__(self) -> None:
        self.cases: dict[str, dict] = {}  # name -> its counts, and what would reach more
        self.sites: dict[Path, dict[tuple[int, str], list]] = {}  # of each program: place and operation -> times, state, wait

    def add(self, case: str, program: Path, found: Found) -> None:
        self.cases[case] = found.reach | {"knobs": found.knobs}
        sites = self.sites.setdefault(program, {})
        for site in found.sites:
            key = (int(site["place"], 16), site["operation"])
            times, state, wait = sites.get(key, (0, STATES[0], WAITS[0]))
            sites[key] = [times + int(site["times"]), max(state, site["state"], key=STATES.index), max(wait, site["wait"], key=WAITS.index)]

    def of_cases(self) -> str:
        return table(["case", "places:n", "of two threads:n", "together:n", "pairs:n", "waits:n", "entered:n", "blocks freed:n", "used again:n"],
                     [[name, *(str(one[key]) for key in COLUMNS)]
                      for name, one in self.cases.items()])

    def missed(self, program: Path) -> list[dict]:
        """Places of the program's own that no case reached with two threads together, and waits that none entered; the most used first."""
        missed = {key: one for key, one in self.sites[program].items() if one[1] == STATES[1] or one[2] == WAITS[1]}
        places = Places(program, 0)
        places.learn({place for place, _ in missed})
        rows = [{"place": places.short(place), "operation": operation, "times": times,
                 "why": ", ".join(filter(None, [state if state == STATES[1] else "", wait if wait == WAITS[1] else ""]))}
                for (place, operation), (times, state, wait) in missed.items()
                if place in places.known and not places.known[place][0].startswith("/usr/")]
        return sorted(rows, key=lambda row: (-row["times"], row["place"]))

    def report(self) -> list[str]:
        lines = [self.of_cases()]
        for case, one in self.cases.items():
            lines += [f"{case}: {knob}" for knob in one["knobs"]]
        for program in self.sites:
            if missed := self.missed(program):
                lines += ["", f"{program.name}: places of two threads that never met there, and waits that none entered: {len(missed)}"
                          + (f", of which {SHOWN} are told" if len(missed) > SHOWN else ""),
                          table(["place", "operation", "times:n", ""],
                                [[row["place"], row["operation"], str(row["times"]), row["why"]] for row in missed[:SHOWN]])]
        return lines
