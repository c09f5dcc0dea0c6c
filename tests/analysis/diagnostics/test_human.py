"""Agreement with labels as a finding: when it speaks, when it keeps silent, and how often it errs."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.analysis.case import Case
from workbench.analysis.diagnostics import diagnose
from workbench.analysis.diagnostics.label_agreement import disagrees_with_labels


def cells(counts):
    """Scores and labels of (accepted good, rejected good, accepted bad, rejected bad) rows."""
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], counts)
    return scores, np.repeat([True, True, False, False], counts).tolist()


def kinds(graded, counts, **rest):
    scores, labels = cells(counts)
    return {finding.kind: finding for finding in diagnose(graded(scores), labels=labels, **rest)}


LOPSIDED = (185, 12, 2, 3)  # three of 5 known-bad rows caught: too few to speak of leniency


class TestDisagrees:
    def test_speaks_where_no_kind_of_mistake_can_be_shown(self, graded):
        """Few known-bad rows: nobody can call the grader lenient, but it agrees poorly as a whole."""
        finding = kinds(graded, LOPSIDED)["disagrees-with-labels"]
        assert (finding.severity, finding.statistic, finding.n) == ("warning", "kappa", 202)
        assert finding.value == pytest.approx(0.273, abs=0.001)
        assert finding.interval.hi < 0.6
        said = "the same verdict on 188 of 202 labelled rows (97.5 % of them good, AC1 0.92), kappa 0.27 (95 % interval"
        assert said in str(finding)

    def test_ac1_stands_beside_lopsided_labels_only(self, graded):
        """Three quarters of the labels good: kappa needs no company."""
        scores, labels = cells((70, 9, 16, 9))
        case = Case("g", graded(scores), np.arange(104), np.array(labels, np.int8))
        (claim,) = disagrees_with_labels(case)
        assert "AC1" not in str(claim.finding)

    def test_evidence_are_the_rows_they_differ_on(self, graded):
        """The one furthest from its label first; rows that failed or have no label do not count."""
        scores, labels = cells((185, 12, 3, 2))
        scores[[190, 197, 198]] = 0.3, 0.7, 0.6  # one rejected good row, two accepted bad ones
        labels[191] = None
        grades = graded(np.concatenate([scores, [1.0]]), failed=[202])
        (finding,) = (
            f for f in diagnose(grades, labels=[*labels, False]) if f.kind == "disagrees-with-labels"
        )
        assert set(finding.rows) == {*range(185, 200)} - {191}
        assert finding.rows[-3:] == (190, 197, 198)

    def test_is_undecided_on_few_labels(self, graded):
        """51 labels, five of them bad: a note."""
        finding = kinds(graded, (46, 3, 0, 2))["disagrees-with-labels"]
        assert (finding.severity, finding.undecided) == ("note", True)

    @pytest.mark.parametrize(("n", "claims"), [(29, 0), (30, 1)])
    def test_thirty_labels_are_enough_for_a_bound(self, graded, n, claims):
        """Below them kappa's interval is not to be trusted."""
        scores, labels = cells((10, 8, 4, n - 22))
        case = Case("g", graded(scores), np.arange(n), np.array(labels, np.int8))
        assert len(list(disagrees_with_labels(case))) == claims

    def test_is_not_said_twice(self, graded):
        """Where the grader is shown to be too lenient or too strict, that is said and nothing else."""
        lenient = kinds(graded, (60, 0, 30, 60))
        assert lenient["too-lenient"].severity == "error"
        assert "disagrees-with-labels" not in lenient
        strict = kinds(graded, (30, 40, 0, 70))
        assert strict["too-strict"].severity == "error"
        assert "disagrees-with-labels" not in strict

    def test_two_notes_are_not_said_either(self, graded):
        """A grader that is perhaps too lenient need not be called one that perhaps disagrees."""
        findings = kinds(graded, (30, 3, 2, 12))
        assert findings["too-lenient"].severity == "note"
        assert "disagrees-with-labels" not in findings

    @pytest.mark.parametrize("counts", [(4, 1, 1, 1), (100, 60, 0, 0), (0, 0, 60, 100), (0, 0, 0, 0)])
    def test_is_silent_on_few_labels_and_on_one_class(self, graded, counts):
        """Kappa says nothing of labels that are all good or all bad."""
        assert "disagrees-with-labels" not in kinds(graded, counts)

    def test_is_silent_on_agreement(self, graded):
        """Nine of ten right on both sides."""
        assert "disagrees-with-labels" not in kinds(graded, (90, 10, 10, 90))

    def test_one_prompt_shows_nothing(self, graded):
        """All labels on answers to one prompt carry no verdict."""
        scores, labels = cells(LOPSIDED)
        findings = diagnose(graded(scores), labels=labels, groups=np.zeros(len(scores), int))
        assert "warning" not in {f.severity for f in findings if f.kind == "disagrees-with-labels"}


class TestWorseThanChance:
    def test_a_scale_turned_round_is_named(self, graded):
        """Good rows get 0 and bad rows get 1."""
        finding = kinds(graded, (4, 26, 25, 5))["worse-than-chance"]
        assert finding.severity == "error"
        assert finding.interval.hi < 0
        assert "inverted" in finding.advice

    def test_accepting_everything_is_not_worse(self, graded):
        """A kappa of about 0, on either side, gives no verdict, no note, and no wish for labels."""
        for rejected in ((1, 0), (0, 1), (3, 1)):
            findings = kinds(graded, (60 - rejected[0], rejected[0], 60 - rejected[1], rejected[1]))
            assert "worse-than-chance" not in findings

    def test_needs_thirty_labels(self, graded):
        """29 labels, all wrong, are not judged."""
        assert "worse-than-chance" not in kinds(graded, (0, 15, 14, 0))
        assert "worse-than-chance" in kinds(graded, (0, 15, 15, 0))


@pytest.mark.parametrize(("base", "per_prompt"), [(0.5, 1), (0.85, 1), (0.5, 5)])
def test_healthy_graders_are_left_alone(graded, base, per_prompt):
    """At a true kappa of 0.75 and 120 labels, at most 5 % of 300 graders are said to disagree."""
    rng, alarms = np.random.default_rng(11), 0
    both = base * base + 0.75 * base * (1 - base)
    shares = [1 - 2 * base + both, base - both, base - both, both]
    for _ in range(300):
        drawn = np.repeat(rng.choice(4, size=120 // per_prompt, p=shares), per_prompt)
        findings = diagnose(
            graded((drawn % 2).astype(float)),
            labels=(drawn // 2).tolist(),
            groups=np.arange(120) // per_prompt,
        )
        alarms += any(
            finding.kind in {"disagrees-with-labels", "worse-than-chance"} and finding.severity != "note"
            for finding in findings
        )
    assert alarms / 300 <= 0.05


def test_poor_graders_are_found(graded):
    """At a true kappa of 0.32 and 300 labels, few of them bad, most of 40 graders are named one way or another."""
    rng, named = np.random.default_rng(12), 0
    for _ in range(40):
        good = rng.random(300) < 0.9
        accepted = np.where(good, rng.random(300) < 0.95, rng.random(300) < 0.65)
        findings = diagnose(graded(accepted.astype(float)), labels=good.tolist())
        named += any(
            finding.kind in {"disagrees-with-labels", "too-lenient"} and finding.severity != "note"
            for finding in findings
        )
    assert named >= 34
