"""Answers that are favoured for their place, and steps in the order of the rows."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.analysis.diagnostics.conftest import make_grades
from workbench.analysis.diagnostics import diagnose
from workbench.judges import PairwiseJudge, ScriptedClient

N = 240
RNG = np.random.default_rng(0)
GOOD = RNG.random(N) < 0.5
SCORES = np.clip(np.where(GOOD, 0.75, 0.25) + RNG.normal(0, 0.1, N), 0, 1)


def kinds(scores, *, labels="good", others=None, texts=None, scale=(0.0, 1.0), **columns):
    rows = [
        {
            "prompt": f"q{row // 3}",
            "completion": "answer" if texts is None else texts[row],
            "good": bool(GOOD[row]),
            **{name: cells[row] for name, cells in columns.items()},
        }
        for row in range(N)
    ]
    grades = {"g": make_grades(np.array(scores, float))}
    grades |= {name: make_grades(column) for name, column in (others or {}).items()}
    report = wb.Report(wb.read_samples(rows), grades, labels=labels, scale=scale)
    return {finding.kind: finding for finding in report.findings if finding.grader == "g"}


def test_answers_shown_first_that_score_higher_are_told():
    """A column says at which place each answer was shown; those at the first score a fifth higher."""
    places = [row % 4 + 1 for row in range(N)]
    finding = kinds(np.clip(SCORES + 0.2 * (np.array(places) == 1), 0, 1), position=places)[
        "score-position-bias"
    ]
    assert finding.severity == "warning"
    assert "biased towards position '1': scores 0." in str(finding)
    assert finding.interval.lo < 0.2 < finding.interval.hi
    assert "score-position-bias" not in kinds(SCORES, position=places)


def test_a_favour_that_makes_the_mistakes_leads():
    """On a scale of 1 to 5, two points more for the first place: bad rows pass for that alone."""
    places = np.arange(N) % 3
    scores = np.where(GOOD, 4.0, 2.0) + np.where(places == 0, 1.5, 0.0) * ~GOOD
    found = kinds(scores, scale=(1.0, 5.0), position=[int(place) for place in places])
    assert found["too-lenient"].cause == "score-position-bias"
    assert "biased towards" in str(found["score-position-bias"])


def pairwise(answers, rows=60, swap=True):
    """What a judge's grades show that answers both orders by a function of the question's number and its texts."""

    def reply(request):
        return f'{{"reasoning": "r", "verdict": "{answers(str(request))}"}}'

    judge = PairwiseJudge(client=ScriptedClient(reply), swap=swap, name="p")
    samples = wb.read_samples(
        [
            {"prompt": f"q{row}", "completion": f"mine {row}", "reference": f"other {row}"}
            for row in range(rows)
        ]
    )
    return {finding.kind: finding for finding in judge.run(samples, progress=False).findings}


def test_a_judge_that_chooses_the_first_of_two_is_told_so():
    """Whichever answer comes first wins: the bias leads, and that verdicts hang on the order follows from it."""
    found = pairwise(lambda _: "A")
    assert found["position-bias"].severity == "warning"
    assert "prefers the first of two completions: 120 of 120 choices" in str(found["position-bias"])
    assert found["order-decides"].cause == "position-bias"
    assert found["same-score"].cause == "position-bias"  # two ties of contradicting orders
    assert "changes the winner in 60 of 60 pairs" in str(found["order-decides"])
    assert len(found["order-decides"].rows) == 60


def test_a_judge_that_chooses_the_same_answer_is_not():
    """Its own answer wins in both orders: half of the choices fall on the first place."""
    found = pairwise(lambda question: "A" if question.index("mine") < question.index("other") else "B")
    assert not {"position-bias", "order-decides"} & set(found)


def test_one_order_shows_no_bias():
    """Asked in one order only, the first answer is always the completion."""
    assert not {"position-bias", "order-decides"} & set(pairwise(lambda _: "A", swap=False))


@pytest.mark.parametrize(("from_row", "size"), [(160, -0.6), (60, 0.6)])
def test_a_step_in_the_order_of_the_rows_is_told_with_its_place(from_row, size):
    """From one row on all scores are lower, or higher: the row is named within a tenth of them."""
    scores = np.clip(SCORES + size * (np.arange(N) >= from_row), -1, 2)
    finding = kinds(scores, scale=(-1.0, 2.0))["drifts"]
    assert finding.severity == "warning"
    assert ("lower" if size < 0 else "higher") in str(finding)
    assert abs(finding.rows[0] - from_row) <= N // 10
    assert finding.interval.lo < size < finding.interval.hi
    assert set(finding.rows) == set(range(finding.rows[0], N))


def test_a_slope_is_no_step():
    """Scores that fall evenly go with the order of the rows."""
    assert "falls with the order of the rows" in str(kinds(SCORES - 0.3 * np.arange(N) / N)["drifts"])


def test_steps_are_found_seldom_where_there_are_none():
    """In a hundred shuffles of sound scores at most 5 % have a step beyond the limit."""
    rng = np.random.default_rng(1)
    noisy = np.clip(np.where(GOOD, 0.6, 0.4) + rng.normal(0, 0.3, N), 0, 1)
    found = 0
    for _ in range(100):
        order = rng.permutation(N)
        report = diagnose({"g": make_grades(noisy[order])}, labels=GOOD[order].tolist())
        found += any(finding.kind == "drifts" and finding.is_verdict for finding in report)
    assert found <= 5


def test_length_is_compared_beside_other_graders():
    """Without labels, but beside two graders that measure the same, a part of the score that is length is a note."""
    lengths = np.random.default_rng(2).integers(1, 400, N)
    texts = ["x" * int(length) for length in lengths]
    others = {"a": SCORES, "b": np.clip(SCORES + np.random.default_rng(3).normal(0, 0.1, N), 0, 1)}
    longer = 0.6 * SCORES + 0.4 * lengths / 400
    finding = kinds(longer, labels=None, others=others, texts=texts)["follows-length"]
    assert (finding.severity, "rows that the other graders score alike" in str(finding)) == (
        "note",
        True,
    )
    # The others' opposite is no bias of this one.
    assert "follows-length" not in kinds(SCORES, labels=None, others={"a": longer}, texts=texts)
