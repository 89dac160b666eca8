"""Servers, the load program, and programs in the place of either."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import re
import resource
import socket
import struct
import subprocess
import sys
import threading
from pathlib import Path

from expected import mix

from . import subject
from .subject import Case, call, listed


def refuse_io_uring() -> None:
    """From now on this process, and what it becomes by exec, asks for io_uring in vain, as in a container whose profile forbids it."""
    load, jump_if_equal, answer = 0x20, 0x15, 0x06  # BPF: the call's number, compare, return
    io_uring_setup, refused, allowed = 425, 0x00050000 | errno.EPERM, 0x7FFF0000
    code = b"".join(struct.pack("HBBI", *step) for step in (
        (load, 0, 0, 0), (jump_if_equal, 0, 1, io_uring_setup), (answer, 0, 0, refused), (answer, 0, 0, allowed)))
    steps = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("HP", len(code) // 8, ctypes.addressof(steps)))
    system = ctypes.CDLL(None)
    if system.prctl(38, 1, 0, 0, 0) != 0 or system.prctl(22, 2, program, 0, 0) != 0:  # PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP
        raise OSError("this system lets no filter of system calls be set")


class Servers(Case):
    """With the load program, and with one that does not keep to the treaty: a script in its place."""

    def served(self, scenario: str, ops: int, *params: str, load: object = None, **more) -> dict[str, str]:
        plan = self.plan("".join(f"{i // 5 * 100_000}\n" for i in range(ops)))
        words = [word for param in params for word in ("--param", param)]
        return self.run_ok(scenario, ops, "--plan", plan, "--load", load or subject.LOAD, *words, **more)

    def refused(self, seen: str, status: int, *params: str, load: object = None, plan: str = "1\n2\n") -> str:
        words = [word for param in params for word in ("--param", param)]
        done = call("run", "--scenario", "echo", "--workers", 1, "--plan", self.plan(plan), "--load", load or subject.LOAD, *words)
        self.assertEqual(done.returncode, status, done.stderr)
        self.assertIn(seen, done.stderr)
        return done.stdout

    def stand_in(self, body: str) -> Path:
        """A load program: `said(text)`, `heard()` a line's words, and `reach()` a connection to the server."""
        path = self.folder / "load"
        path.write_text(f"#!{sys.executable} -ISE\n" + STAND_IN + body, encoding="utf-8")
        path.chmod(0o755)
        return path

    def test_small_plans(self) -> None:
        for scenario, params in (("echo", ("connections=7",)), ("echo", ("connections=3", "bytes=16")),
                                 ("echo", ("connections=2", "bytes=65536")), ("fan_out", ("connections=3",)),
                                 ("fan_out", ("connections=2", "bytes=40000", "backends=2", "ask=2"))):
            with self.subTest(scenario=scenario, params=params):
                hist = self.folder / "hist.csv"
                plan = self.plan("".join(f"{i // 5 * 100_000}\n" for i in range(300)))
                words = [word for param in params for word in ("--param", param)]
                row = self.run_ok(scenario, 300, "--plan", plan, "--load", subject.LOAD, "--hist", hist, *words)
                self.assertEqual((row["lat_count"], row["warmup_blocks"], row["blocks"]), ("270", "0", "1"))
                self.assertNotIn("injector_us", row["flags"])
                self.check_histogram(hist, row)

    def test_echo_beside_tasks_that_compute(self) -> None:
        if "echo_beside" not in listed():
            self.skipTest("it serves, and runs no other tasks")
        can = []
        for beside in ("own", "workers", "second", "rayon"):
            with self.subTest(beside=beside):
                # Short ones: where a processor is shared with much else, a turn of long ones would outlast the client's patience.
                params = ("compute_us=200", "compute_workers=1", f"beside={beside}", "connections=3")
                words = [word for param in params for word in ("--param", param)]
                plan = self.plan("".join(f"{i // 5 * 100_000}\n" for i in range(200)))
                done = call("run", "--scenario", "echo_beside", "--workers", 2, "--plan", plan, "--load", subject.LOAD, *words)
                if done.returncode == 3:
                    continue
                can.append(beside)
                row = self.served("echo_beside", 200, *params)
                counted = re.search(r"(?:^|;)compute_tasks=\d+;compute_ns=(\d+)(?:;compute_lost_ppm=-?\d+)?$", row["flags"])
                self.assertTrue(counted and int(counted[1]) >= int(row["wall_ns"]), row)
                self.assertEqual(row["lat_count"], "180")
        self.assertIn("workers", can)
        self.assert_refused("compute_us", "echo_beside", "compute_us=0", plan=True)

    def test_a_load_program_that_dies_beside_tasks_that_compute(self) -> None:
        if "echo_beside" not in listed():
            self.skipTest("it serves, and runs no other tasks")
        stand_in = self.stand_in("said('backends'); heard(); said('begin'); heard(); os.kill(os.getpid(), 9)")
        done = call("run", "--scenario", "echo_beside", "--workers", 1, "--plan", self.plan("1\n"), "--load", stand_in,
                    "--param", "beside=workers")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)

    def test_out_of_range(self) -> None:
        for seen, param in (("from 16 to 65536", "bytes=15"), ("from 16 to 65536", "bytes=65537"), ("bytes", "bytes=-1"),
                            ("from 1 to 20000", "connections=0"), ("from 1 to 20000", "connections=20001")):
            self.assertEqual(self.refused(seen, 2, param), "")
        self.assert_refused("backends=2", "fan_out", "ask=3", "backends=2", plan=True)

    def test_a_load_program_is_required(self) -> None:
        done = call("run", "--scenario", "echo", "--workers", 1, "--plan", self.plan("1\n"))
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("--load", done.stderr)
        self.assertEqual(self.refused("/nonexistent/load", 1, load="/nonexistent/load"), "")

    def test_more_connections_than_descriptors(self) -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        done = subprocess.run(
            [subject.PROGRAM, "run", "--scenario", "echo", "--workers", "1", "--plan", self.plan("1\n"), "--load", subject.LOAD, "--param",
             "connections=500"], capture_output=True, text=True, timeout=60, check=False,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (min(soft, 200), min(hard, 200))))
        self.assertEqual((done.returncode, done.stdout), (1, ""))
        self.assertIn("RLIMIT_NOFILE is 200", done.stderr)

    def test_a_kernel_that_refuses_io_uring(self) -> None:
        """It serves without io_uring, or says that io_uring is what it lacks."""
        if "echo" not in listed():
            self.skipTest("it does not serve")
        plan = self.plan("".join(f"{i // 5 * 100_000}\n" for i in range(60)))
        done = subprocess.run(
            [subject.PROGRAM, "run", "--scenario", "echo", "--workers", "1", "--plan", plan, "--load", subject.LOAD, "--param",
             "connections=3"], capture_output=True, text=True, timeout=60, check=False, preexec_fn=refuse_io_uring)
        if done.returncode == 3:
            self.assertEqual(done.stdout, "")
            self.assertIn("io_uring", done.stderr)
        else:
            self.good_row(done, "echo", 60, workers=1)

    def test_a_child_that_dies_or_says_something_else(self) -> None:
        for body, seen in (("raise SystemExit(7)", "7"), ("said('back ends')", "back ends"), ("said('backends'); heard()", "begin"),
                           ("said('backends'); heard(); said('begin'); heard(); os.kill(os.getpid(), 9)", "9"),
                           ("said('backends'); heard(); said('begin'); heard(); said('end wrong=0')", "ops")):
            with self.subTest(body=body):
                self.assertEqual(self.refused(seen, 1, load=self.stand_in(body)), "")

    def test_connections_that_break_harm_no_other(self) -> None:
        """One is reset with an answer under way, one ends within a message, one shuts down its half after a request."""
        self.served("echo", 1, load=self.stand_in("""
said("backends")
port = heard()[1]
reset, broken, half, good = reach(port), reach(port), reach(port), reach(port)
reset.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
reset.sendall(bytes(64 * 100)); reset.close()
broken.sendall(bytes(30)); broken.close()
half.sendall(bytes(64)); half.shutdown(socket.SHUT_WR)
assert len(whole(half, 65)) == 64, "the answer, then the end"
said("begin"); heard()
good.sendall(bytes(64))
assert whole(good, 64)[8:16] == struct.pack("<Q", MIX_0)
said(end(1, MARK_0))
good.shutdown(socket.SHUT_WR)
assert good.recv(1) == b""
"""))

    def test_a_wrong_answer(self) -> None:
        stand_in = self.stand_in("said('backends'); heard(); said('begin'); heard(); said(end(1, MARK_0 + 1))")
        done = call("run", "--scenario", "echo", "--workers", 1, "--plan", self.plan("1\n"), "--load", stand_in)
        self.assertEqual((done.returncode, self.row_of(done)["status"]), (4, "wrong"), done.stderr)
        stand_in = self.stand_in("said('backends'); heard(); said('begin'); heard(); said(end(1, MARK_0)); raise SystemExit(4)")
        done = call("run", "--scenario", "echo", "--workers", 1, "--plan", self.plan("1\n"), "--load", stand_in)
        self.assertEqual((done.returncode, self.row_of(done)["status"]), (4, "wrong"), done.stderr)


MIX_0 = 0xE220A8397B1DCDAF
STAND_IN = f"""
import os, socket, struct, sys
MIX_0 = {MIX_0}
MARK_0 = MIX_0 & ~0xFFFFFFFF | 1

def said(text): print(text, flush=True)
def heard(): return sys.stdin.readline().split()
def reach(port): return socket.create_connection(("127.0.0.1", int(port)))
def whole(of, size):
    got = b""
    while len(got) < size and (part := of.recv(size - len(got))):
        got += part
    return got
def end(ops, check):
    empty = [k + "=" for k in "offered_per_s achieved_per_s lat_p50_ns lat_p90_ns lat_p95_ns lat_p99_ns lat_p999_ns "
             "lateness_p99_ns flags".split()]
    return " ".join([f"end wrong=0 ops={{ops}} wall_ns=1 lat_count=1 lat_min_ns=1 lat_max_ns=1 check={{check:016x}}", *empty])
"""


class Load(Case):
    """The load program itself (PROGRAM), asking a server that is right but for one thing."""

    PLAN, REQUESTS, BYTES, WARM = "".join(f"{i * 10_000}\n" for i in range(20)), 20, 24, 1 << 63

    def serve(self, of: socket.socket, backends: list[socket.socket], twist: str) -> None:
        """One connection, until the client ends it."""
        def whole(peer: socket.socket) -> bytes:
            got = b""
            while len(got) < self.BYTES and (part := peer.recv(self.BYTES - len(got))):
                got += part
            return got

        number = 0
        while request := whole(of):
            number = struct.unpack_from("<Q", request)[0]
            which, answer = (twist if number == 7 else ""), mix(number)
            for j in range(2 if backends else 0):
                asked = request[:-1] + bytes([request[-1] ^ 1]) if which == "spoiled to a backend" else request
                backend = (number + j) % 2
                for _ in range(0 if which == "not asked" else 2 if which == "asked twice" else 1):
                    backends[backend].sendall(asked)
                    whole(backends[backend])
                answer = (answer if j == 0 else answer + mix(number)) + backend
            answer += which == "another number"
            reply = request[:8] + struct.pack("<Q", answer % 2**64) + request[16:]
            if which == "spoiled":
                reply = reply[:-1] + bytes([reply[-1] ^ 1])
            if which == "ends":
                return
            of.sendall(reply * (2 if which == "doubled" else 1))
        of.sendall({"half a message at the end": bytes(self.BYTES - 1), "another one at the end": reply}.get(twist, b""))

    def asked(self, twist: str, backends: int) -> tuple[int, str, str]:
        """Its status, what its result begins with, and what it complains of."""
        words = ["--connections", "1", "--bytes", str(self.BYTES), "--plan", self.plan(self.PLAN)]
        words += ["--scenario", "fan_out", "--backends", "2", "--ask", "2"] if backends else ["--scenario", "echo"]
        with (socket.create_server(("127.0.0.1", 0)) as listening, contextlib.ExitStack() as all_of_it,
              subprocess.Popen([subject.PROGRAM, *words], stdin=-1, stdout=-1, stderr=-1, text=True) as child):
            ports = child.stdout.readline().split()[1:]
            reached = [all_of_it.enter_context(socket.create_connection(("127.0.0.1", int(port)))) for port in ports]
            print("port", listening.getsockname()[1], file=child.stdin, flush=True)
            of = all_of_it.enter_context(listening.accept()[0])
            for peer in (of, *reached):
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            server = threading.Thread(target=lambda: (self.serve(of, reached, twist), of.shutdown(socket.SHUT_WR)))
            server.start()
            self.assertEqual(child.stdout.readline(), "begin\n")
            print("go", file=child.stdin, flush=True)
            said, complaint = child.communicate(timeout=60)
            server.join()
            return child.returncode, said[:11], complaint

    def test_a_server_that_is_right(self) -> None:
        for backends in (0, 2):
            self.assertEqual(self.asked("", backends), (0, "end wrong=0", ""))

    def test_an_answer_that_is_not(self) -> None:
        for twist, seen in (("another number", "not the answer"), ("spoiled", "not the answer"), ("doubled", "not the answer"),
                            ("ends", "has ended"), ("another one at the end", "nobody asked for"),
                            ("half a message at the end", "within a message")):
            with self.subTest(twist=twist):
                status, said, complaint = self.asked(twist, 0)
                self.assertEqual((status, said), (4, f"end wrong={int('at the end' not in twist)}"))
                self.assertIn(seen, complaint)

    def test_a_front_that_answers_right_and_asks_wrong(self) -> None:
        for twist, seen in (("not asked", "should be"), ("asked twice", "should be"), ("spoiled to a backend", "is no request")):
            with self.subTest(twist=twist):
                status, said, complaint = self.asked(twist, 2)
                self.assertEqual((status, said), (4, "end wrong=1"))
                self.assertIn(seen, complaint)
