"""A night on a cluster: what a worker gets, runs and gives back. Dask is a stand-in here."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

from apiary_cli.base.errors import Fault
from apiary_cli.night import child, cluster
from apiary_cli.night.unit import Unit

from .nights import Client, result, Units


class KilledWorker(Exception):
    """By its name, as Dask has it."""


class Clusters(Units):
    def setUp(self) -> None:
        super().setUp()
        here = self.folder / "worker"
        here.mkdir()
        fake = types.SimpleNamespace(__version__="1", Client=lambda *_, **__: Client({}),
                                     get_worker=lambda: types.SimpleNamespace(local_directory=str(here)))
        for change in (mock.patch.dict(sys.modules, distributed=fake), mock.patch.object(cluster, "ready"), mock.patch.object(cluster, "COMES", 0.01)):
            change.start()
            self.addCleanup(change.stop)
        data = self.folder / "data"
        data.write_text("8\n")
        program = self.program("reads", "#!/bin/sh\ncat $1\nexit 3\n")
        self.units = [Unit("stress", "reads", program, ("{data}",), (("data", str(data)),), replay="again")]

    def test_a_unit_comes_back_from_a_worker_as_from_here(self) -> None:
        client = Client({"tls://a": {}})
        night = self.perform(cluster.Cluster(client, self.store, "the scheduler x", 1))
        (told,) = night.results.values()
        self.assertEqual((told["rc"], told["output"], told["line"], night.fresh), (3, "8", "again", {self.units[0].key}))
        self.assertEqual(client.asked, [(["tls://a"], [])])
        self.assertLessEqual({"apiary_cli/__init__.py", "apiary_cli/night/guard.py", "apiary_cli/base/repo.py"}, set(client.names))

    def test_a_worker_that_does_not_see_the_store_is_sent_what_it_needs(self) -> None:
        client = Client({"tls://a": {}})
        client.does = lambda told, sent: cluster.do_unit(told | {"token": "another"}, sent)
        night = self.perform(cluster.Cluster(client, self.store, "x", 1))
        self.assertEqual(([one["rc"] for one in night.results.values()], [len(sent) for _, sent in client.asked]), ([3], [0, 2]))

    def test_a_program_that_was_cut_short_on_the_way_gives_no_result(self) -> None:
        client = Client({"tls://a": {}})
        client.does = lambda told, sent: cluster.do_unit(told | {"token": "another"}, {name: data[:3] for name, data in sent.items()})
        with self.assertRaisesRegex(ValueError, "came as another file"):
            self.perform(cluster.Cluster(client, self.store, "x", 1))

    def test_workers_that_differ_are_refused_by_name_and_get_nothing(self) -> None:
        workers = {"tls://a": {}, "tls://b": {"libc": "musl 1"}, "tls://c": {"processor": "aarch64"}, "tls://d": {"Python": "3.8"},
                   "tls://e": {"distributed": "0"}, "tls://f": None}
        client = Client(workers)
        engine = cluster.Cluster(client, self.store, "x", 1)
        self.perform(engine)
        self.assertEqual(client.asked, [(["tls://a"], [])])
        for name, why in (("b", "libc musl 1 and not "), ("c", "processor aarch64"), ("d", "Python 3.8"), ("e", "distributed 0"), ("f", "does not answer")):
            self.assertIn(f"worker tls://{name} was refused: ", "\n".join(engine.notes))
            self.assertIn(why, "\n".join(engine.notes))
        del workers["tls://a"]
        with self.assertRaisesRegex(Fault, "no worker of x can do these units"):
            cluster.Cluster(client, self.store, "x", 1)
        self.assertIn("and the programs are for", cluster.do_unit({"machine": {"libc": "musl"}}, {})["refused"])

    def test_how_a_cluster_fails_is_told(self) -> None:
        for does, how in ((KilledWorker("x"), "killed its worker 3 times"), (OSError("odd"), "its worker said: OSError('odd'), 3 times")):
            client = Client({"tls://a": {}}, lambda *_: does)
            night = self.perform(cluster.Cluster(client, self.store, "x", 1))
            self.assertIn(how, next(iter(night.results.values()))["how"])
        night = self.perform(cluster.Cluster(Client({"tls://a": {}}, lambda *_: None), self.store, "x", 1))
        self.assertIn("x went away", night.fault.seen)
        client = Client({"tls://a": {}})
        engine = cluster.Cluster(client, self.store, "x", 1)
        client.status = "closed"
        self.assertIn("x went away", self.perform(engine).fault.seen)
        client = Client({"tls://a": {}})
        engine = cluster.Cluster(client, self.store, "x", 1)
        client.scheduler_info = mock.Mock(side_effect=OSError("Stream is closed"))
        fault = self.perform(engine).fault
        self.assertEqual((fault.seen, fault.cause), ("x went away", "Stream is closed"))

    def test_only_tls_or_loopback_and_the_same_versions(self) -> None:
        for address, why in (("tcp://10.0.0.1:8786", "neither TLS nor loopback"), ("http://a:1", "no address"), ("a", "no address"),
                             ("tls://a:1", "has other versions"), ("tcp://127.0.0.1:1", "has other versions")):
            with self.assertRaisesRegex(Fault, why):
                cluster.of_a_team(address, self.store)
        with mock.patch.object(sys.modules["distributed"], "Client", side_effect=OSError("refused")):
            with self.assertRaisesRegex(Fault, "the scheduler tls://a:1 does not answer"):
                cluster.of_a_team("tls://a:1", self.store)

    def test_what_a_worker_runs_is_in_the_archive_and_needs_no_checkout(self) -> None:
        """The worker's own process imports the module of each function that it is sent."""
        packed, modules = cluster.archive(self.folder), {one.__module__ for one in (cluster.of_a_worker, cluster.do_unit)}
        unit = {"kind": "stress", "name": "a", "words": (), "environment": (), "salt": "", "limit": 9.0, "memory": 0, "reads": "status", "place": "", "replay": ""}
        program = Path("/bin/true").read_bytes()
        name = hashlib.sha256(program).hexdigest()
        told = {"machine": child.machine(), "store": "/nowhere", "token": "", "program": name, "called": "true", "files": [], "unit": unit}
        code = f"""import sys, types, importlib
sys.path.insert(0, {str(packed)!r})
sys.modules["distributed"] = types.SimpleNamespace(__version__="0", get_worker=lambda: types.SimpleNamespace(local_directory={str(self.folder)!r}))
for name in {sorted(modules)!r}:
    found = importlib.import_module(name)
sent = {{{name!r}: open("/bin/true", "rb").read()}}
print(found.of_a_worker()["Python"], found.do_unit({told!r}, sent)["rc"])
"""
        done = subprocess.run([sys.executable, "-IS", "-c", code], capture_output=True, text=True, cwd=self.folder, check=False)
        self.assertEqual((done.returncode, done.stdout), (0, f"{sys.version_info[0]}.{sys.version_info[1]} 0\n"), done.stderr[-1500:])

    def test_what_needs_this_checkout_runs_here(self) -> None:
        self.units = [self.units[0].with_(tree=True)]
        client = Client({"tls://a": {}}, self.fail)
        self.assertEqual([one["rc"] for one in self.perform(cluster.Cluster(client, self.store, "x", 1)).results.values()], [3])
        (here,), there = self.units, self.units[0].with_(tree=False)
        client.does = lambda *_: result(there)
        for alone, takes in ((False, True), (True, False)):
            engine = cluster.Cluster(client, self.store, "x", 2, alone=alone)
            engine.submit(there)
            self.assertEqual((engine.takes(there), engine.takes(here)), (False, takes), "of this machine no processor has two")


if __name__ == "__main__":
    unittest.main()
