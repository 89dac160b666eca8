"""What a run must answer, by a third implementation: the sum of its tasks' marks, the graphs and their answers."""

from __future__ import annotations

MASK = (1 << 64) - 1


def mix(i: int) -> int:
    z = (i + 0x9E3779B97F4A7C15) & MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
    return z ^ (z >> 31)


def mark(i: int) -> int:
    return mix(i) >> 32 << 32 | 1


def expected_check(ops: int) -> str:
    return f"{sum(mark(i) for i in range(ops)) & MASK:016x}"


def cholesky(tiles: int) -> list[list[int]]:
    """The producers of each task."""
    last: dict[tuple[int, int], int] = {}
    tasks: list[list[int]] = []

    def writes(tile: tuple[int, int], *reads: tuple[int, int]) -> None:
        tasks.append(sorted({last[one] for one in (*reads, tile) if one in last}))
        last[tile] = len(tasks) - 1

    for k in range(tiles):
        writes((k, k))
        for i in range(k + 1, tiles):
            writes((i, k), (k, k))
        for i in range(k + 1, tiles):
            for j in range(k + 1, i):
                writes((i, j), (i, k), (j, k))
            writes((i, i), (i, k))
    return tasks


def layers(pattern: str, width: int, steps: int) -> list[list[int]]:
    """The producers of each task."""
    levels = max(1, (width - 1).bit_length())
    tasks: list[list[int]] = []
    before = range(0)
    for s in range(steps):
        here = range(before.stop, before.stop + (min(width, 2**s) if pattern == "tree" else width))
        for i, task in enumerate(here):
            around = range(i - 2, i + 3)
            points = {
                "stencil_1d": {i - 1, i, i + 1}, "nearest": set(around), "tree": {i // 2}, "chain": {i}, "wavefront": {i},
                "spread": {i, *((i + k * width // 5 + s % width) % width for k in range(1, 5))},
                "fft": {i - 2 ** ((s - 1) % levels), i, i + 2 ** ((s - 1) % levels)},
                "random_nearest": {i, *(p for k, p in enumerate(around) if mix(task * 8 + k) % 2)},
                "layered": {mix(task * 8 + k) % width for k in range(3)},
            }[pattern]
            beside = [task - 1] if pattern == "wavefront" and i else []
            tasks.append([before[p] for p in sorted(points) if 0 <= p < len(before)] + beside)
        before = here
    return tasks


def answer(tasks: list[list[int]], iterations: int) -> int:
    values: list[int] = []
    for number, producers in enumerate(tasks):
        x = mix((number + sum(values[p] for p in producers)) & MASK)
        for _ in range(iterations):
            x = (x * 0x9E3779B97F4A7C15 + 1) & MASK
        values.append(x)
    return (sum(values) & MASK) % 10**9
