"""Cases with known answers from the systems themselves, and what adapts a case to our public interface."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb

HERE = Path(__file__).parent


def cases(system: str, *graders: str) -> list[Any]:
    """Parameters for the cases of a system whose grader, or its part before the colon, is among `graders`."""
    found = json.loads((HERE / f"{system}.json").read_text("utf-8"))
    chosen = [
        case for case in found if case["grader"] in graders or case["grader"].partition(":")[0] in graders
    ]
    assert chosen, f"{system} has no case of {graders}"
    return [pytest.param(case, id=case["id"]) for case in chosen]


def suite_of(system: str, document: Any, **settings: Any) -> wb.Suite:
    """A platform's document as a suite."""
    return wb.loads(json.dumps(document), system, **settings)


def with_client(suite: wb.Suite, reply: str) -> wb.Suite:
    """The same suite with judges that hear one fixed answer."""
    from dataclasses import replace

    client = wb.ScriptedClient([reply] * 4)
    entries = [replace(entry, grader=replace(entry.grader, client=client)) for entry in suite.entries]
    return wb.Suite(entries, combine=suite.combine, gate=suite.gate, name=suite.name)


def check_score(expected: dict[str, Any], score: float | None) -> None:
    """Compare a score with what a case expects, where it expects one."""
    if "score" in expected:
        assert score == pytest.approx(expected["score"], abs=expected.get("tolerance", 1e-9))
