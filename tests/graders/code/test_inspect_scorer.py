"""Scorers of inspect_ai as graders: with the package where it is installed, else with classes of the same signatures."""

import importlib.util
import sys
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import workbench as wb


@dataclass
class Message:
    content: str


@dataclass
class TaskState:
    model: Any
    sample_id: Any
    epoch: int
    input: Any
    messages: list
    target: Any = None
    output: Any = None
    metadata: dict = field(default_factory=dict)


@dataclass
class Score:
    value: Any
    answer: str | None = None
    explanation: str | None = None
    metadata: dict | None = None


class ModelOutput:
    @staticmethod
    def from_content(model, content):
        return SimpleNamespace(completion=content)


@pytest.fixture
def package(monkeypatch):
    """Modules with the names of inspect_ai's classes."""
    model, solver, scorer = (ModuleType(f"inspect_ai.{name}") for name in ("model", "solver", "scorer"))
    model.ChatMessageUser = model.ChatMessageAssistant = model.ChatMessageSystem = Message
    model.ModelOutput, solver.TaskState, scorer.Target = ModelOutput, TaskState, list
    for name, module in (
        ("", ModuleType("inspect_ai")),
        (".model", model),
        (".solver", solver),
        (".scorer", scorer),
    ):
        monkeypatch.setitem(sys.modules, f"inspect_ai{name}", module)


def made(value):
    async def score(state, target):
        return value(state, target)

    score.__registry_info__ = SimpleNamespace(type="scorer", name="inspect_ai/near")
    score.__registry_params__ = {}
    return score


ROWS = [
    {"prompt": "2+2?", "completion": "It is 4.", "answer": "4", "topic": "sums"},
    {"prompt": "3+3?", "completion": "7", "answer": "6", "topic": "sums"},
]


def near(state, target):
    assert state.metadata["topic"] == "sums"
    assert state.messages[-1].content == state.output.completion
    return Score(
        "C" if target[0] in state.output.completion else "I",
        explanation=f"looked for {target[0]}",
        answer=state.input,
    )


def test_a_scorer_gets_the_row_and_gives_a_grade(package):
    """The state has the messages, output and columns; letters become scores and verdicts, the explanation the reasoning."""
    report = wb.CustomGrader(made(near)).run(wb.Samples(ROWS), progress=False)
    grades = report.grades["near"]
    assert grades.scores.tolist() == [1.0, 0.0]
    assert (grades[0].passed, grades[0].reasoning, grades[0].metadata) == (
        True,
        "looked for 4",
        {"answer": "2+2?"},
    )


@pytest.mark.parametrize(
    ("value", "score", "passed"),
    [
        ("P", 0.5, None),
        ("N", 0.0, False),
        (True, 1.0, True),
        (0.25, 0.25, None),
        ("yes", 1.0, True),
        ("0.75", 0.75, None),
    ],
)
def test_values_are_numbers_as_inspect_has_them(package, value, score, passed):
    grade = (
        wb.CustomGrader(made(lambda *_: Score(value))).run(wb.Samples(ROWS), progress=False).grades["near"][0]
    )
    assert (grade.score, grade.passed) == (score, passed)


@pytest.mark.parametrize("value", [{"a": 1}, "well", [1.0]])
def test_other_values_are_errors(package, value):
    """Inspect counts them as 0 with a warning; a failure is not a zero."""
    grade = (
        wb.CustomGrader(made(lambda *_: Score(value))).run(wb.Samples(ROWS), progress=False).grades["near"][0]
    )
    assert grade.score is None
    assert grade.error is not None


def test_no_score_is_a_skip(package):
    grades = wb.CustomGrader(made(lambda *_: None)).run(wb.Samples(ROWS), progress=False).grades["near"]
    assert (grades.n_skipped, grades.n_failed) == (2, 0)


def test_a_function_under_scorer_is_called_with_its_defaults(package):
    """`match` is what makes the scorer; one that needs arguments is refused with the call."""

    def near_by(distance=1):
        return made(near)

    def pattern(pattern):
        return made(near)

    for one in (near_by, pattern):
        one.__registry_info__ = SimpleNamespace(type="scorer", name=f"inspect_ai/{one.__name__}")
    grader = wb.CustomGrader(near_by)
    assert grader.name == "near_by"
    assert grader.run(wb.Samples(ROWS), progress=False).summary["mean"].iloc[0] == 0.5
    with pytest.raises(TypeError, match=r"wb.CustomGrader\(pattern\(pattern=...\)\)"):
        wb.CustomGrader(pattern)


#: Completion, reference, and the values of match(), includes() and exact() of inspect_ai 0.3.285.
FACTS = [
    ("It is 4", "4", "CCI"), ("It is 14", "4", "CCI"), ("4 it is", "4", "ICI"), ("4", "4", "CCC"), ("five", "4", "III"), ("", "4", "III"),
]  # fmt: skip


@pytest.mark.skipif(importlib.util.find_spec("inspect_ai") is None, reason="inspect_ai is not installed")
@pytest.mark.parametrize(("text", "reference", "letters"), FACTS)
def test_scores_are_those_of_the_package(text, reference, letters):
    """The package's own scorers, unchanged."""
    from inspect_ai.scorer import exact, includes, match

    suite = wb.Suite([wb.CustomGrader(match), wb.CustomGrader(includes()), wb.CustomGrader(exact())])
    report = suite.run(wb.Samples([{"prompt": "?", "completion": text, "answer": reference}]), progress=False)
    assert (
        "".join("CI"[int(report.grades[name].scores[0] == 0)] for name in ("match", "includes", "exact"))
        == letters
    )
