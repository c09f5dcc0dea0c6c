"""What every registered diagnostic owes, whatever the grades."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from workbench.analysis import diagnostics as wd
from workbench.analysis.diagnostics import group_codes
from workbench.analysis.finding import Finding, Severity, joint_line
from workbench.analysis.labels import read_labels
from workbench.analysis.statistics import Interval
from workbench.core.errors import ReportError
from workbench.core.grade import ErrorKind, GradeError
from workbench.core.grades import Grades

EVERY = [(preset, kind) for preset in wd.presets() for kind in wd.kinds(preset)]
RNG = np.random.default_rng(0)

COLUMNS = {
    "no rows": lambda graded: graded(),
    "all failed": lambda graded: graded(np.ones(40), failed=range(40)),
    "all skipped": lambda graded: graded(np.ones(40), skipped=range(40)),
    "never run": lambda _: Grades.empty(40),
    "one row": lambda graded: graded([1.0]),
    "two rows": lambda graded: graded([0.0, 1.0]),
    "one scored row": lambda graded: graded(np.ones(10), failed=range(9)),
    "constant high": lambda graded: graded(np.ones(200)),
    "constant low": lambda graded: graded(np.zeros(200)),
    "constant middle": lambda graded: graded(np.full(200, 0.7)),
    "even": lambda graded: graded(RNG.random(200)),
    "off the scale": lambda graded: graded(RNG.normal(50, 20, 200)),
    "huge": lambda graded: graded([1.7e308, -1.7e308, 0.5, 5e-324] * 20),
    "mixed": lambda graded: graded(RNG.random(200) < 0.95, failed=range(30), skipped=range(30, 50)),
}
GROUPS = {
    "alone": lambda n: None,
    "one prompt": lambda n: np.zeros(n, int),
    "fours": lambda n: np.arange(n) // 4,
    "uneven": lambda n: np.minimum(np.arange(n), 10),
}


@pytest.mark.parametrize("groups", GROUPS)
@pytest.mark.parametrize("columns", COLUMNS)
@pytest.mark.parametrize("preset", wd.presets())
class TestAnyGrades:
    def test_findings_are_sound(self, graded, preset, columns, groups):
        """No crash, no warning, and every finding is one sentence with valid numbers and rows."""
        grades = COLUMNS[columns](graded)
        n = len(grades)
        labels = [None if row % 3 == 2 else bool(row % 3) for row in range(n)]
        findings = wd.diagnose(grades, preset=preset, groups=GROUPS[groups](n), labels=labels)
        for finding in findings:
            check(finding, n, preset)
        ranks = {}
        for finding in findings:
            lead = finding.cause or finding.kind
            ranks[lead] = min(ranks.get(lead, 9), finding.severity.rank)
        assert list(ranks.values()) == sorted(ranks.values())
        for before, finding in zip([None, *findings], findings, strict=False):
            assert not finding.cause or finding.cause in (before.kind, before.cause)

    def test_one_finding_a_kind(self, graded, preset, columns, groups):
        """A verdict, a note and a wish for rows never stand side by side for one kind."""
        grades = COLUMNS[columns](graded)
        findings = wd.diagnose(grades, preset=preset, groups=GROUPS[groups](len(grades)))
        kinds = [finding.kind for finding in findings]
        assert len(kinds) == len(set(kinds))


def check(finding, n, preset):
    assert finding.preset == preset
    assert not math.isnan(finding.value)
    assert 0 <= finding.n <= n
    assert finding.needed >= 0
    assert finding.advice
    assert all(type(row) is int and 0 <= row < n for row in finding.rows)
    assert len(set(finding.rows)) == len(finding.rows)
    if finding.interval is not None:
        assert finding.interval.lo <= finding.interval.hi
    if finding.severity is not Severity.NOTE:
        assert finding.needed == 0
        assert not finding.undecided
    sentence = str(finding)
    assert sentence.startswith("grader: ")
    assert sentence.endswith(".")
    assert ". " not in sentence
    assert "nan" not in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(("preset", "kind"), EVERY)
class TestEveryDiagnostic:
    def test_is_documented(self, preset, kind):
        """Its docstring says the rule."""
        assert wd.kinds(preset)[kind].__doc__

    def test_says_nothing_of_healthy_grades(self, graded, preset, kind):
        """Well spread scores, no failures: no verdict."""
        healthy = graded(np.random.default_rng(1).beta(2, 1.5, 400))
        findings = wd.diagnose(healthy, preset=preset, groups=np.arange(400) // 4)
        # vLLora's two always speak; of healthy grades they say GO and PASS, as notes.
        heavy = [f.kind for f in findings if preset != "vllora" or f.severity is not Severity.NOTE]
        assert kind not in heavy


def test_only_scored_rows_enter(graded):
    """A number left in a failed row changes nothing."""
    clean = graded(np.full(60, 0.6), failed=range(30))
    dirty = graded(np.full(60, 0.6), failed=range(30))
    dirty.scores[:30] = 0.0
    assert list(map(str, wd.diagnose(clean))) == list(map(str, wd.diagnose(dirty)))


def test_graders_are_judged_by_name(graded):
    """A mapping of grades gives findings under each name."""
    findings = wd.diagnose({"low": graded(np.zeros(50)), "high": graded(np.ones(50))})
    assert {(finding.grader, finding.kind) for finding in findings} >= {
        ("low", "same-score"),
        ("high", "same-score"),
    }


def test_unknown_preset_lists_what_exists(graded):
    """The error names the presets there are."""
    with pytest.raises(ReportError, match=r"'seed' or 'vllora' or 'workbench'"):
        wd.diagnose(graded([1.0]), preset="strict")


def test_labels_must_fit(graded):
    """One label a row, each of them true, false, missing or a word for one of these."""
    with pytest.raises(ValueError, match="one entry per row"):
        wd.diagnose(graded([1.0, 1.0]), labels=[True])
    for label in ("maybe", "goodish", "2", "nan", 2, 0.5, [True], object()):
        with pytest.raises(ValueError, match="neither good, bad nor unknown"):
            wd.diagnose(graded([1.0]), labels=[label])


def test_labels_may_be_words():
    """As people and CSV files write them, in any case."""
    words = ["true", "Yes", "PASS", " good ", "1", "false", "no", "Fail", "bad", "0", "", " "]
    assert read_labels(words, 12).tolist() == [1] * 5 + [0] * 5 + [-1] * 2
    words = ["correct", "Right", "accepted", "ja", "oui", "Sí", "はい", "👍", "1.0"]
    assert read_labels(words, 9).tolist() == [1] * 9
    words = ["incorrect", "WRONG", "rejected", "nein", "non", "não", "いいえ", "👎", "0.0"]
    assert read_labels(words, 9).tolist() == [0] * 9
    assert read_labels(["n/a", "unknown", "Unlabelled"], 3).tolist() == [-1] * 3


def test_the_error_of_an_unread_label_lists_what_is_read():
    """It names the first row, how many there are, each different text, and words that are read."""
    with pytest.raises(ReportError) as caught:
        read_labels(["good", "meh", "meh", "so-so"], 4)
    text = str(caught.value)
    assert "row 1 of labels, and 2 more" in text
    assert "'meh', 'so-so'" in text
    assert "correct/incorrect" in text
    assert "next step" in text


def test_findings_show_what_is_hidden(graded):
    """A grader's name and an error's message cannot hide or turn text, nor start a line of their own."""
    grades = graded(np.ones(40))
    for row in range(40):
        grades.fail(row, GradeError(ErrorKind.RUNTIME, "bad \u202ething\x1b[2J\nerror   all is well\ud800"))
    said = "".join(map(str, wd.diagnose({"a\u202e\nb": grades})))
    assert "a⟨U+202E⟩ b: broken" in said
    assert "bad ⟨U+202E⟩thing⟨U+001B⟩[2J error all is well⟨U+D800⟩" in said
    assert "\n" not in said
    said.encode()


def test_largest_scores_can_be_judged(graded):
    """A scale as wide as floats go overflows nowhere."""
    scores = np.tile([1.7e308, -1.7e308, 0.0, 1e308], 20)
    findings = wd.diagnose(graded(scores), scale=(-1.7e308, 1.7e308), groups=np.arange(80) // 4)
    assert "out-of-scale" not in {finding.kind for finding in findings}
    assert wd.diagnose(graded(scores), scale=(0, 1e-3))[0].kind == "out-of-scale"


def test_scale_must_have_a_direction(graded):
    """The lowest score comes first."""
    with pytest.raises(ValueError, match="scale"):
        wd.diagnose(graded([1.0]), scale=(1, 0))


def test_missing_labels_are_unknown():
    """None, NaN and pandas' NA are no opinion."""
    import pandas as pd

    labels = [True, False, None, float("nan"), pd.NA, np.bool_(True), 0, 1.0, pd.NaT]
    assert read_labels(labels, 9).tolist() == [1, 0, -1, -1, -1, 1, 0, 1, -1]


def test_missing_groups_stand_alone():
    """Rows without a prompt are not thrown together."""
    assert group_codes(["a", None, "a", None], 4).tolist() == [0, 1, 0, 2]
    assert group_codes([None, None], 2).tolist() == [0, 1]


def test_correction_is_by_holm_over_all_graders(graded):
    """A verdict that just fires alone does not among many of its kind: more rows are needed."""
    alone = wd.diagnose({"g0": graded(np.tile([1.0] * 34 + [0.0], 3)[:90])})
    many = wd.diagnose({f"g{at}": graded(np.tile([1.0] * 34 + [0.0], 3)[:90]) for at in range(12)})
    first = [finding for finding in alone if finding.kind == "saturated-high"]
    rest = [finding for finding in many if finding.kind == "saturated-high"]
    assert [finding.severity for finding in first] == ["warning"]
    assert {finding.severity for finding in rest} == {"note"}
    assert all(finding.message.startswith("most scores") for finding in rest)


def test_graders_short_of_rows_do_not_weaken_others(graded):
    """Claims that cannot be verdicts are not corrected for: their estimate is not past the limit."""
    columns = {"full": graded(np.ones(36))} | {f"fair{at}": graded([0.0, 1.0] * 5) for at in range(20)}
    verdicts = [finding.kind for finding in wd.diagnose(columns) if finding.is_verdict]
    assert verdicts == ["same-score"]


@pytest.mark.parametrize("labelled", [False, True])
def test_healthy_clustered_graders_are_left_alone(graded, labelled):
    """Answers alike within prompts, right nine times of ten: at most 5 % of 80 runs give any verdict."""
    rng = np.random.default_rng(3)
    groups, alarms = np.arange(320) // 8, 0
    for _ in range(80):
        good = rng.random(320) < np.repeat(rng.beta(3, 2, 40), 8)
        scores = np.where(good, rng.beta(8, 2, 320), rng.beta(2, 8, 320))
        wrong = rng.random(320) < 0.02
        grades = graded(np.where(wrong, 1 - scores, scores), failed=np.flatnonzero(rng.random(320) < 0.01))
        findings = wd.diagnose(grades, groups=groups, labels=list(scores >= 0.5) if labelled else None)
        alarms += any(finding.is_verdict for finding in findings)
    assert alarms <= 4


@pytest.mark.parametrize(
    ("needed", "said"),
    [
        (1, "; 1 more row needed (90 % power)."),
        (999, "; 999 more rows needed (90 % power)."),
        (1_249, "; about 1,200 more rows needed (90 % power)."),
    ],
)
def test_a_plan_is_told_as_exactly_as_it_is_known(needed, said):
    """Few missing rows are counted; many are rounded."""
    made = Finding(
        "g", "k", Severity.NOTE, "share", 0.5, None, 100, needed, "perhaps", "look", undecided=True
    )
    assert str(made) == f"g: perhaps{said}"


def test_what_is_not_settled_says_why(graded):
    """Where no number can be named: the limit lies inside the interval, or many claims are judged together."""
    alone = wd.diagnose(graded(np.r_[np.ones(8), np.zeros(42)]), labels=[False] * 50)
    assert any(finding.kind == "too-lenient" and finding.is_verdict for finding in alone)
    few = wd.diagnose(graded(np.r_[np.ones(2), np.zeros(20)]), labels=[False] * 22)
    (undecided,) = (finding for finding in few if finding.kind == "too-lenient")
    assert str(undecided).endswith("; inconclusive: the interval contains the limit of 5 %.")
    together = replace(undecided, interval=Interval(0.06, 0.2), claims=12)
    assert str(together).endswith("; inconclusive, because 12 claims are tested together.")


def test_one_line_says_what_is_judged_together(graded):
    """Nothing for a single claim; else their number."""
    assert joint_line(wd.diagnose(graded(np.ones(50)))) == ""
    several = wd.diagnose({"low": graded(np.zeros(50)), "high": graded(np.ones(50))})
    assert "corrected for 2 joint tests" in joint_line(several)


def test_two_diagnostics_may_not_share_a_name():
    """Another function of a name that is taken is refused."""
    with pytest.raises(ValueError, match=r"'collapsed' is taken by workbench\.analysis\.diagnostics"):
        wd.diagnostic("collapsed")(lambda case: ())
