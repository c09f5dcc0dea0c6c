"""Each target's own code calls a file written by hand: scores, rows that fail, and rows that are left out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.targets.calling import ENVIRONMENT, call
from tests.targets.environments import HERE

pytestmark = pytest.mark.install

EXAMPLES = {
    "trl": "trl_rewards.py",
    "verl": "verl_rewards.py",
    "openrlhf": "openrlhf_rewards.py",
    "verifiers": "verifiers_rewards.py",
    "inspect": "inspect_scorers.py",
    "mlflow": "mlflow_scorers.py",
    "langsmith": "langsmith_evaluators.py",
    "gemini": "gemini_reward.py",
    "slime": "slime_rewards.py",
    "nova": "nova_reward.py",
    "promptfoo": "promptfoo_assert.py",
    "eval_protocol": "eval_protocol_rows.py",
}

FAILS, SKIPS = (11, 23), (12, 30)

WEIGHTS = {"exact": 0.5, "fails": 0.25, "skips": 0.25}


def rows() -> list[dict[str, Any]]:
    """Fifty sums, half of them as messages; blanks around some completions, and letters beyond ASCII."""
    return [_row(index) for index in range(50)]


def _row(index: int) -> dict[str, Any]:
    first, second = index % 7 + 1, index % 5 + 2
    answer = str(first + second if index % 3 else first * second + 1)
    answer = f" {answer}\n" if index % 6 == 0 else answer
    answer = f"{answer} é漢 " if index % 10 == 3 else answer
    hint = "fail" if index in FAILS else "skip" if index in SKIPS else "none"
    prompt = f"What is {first} + {second}?"
    messages = index >= 25
    return {
        "prompt": [{"role": "system", "content": "Be short."}, {"role": "user", "content": prompt}]
        if messages
        else prompt,
        "completion": [{"role": "assistant", "content": answer}] if messages else answer,
        "reference_column": "expected",
        "columns": {"expected": str(first + second), "hint": hint},
    }


def text(row: dict[str, Any]) -> str:
    completion = row["completion"]
    return completion if isinstance(completion, str) else completion[-1]["content"]


def parts(row: dict[str, Any]) -> dict[str, float | None]:
    """The scores of the three graders of most examples for a row; None is a missing score."""
    hint = row["columns"]["hint"]
    return {
        "exact": float(text(row).strip() == row["columns"]["expected"]),
        "fails": None if hint == "fail" else 0.5,
        "skips": None if hint == "skip" else float(len(text(row))),
    }


def summed(row: dict[str, Any]) -> float:
    """The weighted sum of what there is: a missing part counts as nothing."""
    return sum(score * WEIGHTS[name] for name, score in parts(row).items() if score is not None)


def averaged(row: dict[str, Any]) -> float | None:
    """The weighted mean of what there is; none where a grader fails."""
    if row["columns"]["hint"] == "fail":
        return None
    return summed(row) / sum(WEIGHTS[name] for name, score in parts(row).items() if score is not None)


def unless_failed(score: Any) -> Any:
    return lambda row: None if row["columns"]["hint"] == "fail" else score(row)


def close(found: list[float | None], expected: list[float | None]) -> bool:
    """Whether scores are the same as float32, and missing in the same rows."""
    return found == [None if score is None else pytest.approx(score, rel=1e-6) for score in expected]


COMBINED = {
    "trl": summed,
    "verl": averaged,
    "openrlhf": lambda row: (
        None if text(row) == "7" else 0.75 * (parts(row)["exact"] or 0.0) + 0.25 * len(text(row))
    ),
    "verifiers": unless_failed(summed),
    "inspect": lambda _: None,
    "mlflow": lambda _: None,
    "langsmith": lambda _: None,
    "gemini": unless_failed(lambda row: 0.75 * (parts(row)["exact"] or 0.0) + 0.25 * (len(text(row)) > 1)),
    "slime": averaged,
    "nova": unless_failed(lambda row: 0.5 * (parts(row)["exact"] or 0.0) + 0.25),
    "promptfoo": averaged,
    "eval_protocol": averaged,
}
"""The score of a row in each example; none in those that have parts only."""

ALL_OR_NOTHING = ("verl", "verifiers", "slime", "nova", "promptfoo", "gemini")
"""Targets where a grader that fails takes the row's other parts with it, as they have no word for one without a score."""

WITHOUT_PARTS = ("gemini", "openrlhf", "nova")
"""Examples with other parts than the three."""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """What a target's caller found for the fifty rows, called once."""
    kept: dict[str, Any] = {}

    def of(target: str) -> Any:
        if target not in kept:
            work = tmp_path_factory.mktemp(target)
            kept[target] = call(target, HERE / "examples" / EXAMPLES[target], rows(), work)
        return kept[target]

    return of


@pytest.mark.parametrize("target", ENVIRONMENT)
def test_combined_score(target: str, found: Any) -> None:
    """The score of every row is what the file's graders give, and there is none where a grader failed."""
    assert close(found(target)["scores"], [COMBINED[target](row) for row in rows()])


@pytest.mark.parametrize("target", [one for one in ENVIRONMENT if one not in WITHOUT_PARTS])
def test_parts(target: str, found: Any) -> None:
    """Every part has its own score, and none where its grader failed or was left out."""
    for name in WEIGHTS:
        expected = [
            None if target in ALL_OR_NOTHING and index in FAILS else parts(row)[name]
            for index, row in enumerate(rows())
        ]
        assert close(found(target)["parts"][name], expected), name


@pytest.mark.parametrize("target", [one for one in ENVIRONMENT if one not in {"trl", "openrlhf"}])
def test_failed_rows_say_why(target: str, found: Any) -> None:
    """A row on which a grader failed has an error."""
    errors = found(target)["errors"]
    assert {str(row) for row in FAILS} <= set(errors)
    assert set(errors) <= {str(row) for row in (*FAILS, *SKIPS)}


def test_an_exception_in_openrlhf_is_only_logged(found: Any) -> None:
    """OpenRLHF continues without a reward if the function raises, and reports it only in its log."""
    assert all("Failed to fetch reward" in error for error in found("openrlhf")["errors"].values())
    assert found("openrlhf")["errors"]


def test_inspect_keeps_rows_without_a_score_apart(found: Any) -> None:
    """Inspect counts unscored rows and leaves them out of the mean."""
    metrics = found("inspect")["facts"]["metrics"]
    assert metrics["fails"] == {"mean": 0.5, "stderr": 0.0, "unscored": 2}


def test_slime_in_groups(found: Any) -> None:
    """The same function scores a whole group; a failure fails its group."""
    grouped = found("slime")["facts"]["grouped"]
    missing = {index for index in range(50) if index // 4 in {row // 4 for row in FAILS}}
    assert {index for index, score in enumerate(grouped) if score is None} == missing


def test_both_shapes_of_amazon(found: Any) -> None:
    """A handler reads SageMaker's samples and Bedrock's."""
    assert found("nova")["facts"]["bedrock"] == found("nova")["scores"]


def test_promptfoo_command_line(tmp_path: Path) -> None:
    """Promptfoo's command line scores rows as its module does, and makes a failure a score of zero."""
    result = call("promptfoo", HERE / "examples" / EXAMPLES["promptfoo"], rows(), tmp_path, whole=True)
    evaluated = result["facts"]["evaluated"]
    expected = [0.0 if score is None else score for score in result["scores"][: len(evaluated)]]
    assert [one["score"] for one in evaluated] == pytest.approx(expected)
    assert not evaluated[FAILS[0]]["pass"]
    assert "cannot read this row" in evaluated[FAILS[0]]["reason"]
