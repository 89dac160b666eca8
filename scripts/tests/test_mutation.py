"""Mutation: which mutants there are, how a site is named, and what counts as reviewed."""

from __future__ import annotations

import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

from apiary_cli import mutation
from apiary_cli.errors import Fault


def site(operation: str, order: str) -> mutation.Site:
    return mutation.Site("impl/queues/x.hpp", 3, 7, operation, order)


class Ladders(unittest.TestCase):
    def test_every_legal_step_down_is_taken_once(self) -> None:
        self.assertEqual(mutation.mutants(site("load", "seq_cst")), ["acquire", "relaxed"])
        self.assertEqual(mutation.mutants(site("store", "seq_cst")), ["release", "relaxed"])
        self.assertEqual(mutation.mutants(site("exchange", "seq_cst")), ["acq_rel", "acquire", "release", "relaxed"])
        self.assertEqual(mutation.mutants(site("fetch_add", "release")), ["relaxed"])
        self.assertEqual(mutation.mutants(site("fence", "seq_cst")), ["acq_rel", "acquire", "release", "dropped"])
        self.assertEqual(mutation.mutants(site("compare_exchange_weak.failure", "acquire")), ["relaxed"])
        self.assertEqual(mutation.mutants(site("load", "relaxed")), [])

    def test_a_site_is_named_as_the_engines_name_it(self) -> None:
        name = "impl/queues/x.hpp:12:34:compare_exchange_strong.failure"
        self.assertEqual(mutation.parse_site(name, "relaxed").name, name)


class Reviewed(unittest.TestCase):
    def test_the_committed_survivors_have_reasons(self) -> None:
        self.assertGreater(len(mutation.reviewed()), 0)

    def test_a_survivor_without_a_reason_is_refused(self) -> None:
        with TemporaryDirectory() as folder:
            path = Path(folder) / "survivors.csv"
            path.write_text("file,code,operation,mutant,reason\nimpl/x.hpp,a.load(),load,relaxed,\n")
            with mock.patch.object(mutation, "SURVIVORS", path), mock.patch.object(mutation.repo, "ROOT", Path(folder)):
                with self.assertRaises(Fault):
                    mutation.reviewed()

    def test_every_reviewed_survivor_names_a_line_that_exists(self) -> None:
        for file, code, _, _ in mutation.reviewed():
            lines = [" ".join(line.split("//")[0].split()) for line in (mutation.repo.ROOT / file).read_text().splitlines()]
            self.assertIn(code, lines)


if __name__ == "__main__":
    unittest.main()
