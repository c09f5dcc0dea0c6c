"""Several people labelled the same rows: what they agree on bounds what a grader can be shown to do."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.analysis.diagnostics.conftest import make_grades
from workbench.analysis.labels import Scored, Votes, raters_by_repeats, read_labels
from workbench.core.errors import ReportError
from workbench.report.sentences import strip_data

N = 240


def people(*rates, seed=0):
    """The truth of each row, and what people with these rates of right labels say of it."""
    rng = np.random.default_rng(seed)
    good = rng.random(N) < 0.5
    return good, {
        name: np.where(rng.random(N) < rate, good, ~good) for name, rate in zip("abcdef", rates, strict=False)
    }


def report(scores, votes, labels=None):
    rows = [
        {"prompt": f"q{row // 2}", "completion": f"answer {row}", **{name: bool(cells[row]) for name, cells in votes.items()}}
        for row in range(N)
    ]  # fmt: skip
    return wb.Report(
        wb.read_samples(rows), {"g": make_grades(np.array(scores, float))}, labels=labels or list(votes)
    )


def kinds(report):
    return {finding.kind: finding for finding in report.findings}


def test_most_of_several_people_decide():
    """Columns of three people are one label a row; where two of them differ there is none."""
    votes = Votes(("a", "b", "c"), np.array([[1, 1, 0], [0, 0, 1], [1, 0, -1], [-1, -1, -1]], np.int8))
    assert list(votes) == [True, False, None, None]
    assert votes[:2] == [True, False]
    assert read_labels(votes, 4).tolist() == [1, 0, -1, -1]
    assert repr(votes) == "Votes(a, b, c: 4 rows)"


def test_a_column_that_is_missing_is_named():
    """One of the names is wrong: it is said which."""
    good, votes = people(0.9)
    with pytest.raises(ReportError, match="label column 'b'"):
        report(good, votes, ["a", "b"])


def test_labels_that_contradict_each_other_explain_the_graders_mistakes():
    """A perfect grader beside three people who err on a quarter of the rows: the labels lead, its mistakes follow."""
    good, votes = people(0.75, 0.75, 0.75)
    found = kinds(report(good, votes))
    finding = found["labels-disagree"]
    assert finding.severity == "warning"
    assert "the labels contradict each other: on 240 rows the grader agrees with a, b and c by a mean" in str(
        finding
    )
    assert finding.interval.lo < 0.25 < finding.interval.hi  # kappa of two such people
    assert len(finding.rows) == sum(
        len({bool(cells[row]) for cells in votes.values()}) > 1 for row in range(N)
    )
    assert found["too-lenient"].cause == "labels-disagree"
    assert "below-human-ceiling" not in found  # nobody is cleared by such labels


def test_a_coin_is_not_cleared_by_labels_that_are_noise():
    """People who agree by chance alone: the labels lead, whatever the grader does."""
    good, votes = people(0.5, 0.5, 0.5)
    findings = report(np.random.default_rng(9).random(N) < 0.5, votes).findings
    assert findings[0].kind == "labels-disagree"
    assert "within_limit" not in {
        finding.severity for finding in findings if finding.kind == "below-human-ceiling"
    }
    del good


def test_a_person_named_twice_is_refused():
    """Nobody agrees with somebody else by agreeing with herself."""
    good, votes = people(0.9, 0.9)
    with pytest.raises(ReportError, match="duplicate label column"):
        report(good, votes, ["a", "a"])


def test_columns_of_an_empty_dataset_are_looked_for():
    """No rows and no such column: the error names the column."""
    with pytest.raises(ReportError, match="column 'ann'"):
        wb.Report(wb.read_samples([]), {"g": make_grades([])}, labels=["ann", "ben"])


def test_many_rows_sorted_by_person_are_drawn_by_prompt():
    """Of 30,000 answers of two people, whose rows come one after the other, both labels of an answer are kept."""
    many = 15_000
    groups = np.tile(np.arange(many), 2)
    scored = Scored(np.arange(2 * many), np.ones(2 * many, bool), np.ones(2 * many, np.int8), groups)
    raters = raters_by_repeats(["a"] * many + ["b"] * many, lambda rows: rows % many, scored)
    assert 9_000 < len(raters.rows) <= 10_001
    assert (raters.votes == 1).all()


def test_a_grader_worse_than_people_is_told_so():
    """People agree on nearly all rows, the grader errs on three of ten: it is below them, the labels are not blamed."""
    good, votes = people(0.97, 0.97, 0.97)
    rng = np.random.default_rng(1)
    found = kinds(report(np.where(rng.random(N) < 0.3, ~good, good), votes))
    finding = found["below-human-ceiling"]
    assert finding.severity == "warning"
    assert "agrees with annotators less than they do with each other" in str(finding)
    assert finding.interval.hi < -0.1
    assert "labels-disagree" not in found


def test_mistakes_of_a_poor_grader_are_not_explained_by_poor_labels():
    """People disagree, and the grader accepts everything: that it is lenient does not follow from the labels."""
    _, votes = people(0.85, 0.85, 0.85)
    found = kinds(report(np.ones(N), votes))
    assert found["too-lenient"].cause != "labels-disagree"


def test_one_of_three_who_labels_upside_down_is_named():
    """The other two agree with each other: the third disagrees with all others, whatever the grader says."""
    good, votes = people(0.95, 0.95, 0.05)
    findings = report(good, votes).findings
    assert str(findings[0]).startswith(
        "g: annotator 'c' disagrees with all others: contradicts their majority"
    )
    assert "below-human-ceiling" not in {finding.kind for finding in findings}


def test_rows_repeated_for_each_person_are_read_as_one():
    """The same answers once for each person, with a column that names them: as columns a person."""
    good, votes = people(0.75, 0.75)
    rows = [
        {"prompt": f"q{row}", "completion": f"answer {row}", "good": bool(cells[row]), "annotator": name}
        for name, cells in votes.items()
        for row in range(N)
    ]
    samples = wb.read_samples(rows)
    scores = make_grades(np.concatenate([good, good]).astype(float))
    finding = kinds(wb.Report(samples, {"g": scores}, labels="good"))["labels-disagree"]
    assert finding.n == N
    assert "with a and b by" in str(finding)


@pytest.mark.parametrize("seed", range(5))
def test_careful_people_and_a_sound_grader_raise_no_alarm(seed):
    """One error in twenty each: no verdict about the labels or the ceiling."""
    good, votes = people(0.95, 0.95, 0.95, seed=seed)
    found = kinds(report(good, votes))
    assert not {"labels-disagree", "annotator-disagrees"} & set(found)
    ceiling = found["below-human-ceiling"]
    assert ceiling.severity == "within_limit"
    # Its limit is a lower one: the upper end of its interval is no bound.
    strip, (lo, hi) = strip_data(ceiling), ceiling.interval
    assert (strip["interval_name"], strip["interval_text"]) == ("95 % interval", f"{lo:.3g} to {hi:.3g}")


def test_few_rows_say_nothing_about_people():
    """Below thirty rows that several labelled there is no interval to trust."""
    good, votes = people(0.6, 0.6)
    unlabelled = {
        name: [bool(cell) if row < 29 else None for row, cell in enumerate(cells)]
        for name, cells in votes.items()
    }
    rows = [
        {"prompt": f"q{row}", "completion": "x", **{name: cells[row] for name, cells in unlabelled.items()}}
        for row in range(N)
    ]
    found = kinds(wb.Report(wb.read_samples(rows), {"g": make_grades(good.astype(float))}, labels=["a", "b"]))
    assert "labels-disagree" not in found
