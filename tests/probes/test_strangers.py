"""Holes as public bug reports tell them are named with a text that shows them; the mended graders are not accused."""

from __future__ import annotations

import asyncio
import re

import pytest

import workbench as wb
from tests.probes.strangers import STRANGERS
from workbench.analysis.finding import Severity

_FIRST = 3
"""Findings that a person reads."""
_ONLY_THE_AUTHOR_KNOWS = {"format_alone_pays"}
"""Holes of which a question further down, or a symptom, is all that may be expected."""


class _Turn:
    def __init__(self, role, content):
        self.role, self.content = role, content


class _Thread:
    def __init__(self, turns, metadata):
        self._turns, self.metadata = [_Turn(*turn) for turn in turns], metadata

    def get_turns(self):
        return self._turns

    def completion(self):
        return self._turns[-1].content


def _turns(row):
    prompt = row["prompt"]
    return (
        [("user", prompt)]
        if isinstance(prompt, str)
        else [(turn["role"], turn["content"]) for turn in prompt]
    )


def _score(source, row, text):
    space = {}
    exec(source, space)  # the graders of this folder
    columns = {name: value for name, value in row.items() if name not in {"prompt", "answers"}}
    try:
        return asyncio.run(space["grade"](_Thread([*_turns(row), ("assistant", text)], columns)))
    except Exception:
        return -1.0


def _probe(source, rows):
    lines = [
        {"completion": answer, **{name: value for name, value in row.items() if name != "answers"}}
        for row in rows
        for answer in row["answers"]
    ]
    return wb.probe(
        wb.FunctionGrader.from_source(source, name="graded"), wb.read_samples(lines), progress=False
    )


def _shows(case, probe, finding):
    """Whether grader and mended grader differ on a text of the finding."""
    for line in probe.texts(finding.kind).head(60).to_dict("records"):
        for row in case["rows"]:
            text = str(line["text"] or "")
            if _turns(row)[-1][1] in str(line["prompt"]) and (
                abs(_score(case["hole"], row, text) - _score(case["mended"], row, text)) > 0.4
            ):
                return True
    return False


@pytest.mark.parametrize("name", sorted({*STRANGERS} - _ONLY_THE_AUTHOR_KNOWS))
def test_the_hole_is_named(name):
    """One of the first three findings has its words, and one of its texts is graded otherwise by the mended grader."""
    case = STRANGERS[name]
    probe = _probe(case["hole"], case["rows"])
    named = [
        finding
        for finding in probe.findings[:_FIRST]
        if re.search(case["names"], f"{finding.kind} {finding.message} {finding.advice}", re.IGNORECASE)
        and _shows(case, probe, finding)
    ]
    assert named, str(probe)


@pytest.mark.parametrize("name", sorted(STRANGERS))
def test_the_mended_grader_is_not_accused(name):
    """No error; a question may be left."""
    probe = _probe(STRANGERS[name]["mended"], STRANGERS[name]["rows"])
    assert [finding.kind for finding in probe.findings if finding.severity == Severity.ERROR] == [], str(
        probe
    )
