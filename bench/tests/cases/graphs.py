"""Task graphs, each made here a third time."""

from __future__ import annotations

from pathlib import Path

from expected import answer, cholesky, layers

from . import subject
from .subject import Case, listed, ONE_BLOCK

class Graphs(Case):
    """The graphs, made here a third time: tasks, edges, and the answer of the values that went along the edges."""

    def graph(self, tasks: list[list[int]], *params: str, iterations: int = 0, workers: int = 2, form: str = "graph") -> None:
        words = [word for param in ("ops=3", f"iterations={iterations}", *params) for word in ("--param", param)]
        row = self.run_ok(form, 3, *words, *ONE_BLOCK, workers=workers)
        told = f"tasks_per_op={len(tasks)};edges_per_op={sum(map(len, tasks))};answer={answer(tasks, iterations)}"
        self.assertRegex(row["flags"], rf"^{told};bytes_each=\d+$")

    def test_every_pattern(self) -> None:
        for pattern in ("stencil_1d", "nearest", "spread", "fft", "tree", "random_nearest", "chain", "wavefront", "layered"):
            for width, steps in ((1, 5), (2, 30), (9, 20)):
                with self.subTest(pattern=pattern, width=width, steps=steps):
                    self.graph(layers(pattern, width, steps), f"pattern={pattern}", f"width={width}", f"steps={steps}")

    def test_cholesky(self) -> None:
        for tiles in (1, 2, 7):
            with self.subTest(tiles=tiles):
                self.graph(cholesky(tiles), "pattern=cholesky", f"width={tiles}")

    def test_kernels(self) -> None:
        self.graph(layers("nearest", 4, 30), "pattern=nearest", "width=4", "steps=30", iterations=13)

    def test_one_worker(self) -> None:
        self.graph(layers("wavefront", 5, 30), "pattern=wavefront", "width=5", "steps=30", workers=1)

    def test_a_graph_that_was_built_once_runs_again(self) -> None:
        for workers in (1, 2):
            for pattern, width, steps in (("stencil_1d", 9, 20), ("tree", 9, 20), ("wavefront", 5, 30), ("chain", 1, 50)):
                with self.subTest(pattern=pattern, workers=workers):
                    params = f"pattern={pattern}", f"width={width}", f"steps={steps}"
                    self.graph(layers(pattern, width, steps), *params, workers=workers, form="graph_again")
        self.graph(cholesky(7), "pattern=cholesky", "width=7", iterations=13, form="graph_again")

    def test_a_graph_that_is_made_of_submitted_tasks_does_not_run_again(self) -> None:
        name = Path(subject.PROGRAM).name.removeprefix("subject_")
        if name in ("task_graph", "task_graph_min_clock", "openmp", "libomp", "starpu"):
            self.assertIn("graph", listed())
            self.assert_unsupported("graph_again")

    def test_the_slow_down_is_in_every_64th_task(self) -> None:
        row = self.run_ok("graph", 2, "--param", "ops=2", "--param", "steps=80", *ONE_BLOCK, "--slowdown-ns", 2_000_000)
        self.assertGreaterEqual(int(row["wall_ns"]), 2 * (640 // 64 - 2) * 1_000_000)  # by two threads at most

    def test_refusals(self) -> None:
        self.assert_refused("16777216 tasks", "graph", "width=4096", "steps=4097")
        self.assert_refused("stencil_1d", "graph", "pattern=star")
