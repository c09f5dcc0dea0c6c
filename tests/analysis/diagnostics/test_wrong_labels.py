"""Labels that the rows themselves contradict."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from tests.analysis.diagnostics.conftest import make_grades

N = 200
RNG = np.random.default_rng(0)


def kinds(answers, labels, *, prompts=None, scores=None):
    rows = [
        {"prompt": f"q{row if prompts is None else prompts[row]}", "completion": answers[row], "expected": "right", "good": bool(labels[row])}
        for row in range(N)
    ]  # fmt: skip
    marks = [float(answer == "right") for answer in answers] if scores is None else scores
    report = wb.Report(wb.read_samples(rows), {"g": make_grades(marks)}, labels="good")
    return {finding.kind: finding for finding in report.findings}


def test_answers_that_are_the_reference_and_labelled_bad():
    """One in five labels turned round: those of right answers can be checked, and the grader's mistakes follow from them."""
    right = RNG.random(N) < 0.5
    answers = ["right" if each else f"no {row}" for row, each in enumerate(right)]
    found = kinds(answers, right ^ (np.arange(N) % 5 == 0))
    finding = found["wrong-labels"]
    turned = int((right & (np.arange(N) % 5 == 0)).sum())
    assert finding.severity == "warning"
    assert (
        f"{turned} mark a completion bad that equals the reference; that is {turned} of {right.sum()} labels"
        in str(finding)
    )
    assert {answers[row] for row in finding.rows} == {"right"}
    assert found["too-lenient"].cause == "wrong-labels"


def test_few_wrong_labels_do_not_explain_many_mistakes():
    """One label in ten is wrong, and the grader rejects all answers but few: that is its own fault."""
    right = RNG.random(N) < 0.5
    answers = ["right" if each else f"no {row}" for row, each in enumerate(right)]
    found = kinds(answers, right ^ (np.arange(N) % 10 == 0), scores=(np.arange(N) % 9 == 0) * 1.0)
    assert found["wrong-labels"].severity == "warning"
    assert found["too-strict"].cause != "wrong-labels"


def test_one_answer_with_two_labels():
    """Each answer stands there three times; where one label of three differs, it is the one."""
    answers = [f"answer {row // 3}" for row in range(N)]
    truth = np.arange(N) // 3 % 2 == 0
    turned = np.arange(N) % 9 == 0
    finding = kinds(answers, truth ^ turned, prompts=np.arange(N) // 3, scores=truth * 1.0)["wrong-labels"]
    last = {N - 2, N - 1}  # two rows with two labels: nothing tells which is wrong
    assert set(finding.rows) - last == set(np.flatnonzero(turned)) - last
    assert "differ from others of the same completion" in str(finding)


@pytest.mark.parametrize("answer", ["right", "other"])
def test_sound_labels_are_not_accused(answer):
    """Right answers are labelled good, and the same answer always alike."""
    answers = [answer if row % 2 else f"no {row % 7}" for row in range(N)]
    labels = [text == "right" for text in answers]
    assert "wrong-labels" not in kinds(answers, labels, prompts=np.arange(N) // 8)


def test_an_answer_that_is_the_reference_is_good_however_often_it_is_labelled_bad():
    """Labelled good once and bad twice: the two are wrong, not the one."""
    labels = np.arange(N) % 3 == 0
    finding = kinds(["right"] * N, labels, prompts=np.arange(N) // 3)["wrong-labels"]
    assert set(finding.rows) == set(np.flatnonzero(~labels))


def distinct(**columns):
    """Rows of which only a column that is not the answer says what was asked, with true labels that differ."""
    rows = [{"prompt": f"q{row // 2}", "completion": "yes", "good": row % 2 == 0} for row in range(N)]
    frame = pd.DataFrame(rows).assign(**columns)
    report = wb.Report(
        wb.read_samples(frame), {"g": make_grades([float(row % 2 == 0) for row in range(N)])}, labels="good"
    )
    return {finding.kind for finding in report.findings}


@pytest.mark.filterwarnings("ignore::workbench.core.errors.SamplesWarning")
@pytest.mark.parametrize(
    "columns",
    [
        {"completion": [""] * N},
        {"expected": ["yes" if row % 2 == 0 else "no" for row in range(N)]},
        {"prompt": ["sort this mail"] * N, "mail": [f"mail {row}" for row in range(N)]},
    ],
)
def test_rows_that_ask_for_something_else_are_not_the_same_answer(columns):
    """No text at all, another reference, or one instruction for all: no label is called wrong, no answer a copy."""
    assert not {"wrong-labels", "copied-completions"} & distinct(**columns)


def test_the_same_answer_to_another_prompt_may_have_another_label():
    """A "yes" is right to one question and wrong to another."""
    assert "wrong-labels" not in kinds(["yes"] * N, RNG.random(N) < 0.5)
