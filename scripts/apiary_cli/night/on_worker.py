"""What runs on a worker. Its own process imports this module, out of the archive that it was sent, so that it needs nothing of the checkout:
what a function needs is imported in it."""

from __future__ import annotations


def of_a_worker() -> dict[str, str]:
    import os
    import platform

    import distributed

    return {"processor": platform.machine(), "libc": os.confstr("CS_GNU_LIBC_VERSION") or "unknown",
            "Python": ".".join(platform.python_version_tuple()[:2]), "distributed": distributed.__version__}


def do_unit(told: dict, sent: dict[str, bytes]) -> dict:
    import os
    import shutil
    from pathlib import Path

    import distributed
    from apiary_cli.night import child
    from apiary_cli.night.unit import Unit, file_hash

    here = child.machine()
    if here != told["machine"]:
        return {"refused": f"it has {here}, and the programs are for {told['machine']}"}
    scratch = Path(distributed.get_worker().local_directory) / "apiary"

    def place(name: str, called: str) -> Path:
        target = scratch / name / called
        if not (target.exists() and file_hash(target) == name):
            target.parent.mkdir(parents=True, exist_ok=True)
            half = target.with_name(f".{called}.{os.getpid()}")
            shared = Path(told["store"]) / "files" / name[:2] / name
            if name in sent:
                half.write_bytes(sent[name])
            elif (Path(told["store"]) / "token").exists() and (Path(told["store"]) / "token").read_text() == told["token"] and shared.exists():
                shutil.copyfile(shared, half)
            else:
                raise LookupError(name)
            half.chmod(0o755)
            half.replace(target)
        if file_hash(target) != name:
            raise ValueError(f"{called} came as another file than the one that was sent")
        return target

    try:
        program = place(told["program"], told["called"])
        files = tuple((name, str(place(blob, f"{name}.file"))) for name, blob in told["files"])
    except LookupError as missing:
        return {"needs": missing.args[0]}
    unit = Unit(**told["unit"], program=str(program), files=files)
    return child.run(unit, cwd=scratch)
