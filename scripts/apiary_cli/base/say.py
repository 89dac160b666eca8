"""What a person sees: lines, colours, and progress (a bar on a terminal, plain lines elsewhere)."""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
import time
from typing import Any, Callable, Iterable, Iterator, TextIO

UNITS = ((1e9, "s"), (1e6, "ms"), (1e3, "µs"), (1.0, "ns"))
WIDEST = 100_000  # of a table that goes into a file
CODES = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def colour(text: str, name: str, stream: TextIO | None = None) -> str:
    stream = stream or sys.stdout
    if os.environ.get("NO_COLOR") or not stream.isatty():
        return text
    return f"\x1b[{CODES[name]}m{text}\x1b[0m"


def say(*lines: str) -> None:
    Progress.hide()
    for line in lines:
        print(line, flush=True)


def heading(text: str) -> None:
    say(colour(f"== {text}", "bold"))


def warn(text: str) -> None:
    Progress.hide()
    print(colour(f"warning: {text}", "yellow", sys.stderr), file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.1f} s"
    return f"{int(seconds // 60)} min {int(seconds % 60):02d} s"


def in_prose(names: list[str]) -> str:
    """For prose: a; a and b; a, b and c."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def human(ns: float) -> str:
    """83 ns, 1.24 µs, 12.4 ms: three digits."""
    scale, unit = next(((s, u) for s, u in UNITS if abs(ns) >= s), (1.0, "ns"))
    value = ns / scale
    digits = 2 if value < 10 else 1 if value < 100 else 0
    return f"{value:.{digits}f} {unit}"


def aligned(head: Iterable[str]) -> list[tuple[str, bool]]:
    """A table's columns: each name, and whether it is aligned to the right. In a head "runs:n" is the column of numbers called
    runs, wherever the table is drawn; the macro `table` of report/templates/sections.html reads the same."""
    return [(name, kind == "n") for name, _, kind in (one.partition(":") for one in head)]


def table(head: list[str], rows: Iterable[Iterable[object]]) -> str:
    """For a terminal, by rich: no line is wider than it is, cells fold. In a file no cell is folded."""
    from rich import box, console, table, text

    rule = box.Box("    \n    \n -- \n    \n    \n    \n    \n    \n")
    made = table.Table(box=rule, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="")
    for name, right in aligned(head):
        made.add_column(text.Text(name), justify="right" if right else "left", overflow="fold")
    for row in rows:
        made.add_row(*(text.Text.from_ansi(str(cell)) for cell in row))
    live, drawn = sys.stdout.isatty(), io.StringIO()
    width = shutil.get_terminal_size().columns if live else WIDEST
    console.Console(file=drawn, width=width, force_terminal=live, highlight=False).print(made)
    return "\n".join(line.rstrip() for line in drawn.getvalue().rstrip().splitlines())


def markdown(head: list[str], rows: Iterable[Iterable[object]]) -> list[str]:
    """The lines of the same table for a page; nothing where it has no rows."""
    columns = aligned(head)
    lines = [f"| {' | '.join(map(str, cells))} |" for cells in ([name for name, _ in columns], *rows)]
    rule = "|".join("--:" if right else "---" for _, right in columns)
    return [lines[0], f"|{rule}|", *lines[1:]] if lines[1:] else []


def listing(rows: Iterable[Iterable[object]], indent: int = 2, width: int = WIDEST) -> str:
    """A table without a head, for names and what they are: the last column is wrapped below itself. Without rich, since help is read
    before that is there."""
    told = [[str(cell) for cell in row] for row in rows]
    *wide, _ = [max(map(len, column)) for column in zip(*told)] or [0]
    begin = " " * (indent + sum(wide) + 2 * len(wide))
    lines = []
    for *names, last in told:
        lead = " " * indent + "".join(f"{name:<{size}}  " for name, size in zip(names, wide))
        lines.append(textwrap.fill(last, width, initial_indent=lead, subsequent_indent=begin) or lead.rstrip())
    return "\n".join(lines)


class Progress:
    """Counted progress with the time left: as `left` tells it, or as if each took as long. On a terminal a bar (by rich,
    which draws when told and at no other time: a race is not to be disturbed); elsewhere a line at each tenth."""

    active: "Progress | None" = None

    def __init__(self, label: str, total: int, stream: TextIO | None = None, left: Callable[[], float] | None = None):
        self.label, self.total, self.done = label, max(total, 0), 0
        self.stream = stream or sys.stderr
        self.started = time.monotonic()
        self._tenth, self._last, self._told_left = -1, 0.0, left
        self._bar = self._bar_of() if self.stream.isatty() else None

    def _bar_of(self):
        from rich import progress
        from rich.console import Console

        shown = ("{task.description}", progress.BarColumn(24), progress.MofNCompleteColumn(), progress.TimeElapsedColumn())
        console = Console(file=self.stream, force_terminal=True, no_color=bool(os.environ.get("NO_COLOR")))
        bar = progress.Progress(*shown, "{task.fields[note]}", console=console, auto_refresh=False, transient=True, redirect_stderr=False)
        bar.add_task(self.label, total=self.total or None, note="")
        return bar

    def __enter__(self) -> "Progress":
        Progress.active = self
        self.update(0)
        return self

    def __exit__(self, *_: object) -> None:
        self._erase()
        Progress.active = None

    @classmethod
    def hide(cls) -> None:
        if cls.active:
            cls.active._erase()

    def advance(self, note: str = "") -> None:
        self.update(self.done + 1, note=note)

    def update(self, done: int, total: int | None = None, note: str = "") -> None:
        self.done = done
        if total is not None:
            self.total = total
        if self._bar:
            self._draw(note)
        else:
            self._line(note)

    def _fraction(self) -> float:
        return min(1.0, self.done / self.total) if self.total else 0.0

    def _left(self) -> str:
        share = self._fraction()
        as_until_now = (time.monotonic() - self.started) * (1 - share) / share if 0 < share < 1 else 0.0
        left = self._told_left() if self._told_left else as_until_now
        return f", about {duration(left)} left" if left else ""

    def _line(self, note: str) -> None:
        tenth, now = int(self._fraction() * 10), time.monotonic()
        if not self.total and now - max(self._last, self.started) < 30.0:
            return
        due = tenth > self._tenth and (now - self._last >= 2.0 or tenth in (0, 10))
        if not due and now - self._last < 30.0:
            return
        self._tenth, self._last = tenth, now
        spent, tail = now - self.started, self._left() + (f"  {note}" if note else "")
        counted = f"{self.done}/{self.total}" if self.total else "started" if not self.done else f"{self.done}"
        print(f"{self.label}: {counted} after {duration(spent)}{tail}", file=self.stream, flush=True)

    def _draw(self, note: str) -> None:
        now = time.monotonic()
        if now - self._last < 0.05 and self.done < self.total:
            return
        self._last = now
        self._bar.start()
        note = self._left() + (f"  {note}" if note else "")
        self._bar.update(self._bar.task_ids[0], completed=self.done, total=self.total or None, note=note, refresh=True)

    def _erase(self) -> None:
        if self._bar:
            self._bar.stop()


def counted(label: str, items: Iterable[Any], total: int, note: Callable[[Any], str] = lambda _: "") -> Iterator[Any]:
    """These one by one, with progress after each."""
    with Progress(label, total) as progress:
        for one in items:
            yield one
            progress.advance(note(one))
