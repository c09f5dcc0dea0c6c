"""What a person reads of a run's findings: one lead for each grader, and nothing twice."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import workbench as wb
from workbench.analysis.confounders import where_mistakes_are
from workbench.analysis.finding import Severity
from workbench.analysis.finding_groups import finding_groups, finding_lines, names_of


@wb.grader
async def exact(thread: wb.StringThread) -> float:
    return 1.0 if thread.metadata["answer"] == thread.completion() else 0.0


@wb.grader
async def within(thread: wb.StringThread) -> float:
    return 1.0 if thread.metadata["answer"] in (thread.completion() or "") else 0.0


@wb.grader
async def longer(thread: wb.StringThread) -> float:
    return min(1.0, len(thread.completion() or "") / 50)


def rows(n=240):
    """Two writers, one of which answers in a sentence; one row in twenty is empty."""
    made = []
    for at in range(n):
        answer, is_good, writer = str(100 + at), at % 3 > 0, ("short", "long")[at % 2]
        value = answer if is_good else str(900 + at)
        text = (
            value if writer == "short" else f"The total comes to {value} dollars, after adding everything up."
        )
        text = None if at % 20 == 19 else text
        made.append(
            {
                "prompt": f"question {at}?", "completion": text, "answer": answer, "model": writer,
                "human_label": "correct" if is_good and text else "incorrect",
            }
        )  # fmt: skip
    return wb.read_samples(made)


@pytest.fixture(scope="module")
def report():
    return wb.Suite([exact, within, longer]).run(rows(), labels="human_label", progress=False)


class TestGroups:
    def test_every_grader_leads_at_most_once(self, report):
        """Whatever is found of a grader is in its one group, except what is the same of several."""
        groups = finding_groups(report.findings)
        alone = [group.graders[0] for group in groups if len(group.graders) == 1]
        assert len(alone) == len(set(alone))

    def test_a_fact_of_all_graders_is_one_line(self, report):
        """Empty completions are no fault of any grader, and are mentioned once."""
        lines = [line for line in finding_lines(report.findings, 3) if "no completion" in line]
        assert lines == ["note     all 3 graders: 12 of 240 rows have no completion, so no score."]
        assert "broken" not in {finding.kind for finding in report.findings}

    def test_a_lead_names_where_its_mistakes_are(self, report):
        """All rejected good rows are of one writer, so the bias follows from the strictness."""
        group = next(one for one in finding_groups(report.findings) if one.graders == ("exact",))
        assert group.lead.kind == "too-strict"
        assert "(all where 'model' is 'long')" in group.lead.message
        assert [one.kind for one in group.consequences] == ["writer-bias"]
        assert any("So also biased towards writer 'short'." in line for line in group.lines(3))

    def test_limits_that_are_kept_are_short(self, report):
        """One clause for each limit, with those graders of which it is shown."""
        lines = [line for line in finding_lines(report.findings, 3) if line.startswith("within limit")]
        assert any("within" in line.split(":")[0] and "rejects at most " in line for line in lines)
        assert all(len(line) < 120 for line in lines)

    def test_a_report_fits_a_screen(self, report):
        """Three graders with a dozen findings are read in 40 lines, and every finding is still there."""
        assert len(report.findings) >= 10
        assert len(str(report).splitlines()) <= 40
        html = report._repr_html_()
        assert html.count("<summary>") < 12

    def test_markdown_has_the_first_lead_and_a_line_for_each_group(self, report):
        """The same groups, one item each."""
        text = report._repr_markdown_()
        assert text.startswith("**")
        assert text.count("no completion, so no score") == 1

    @pytest.mark.parametrize(
        ("graders", "n", "words"),
        [
            (["a"], 1, "a"),
            (["a", "b"], 2, "both graders"),
            (["a", "b"], 3, "a, b"),
            (list("abc"), 3, "all 3 graders"),
            (list("abcdefg"), 9, "a, b, c and 4 more"),
        ],
    )
    def test_names(self, graders, n, words):
        """Few graders are named, all are counted."""
        assert names_of(graders, n) == words

    def test_many_notes_are_counted(self, report):
        """Verdicts are all shown, notes only a few."""
        note = next(one for one in report.findings if one.kind == "no-completion")
        notes = [replace(note, grader=f"g{at}", message=f"note {at}") for at in range(20)]
        lines = finding_lines(notes, 20)
        assert len(lines) == 7
        assert lines[-1].endswith("and 14 more notes in report.findings")

    def test_only_limits_that_are_met_are_findings_too(self):
        """A report of a sound grader does not state that there are none."""
        sound = within.run(rows(), labels="human_label", progress=False)
        sound = (
            sound if {one.severity for one in sound.findings} == {Severity.WITHIN_LIMIT} else _only_met(sound)
        )
        for text in (str(sound), sound._repr_html_(), sound._repr_markdown_()):
            assert "no findings" not in text.lower()
            assert "within limit" in text.lower()


def _only_met(report):
    """The report without the rows that have no completion, which are a fact about the data."""
    complete = [row for row in range(len(report)) if report.samples.frame["completion"].notna().iloc[row]]
    return within.run(report.samples.take(complete), labels="human_label", progress=False)


class TestWhereMistakesAre:
    def case(self, report, wrong):
        from workbench.report.where import case_of

        case = case_of(report, "within")
        judged = np.arange(len(case.rows))
        return where_mistakes_are(case, judged, wrong(case))

    def test_spread_mistakes_have_no_place(self, report):
        """Every fifth row is in no part of the rows in particular."""
        assert self.case(report, lambda case: np.arange(len(case.rows)) % 5 == 0) is None

    def test_few_mistakes_have_no_place(self, report):
        """Three of three in one half would be chance once in eight."""

        def three(case):
            texts = np.array(report.samples.frame["model"])[case.rows]
            wrong = np.zeros(len(case.rows), bool)
            wrong[np.flatnonzero(texts == "long")[:3]] = True
            return wrong

        assert self.case(report, three) is None

    def test_no_mistakes(self, report):
        """Nothing is wrong, so nothing is anywhere."""
        assert self.case(report, lambda case: np.zeros(len(case.rows), bool)) is None

    def test_prompts_count_once(self):
        """Of 12 prompts with 16 completions each, 4 are misgraded: all in one topic is chance once in some 15 times."""
        made = [
            {
                "prompt": f"p{at // 16}",
                "completion": "x",
                "topic": "ab"[at // 16 % 2],
                "answer": "x",
                "ok": True,
            }
            for at in range(192)
        ]
        wrong = [row["prompt"] in {"p0", "p2", "p4", "p6"} for row in made]
        for row, is_wrong in zip(made, wrong, strict=True):
            row["completion"] = "y" if is_wrong else "x"
        report = exact.run(wb.read_samples(made), labels="ok", progress=False)
        strict = next(one for one in report.findings if one.kind == "too-strict")
        assert "topic" not in strict.message

    def test_another_bias_is_no_consequence(self):
        """Mistakes of one source do not explain a writer's higher scores."""
        made = []
        for at in range(240):
            source, writer, is_good = ("book", "web")[at % 2], ("w1", "w2")[at // 2 % 2], at % 3 > 0
            made.append(
                {
                    "prompt": f"p{at}",
                    "completion": f"{source} {writer} {is_good}",
                    "source": source,
                    "model": writer,
                    "ok": is_good,
                }
            )
        report = _leaning.run(wb.read_samples(made), labels="ok", progress=False)
        causes = {one.kind: one.cause for one in report.findings}
        assert causes.get("writer-bias") == ""
        assert "biased towards writer" in str(report).split("Also, warning: ", 1)[1]

    def test_a_cause_is_read_with_its_own_consequences(self):
        """A shared cause is not torn from what follows from it, and nothing is attributed to another cause."""
        finding = replace(
            next(iter(report_of_one().findings)),
            kind="reads-the-label",
            message="reads it",
            interval=None,
            severity=Severity.ERROR,
            cause="",
        )
        some = [
            one
            for grader in ("a", "b")
            for one in (
                replace(finding, grader=grader),
                replace(
                    finding,
                    grader=grader,
                    kind="follows-length",
                    message=f"follows {grader}",
                    severity=Severity.WARNING,
                ),
                replace(
                    finding,
                    grader=grader,
                    kind="too-strict",
                    message=f"strict {grader}",
                    cause="reads-the-label",
                ),
            )
        ]
        groups = finding_groups(some)
        assert [one.graders for one in groups] == [("a",), ("b",)]
        assert all([each.kind for each in one.consequences] == ["too-strict"] for one in groups)
        assert all([each.kind for each in one.others] == ["follows-length"] for one in groups)


@wb.grader
async def _leaning(thread: wb.StringThread) -> float:
    source, writer, is_good = thread.completion().split()
    passes = is_good == "True" and source != "book"
    return (0.7 if passes else 0.1) + (0.2 if writer == "w2" else 0.0)


def report_of_one():
    return longer.run(rows(60), labels="human_label", progress=False)


class TestUnusedLabels:
    def test_a_column_of_labels_is_named(self):
        """Without labels the report names the column that seems to contain them."""
        text = str(wb.Suite([exact]).run(rows(), progress=False))
        assert "report.diagnose(labels='human_label')" in text

    def test_given_labels_need_no_hint(self, report):
        """With labels the sentence is gone."""
        assert "no labels were given" not in str(report)

    @pytest.mark.parametrize(
        ("column", "cells"),
        [
            ("premium", ["yes", "no"]),
            ("count", [0, 1]),
            ("answer", ["correct", "incorrect"]),
            ("tag", ["good", "so-so"]),
        ],
    )
    def test_other_columns_are_not(self, column, cells):
        """Yes and no may state anything, a reference is no label, and neither is a third word."""
        made = [
            {"prompt": f"q{at}", "completion": "x", "answer": "x"} | {column: cells[at % 2]}
            for at in range(40)
        ]
        assert "no labels were given" not in str(wb.ExactMatch().run(wb.read_samples(made), progress=False))
