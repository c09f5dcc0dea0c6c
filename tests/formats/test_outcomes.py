"""Graders that return a `Grade` or raise a `Skip` on other platforms: their equivalent, or a reported loss."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest

import workbench as wb
from tests.graders.code.test_outcomes import TEXT
from workbench.core.errors import FormatError
from workbench.sandbox.platforms import letta
from workbench.sandbox.platforms.modules import LETTA, stand_ins

ROWS = [{"id": text, "prompt": "p", "completion": text, "reference": "r"} for text in ("fine", "skip", "why")]
MARK = "# --- grader workbench"
LOSSES = {
    "native": [],
    "python": [],
    "letta": ["source (wb.Skip)"],
    "osmosis": ["source (wb.Grade)"],
    "openai": ["source (wb.Grade)", "source (wb.Skip)"],
}
ENDINGS = {"native": ".json", "python": ".py", "letta": ".yaml", "osmosis": ".py", "openai": ".json"}


def grader() -> wb.FunctionGrader:
    made = wb.FunctionGrader.from_source(TEXT, name="maths")
    made.validate().raise_for_failure()
    return made


@pytest.mark.parametrize("platform", LOSSES)
def test_what_a_platform_loses_is_told_and_the_text_comes_back(platform, tmp_path):
    """Every loss is named; the grader's own text is read back byte for byte."""
    path = tmp_path / f"maths{ENDINGS[platform]}"
    done = wb.export([grader()], path, platform, on_loss="report")
    losses = [] if done is None else [loss.field for loss in getattr(done, "losses", done)]
    assert [one for one in losses if "wb." in one] == LOSSES[platform]
    (back,) = wb.load(path, platform, trust=True).graders
    assert back.source.text == TEXT


def test_adaptive_refuses_it(tmp_path):
    """Adaptive's functions return only a number."""
    with pytest.raises(FormatError, match="return only a number"):
        wb.export([grader()], tmp_path / "maths.py", "adaptive")


def module(platform, tmp_path):
    """The module that a platform gets, its marks changed so that it is read as the platform's own."""
    path = tmp_path / f"maths{ENDINGS[platform]}"
    wb.export([grader()], path, platform, on_loss="report")
    if platform == "openai":
        (text,) = _sources(json.loads(path.read_text("utf-8")))
    else:
        (text,) = [file.read_text("utf-8") for file in tmp_path.glob("**/*.py")]
    return text.replace(MARK, "# ---")


def _sources(value):
    if isinstance(value, dict):
        yield from [value["source"]] if isinstance(value.get("source"), str) else []
        for inner in value.values():
            yield from _sources(inner)
    if isinstance(value, list):
        for inner in value:
            yield from _sources(inner)


def test_openais_module_scores_alike(tmp_path):
    """The module that OpenAI runs gives the same numbers; a skipped row fails there with the reason."""
    foreign = wb.FunctionGrader.from_source(module("openai", tmp_path), signature="openai", function="grade")
    grades = foreign.run(ROWS, progress=False).grades[foreign.name]
    assert [grades[row].score for row in range(3)] == [1.0, None, 0.25]
    assert grades[1].error is not None
    assert "not a maths row" in grades[1].error.message


def test_lettas_module_keeps_the_reasoning(tmp_path, monkeypatch):
    """The module that Letta runs gives scores with their rationale and metadata; a skipped row raises."""
    for name, stand_in in stand_ins(LETTA, letta).items():
        monkeypatch.setitem(sys.modules, name, stand_in)
    space: dict[str, Any] = {"__name__": "maths"}
    exec(module("letta", tmp_path), space)

    def graded(text):
        return space["maths_maths_score"](letta.Sample(id="0", input="p", ground_truth="r"), text)

    assert graded("fine").score == 1.0
    why = graded("why")
    assert (why.score, why.rationale, why.metadata) == (0.25, "because", {"steps": [1, 2]})
    with pytest.raises(space["Skip"], match="not a maths row"):
        graded("skip")


def test_osmosis_removes_a_skipped_sample(tmp_path):
    """Osmosis represents a skipped row as a removed sample."""
    foreign = wb.RolloutGrader.from_source(module("osmosis", tmp_path))
    grades = foreign.run(ROWS, progress=False).grades[foreign.name]
    assert [grades[row].score for row in range(3)] == [1.0, None, 0.25]
    assert "removed" in str(grades[1].reasoning or grades[1].error)
