"""SARIF 2.1.0: failures with their places and executions, as code viewers read them."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from ..base import repo
from .junit import Verdict

SCHEMA = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"


def rule(kind: str) -> str:
    return "apiary/" + re.sub(r"[^a-z0-9]+", "-", kind.lower()).strip("-")


def uri(path: str) -> str:
    return Path(path).as_uri() if path.startswith("/") else path


def place(path: str, line: int) -> dict:
    return {"physicalLocation": {"artifactLocation": {"uri": uri(path)}, "region": {"startLine": max(1, line)}}}


def step(one: dict) -> dict:
    where = place(one["file"], one["line"]) if one["file"] else {}
    return {"location": where | {"message": {"text": one["operation"]}}, "executionOrder": max(0, one["step"])}


def result(one: Verdict) -> dict:
    threads = sorted({s["thread"] for s in one.steps})
    flows = [{"id": f"thread {thread}", "locations": [step(s) for s in one.steps if s["thread"] == thread]} for thread in threads]
    same = hashlib.sha256("\n".join([one.name, one.kind, *(f"{Path(path).name}:{line}" for path, line in one.places)]).encode())
    told = f"{one.name}: {one.kind}; {one.message}" + (f"\nreplay: {one.replay}" if one.replay else "")
    return {
        "ruleId": rule(one.kind), "level": "error", "message": {"text": told},
        "locations": [place(*where) for where in one.places[:1]],
        "relatedLocations": [place(*where) for where in one.places[1:]],
        **({"codeFlows": [{"threadFlows": flows}]} if flows else {}),
        "partialFingerprints": {"apiary/v1": same.hexdigest()[:32]},
    }


def text(tool: str, verdicts: list[Verdict]) -> str:
    failures = [one for one in verdicts if one.kind]
    rules = [{"id": name, "shortDescription": {"text": kind}}
             for name, kind in dict((rule(one.kind), one.kind) for one in failures).items()]
    driver = {"name": f"apiary {tool}", "version": repo.version(), "rules": rules}
    return repo.json_text({"$schema": SCHEMA, "version": "2.1.0",
                           "runs": [{"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": [result(one) for one in failures]}]})
