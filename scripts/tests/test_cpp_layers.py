"""The layers of the C++ tree: which folder of impl/apiary may include which (CONTRIBUTING.md draws the tree), that no includes
make a circle, and what only a policy may name."""

from __future__ import annotations

import os
import re
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from .support import REAL_ROOT

# A rung knows itself and those before it. contract/ stands beside them: it knows sync alone, and all but sync may know it.
LADDER = ("sync", "tasks", "queues", "parking", "events", "timers", "coroutines", "workers", "schedulers")
ABOVE = ("model_check", "stress", "bench")      # they know impl/, which knows none of them
NOT_INSTALLED = {"testing", "tests", "examples", "selftest"}
READ = ("impl", "model_check/apiary", "stress/apiary", "bench/apiary", "bench/graphs", "bench/scenarios")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def installed(file: Path) -> bool:
    return file.suffix == ".hpp" and not NOT_INSTALLED & set(file.parts)


def refusal(file: Path, target: str) -> str:
    """Why a file of the tree may not include apiary/TARGET; nothing where it may."""
    to, *rest = target.split("/")
    if to == "testing" and (installed(file) or not re.search(r"_test\.cpp$|/tests/|/testing/", str(file))):
        return "testing/ is for tests alone, and is not installed"
    if file.parts[0] != "impl" or file.parts[2] == "testing":
        return ""
    rung, room = file.parts[2], file.parts[3] if len(file.parts) > 4 else ""
    if to in ABOVE:
        return f"impl/ knows nothing of {to}"
    if rung == "contract" or to == "contract":
        wrong = to not in ("contract", "sync") or rung == "sync"
        return f"{rung} may not include {to}: contract knows sync alone, and sync knows nothing" if wrong else ""
    if to == "testing":
        return ""
    if to not in LADDER or rung not in LADDER or LADDER.index(to) > LADDER.index(rung):
        return f"{rung} may not include {to}: {' <- '.join(LADDER)}"
    if rung == to == "schedulers" and room not in ("", "examples") and rest[0] != room:
        return f"{room} may not include {'/'.join(rest)}: a scheduler knows no other"
    return ""


def wrong(root: Path) -> tuple[list[str], int]:
    """Every include that the layers forbid, with its place; and how many were read."""
    found, read = [], 0
    for path in sorted(path for folder in READ for path in (root / folder).rglob("*.[hc]pp")):
        file, text = path.relative_to(root), path.read_text()
        for match in INCLUDE.finditer(text):
            beside = Path(os.path.normpath(path.parent / match[1]))
            name = match[1] if '"' not in match[0] or not beside.is_relative_to(root) else str(beside.relative_to(root))
            name = name.removeprefix("impl/")
            if name.startswith(("apiary/", *(f"{above}/" for above in ABOVE))):
                read += 1
                why = refusal(file, name.removeprefix("apiary/"))
                found += [f"{file}:{text.count(chr(10), 0, match.start()) + 1}: {why}"] if why else []
    return found, read


def includes(root: Path) -> dict[str, list[str]]:
    """The files of this tree that each of its C++ files includes."""
    where = [root / folder for folder in ("impl", "model_check", "stress", "bench", "bench/virtual")]
    found = {}
    for path in sorted(path for folder in where[:-1] for path in folder.rglob("*.[hc]pp")):
        names = [match[1] for match in INCLUDE.finditer(path.read_text())]
        there = (next((file for file in (folder / name for folder in (path.parent, *where)) if file.is_file()), None) for name in names)
        found[str(path.relative_to(root))] = [os.path.relpath(file, root) for file in there if file]
    return found


def circles(known: dict[str, list[str]]) -> list[str]:
    """Files that come back to themselves by what they include, as A -> B -> A."""
    found, done = [], set()

    def walk(file: str, way: list[str]) -> None:
        if file in way:
            found.append(" -> ".join([*way[way.index(file):], file]))
        elif file not in done:
            for target in known.get(file, []):
                walk(target, [*way, file])
            done.add(file)

    for file in known:
        walk(file, [])
    return found


# What a policy gives, by the names that the library and the system have for it.
OF_THE_POLICY = re.compile(r"""std::(?:j?thread|this_thread|atomic|condition_variable\w*|(?:shared_|recursive_|timed_)*mutex|
                           (?:lock_guard|unique_lock|shared_lock|scoped_lock))\b|\bthread_local\b|\b__builtin_prefetch\b|\breal_sync::|
                           \bSYS_\w+|\b(?:pthread|sched)_\w+""", re.VERBOSE)
# They are the policy, or stand beside it: oracles, adapters for real schedulers, and what asks a real system for more.
BESIDE_IT = re.compile(r"""^impl/apiary/(?:sync/.*|contract/laws\.hpp|schedulers/all\.hpp|workers/thread_team\.hpp|
                       parking/time_slice\.hpp|events/epoll_driver\.hpp|schedulers/global_queue/processors\.hpp)$""", re.VERBOSE)


def past_the_policy(root: Path) -> tuple[list[str], int]:
    """Every line of a shipped header that names what the policy gives, without the policy; and how many headers were read."""
    found, read = [], 0
    for path in sorted((root / "impl").rglob("*.hpp")):
        file = path.relative_to(root)
        if not installed(file) or BESIDE_IT.match(str(file)):
            continue
        read += 1
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for match in OF_THE_POLICY.finditer(line.split("//")[0]):
                found.append(f"{file}:{number}: {match[0]} is the policy's to give: sync/sync_policy.hpp")
    return found, read


class Policy(unittest.TestCase):
    def test_shipped_headers_take_threads_locks_and_the_system_from_it(self) -> None:
        found, read = past_the_policy(REAL_ROOT)
        self.assertEqual(found, [])
        self.assertGreater(read, 100, "the tree was not read")

    def test_each_way_past_it_is_seen(self) -> None:
        for file, line, seen in (
            ("impl/apiary/workers/a.hpp", "std::this_thread::yield();", True),
            ("impl/apiary/workers/a.hpp", "std::jthread t;", True),
            ("impl/apiary/schedulers/hive/a.hpp", "std::mutex m;", True),
            ("impl/apiary/schedulers/hive/a.hpp", "const std::lock_guard held(m);", True),
            ("impl/apiary/schedulers/hive/a.hpp", "std::condition_variable_any c;", True),
            ("impl/apiary/tasks/a.hpp", "static inline thread_local int x;", True),
            ("impl/apiary/tasks/a.hpp", "__builtin_prefetch(p);", True),
            ("impl/apiary/parking/a.hpp", "::syscall(SYS_futex);", True),
            ("impl/apiary/parking/a.hpp", "(void)::sched_yield();", True),
            ("impl/apiary/parking/a.hpp", "const auto now = real_sync::now_ns();", True),
            ("impl/apiary/queues/a.hpp", "std::atomic<int> n;", True),
            ("impl/apiary/queues/a.hpp", "x.load(std::memory_order_acquire);  // as std::atomic has it", False),
            ("impl/apiary/queues/a.hpp", "template <class Sync = real_sync>", False),
            ("impl/apiary/sync/a.hpp", "std::mutex m;", False),
            ("impl/apiary/queues/tests/a.hpp", "std::mutex m;", False),
        ):
            with self.subTest(file=file, line=line), TemporaryDirectory() as folder:
                path = Path(folder).resolve() / file
                path.parent.mkdir(parents=True)
                path.write_text(f"#pragma once\n{line}\n")
                found, _ = past_the_policy(Path(folder).resolve())
                self.assertEqual([place.split(": ")[0] for place in found], [f"{file}:2"] if seen else [])


class Layers(unittest.TestCase):
    def test_the_tree_keeps_them(self) -> None:
        found, read = wrong(REAL_ROOT)
        self.assertEqual(found, [])
        self.assertGreater(read, 300, "the tree was not read")

    def test_no_includes_make_a_circle(self) -> None:
        known = includes(REAL_ROOT)
        self.assertEqual(circles(known), [])
        self.assertGreater(sum(map(len, known.values())), 1000, "the tree was not read")

    def test_a_circle_of_includes_is_seen(self) -> None:
        with TemporaryDirectory() as folder:
            root = Path(folder).resolve()
            for file, include in (("a", "<apiary/b.hpp>"), ("b", '"c.hpp"'), ("c", "<apiary/a.hpp>"), ("d", "<apiary/a.hpp>")):
                path = root / "impl" / "apiary" / f"{file}.hpp"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"#pragma once\n#include {include}\n")
            a, b, c = (f"impl/apiary/{file}.hpp" for file in "abc")
            self.assertEqual(circles(includes(root)), [f"{a} -> {b} -> {c} -> {a}"])

    def test_each_rule_is_seen_to_be_broken(self) -> None:
        for file, include, told in (
            ("impl/apiary/parking/a.hpp", "<apiary/events/epoll_driver.hpp>", "parking may not include events"),
            ("impl/apiary/parking/a_test.cpp", '"../timers/clock.hpp"', "parking may not include timers"),
            ("impl/apiary/events/a.hpp", "<apiary/parking/parker.hpp>", ""),
            ("impl/apiary/queues/a.hpp", "<apiary/strange/a.hpp>", "queues may not include strange"),
            ("impl/apiary/strange/a.hpp", "<apiary/sync/real_sync.hpp>", "strange may not include sync"),
            ("impl/apiary/schedulers/hive/a.hpp", "<apiary/schedulers/global_queue/b.hpp>", "hive may not include global_queue"),
            ("impl/apiary/schedulers/hive/tests/a_test.cpp", "<apiary/schedulers/all.hpp>", "hive may not include all.hpp"),
            ("impl/apiary/schedulers/all.hpp", "<apiary/schedulers/hive/hive.hpp>", ""),
            ("impl/apiary/schedulers/examples/a.hpp", "<apiary/schedulers/hive/hive.hpp>", ""),
            ("impl/apiary/queues/a.hpp", "<apiary/model_check/check.hpp>", "impl/ knows nothing of model_check"),
            ("impl/apiary/schedulers/hive/a.hpp", "<apiary/bench/host.hpp>", "impl/ knows nothing of bench"),
            ("impl/apiary/tasks/a_test.cpp", '"../../../stress/x.hpp"', "impl/ knows nothing of stress"),
            ("impl/apiary/contract/a.hpp", "<apiary/tasks/task.hpp>", "contract may not include tasks"),
            ("impl/apiary/contract/a.hpp", "<apiary/sync/real_sync.hpp>", ""),
            ("impl/apiary/sync/a.hpp", "<apiary/contract/laws.hpp>", "sync may not include contract"),
            ("impl/apiary/timers/a.hpp", "<apiary/contract/stats.hpp>", ""),
            ("impl/apiary/events/a.hpp", "<apiary/testing/fake_driver.hpp>", "testing/ is for tests alone"),
            ("model_check/apiary/model_check/a.hpp", "<apiary/testing/fake_driver.hpp>", "testing/ is for tests alone"),
            ("bench/scenarios/a.hpp", "<apiary/testing/fake_driver.hpp>", "testing/ is for tests alone"),
            ("impl/apiary/events/a_test.cpp", "<apiary/testing/fake_driver.hpp>", ""),
            ("impl/apiary/testing/a.hpp", "<apiary/schedulers/hive/hive.hpp>", ""),
            ("model_check/apiary/model_check/a.hpp", "<apiary/contract/laws.hpp>", ""),
        ):
            with self.subTest(file=file, include=include), TemporaryDirectory() as folder:
                path = Path(folder).resolve() / file
                path.parent.mkdir(parents=True)
                path.write_text(f"// {file}\n#pragma once\n#include {include}\n#include <vector>\n")
                found, read = wrong(Path(folder).resolve())
                self.assertEqual(read, 1)
                if told:
                    self.assertEqual(len(found), 1)
                    self.assertTrue(found[0].startswith(f"{file}:3: {told}"), found)
                else:
                    self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
