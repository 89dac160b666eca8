"""env.json: the machine, the kernel, the toolchain, and what else was running. Its hash is env_id."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import shutil
from pathlib import Path

from . import building, packages, repo

UNREADABLE = "unreadable"


def read(path: str) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""


def first(path: str) -> str:
    """The first line of a file, 'none' where it is empty, or 'unreadable'."""
    try:
        text = Path(path).read_text().strip()
    except OSError:
        return UNREADABLE
    return text.splitlines()[0] if text else "none"


def chosen_of(text: str) -> str:
    """'always [madvise] never' -> 'madvise'."""
    match = re.search(r"\[(\w+)\]", text)
    return match[1] if match else text


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
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (first(str(index / name)) for name in ("level", "type", "size"))
        out.append(f"L{level} {kind} {size} shared by CPUs {first(str(index / 'shared_cpu_list'))}")
    return out


def turbo() -> str:
    no_turbo = first("/sys/devices/system/cpu/intel_pstate/no_turbo")
    if no_turbo != UNREADABLE:
        return "off" if no_turbo == "1" else "on"
    boost = first("/sys/devices/system/cpu/cpufreq/boost")
    return {"1": "on", "0": "off"}.get(boost, UNREADABLE)


def mitigations() -> dict[str, str]:
    folder = Path("/sys/devices/system/cpu/vulnerabilities")
    return {path.name: first(str(path)) for path in sorted(folder.glob("*"))} if folder.is_dir() else {}


def kernel_command_line() -> str:
    """Without values that could name a host or an identifier."""
    words = read("/proc/cmdline").split()
    wanted = (
        "isolcpus nohz_full rcu_nocbs mitigations preempt intel_pstate idle processor transparent_hugepage nosmt clocksource tsc quiet"
    ).split()
    return " ".join(word for word in words if word.split("=")[0].split(".")[0] in wanted)


def machine() -> dict:
    """What stays the same from run to run."""
    cpu = cpu_fields(read("/proc/cpuinfo"))
    cpufreq = "/sys/devices/system/cpu/cpu0/cpufreq"
    return {
        "cpu": cpu.get("model name") or platform.machine(),
        "microcode": cpu.get("microcode", UNREADABLE),
        "architecture": platform.machine(),
        "cpus_online": first("/sys/devices/system/cpu/online"),
        "cpus": os.cpu_count(),
        "affinity": sorted(os.sched_getaffinity(0)),
        "threads_per_core": first("/sys/devices/system/cpu/cpu0/topology/thread_siblings_list"),
        "hypervisor": hypervisor(),
        "caches": caches(),
        "memory_kib": int((re.search(r"MemTotal:\s+(\d+)", read("/proc/meminfo")) or [0, 0])[1]),
        "kernel": platform.release(),
        "kernel_command_line": kernel_command_line(),
        "isolated_cpus": first("/sys/devices/system/cpu/isolated"),
        "clocksource": first("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        "governor": first(f"{cpufreq}/scaling_governor"),
        "turbo": turbo(),
        "transparent_hugepages": chosen_of(first("/sys/kernel/mm/transparent_hugepage/enabled")),
        "aslr": first("/proc/sys/kernel/randomize_va_space"),
        "mitigations": mitigations(),
        "cgroup_cpu_max": first("/sys/fs/cgroup/cpu.max"),
        "os": packages.read_os_release().get("PRETTY_NAME", ""),
        "libc": " ".join(platform.libc_ver()),
    }


def file_hash(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    except OSError:
        return ""


def rustc_version() -> str:
    try:
        folder = Path(packages.cargo()).parent
    except Exception:
        return ""
    rustc = folder / "rustc"
    return packages.tool_version(str(rustc) if rustc.exists() else shutil.which("rustc") or "rustc")


def toolchain() -> dict:
    tools = {name: packages.tool_version(name) for name in ("g++", "cmake", "ninja", "hyperfine")}
    cargo = packages.find_cargo()[0]
    return tools | {
        "cargo": packages.tool_version(cargo) if cargo else "",
        "rustc": rustc_version(),
        "python": platform.python_version(),
        "cxx_flags": building.compile_flags("release"),
        "cargo_lock": file_hash(repo.RUST / "Cargo.lock"),
    }


def load() -> dict:
    """What was going on; taken before and after a race."""
    return {
        "utc": repo.utc_stamp(),
        "loadavg": first("/proc/loadavg"),
        "psi_cpu": first("/proc/pressure/cpu"),
        "psi_memory": first("/proc/pressure/memory"),
        "psi_io": first("/proc/pressure/io"),
    }


def env_id(machine_part: dict, toolchain_part: dict) -> str:
    """Rows of different env_id are not compared without a warning."""
    text = json.dumps([machine_part, toolchain_part], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
