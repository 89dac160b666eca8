"""The process between a worker and a unit: it holds the unit to its limits, and ends all that the unit left, also where the worker dies.

A script by itself, of the standard library alone: python3 -IS guard.py PARENT SECONDS BYTES REPORT -- COMMAND. It leaves in REPORT how
the command ended, as JSON; without a report the worker, or this process, was killed."""

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LOOK = 0.2  # seconds between two looks at the memory
PAGE = os.sysconf("SC_PAGESIZE")


class WorkerDied(Exception):
    pass


def below(root: int) -> list[int]:
    """Every live process under this one."""
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        try:
            tasks = os.listdir(f"/proc/{pid}/task")
            text = " ".join(open(f"/proc/{pid}/task/{task}/children").read() for task in tasks)
        except OSError:
            continue
        found += map(int, text.split())
        queue += map(int, text.split())
    return found


def held(pids: list[int]) -> int:
    """Bytes in memory, of all of them."""
    total = 0
    for pid in pids:
        try:
            total += int(open(f"/proc/{pid}/statm").read().split()[1]) * PAGE
        except (OSError, IndexError):
            pass
    return total


def end_all() -> None:
    """A process that was just born is found by the next look."""
    for _ in range(100):
        left = below(os.getpid())
        for pid in left:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
            time.sleep(0.01)
        except ChildProcessError:
            return


def watch(child: subprocess.Popen, seconds: float, most: int) -> tuple[int | None, str, int]:
    """(its status, which limit ended it, the most memory that was seen)."""
    began, peak = time.monotonic(), 0
    with select.epoll() as ended:
        pidfd = os.pidfd_open(child.pid)
        ended.register(pidfd, select.EPOLLIN)
        try:
            while True:
                left = began + seconds - time.monotonic()
                if ended.poll(max(0.0, min(LOOK, left))):
                    return child.wait(), "", peak
                peak = max(peak, held(below(os.getpid())))
                if left <= 0:
                    return None, "time", peak
                if most and peak > most:
                    return None, "memory", peak
        finally:
            os.close(pidfd)


def main() -> int:
    parent, seconds, most, report = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    libc = ctypes.CDLL(None, use_errno=True)

    def died(*_: object) -> None:
        raise WorkerDied

    signal.signal(signal.SIGTERM, died)
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.getppid() != parent:
        return 1

    def with_me() -> None:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)

    began, child = time.monotonic(), None
    try:
        try:
            child = subprocess.Popen(sys.argv[6:], start_new_session=True, preexec_fn=with_me)
            status, ended, peak = watch(child, seconds, most)
            told = {"rc": status, "ended": ended, "memory": peak}
        except OSError as error:
            told = {"rc": None, "ended": "start", "memory": 0, "why": error.strerror}
    except WorkerDied:
        return 1
    finally:
        end_all()
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    told |= {"seconds": round(time.monotonic() - began, 3), "cpu_seconds": round(used.ru_utime + used.ru_stime, 3)}
    told["memory"] = max(told["memory"], used.ru_maxrss * 1024 if told["ended"] == "" else 0)
    with open(report, "w") as file:
        json.dump(told, file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
