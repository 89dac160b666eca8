"""env.json: the machine, the kernel, the toolchain, and what else was running. Its hash is env_id."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from pathlib import Path

from . import building, packages, repo, sources

UNREADABLE = "unreadable"
CPUS = Path("/sys/devices/system/cpu")
ON_COMMAND_LINE = ("isolcpus nohz_full rcu_nocbs mitigations preempt intel_pstate idle processor transparent_hugepage nosmt "
                   "clocksource tsc quiet").split()


def read(path: str | Path, otherwise: str = "") -> str:
    try:
        return Path(path).read_text(errors="replace")
    except OSError:
        return otherwise


def first(path: str | Path) -> str:
    """The first line of a file, 'none' where it is empty, or 'unreadable'."""
    return (read(path, UNREADABLE).strip() or "none").splitlines()[0]


def cpu_fields(text: str) -> dict[str, str]:
    """The fields of the first processor in /proc/cpuinfo."""
    block = text.split("\n\n", 1)[0]
    pairs = (line.split(":", 1) for line in block.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, value in pairs}


def hypervisor() -> str:
    """The hypervisor's name where DMI tells it; 'yes' where only the CPU flag does."""
    if "hypervisor" not in cpu_fields(read("/proc/cpuinfo")).get("flags", "").split():
        return "none seen"
    vendor = first("/sys/class/dmi/id/sys_vendor")
    return vendor if vendor != UNREADABLE else "yes, unnamed"


def caches() -> list[str]:
    out = []
    for index in sorted((CPUS / "cpu0/cache").glob("index*")):
        level, kind, size, shared = (first(index / name) for name in ("level", "type", "size", "shared_cpu_list"))
        out.append(f"L{level} {kind} {size} shared by CPUs {shared}")
    return out


def turbo() -> str:
    no_turbo, boost = first(CPUS / "intel_pstate/no_turbo"), first(CPUS / "cpufreq/boost")
    if no_turbo != UNREADABLE:
        return "off" if no_turbo == "1" else "on"
    return {"1": "on", "0": "off"}.get(boost, UNREADABLE)


def kernel_command_line() -> str:
    """Without values that could name a host or an identifier."""
    return " ".join(word for word in read("/proc/cmdline").split() if word.split("=")[0].split(".")[0] in ON_COMMAND_LINE)


def machine() -> dict:
    """What stays the same from run to run."""
    cpu = cpu_fields(read("/proc/cpuinfo"))
    return {
        "cpu": cpu.get("model name") or platform.machine(),
        "microcode": cpu.get("microcode", UNREADABLE),
        "architecture": platform.machine(),
        "cpus_online": first(CPUS / "online"),
        "cpus": os.cpu_count(),
        "affinity": sorted(os.sched_getaffinity(0)),
        "threads_per_core": first(CPUS / "cpu0/topology/thread_siblings_list"),
        "hypervisor": hypervisor(),
        "caches": caches(),
        "memory_kib": int((re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo")) or [0, 0])[1]),
        "kernel": platform.release(),
        "kernel_command_line": kernel_command_line(),
        "isolated_cpus": first(CPUS / "isolated"),
        "clocksource": first("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": first(CPUS / "cpu0/cpufreq/scaling_governor"),
        "turbo": turbo(),
        "transparent_hugepages": re.sub(r".*\[(\w+)\].*", r"\1", first("/sys/kernel/mm/transparent_hugepage/enabled")),
        "aslr": first("/proc/sys/kernel/randomize_va_space"),
        "mitigations": {path.name: first(path) for path in sorted((CPUS / "vulnerabilities").glob("*"))},
        "cgroup_cpu_max": first("/sys/fs/cgroup/cpu.max"),
        "os": packages.read_os_release().get("PRETTY_NAME", ""),
        "libc": " ".join(platform.libc_ver()),
    }


def toolchain() -> dict:
    tools = {name: packages.tool_version(name) for name in ("g++", "cmake", "ninja", "hyperfine")}
    cargo = packages.find_cargo()[0]
    return tools | {
        "cargo": packages.tool_version(cargo) if cargo else "",
        "rustc": packages.rustc_version(),
        "python": platform.python_version(),
        "cxx_flags": building.compile_flags("release"),
        "cargo_lock": (sources.digest(repo.RUST / "Cargo.lock") or "")[:16],
    }


def load() -> dict:
    """What was going on; taken before and after a race."""
    return {
        "utc": repo.utc_stamp(),
        "loadavg": first("/proc/loadavg"),
        **{f"psi_{name}": first(f"/proc/pressure/{name}") for name in ("cpu", "memory", "io")},
    }


def env_id(machine_part: dict, toolchain_part: dict) -> str:
    """Rows of different env_id are not compared without a warning."""
    text = json.dumps([machine_part, toolchain_part], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
