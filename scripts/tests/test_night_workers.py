"""A cluster whose workers are all away: for a moment, and for good. A client as Dask's, whose workers do nothing."""

from __future__ import annotations

import contextlib
import io
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli.night import cluster, spread
from apiary_cli.night.store import Store
from apiary_cli.night.unit import Unit

from .nights import Client, result

UNITS = [Unit("stress", name, "/bin/true", (name,)) for name in "abc"]
BY_NAME = {unit.name: unit for unit in UNITS}


class Seldom(Client):
    """`away`: of the looks at the workers, those that find none; `counted`: and what they say of how many there are."""

    def __init__(self, away: range, counted: int) -> None:
        super().__init__({"tcp://127.0.0.1:1": {}}, lambda told, _: result(BY_NAME[told["unit"]["name"]]))
        self.away, self.counted, self.looks = away, counted, 0

    def scheduler_info(self, n_workers: int) -> dict:
        self.looks += 1
        return {"n_workers": self.counted, "workers": {}} if self.looks in self.away else super().scheduler_info(n_workers)


class Away(unittest.TestCase):
    def perform(self, away: range, comes: float, counted: int = 0) -> spread.Night:
        with TemporaryDirectory() as folder, mock.patch.multiple(cluster, COMES=comes, of_a_worker=lambda: {}), contextlib.redirect_stdout(io.StringIO()):
            store = Store(Path(folder))
            return spread.perform(UNITS, cluster.Cluster(Seldom(away, counted), store, "the scheduler x", 1, alone=True), store, 3600.0, lambda _: 1.0)

    def test_a_night_waits_for_workers_that_are_away_for_a_moment(self) -> None:
        night = self.perform(range(2, 5), comes=60.0)
        self.assertEqual((len(night.fresh), night.waiting, night.fault), (3, [], None))

    def test_an_answer_that_counts_more_workers_than_it_names_is_none(self) -> None:
        """Dask's client asks for none of them in between; no worker is away then."""
        with mock.patch.object(cluster.time, "sleep", side_effect=AssertionError("it waits for a worker that is there")):
            night = self.perform(range(2, 20), comes=60.0, counted=1)
        self.assertEqual((len(night.fresh), night.waiting, night.fault), (3, [], None))

    def test_workers_that_do_not_come_back_end_the_units_by_name_and_what_was_done_stays(self) -> None:
        night = self.perform(range(2, 10**6), comes=0.3)
        self.assertEqual((len(night.fresh), [unit.name for unit in night.waiting]), (1, ["b", "c"]))
        self.assertEqual((night.fault.seen, night.fault.cause), ("no worker of the scheduler x can do these units", "none came within 0.3 s"))


if __name__ == "__main__":
    unittest.main()
