"""Judges converted to a target's native ones, in the target's own package: its judges, requests and results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from tests.targets.calling import call
from workbench.judges import BinaryJudge, CriteriaJudge, GuardrailJudge, LabelJudge, RubricJudge, ScoreJudge

pytestmark = pytest.mark.install

ASKED = [{"role": "user", "content": "Rate {{sample.output_text}} for {{item.topic}}."}]
EXACT = "async def grade(thread):\n    return float(thread.completion() == '4')\n"
ENTRIES = [
    wb.Entry(BinaryJudge("It is polite.", model="m-binary"), "polite", weight=2.0),
    wb.Entry(wb.FunctionGrader.from_source(EXACT, name="exact")),
    wb.Entry(
        RubricJudge(
            "Rate it by {topic}.", rubric_vars=["topic"], provider="google", model="gemini-3.5-flash"
        ),
        "rubric",
    ),
    wb.Entry(RubricJudge("Rate it.", provider="anthropic", model="claude-opus-5-5"), "claude"),
    wb.Entry(CriteriaJudge("It is good.", model="m-criteria", max_tokens=300), "criteria"),
    wb.Entry(GuardrailJudge(model="m-guardrail"), "safe"),
    wb.Entry(ScoreJudge(ASKED, model="m-score", sampling_params={"seed": 7}), "score"),
    wb.Entry(LabelJudge(ASKED, labels=["good", "bad"], passing_labels=["good"], model="m-label"), "label"),
]
ROWS = [
    {"prompt": "2+2?", "completion": said, "reference_column": None, "columns": {"topic": "sums", "at": at}}
    for at, said in enumerate(["4", "5 é漢"])
]


def found(target: str, folder: Path) -> Any:
    suite = wb.Suite(ENTRIES, combine=wb.combine.Mean())
    path = folder / "exported.py"
    wb.export(suite, path, target.partition("_")[0], on_loss="report", allow_unvalidated=True)
    work = folder / "work"
    work.mkdir()
    return call(target, path, ROWS, work)["facts"]


@pytest.fixture(scope="module")
def mlflow(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What MLflow's caller found, called once."""
    return found("mlflow_judges", tmp_path_factory.mktemp("mlflow"))


def test_mlflow_makes_the_judges(mlflow: Any) -> None:
    """Each with its variables, its verdict type and its model, as MLflow reads them."""
    made = mlflow["judges"]
    both, three = ["inputs", "outputs"], ["expectations", "inputs", "outputs"]
    assert {name: (one["variables"], one["type"], one["model"]) for name, one in made.items()} == {
        "polite": (both, ["PASS", "FAIL", "NA"], "openai:/m-binary"),
        "rubric": (three, "float", "gemini:/gemini-3.5-flash"),
        "claude": (three, "float", "anthropic:/claude-opus-5-5"),
        "criteria": (both, "float", "openai:/m-criteria"),
        "safe": (["outputs"], "float", "openai:/m-guardrail"),
        "score": (["expectations", "outputs"], "float", "openai:/m-score"),
        "label": (["expectations", "outputs"], ["good", "bad"], "openai:/m-label"),
    }
    assert made["criteria"]["inference"] == {"temperature": 0.0, "max_tokens": 300}
    assert made["score"]["inference"] == {"temperature": 0.0, "seed": 7}


def test_mlflow_asks_the_authors_question(mlflow: Any) -> None:
    """Instructions first, then the variables' values; verdicts are values next to the code's scores."""
    first, second = mlflow["values"]
    judged = {"polite": "PASS", "criteria": 0.75, "safe": 0.75, "score": 0.75, "label": "good"}
    assert first == {"exact": 1.0, **judged, "combined": 1.0}
    assert second == {"exact": 0.0, **judged, "combined": 0.0}
    asked = [one for one in mlflow["asked"] if one["model"] == "m-binary"]
    assert len(asked) == 2
    for one in asked:
        instructions, material = one["texts"]
        assert mlflow["judges"]["polite"]["instructions"] in instructions
        assert "It is polite." in instructions
        assert "2+2?" in material
        assert "topic" not in material
        assert one["temperature"] == 0.0
    assert any("5 é漢" in one["texts"][1] for one in asked)
    (labelled, _) = [one["texts"][1] for one in mlflow["asked"] if one["model"] == "m-label"]
    assert '"topic": "sums"' in labelled


def test_gemini_takes_the_configuration(tmp_path: Path) -> None:
    """google-genai's models know every field, and its requests leave none out."""
    facts = found("gemini_judges", tmp_path)
    written = json.loads((tmp_path / "exported.reward_config.json").read_text("utf-8"))
    assert facts["read"] == written
    assert facts["job"] == facts["tried"] == written["compositeRewardConfig"]
    assert [one["weight"] for one in facts["job"]["weightedRewardConfigs"]] == [
        1.0,
        2.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
        1.0,
    ]
