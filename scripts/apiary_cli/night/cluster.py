"""Units on a cluster of Dask `distributed`: of processes of this machine, or a team's own.

A worker gets these scripts as an archive, and programs through the store where it sees that folder, else by the scheduler. Each unit is a
child of its worker. What needs this checkout around it runs here, beside the cluster. A scheduler runs what it is sent: it is reached by TLS,
or on this machine alone."""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from ..base import LIBRARIES, libraries, proc, repo
from ..base.errors import Fault, USAGE, tail
from . import child
from .on_worker import do_unit, of_a_worker
from .spread import Pool
from .store import Store
from .unit import Unit

REQUIREMENTS = libraries.REQUIREMENTS.with_name("requirements-cluster.txt")
FOLDER = LIBRARIES.parent.parent / "python-cluster" / LIBRARIES.name
DEATHS = 3                      # of workers by one unit, then it is red
COMES = 180.0                   # seconds for a first worker: a machine that does much else starts a Python in half a minute
ANSWERS, GONE = 30.0, 20.0      # of a scheduler, the first time; then of one that does not answer
LOOKS = 50                      # at the workers, until one is no other's answer
PORT = 8786                     # of a scheduler, where the address has none
LOOPBACK = ("127.0.0.1", "localhost", "::1")
TOKEN = "token"                 # a file of the store: a worker that finds it there shares the folder
START = ("-c", "import sys; sys.path.append({folder!r}); from distributed.cli.dask_{what} import main; sys.argv[0] = 'dask-{what}'; main()")


def ready() -> None:
    """`distributed`, of the version named, in a folder of its own; what it logs of workers that come and go is not for this page."""
    for name in ("distributed", "tornado.application", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    libraries.beside(FOLDER, REQUIREMENTS, "Dask for the cluster (60 MB)",
                     "leave --scheduler away: the same units run without it; or PIP_NO_INDEX=1 PIP_FIND_LINKS=FOLDER")
    if str(FOLDER) not in sys.path:
        sys.path.append(str(FOLDER))
        sys.path_importer_cache.clear()


def archive(folder: Path) -> Path:
    """The packages that a worker needs to run a unit."""
    root, path = Path(__file__).resolve().parents[2], folder / "apiary_night.zip"
    with zipfile.ZipFile(path, "w") as made:
        for package in ("", "base", "night"):
            for file in sorted((root / "apiary_cli" / package).glob("*.py")):
                if package or file.name == "__init__.py":
                    made.write(file, file.relative_to(root))
    return path


class Cluster:
    def __init__(self, client, store: Store, told: str, here: int, close=lambda: None, alone: bool = False):
        """`here`: units at a time that need this checkout; `alone`: its workers are on this machine, so that those count among theirs."""
        self.client, self.store, self.told, self.closes, self.alone = client, store, told, close, alone
        self.here = Pool(here)
        self.futures: dict = {}
        self.good: set[str] = set()
        self.seen: set[str] = set()
        self.refused: set[str] = set()
        self.notes: list[str] = []
        self.bytes: dict[str, object] = {}
        self.silent = 0.0
        self.token = secrets.token_hex(8)
        with store.writing("its token"):
            repo.write_text(store.folder / TOKEN, self.token)
        with tempfile.TemporaryDirectory() as folder:
            client.upload_file(str(archive(Path(folder))))
        self.meet(COMES)

    def meet(self, seconds: float = 0.0) -> None:
        """Asks the workers that came since the last time what they are; one that cannot do these units is named, and gets none."""
        wanted, limit = of_a_worker(), time.monotonic() + seconds
        while True:
            there = self.there()
            new = sorted(there - self.seen)
            answers = self.client.run(of_a_worker, workers=new, on_error="return") if new else {}
            for worker, answer in answers.items():
                self.seen.add(worker)
                why = differing(answer, wanted)
                if why:
                    self.notes.append(f"worker {worker} was refused: {why}")
                    self.refused.add(worker)
            self.good = (there & self.seen) - self.refused  # one that was away is as good as before
            if self.good or time.monotonic() >= limit:
                break
            time.sleep(0.2)
        if not self.good and seconds:
            raise Fault(f"no worker of {self.told} can do these units", "; ".join(self.notes) or f"none came within {seconds:g} s",
                        "start workers of this platform with the versions of scripts/requirements-cluster.txt, or leave --scheduler away")

    def there(self) -> set[str]:
        """The workers. Dask's client also asks by itself, every two seconds and for none of them, and that answer may come between ours and
        our look at it: it counts more workers than it names."""
        for _ in range(LOOKS):
            told = self.client.scheduler_info(n_workers=-1)
            if len(told["workers"]) >= told.get("n_workers", 0):
                break
        return set(told["workers"])

    @property
    def room(self) -> int:
        return max(1, len(self.good)) + (0 if self.alone else self.here.room)

    @property
    def running(self) -> int:
        return len(self.futures) + self.here.running

    def takes(self, unit: Unit) -> bool:
        if not self.good and not self.running:  # all died, or were away for a moment: without them a night would end here, silently
            self.meet(COMES)
        if self.alone and self.running >= len(self.good):
            return False
        return self.here.takes(unit) if unit.tree else len(self.futures) < len(self.good)

    def submit(self, unit: Unit, sent: dict | None = None) -> None:
        if unit.tree:
            return self.here.submit(unit)
        told = {"machine": child.machine(), "store": str(self.store.folder.resolve()), "token": self.token, "program": self.store.add(unit.program),
                "called": Path(unit.program).name, "files": [(name, self.store.add(path)) for name, path in unit.files],
                "unit": {name: getattr(unit, name) for name in ("kind", "name", "words", "environment", "salt", "limit", "memory", "reads", "place")}
                | {"replay": unit.line()}}
        future = self.client.submit(do_unit, told, sent or {}, key=f"{unit.kind}-{unit.key}-{secrets.token_hex(4)}", pure=False,
                                    workers=sorted(self.good), allow_other_workers=False)
        self.futures[future] = unit

    def wait(self, seconds: float) -> list[tuple[Unit, dict]]:
        found = self.here.wait(0.0 if self.futures else seconds) if self.here.running else []
        try:
            return found + self.ended(0.0 if found else seconds)
        except OSError as error:  # Dask's own say that a connection is closed
            raise gone(self.told, str(error)) from error

    def ended(self, seconds: float) -> list[tuple[Unit, dict]]:
        found, limit = [], time.monotonic() + min(seconds, 0.5)
        while self.futures and not any(one.done() for one in self.futures) and time.monotonic() < limit:
            time.sleep(0.02)
        self.refuse_silence()
        for future in [one for one in self.futures if one.done()]:
            unit = self.futures.pop(future)
            if future.cancelled():
                raise gone(self.told, "it lost the units that it had")
            result = self.result_of(unit, future)
            if result is not None:
                found.append((unit, result))
        self.meet()
        return found

    def refuse_silence(self) -> None:
        if self.client.status == "running":
            self.silent = time.monotonic()
        elif self.client.status == "closed" or time.monotonic() - self.silent > GONE:
            raise gone(self.told, f"the client is {self.client.status}")

    def result_of(self, unit: Unit, future) -> dict | None:
        """None where it is sent once more."""
        error = future.exception()
        if error is not None:
            if type(error).__name__ == "KilledWorker":
                return child.lost(unit, f"it killed its worker {DEATHS} times", "killed")
            return child.lost(unit, f"its worker said: {error!r}")
        result = future.result()
        if "refused" in result:
            return child.lost(unit, f"its worker refused it: {result['refused']}")
        if "needs" in result:
            self.submit(unit, self.sent(unit))
            return None
        return result

    def sent(self, unit: Unit) -> dict:
        """All that a unit needs, for a worker that does not see the store: kept by the cluster, and sent once to each worker that asks."""
        names = [self.store.add(unit.program), *(self.store.add(path) for _, path in unit.files)]
        for name in names:
            if name not in self.bytes:
                self.bytes[name] = self.client.scatter(self.store.program(name).read_bytes(), hash=False)
        return {name: self.bytes[name] for name in names}

    def close(self) -> None:
        self.here.close()
        with contextlib.suppress(Exception):  # of a scheduler that is gone
            self.client.close(timeout=2)
        self.closes()


def differing(answer: object, wanted: dict[str, str]) -> str:
    if not isinstance(answer, dict):
        return f"it does not answer: {answer!r}"
    return "; ".join(f"{name} {answer.get(name)} and not {value}" for name, value in wanted.items() if answer.get(name) != value)


def gone(address: str, why: str) -> Fault:
    return Fault(f"{address} went away", why, "what was done is kept: start it again, and the night goes on where it was")


def connected(address: str, **options):
    """A client; refused by name where the scheduler has other versions."""
    import distributed

    try:
        client = distributed.Client(address, timeout=ANSWERS, set_as_default=False, **options)
        scheduler = client.get_versions(check=False)["scheduler"]
    except Exception as error:  # whatever a network, a certificate or an old scheduler raises
        raise Fault(f"the scheduler {address} does not answer", f"{type(error).__name__}: {error}",
                    "is it there, and are its certificates yours (DASK_DISTRIBUTED__COMM__TLS__*)? Without --scheduler the same units run here") from error
    told = {"Python": ".".join(map(str, scheduler["host"]["python"].split(".")[:2])), "distributed": str(scheduler["packages"]["distributed"])}
    why = differing(told, {name: value for name, value in of_a_worker().items() if name in told})
    if why:
        client.close(timeout=2)
        raise Fault(f"the scheduler {address} has other versions", why, "the versions of scripts/requirements-cluster.txt, and this Python", USAGE)
    return client


def parsed(address: str) -> SplitResult:
    parts = urlsplit(address)
    if parts.scheme not in ("tls", "tcp") or not parts.hostname:
        raise Fault(f"--scheduler {address} is no address", "", "tls://HOST:PORT, or local", USAGE)
    if parts.scheme != "tls" and parts.hostname not in LOOPBACK:
        raise Fault(f"--scheduler {address} is neither TLS nor loopback", "a scheduler runs what it is sent, by whoever reaches its port",
                    "tls://HOST:PORT, with certificates", USAGE)
    return parts


def must_answer(address: str) -> None:
    """That somebody listens there; what it is, is asked when there are units."""
    parts = parsed(address)
    try:
        socket.create_connection((parts.hostname, parts.port or PORT), ANSWERS).close()
    except (OSError, ValueError) as error:  # a port that is none
        raise Fault(f"the scheduler {address} does not answer", str(error), "is it there? Without --scheduler the same units run here") from error


def of_a_team(address: str, store: Store) -> Cluster:
    parsed(address)
    ready()
    return Cluster(connected(address), store, f"the scheduler {address}", os.cpu_count() or 1)


def local(processes: int, store: Store) -> Cluster:
    """A scheduler and workers on this machine, each a process with a nanny that replaces it; they end with this one."""
    ready()
    folder = Path(tempfile.mkdtemp(prefix="apiary-cluster-"))
    address = folder / "scheduler.json"
    environment = os.environ | {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": str(DEATHS - 1), "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "10s"}
    started: list[subprocess.Popen] = []

    def start(what: str, *words: str) -> None:
        code = [word.format(folder=str(FOLDER), what=what) for word in START]
        with open(folder / f"{what}-{len(started)}.log", "wb") as log:
            started.append(subprocess.Popen([sys.executable, *code, *words], env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                            start_new_session=True, preexec_fn=lambda: proc._libc.prctl(proc.PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)))

    def close() -> None:
        for one in reversed(started):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGTERM)
        for one in started:
            with contextlib.suppress(subprocess.TimeoutExpired):
                one.wait(5)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(one.pid, signal.SIGKILL)
            one.wait()
        shutil.rmtree(folder, ignore_errors=True)

    try:
        start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(address))
        limit = time.monotonic() + COMES
        while not address.exists():
            if started[0].poll() is not None or time.monotonic() > limit:
                raise Fault("the scheduler of this machine did not start", tail((folder / "scheduler-0.log").read_text(), 600))
            time.sleep(0.05)
        for i in range(processes):
            start("worker", "--scheduler-file", str(address), "--host", "127.0.0.1", "--nthreads", "1", "--nanny", "--no-dashboard", "--memory-limit", "0",
                  "--local-directory", str(folder), "--name", f"here-{i}")
        client = connected(str(repo.read_json(address)["address"]))
        return Cluster(client, store, f"a scheduler with {processes} processes of this machine", processes, close, True)
    except BaseException:
        close()
        raise
