"""Child processes: own process groups, time-outs, and nothing left behind when apiary stops."""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import resource
import selectors
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Callable, Generator, Iterable, Sequence

from .errors import Fault, Stopped

_libc = ctypes.CDLL(None, use_errno=True)
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIVE: set["Child"] = set()
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# What a parent may have ignored (a script of its jobs in the background, a service) or blocked, and children inherit.
HEARD = (*STOPS, signal.SIGQUIT, signal.SIGCHLD, signal.SIGUSR1, signal.SIGUSR2)
KEPT = 64 << 20  # bytes of a stream that are kept; what comes behind is read and dropped


@dataclass
class Done:
    """What a finished child left. `rc` is negative for a signal, as in subprocess."""

    argv: list[str]
    rc: int
    out: str
    err: str
    seconds: float
    timed_out: bool = False
    cpu_seconds: float = 0.0
    tag: object = None
    overflow: bool = False  # it printed more than was kept

    @property
    def ok(self) -> bool:
        return self.rc == 0 and not self.timed_out

    def how(self) -> str:
        """How it ended, in words."""
        if self.timed_out:
            return f"did not end within {self.seconds:.0f} s"
        if self.rc < 0:
            try:
                return f"was ended by {signal.Signals(-self.rc).name}"
            except ValueError:
                return f"was ended by signal {-self.rc}"
        return f"exited with status {self.rc}"


@dataclass
class Spec:
    """A child to start."""

    argv: Sequence[str | os.PathLike]
    cwd: Path | None = None
    env: dict[str, str] | None = None
    timeout: float | None = None
    merge: bool = False  # standard error into standard output
    on_line: Callable[[str], None] | None = None
    affinity: set[int] | None = None
    group: Path | None = None  # cgroup.procs of the control group that it joins before it begins
    tag: object = None
    keep: int = KEPT
    file_size: int | None = None  # the largest file that it may write
    watch: Callable[[int, float], float | None] | None = None  # called with its pid and the seconds since its start;
    # returns after how many seconds it wants to be called again, None for never


def become_subreaper() -> None:
    """Orphaned grandchildren come back to this process, so that it can end them."""
    _libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Child:
    """One running child and what it has printed so far."""

    def __init__(self, spec: Spec):
        self.spec = spec
        self.argv = [os.fspath(word) for word in spec.argv]
        self.buffers = {"out": bytearray(), "err": bytearray()}
        self._line = bytearray()
        self.overflow = False
        affinity, parent = spec.affinity, os.getpid()

        def before_exec() -> None:
            os.setsid()
            _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(127)
            if affinity:
                os.sched_setaffinity(0, affinity)
            if spec.group:
                spec.group.write_text("0")  # whoever writes it
            if spec.file_size is not None:
                hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]  # this process may be held to less
                most = spec.file_size if hard == resource.RLIM_INFINITY else min(hard, spec.file_size)
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))
            for number in HEARD:
                signal.signal(number, signal.SIG_DFL)
            signal.pthread_sigmask(signal.SIG_SETMASK, ())

        self.started = time.monotonic()
        try:
            self.popen = subprocess.Popen(
                self.argv, cwd=spec.cwd, env=spec.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if spec.merge else subprocess.PIPE, preexec_fn=before_exec)
        except OSError as error:
            cause, remedy = f"{error.strerror}: no program for this machine, and no script with a #! line", ""
            if isinstance(error, FileNotFoundError):
                cause, remedy = str(error.strerror), "scripts/apiary setup, then scripts/apiary build"
            elif isinstance(error, PermissionError):
                cause = "it is not executable"
            raise Fault(f"cannot start {self.argv[0]}", cause, remedy) from error
        LIVE.add(self)
        self.streams = [one for one in (("out", self.popen.stdout), ("err", self.popen.stderr)) if one[1]]
        for _, stream in self.streams:
            os.set_blocking(stream.fileno(), False)
        self.pidfd = os.pidfd_open(self.popen.pid)
        self.timed_out = False
        self.next_look = self.started if spec.watch else math.inf

    def deadline(self) -> float:
        return math.inf if self.spec.timeout is None else self.started + self.spec.timeout

    def look(self) -> None:
        """Let the watcher look, when it wants to."""
        now = time.monotonic()
        if now >= self.next_look:
            again = self.spec.watch(self.popen.pid, now - self.started)
            self.next_look = math.inf if again is None else time.monotonic() + again

    def drain(self, most: int = 16) -> None:
        """Read what there is, at most `most` pieces of each stream, so that a child that prints without end cannot
        keep the others and the clock waiting; a stream at its end is closed and forgotten."""
        for name, stream in list(self.streams):
            for _ in range(most):
                try:
                    chunk = os.read(stream.fileno(), 65536)
                except BlockingIOError:
                    break
                if not chunk:
                    stream.close()
                    self.streams.remove((name, stream))
                    break
                self._keep(self.buffers[name], chunk)
                if name == "out" and self.spec.on_line:
                    self._lines(chunk)

    def _keep(self, buffer: bytearray, chunk: bytes) -> None:
        """The first half of what may be kept, and the last: an error stands at the end."""
        buffer += chunk
        if len(buffer) > self.spec.keep:
            self.overflow = True
            half = self.spec.keep // 2
            del buffer[half : len(buffer) - half]

    def _lines(self, chunk: bytes) -> None:
        self._line += chunk
        *whole, rest = self._line.split(b"\n")
        self._line = bytearray(rest[-65536:])
        for line in whole:
            self.spec.on_line(line.decode("utf-8", "replace"))

    def finish(self) -> Done:
        """Reap it, end what it left in its group, and collect the output."""
        _, status, usage = os.wait4(self.popen.pid, 0)
        self.popen.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - self.started
        self.signal_group(signal.SIGKILL)
        self.drain(1 << 10)
        if self._line and self.spec.on_line:
            self.spec.on_line(self._line.decode("utf-8", "replace"))
        self.close()
        text = {name: bytes(data).decode("utf-8", "replace") for name, data in self.buffers.items()}
        return Done(self.argv, self.popen.returncode, text["out"], text["err"], seconds, self.timed_out,
                    usage.ru_utime + usage.ru_stime, self.spec.tag, self.overflow)

    def close(self) -> None:
        LIVE.discard(self)
        for _, stream in self.streams:
            stream.close()
        self.streams = []
        if self.pidfd >= 0:
            os.close(self.pidfd)
            self.pidfd = -1

    def signal_group(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.popen.pid, number)


def _pump(active: list[Child], timeout: float = 1.0) -> list[Child]:
    """Wait for output or an end, once; return the children that have ended."""
    due = min((min(child.deadline(), child.next_look) for child in active), default=math.inf)
    wait = max(0.0, min(timeout, due - time.monotonic()))
    with selectors.DefaultSelector() as selector:
        for child in active:
            selector.register(child.pidfd, selectors.EVENT_READ, (child, True))
            for _, stream in child.streams:
                selector.register(stream.fileno(), selectors.EVENT_READ, (child, False))
        events = [key.data for key, _ in selector.select(wait)]
    ended = [child for child, is_end in events if is_end]
    for child, is_end in events:
        if not is_end:
            child.drain()
    for child in set(active) - set(ended):
        child.look()
        if time.monotonic() >= child.deadline():
            child.timed_out = True
            end_group(child)
            ended.append(child)
    return ended


def end_group(child: Child, grace: float = 1.0) -> None:
    """SIGTERM, a moment, SIGKILL: to the child's whole group."""
    child.signal_group(signal.SIGTERM)
    with selectors.DefaultSelector() as selector:
        selector.register(child.pidfd, selectors.EVENT_READ)
        selector.select(grace)
    child.signal_group(signal.SIGKILL)


def run(argv: Sequence[str | os.PathLike], **options) -> Done:
    """Run one child to its end."""
    return next(iter(run_many([Spec(argv, **options)], 1)))


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, ChildProcessError, PermissionError):
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def end_strays() -> int:
    """End what finished children left in sessions of its own, and say how many processes that were. For the one who
    runs one child at a time: every other descendant of this process is a stray."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:  # it has no child, also none that came back to it: the usual case, without a look at all processes
        return 0
    strays = set(descendants(os.getpid())) - {child.popen.pid for child in LIVE}
    for pid in strays:
        kill(pid)
    return len(strays)


def end_all(children: Iterable[Child]) -> None:
    """Children that nobody waits for any more."""
    for child in children:
        end_group(child, 0.5)
        try:
            child.finish()
        except ChildProcessError:
            child.close()


def run_many(specs: Iterable[Spec], parallel: int) -> Iterable[Done]:
    """Run children, at most `parallel` at a time; yield each as it ends."""

    def alone(spec: Spec) -> Generator[Spec, Done, Done]:
        return (yield spec)

    return run_chains(map(alone, specs), parallel)


def run_chains(chains: Iterable[Generator[Spec, Done, object]], parallel: int) -> Iterable[object]:
    """Run chains of children, at most `parallel` at a time: each yields a Spec, is sent its Done, and so on until it
    returns; yield what each returns, as it ends."""
    waiting, active = iter(chains), {}
    try:
        while True:
            ready = []
            while len(active) + len(ready) < parallel:
                chain = next(waiting, None)
                if chain is None:
                    break
                ready.append((chain, None))
            if not ready and not active:
                return
            for child in _pump(list(active)) if not ready else []:
                ready.append((active.pop(child), child.finish()))
            for chain, done in ready:
                try:
                    active[Child(chain.send(done))] = chain
                except StopIteration as end:
                    yield end.value
    finally:
        end_all(active)


def descendants(root: int) -> list[int]:
    """Every live process below `root`, from /proc."""
    parents: dict[int, list[int]] = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                stat = Path(f"/proc/{entry}/stat").read_text()
            except OSError:
                continue
            fields = stat.rpartition(")")[2].split()
            parents.setdefault(int(fields[1]), []).append(int(entry))
    found, queue = [], [root]
    while queue:
        for pid in parents.get(queue.pop(), []):
            found.append(pid)
            queue.append(pid)
    return found


def kill_all(grace: float = 1.0) -> None:
    """End every child and every descendant. Called once, on the way out."""
    for number, seconds in ((signal.SIGTERM, grace), (signal.SIGKILL, 1.0)):
        for child in list(LIVE):
            child.signal_group(number)
        limit = time.monotonic() + seconds
        while (left := descendants(os.getpid())) and time.monotonic() < limit:
            for pid in left if number == signal.SIGKILL else ():
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            time.sleep(0.02)
    LIVE.clear()


def usual_limits() -> None:
    """Where this machine has others: tests open thousands of sockets, and one fills a stack up to its limit."""
    for which, least, most in ((resource.RLIMIT_NOFILE, 4096, math.inf), (resource.RLIMIT_STACK, 8 << 20, 64 << 20)):
        limits = resource.getrlimit(which)
        soft, hard = (math.inf if n == resource.RLIM_INFINITY else n for n in limits)
        wanted = min(max(soft, least), most, hard)
        if wanted != soft:
            resource.setrlimit(which, (int(wanted), limits[1]))


def deafen() -> None:
    """Nothing stops this process any more: it ends, by the status that it has."""
    with contextlib.suppress(Stopped):  # it came just before; its handler has done the same
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)


def install_signals() -> None:
    """Ctrl-C, SIGTERM and SIGHUP raise Stopped once; later ones are ignored while it cleans up. They come, whatever the
    parent has ignored or blocked."""

    def stop(signum: int, _frame: object) -> None:
        for number in STOPS:
            signal.signal(number, signal.SIG_IGN)
        raise Stopped(signum)

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, children would leave no exit status
    for number in STOPS:
        signal.signal(number, stop)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
