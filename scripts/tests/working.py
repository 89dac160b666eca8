"""A subject that does its work: threads post to threads, by the treaty, and what it prints is measured. And the same,
lying in one way: each lie of bench/contract/TRUST.md by its name there."""

from __future__ import annotations

import sys
from pathlib import Path

from apiary_cli.race import ledger, tables

from .fakes import script

SUBJECT = '''#!{python} -ISE
import json, os, queue, sys, threading, time
LIE, NAME = {lie!r}, {name!r}
COLUMNS, POWERS = {columns!r}, {powers!r}
words = sys.argv[1:]
if words == ["--version"]:
    print(json.dumps(dict(subject=NAME, subject_version="1", language="python", build_id="working")))
    sys.exit(0)
if words == ["--list"]:
    print("post_throughput\\npost_latency")
    sys.exit(0)
options, params = {{}}, {{}}
for key, value in zip(words[1::2], words[2::2]):
    params.update([value.split("=", 1)]) if key == "--param" else options.__setitem__(key, value)
clock, cpu = time.monotonic_ns, time.process_time_ns
M = 2**64 - 1
def mark(i):
    z = (i + 0x9E3779B97F4A7C15) & M
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M
    return (z ^ (z >> 31)) >> 32 << 32 | 1
class Runtime:
    """One worker: more would only pass the interpreter's lock to and fro."""
    def __init__(self):
        self.tasks = queue.SimpleQueue()
        threading.Thread(target=self.work, daemon=True).start()
    def work(self):
        while True:
            self.tasks.get()()
    def post(self, task):
        task() if LIE == "inline" else self.tasks.put(task)
runtime = Runtime()
row = dict.fromkeys(COLUMNS, "")
row.update(scenario=options["--scenario"], workers=options["--workers"], seed=options["--seed"], status="ok",
           nvcsw=1, nivcsw=1, minflt=1, maxrss_kib=1)
def block(ops):
    done, result = threading.Event(), []
    really = ops // 16 if LIE == "fraction" else ops
    def task():
        for _ in range(20): pass  # so that a lie about the operations claims what a machine could do
        result.append(0)
        if len(result) == really:
            result.append(clock())
            done.set()
    def produce():
        for _ in range(really):
            runtime.post(task)
    begin, used = clock(), cpu()
    poster = threading.Thread(target=produce)
    poster.start()
    done.wait()
    poster.join()
    if LIE == "idles":
        time.sleep(0.01)
    return result[-1] - begin, cpu() - used
if options["--scenario"] == "post_throughput":
    floor, fixed = 16384, params.get("ops")
    ops = int(fixed or floor)
    while not fixed and block(ops)[0] < 1e6 * int(options["--block-ms"]):
        ops *= 2
    warm = int(options["--warmup-blocks"])
    for _ in range(warm):
        block(ops)
    measured = sorted(block(ops) for _ in range(int(options["--blocks"])))
    wall, used = measured[(len(measured) - 1) // 2]
    if LIE in ("wall", "times", "all"): wall //= 10
    if LIE in ("cpu", "all"): used //= 100 if LIE == "cpu" else 10
    if LIE == "cpu_zero": used = 0
    if LIE == "ops": ops *= 1 if fixed else 32
    if LIE == "ops_always": ops *= 16
    each = wall / ops / (10 if LIE == "each" else 1) * (10 if LIE == "wall" else 1)
    row.update(warmup_blocks=warm, steady=0, blocks=options["--blocks"], ops=ops, wall_ns=wall, cpu_ns=used,
               ns_per_op="%.3f" % each, ops_per_s="%.3f" % (1e9 / each))
    if LIE == "no_cpu": row["cpu_ns"] = ""
else:
    plan = [int(line) for line in open(options["--plan"]) if line[0] != "#"]
    ops, late, done = len(plan), [0] * len(plan), threading.Event()
    left = [ops]
    used, zero = cpu(), clock() + 10**7
    def task(i):
        def run():
            late[i] = clock() - zero - plan[i]
            burn = time.thread_time_ns() + 10**6
            while time.thread_time_ns() < burn: pass
            left[0] -= 1
            left[0] or done.set()
        return run
    def inject():
        for i, due in enumerate(plan):
            wait = (zero + due - clock()) / 1e9
            if wait > 0: time.sleep(wait)
            runtime.post(task(i))
    threading.Thread(target=inject).start()
    done.wait()
    span = max(a + b for a, b in zip(plan, late))
    used = cpu() - used
    if LIE == "cpu_of_posts": used //= 10
    kept = sorted(late[ops // 10:])
    if LIE == "latency": kept = [v // 10 for v in kept]
    if LIE == "latency_below_1ms": kept = sorted(v // 10 if v < 10**6 else v for v in kept)
    def edges(v):
        shift = max(0, v.bit_length() - 8)
        return v >> shift << shift, (v >> shift << shift) + (1 << shift) - 1
    offered, achieved = ops * 1e9 / plan[-1], ops * 1e9 / span
    if LIE == "achieved": achieved = 1.05 * offered
    row.update(warmup_blocks=0, blocks=1, ops=ops, cpu_ns=used, offered_per_s="%.3f" % offered,
               achieved_per_s="%.3f" % achieved, lat_count=len(kept), lat_min_ns=kept[0], lat_max_ns=kept[-1],
               lat_p50_ns=min(edges(kept[-(-len(kept) // 2) - 1])[1], kept[-1]),
               flags="overloaded" if achieved / offered < 0.99 else "")
    if LIE == "no_median": row["lat_p50_ns"] = ""
    if LIE == "drops_bad_posts": row["lat_count"] = len(kept) // 2
    if "--hist" in options:
        counts = {{}}
        for v in kept:
            counts[edges(v)] = counts.get(edges(v), 0) + 1
        with open(options["--hist"], "w") as out:
            out.write("value_lo_ns,value_hi_ns,count\\n")
            for (lo, hi), n in sorted(counts.items()):
                out.write("%d,%d,%d\\n" % (lo, hi, n))
row["check"] = POWERS.get(ops) or "%016x" % (sum(map(mark, range(ops))) & M)
print(",".join(COLUMNS))
print(",".join(str(row[c]) for c in COLUMNS), flush=True)
os._exit(0)
'''


def subject(path: Path, lie: str = "", name: str = "worker") -> Path:
    powers = {1 << (ledger.SMALLEST_POWER + i): text for i, text in enumerate(ledger.POWERS)}
    return script(path, SUBJECT.format(python=sys.executable, lie=lie, name=name, columns=tables.SUBJECT, powers=powers))
