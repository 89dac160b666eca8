#!/usr/bin/env python3
"""Every check is known to see something: listing_test.py MANIFEST…. It names what it must reach, or an exhibit of its own,
which some program has and which some engine must see."""
import json
import subprocess
import sys
import unittest
from pathlib import Path

MANIFESTS = [Path(name) for name in sys.argv[1:]]
del sys.argv[1:]


def listed(program):
    done = subprocess.run([program, "--list", "--json"], capture_output=True, text=True, timeout=300, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def without_evidence(entries):
    """The checks that nothing shows to work, each with what is missing."""
    exhibits = {e["name"] for e in entries if e["kind"] == "exhibit" and e["must_see"]}
    wrong = []
    for e in entries:
        if e["kind"] != "check":
            continue
        if e["exhibit"] and e["exhibit"] not in exhibits:
            wrong.append(f"{e['name']}: its exhibit '{e['exhibit']}' is in no program of {' '.join(map(str, MANIFESTS))}")
        elif not e["exhibit"] and not e["must_reach"]:
            wrong.append(f"{e['name']}: has neither must_reach nor exhibit")
    return wrong


class Listing(unittest.TestCase):
    def test_every_check_has_must_reach_or_an_exhibit(self):
        entries = [e for manifest in MANIFESTS for program in manifest.read_text().split() for e in listed(program)]
        self.assertGreater(sum(e["kind"] == "check" for e in entries), 100)
        self.assertEqual(without_evidence(entries), [])

    def test_it_is_seen_where_one_has_not(self):
        exhibit = {"name": "e", "kind": "exhibit", "must_see": ["explorer"], "exhibit": "", "must_reach": []}
        check = {"name": "c", "kind": "check", "must_see": [], "exhibit": "", "must_reach": []}
        self.assertEqual(without_evidence([exhibit, check | {"exhibit": "e"}, check | {"must_reach": ["b"]}]), [])
        for entries in ([exhibit, check], [exhibit, check | {"exhibit": "f"}], [check, check | {"exhibit": "c"}],
                        [exhibit | {"must_see": []}, check | {"exhibit": "e"}]):
            self.assertNotEqual(without_evidence(entries), [], entries)


if __name__ == "__main__":
    unittest.main()
