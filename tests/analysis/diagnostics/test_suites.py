"""Diagnostics over several graders: planted causes are named, healthy suites are left alone."""

from __future__ import annotations

import numpy as np
import pytest

import workbench as wb
from tests.report.test_report import make_grades, make_samples
from workbench.analysis.finding import Severity
from workbench.analysis.suite_case import SuiteParts, suite_diagnostic, suite_kinds
from workbench.core.grade import Grade
from workbench.report import Report

SUITE = set(suite_kinds())


def suite_report(columns, rule=None, *, per_prompt=1, gate=None, **entries):
    """A report of columns of scores whose suite has these entries: settings by name."""
    parts = SuiteParts(
        tuple(wb.Entry(wb.Contains("x"), name, **entries.get(name, {})) for name in columns),
        rule,
        "combined" if rule else "",
        gate,
    )
    n = len(next(iter(columns.values())))
    grades = {name: make_grades(scores) for name, scores in columns.items()}
    return Report(make_samples(n, per_prompt=per_prompt), grades, suite=parts)


def found(report, kind):
    return {finding.grader: finding for finding in report.findings if finding.kind == kind}


def healthy(n, rng):
    """Three graders that go along with how good an answer is, each with mistakes of its own."""
    good = rng.random(n)
    return {name: np.clip(good + rng.normal(0, 0.3, n), 0, 1) for name in "abc"}


@pytest.mark.parametrize("rule", [None, wb.combine.Mean(), wb.combine.Sum(), wb.combine.AllPass()])
@pytest.mark.parametrize("n", [12, 50, 400])
def test_healthy_suites_are_left_alone(rule, n):
    """No verdict about a suite whose graders agree as graders of one thing do."""
    rng = np.random.default_rng(n)
    for _ in range(5):
        report = suite_report(healthy(n, rng), rule, per_prompt=4)
        assert not [f.kind for f in report.findings if f.kind in SUITE and f.severity is not Severity.NOTE]


class TestRedundant:
    def test_a_grader_that_ranks_as_another_is_named(self):
        """With the other's name and the correlation; a warning where both count, a note where they stand side by side."""
        rng = np.random.default_rng(0)
        a = rng.random(200)
        columns = {"a": a, "b": a**2 + rng.normal(0, 0.01, 200), "c": rng.random(200)}
        told = found(suite_report(columns, wb.combine.Mean()), "redundant")
        assert list(told) == ["b"]
        assert told["b"].severity == "warning"
        assert told["b"].interval.lo > 0.9
        assert "ranks the rows as a does" in str(told["b"])
        assert found(suite_report(columns), "redundant")["b"].severity == "note"

    def test_the_reverse_is_as_redundant(self):
        """A grader that says the opposite adds nothing either."""
        a = np.random.default_rng(0).random(200)
        told = found(suite_report({"a": a, "b": np.exp(-a) + np.sin(400 * a) / 99}), "redundant")
        assert "in the opposite order" in str(told["b"])

    def test_a_copy_has_an_interval_too(self):
        """Equal ranks on all rows seen do not show that they are equal on all others."""
        a = np.random.default_rng(0).random(200)
        told = found(suite_report({"a": a, "b": 0.5 * a}), "redundant")["b"]
        assert told.value == 1
        assert told.interval.lo < 1

    def test_equal_verdicts_show_the_rows_that_differ(self):
        """Pass or fail on nearly all rows alike: its rows are those that are not."""
        rng = np.random.default_rng(0)
        a = (rng.random(600) < 0.5).astype(float)
        b = np.where(np.arange(600) % 75 == 0, 1 - a, a)
        told = found(suite_report({"a": a, "b": b}), "redundant")["b"]
        assert list(told.rows) == list(range(0, 600, 75))

    def test_graders_that_both_accept_nearly_all_are_not_redundant(self):
        """98 % of equal verdicts are chance where both accept 99 %."""
        rng = np.random.default_rng(0)
        columns = {name: (rng.random(1_000) < 0.99).astype(float) for name in "ab"}
        assert not found(suite_report(columns), "redundant")

    def test_few_rows_are_no_ground(self):
        """Thirty rows alike are no verdict, but a note that says so."""
        a = np.random.default_rng(0).random(30)
        told = found(suite_report({"a": a, "b": 2 * a}, wb.combine.Mean()), "redundant")["b"]
        assert (told.severity, told.undecided) == ("note", True)

    def test_many_rows_are_sampled(self):
        """The evidence of a large report has row numbers of the whole."""
        a = np.tile([0.0, 1.0], 60_000)
        b = np.where(np.arange(120_000) % 1_000 == 0, 1 - a, a)
        rows = np.array(found(suite_report({"a": a, "b": b}), "redundant")["b"].rows)
        assert len(rows)
        assert (rows % 1_000 == 0).all()


class TestWeights:
    @pytest.mark.parametrize("rule", [wb.combine.Mean(), wb.combine.Sum()])
    def test_a_grader_that_drives_more_than_it_weighs_is_named(self, rule):
        """Scores of 0 and 1 beside scores that hardly vary: the weights say one half each."""
        rng = np.random.default_rng(0)
        columns = {"loud": (rng.random(300) < 0.5).astype(float), "quiet": 0.5 + 0.05 * rng.random(300)}
        report = suite_report(columns, rule)
        told = found(report, "effective-weight")
        assert set(told) == {"loud", "quiet"}
        assert told["loud"].interval.lo > 0.7
        assert told["quiet"].interval.hi < 0.3
        assert "of combined at a weight of 50 %" in str(told["loud"])
        assert report.weights["effective"].sum() == pytest.approx(1)

    def test_the_advice_gives_what_was_meant(self):
        """With the weights that the advice names, each grader drives about its share."""
        rng = np.random.default_rng(0)
        columns = {"loud": 5 * rng.random(4_000), "quiet": rng.random(4_000)}
        told = found(suite_report(columns, wb.combine.Mean()), "effective-weight")
        advised = {
            name: float(finding.advice.split("about ")[1].split()[0]) for name, finding in told.items()
        }
        weights = {name: {"weight": weight} for name, weight in advised.items()}
        again = suite_report(columns, wb.combine.Mean(), **weights).weights
        assert again["effective"].tolist() == pytest.approx([0.5, 0.5], abs=0.05)

    def test_a_grader_that_never_varies_drives_nothing(self):
        """The advice is about the grader, not about its weight."""
        rng = np.random.default_rng(0)
        told = found(
            suite_report({"a": rng.random(100), "b": np.full(100, 0.5)}, wb.combine.Mean()),
            "effective-weight",
        )
        assert "do not vary" in told["b"].advice


class TestDecisions:
    def test_a_grader_that_decides_little_is_noted(self):
        """Its weight is too small to turn a verdict."""
        rng = np.random.default_rng(0)
        columns = {"a": (rng.random(400) < 0.5).astype(float), "b": rng.random(400)}
        report = suite_report(columns, wb.combine.Mean(), a={"weight": 0.9}, b={"weight": 0.1})
        assert set(found(report, "decides-little")) == {"b"}
        assert report.weights["decides"].tolist()[1] == 0
        assert len(report.row_numbers({"decides": "a"})) == report.weights["decides"].tolist()[0] > 100

    def test_graders_that_agree_are_not_all_said_to_decide_little(self):
        """Where each could be left out, since the others say the same, nothing is said about one of them."""
        rng = np.random.default_rng(0)
        good = (rng.random(400) < 0.5).astype(float)
        columns = {name: np.clip(good + rng.normal(0, 0.1, 400), 0, 1) for name in "abc"}
        assert not found(suite_report(columns, wb.combine.Mean()), "decides-little")

    def test_leaving_out_is_what_running_without_gives(self):
        """The verdicts that turn are those of the suite without the entry."""
        rng = np.random.default_rng(1)
        columns = {name: rng.random(200) for name in "abc"}
        weights = {"a": {"weight": 0.5}, "b": {"weight": 0.3}, "c": {"weight": 0.2}}
        report = suite_report(columns, wb.combine.Mean(), **weights)
        with_all = 0.5 * columns["a"] + 0.3 * columns["b"] + 0.2 * columns["c"]
        without = (0.5 * columns["a"] + 0.2 * columns["c"]) / 0.7
        turned = np.flatnonzero((with_all >= 0.5) != (without >= 0.5))
        assert report.row_numbers({"decides": "b"}).tolist() == turned.tolist()

    def test_conditions_and_formulas_have_deciding_rows(self):
        """All others have to pass; in a formula the entry keeps its mean."""
        a, b = np.tile([1.0, 1.0, 0.0, 0.0], 30), np.tile([1.0, 0.0, 1.0, 0.0], 30)
        for rule in (wb.combine.AllPass(), wb.combine.Formula("min(a, b)")):
            report = suite_report({"a": a, "b": b}, rule)
            assert set(report.row_numbers({"decides": "a"}) % 4) == {2} or rule.rule == "formula"
            assert report.weights["nominal"].isna().all()
            assert report.weights["decides"].tolist()[0] >= 30

    def test_rows_that_one_did_not_score_are_left_out(self):
        """A failure is no score: its row counts nowhere."""
        rng = np.random.default_rng(0)
        report = suite_report({"a": rng.random(100), "b": rng.random(100)}, wb.combine.Mean())
        report.grades["a"].put(3, Grade.failed("runtime", "broke"))
        assert report.weights["of"].tolist() == [99, 99]


def test_an_expensive_grader_that_decides_little_is_named():
    """70 % of the money for few of the decisions."""
    rng = np.random.default_rng(0)
    columns = {"code": (rng.random(300) < 0.5).astype(float), "judge": rng.random(300)}
    report = suite_report(columns, wb.combine.Mean(), code={"weight": 0.8}, judge={"weight": 0.2})
    report.grades["code"].cost[:], report.grades["judge"].cost[:] = 0.003, 0.007
    told = found(report, "expensive")
    assert list(told) == ["judge"]
    assert "70 % of the money for 0 % of the decisions (95 % interval 0 % to" in str(told["judge"])
    assert report.weights["cost_share"].tolist() == pytest.approx([0.3, 0.7])
    assert report.weights["seconds_share"].tolist() == pytest.approx([0.5, 0.5])


class TestGates:
    @pytest.mark.parametrize(
        ("gate", "said"),
        [
            (wb.combine.SimpleGate(metric_key="a", value=0.0), "cannot fail"),
            (wb.combine.SimpleGate(metric_key="a", value=1.1), "cannot pass"),
            (wb.combine.SimpleGate(metric_key="a", op="lt", value=0.0), "cannot pass"),
            (wb.combine.WeightedGate(weights={"a": 1, "b": 1}, op="lte", value=1.0), "cannot fail"),
            (
                wb.combine.LogicalGate(
                    conditions=[
                        wb.combine.SimpleGate(metric_key="a", value=0.8),
                        wb.combine.SimpleGate(metric_key="a", op="lt", value=0.2),
                    ]
                ),
                "cannot pass",
            ),
        ],
    )
    def test_a_gate_without_effect_is_named(self, gate, said):
        """Whatever the scores are, its verdict is the same."""
        columns = {"a": np.random.default_rng(0).random(60), "b": np.random.default_rng(1).random(60)}
        (told,) = found(suite_report(columns, gate=gate), "gate-without-effect").values()
        assert said in str(told)

    @pytest.mark.parametrize(
        "gate",
        [
            wb.combine.SimpleGate(metric_key="a", value=0.9),
            wb.combine.SimpleGate(metric_key="a", aggregation="accuracy", value=90.0),
            wb.combine.SimpleGate(metric_key="a", op="eq", value=0.5),
            wb.combine.WeightedGate(weights=dict.fromkeys("ab", 1.0), value=0.9),
            wb.combine.LogicalGate(
                conditions=[wb.combine.SimpleGate(metric_key=name, value=0.5) for name in "ab"]
            ),
        ],
    )
    def test_a_gate_that_can_do_both_is_left_alone(self, gate):
        """Some scores pass it and others do not."""
        columns = {"a": np.random.default_rng(0).random(60), "b": np.random.default_rng(1).random(60)}
        assert not found(suite_report(columns, gate=gate), "gate-without-effect")

    def test_scores_off_the_scale_leave_a_gate_open(self):
        """A length of 300 may well pass a value of 200."""
        gate = wb.combine.SimpleGate(metric_key="a", value=200.0)
        columns = {"a": np.linspace(0, 300, 60), "b": np.ones(60)}
        assert not found(suite_report(columns, gate=gate), "gate-without-effect")

    def test_conditions_that_never_or_always_hold_are_told(self):
        """An entry that stops every row is a warning, one that stops none a note."""
        rng = np.random.default_rng(0)
        columns = {"a": (rng.random(200) < 0.5).astype(float), "shut": np.zeros(200), "open": np.ones(200)}
        report = suite_report(columns, wb.combine.AllPass(), open={"severity": "error"})
        assert {name: f.severity for name, f in found(report, "never-passes").items()} == {"shut": "warning"}
        assert {name: f.severity for name, f in found(report, "never-blocks").items()} == {"open": "note"}
        warned = suite_report(columns, wb.combine.AllPass(), shut={"severity": "info"})
        assert not found(warned, "never-passes")


class TestTheReport:
    def test_a_suite_tells_the_report_its_parts(self):
        """Names, weights, rule and gate, kept when it is diagnosed again."""
        suite = wb.Suite(
            [wb.Entry(wb.Contains("yes"), "right", weight=3), wb.Entry(wb.Length(maximum=9), "short")],
            combine=wb.combine.Mean(),
            name="total",
        )
        report = suite.run(make_samples(12), progress=False).diagnose(pass_threshold=0.7)
        assert report.suite.names == ["right", "short"]
        assert report.suite.weights.tolist() == [0.75, 0.25]
        assert report.suite.column == "total"
        assert report.weights.index.tolist() == ["right", "short"]

    def test_without_a_suite_there_are_prices_only(self):
        """Graders side by side have no weights."""
        report = Report(make_samples(20), {"a": make_grades(np.ones(20)), "b": make_grades(np.zeros(20))})
        assert report.weights["seconds_share"].tolist() == [0.5, 0.5]
        assert report.weights[["nominal", "effective", "cost_share"]].isna().all(axis=None)

    def test_a_part_of_a_suite_has_no_rule(self):
        """Where a grader of the suite is missing nothing is said about the whole."""
        report = suite_report(healthy(60, np.random.default_rng(0)), wb.combine.Mean())
        alone = Report(report.samples, {"a": report.grades["a"], "b": report.grades["b"]}, suite=report.suite)
        assert alone.weights["nominal"].isna().all()
        assert isinstance(alone.findings, tuple)

    def test_other_presets_say_nothing_of_suites(self):
        """The platforms' rules of thumb have none."""
        a = np.random.default_rng(0).random(100)
        assert not {f.kind for f in suite_report({"a": a, "b": a}).diagnose(preset="seed").findings} & SUITE


@pytest.mark.parametrize("kind", suite_kinds())
@pytest.mark.parametrize("scores", [[], [0.5], [1e308, -1e308] * 30, [np.nan] * 60, [0.5] * 60])
def test_any_grades_give_sound_findings(kind, scores):
    """No rows, one, huge, failed or constant scores: sentences without NaN, numbers that fit."""
    for rule in (
        None,
        wb.combine.Mean(),
        wb.combine.Sum(),
        wb.combine.AllPass(),
        wb.combine.Formula("a + b"),
    ):
        report = suite_report({"a": scores, "b": scores[::-1]}, rule) if scores else None
        for finding in report.findings if report else ():
            assert "nan" not in str(finding)
            assert finding.kind != kind or suite_kinds()[kind].__doc__


def test_two_diagnostics_may_not_share_a_name():
    """Another function of a name that is taken is refused."""
    with pytest.raises(ValueError, match="'redundant' is taken"):
        suite_diagnostic("redundant")(lambda case: ())
