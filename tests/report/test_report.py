"""Reports: columns, summary, rows, comparison, merging, and what they look like."""

from __future__ import annotations

import dataclasses
import html.parser
import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.analysis.statistics import clopper_pearson
from workbench.core.display_text import HIDDEN, encodable, one_line, shown, visible
from workbench.core.errors import ReportError
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.data.samples import Samples
from workbench.report import Report
from workbench.report.selection import edges_of, histogram, select, within
from workbench.report.settings import check_settings

NASTY = "<script>alert(1)</script>\u202eevil\x1b[31m\"'{{7*7}}\ud800"


def make_samples(n, *, per_prompt=1, completion="It is {row}."):
    return Samples(
        [
            {
                "prompt": f"What is {row // per_prompt}?",
                "completion": completion.format(row=row),
                "reference": str(row),
            }
            for row in range(n)
        ]
    )


def make_grades(scores, **rows):
    grades = Grades.empty(len(scores))
    grades.put_scores(0, np.array(scores, dtype=float), seconds=0.5)
    for name, grade in rows.items():
        row = int(name.lstrip("row"))
        grades.scores[row], grades.codes[row] = np.nan, 0
        grades.put(row, grade)
    grades.isolation = "kernel"
    return grades


@pytest.fixture
def report():
    """Four rows; the second failed, the third was skipped."""
    grades = make_grades(
        [1.0, 0.0, 0.0, 0.25],
        row1=Grade.failed("timeout", "too slow", seconds=2.0),
        row2=Grade.skipped("not applicable"),
        row3=Grade(0.25, passed=False, reasoning="thin", tokens=7, cost=0.01),
    )
    return Report(make_samples(4), {"quality": grades})


class TestColumns:
    def test_frame_has_one_line_a_sample_and_grader(self, report):
        """Status, score and error of each row, never a number for a failure."""
        frame = report.frame
        assert frame["status"].tolist() == ["scored", "failed", "skipped", "scored"]
        assert frame["score"].isna().tolist() == [False, True, True, False]
        assert frame["error_kind"].tolist()[1] == "timeout"
        assert frame["passed"].isna().tolist() == [True, True, True, False]
        assert frame["reasoning"].tolist()[2] == "not applicable"
        assert list(frame.columns) == [
            "sample", "row", "grader", "status", "score", "passed", "reasoning",
            "error_kind", "error", "seconds", "tokens", "cost", "isolation",
        ]  # fmt: skip

    def test_scores_are_wide(self, report):
        """Index: sample ids; one column a grader; NaN where there is no score."""
        assert report.scores.index.tolist() == list(report.samples.ids)
        assert report.scores["quality"].tolist()[0] == 1.0
        assert report.scores["quality"].isna().sum() == 2

    def test_summary_is_over_scored_rows(self, report):
        """The mean excludes unscored rows, and counts are reported."""
        line = report.summary.loc["quality"]
        assert (line["n"], line["scored"], line["failed"], line["skipped"]) == (4, 2, 1, 1)
        assert line["mean"] == 0.625
        assert line["sd"] == pytest.approx(np.std([1, 0.25], ddof=1))
        assert line["mean_lo"] <= line["mean"] <= line["mean_hi"]
        assert line["tokens"] == 7
        assert line["isolation"] == "kernel"

    def test_summary_knows_prompts(self):
        """The interval of the mean is wider where rows share prompts."""
        scores = np.repeat(np.random.default_rng(0).random(50), 8)
        alone = Report(make_samples(400), {"g": make_grades(scores)}).summary.loc["g"]
        shared = Report(make_samples(400, per_prompt=8), {"g": make_grades(scores)}).summary.loc["g"]
        assert shared["mean_hi"] - shared["mean_lo"] > 2 * (alone["mean_hi"] - alone["mean_lo"])

    def test_pass_share_has_the_exact_interval(self):
        """Zeros and ones in independent rows: Clopper and Pearson to the last digit."""
        line = Report(make_samples(10), {"g": make_grades([1] * 7 + [0] * 3)}).summary.loc["g"]
        assert (line["mean_lo"], line["mean_hi"]) == pytest.approx(clopper_pearson(7, 10))

    def test_errors_are_the_failed_rows(self, report):
        """One line a failure, with kind and message."""
        assert report.errors[["row", "error_kind", "error"]].to_numpy().tolist() == [
            [1, "timeout", "too slow"]
        ]

    def test_lengths_must_agree(self):
        """Grades of other samples are refused by grader name."""
        with pytest.raises(ReportError, match="'g'"):
            Report(make_samples(3), {"g": make_grades([1.0])})

    def test_is_immutable(self, report):
        """No attribute can be set, and the mapping given can change without harm."""
        with pytest.raises(dataclasses.FrozenInstanceError):
            report.preset = "seed"

    @pytest.mark.parametrize("rows", [0, 3])
    @pytest.mark.parametrize("graders", [0, 2])
    def test_empty_reports_work(self, rows, graders):
        """No rows, no graders: every view still has its columns."""
        samples = make_samples(5).take(range(rows))
        report = Report(samples, {f"g{at}": Grades.empty(rows) for at in range(graders)})
        assert len(report.frame) == rows * graders
        assert len(report.summary) == graders
        assert str(report)
        assert report._repr_html_()
        assert len(report.rows()) == rows
        assert list(report.errors.columns)


class TestRows:
    def test_reads_like_a_page(self, report):
        """Prompt, completion, reference, score and reason of each row, by row number."""
        rows = report.rows()
        assert rows.index.tolist() == [3, 0, 1, 2]
        assert rows.loc[3, "prompt"] == "What is 3?"
        assert rows.loc[3, "completion"] == "It is 3."
        assert rows.loc[3, "reasoning"] == "thin"
        assert rows.loc[1, "error"] == "timeout: too slow"

    @pytest.mark.parametrize(
        ("where", "expected"),
        [
            ("failed", [1]),
            ("skipped", [2]),
            (lambda score: score < 0.5, [3]),
            ((0.25, 0.3), [3]),
            ((0.95, 1.0), [0]),
            ((0.0, 0.25), []),
            ([2, 0], [2, 0]),
            (np.array([False, True, True, False]), [1, 2]),
            (pd.Series([True, False, False, True]), [3, 0]),
            ([], []),
        ],
    )
    def test_where_has_many_forms(self, report, where, expected):
        """Status, condition, bin, row numbers and mask each choose their rows."""
        assert report.rows(where=where).index.tolist() == expected

    def test_where_takes_a_finding(self):
        """The evidence of a finding, in its own order."""
        report = Report(make_samples(80), {"a": make_grades(np.ones(80)), "b": make_grades(np.zeros(80))})
        finding = next(found for found in report.findings if found.grader == "b")
        rows = report.rows(where=finding, limit=3)
        assert rows.index.tolist() == list(finding.rows[:3])
        assert rows["score"].tolist() == [0, 0, 0]

    def test_sort_and_limit(self, report):
        """Highest first, two rows."""
        assert report.rows(sort="-score", limit=2).index.tolist() == [0, 3]

    def test_several_graders_side_by_side(self):
        """Without a name each grader has a score column."""
        report = Report(make_samples(2), {"a": make_grades([1, 0]), "prompt": make_grades([0, 1])})
        rows = report.rows()
        assert rows["a"].tolist() == [1, 0]
        assert rows["prompt (score)"].tolist() == [0, 1]
        assert rows["prompt"].tolist() == ["What is 0?", "What is 1?"]

    def test_unknown_grader_lists_what_exists(self, report):
        """The error names the graders there are."""
        with pytest.raises(ReportError, match="'quality'"):
            report.rows("qualty")

    @pytest.mark.parametrize("where", ["late", [9], [-1], [0.5], np.ones(3, bool), np.ones((2, 2))])
    def test_what_cannot_be_read_is_refused(self, report, where):
        """Unknown status, rows that are not there, masks of another length."""
        with pytest.raises(ReportError):
            report.rows(where=where)

    def test_a_score_condition_needs_one_grader(self):
        """With several graders the condition could mean any of them."""
        report = Report(make_samples(1), {"a": make_grades([1]), "b": make_grades([0])})
        with pytest.raises(ReportError, match="name the grader"):
            report.rows(where="failed")

    def test_unknown_order_is_refused(self, report):
        """Only the score, up or down."""
        with pytest.raises(ReportError, match="sort order"):
            report.rows(sort="size")

    def test_conversations_keep_their_roles(self):
        """Several turns before the completion are written with who spoke."""
        turns = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
        samples = Samples([{"messages": [*turns, {"role": "assistant", "content": "Yo"}]}])
        rows = Report(samples, {"g": make_grades([1])}).rows()
        assert rows["prompt"].tolist() == ["system: Be brief.\nuser: Hi"]

    def test_unreadable_rows_can_be_shown(self):
        """A row with malformed messages is reported and affects no other row."""
        samples = Samples([{"messages": "[broken"}, {"messages": '[{"role": "user", "content": "Hi"}]'}])
        rows = Report(samples, {"g": make_grades([1, 0])}).rows(sort=None)
        assert rows["completion"].tolist()[0].startswith("(unreadable")
        assert rows["prompt"].tolist()[1] == "Hi"


class TestDiagnose:
    def test_labels_turn_saturated_into_lenient(self):
        """The quickstart's story: saturated first, lenient with evidence rows once bad rows are labelled."""
        report = Report(make_samples(200), {"g": make_grades(np.ones(200))})
        assert "too-lenient" not in [finding.kind for finding in report.findings]
        told = report.diagnose(labels=[row % 2 == 0 for row in range(200)])
        assert told.findings[0].kind == "same-score"
        (lenient,) = (finding for finding in told.findings if finding.kind == "too-lenient")
        assert (lenient.severity, lenient.cause) == ("error", "same-score")
        assert set(lenient.rows) == set(range(1, 200, 2))
        assert report.labels is None

    def test_presets_are_kept_apart(self):
        """The other preset gives a new report and leaves this one."""
        report = Report(make_samples(5), {"g": make_grades(np.ones(5))})
        seed = report.diagnose(preset="seed")
        assert {finding.preset for finding in seed.findings} == {"seed"}
        assert report.preset == "workbench"

    def test_wrong_arguments_are_told_at_once(self, report):
        """Not when the findings are first looked at."""
        with pytest.raises(ReportError):
            report.diagnose(preset="nope")

    def test_findings_print_one_a_line(self):
        """The tuple of findings reads as sentences."""
        report = Report(make_samples(80), {"g": make_grades(np.ones(80))})
        assert len(repr(report.findings).splitlines()) == len(report.findings) > 0


class TestCompare:
    def test_paired_difference(self):
        """Mean of b minus a over common rows, with the rows they part on first."""
        a = make_grades([0.5, 0.5, 0.5, 0.5], row3=Grade.skipped())
        b = make_grades([0.5, 0.9, 0.0, 1.0])
        found = Report(make_samples(4), {"a": a, "b": b}).compare("a", "b")
        assert (found.n, found.only_a, found.only_b, found.equal) == (3, 0, 1, 1)
        assert found.difference == pytest.approx(-0.1 / 3)
        assert found.frame.index.tolist() == [2, 1, 0]
        assert found.frame["difference"].tolist() == [-0.5, 0.4, 0.0]
        assert found.interval.lo < found.difference < found.interval.hi

    def test_pairing_narrows_the_interval(self):
        """Two versions that move together differ surely, though each varies much."""
        scores = np.random.default_rng(1).random(300) * 0.9
        report = Report(make_samples(300), {"a": make_grades(scores), "b": make_grades(scores + 0.05)})
        rough = scores + np.random.default_rng(2).normal(0.05, 0.01, 300)
        close = Report(make_samples(300), {"a": make_grades(scores), "b": make_grades(rough)}).compare(
            "a", "b"
        )
        assert 0.03 < close.interval.lo < close.interval.hi < 0.07
        assert report.compare("a", "b").difference == pytest.approx(0.05)

    def test_prompts_widen_the_interval(self):
        """Differences that are alike within prompts count once a prompt."""
        gaps = np.repeat(np.random.default_rng(4).random(40) * 0.5, 10)
        columns = {"a": make_grades(np.zeros(400)), "b": make_grades(gaps)}
        alone = Report(make_samples(400), columns).compare("a", "b").interval
        shared = Report(make_samples(400, per_prompt=10), columns).compare("a", "b").interval
        assert shared.hi - shared.lo > 2.5 * (alone.hi - alone.lo)

    def test_nothing_in_common(self):
        """No row scored by both: a sentence instead of NaN."""
        a, b = make_grades([1.0], row0=Grade.skipped()), make_grades([1.0])
        assert "share no scored row" in str(Report(make_samples(1), {"a": a, "b": b}).compare("a", "b"))

    def test_is_escaped(self):
        """Texts of the table are not markup."""
        samples = make_samples(2, completion="<img src=x onerror=alert(1)>")
        shown_html = Report(samples, {"a": make_grades([1, 0]), "b": make_grades([0, 0])}).compare("a", "b")
        assert "<img" not in shown_html._repr_html_()


class TestMerge:
    def test_side_by_side(self, report):
        """Graders of two reports over the same samples."""
        other = Report(report.samples, {"tone": make_grades([1, 1, 0, 0])})
        assert report.merge(other).graders == ["quality", "tone"]

    def test_clash_needs_a_suffix(self, report):
        """Two versions of one name are distinguished by the suffix."""
        with pytest.raises(ReportError, match="suffix"):
            report.merge(report)
        assert report.merge(report, suffix=" v2").graders == ["quality", "quality v2"]

    def test_other_samples_are_refused(self, report):
        """Rows must be the same rows."""
        with pytest.raises(ReportError, match="different samples"):
            report.merge(Report(make_samples(5), {"g": make_grades(np.ones(5))}))

    @pytest.mark.parametrize("part", ["prompt", "completion", "reference", "topic"])
    def test_other_data_under_the_same_ids_are_refused(self, part):
        """Row numbers are the ids by default, so the texts are compared, and the row is named."""
        rows = [{"prompt": "p", "completion": "c", "reference": "r", "topic": "t"} for _ in range(1_500)]
        other = [dict(row) for row in rows]
        other[1_203][part] = "else"
        one, two = (Report(Samples(data), {"g": make_grades(np.ones(1_500))}) for data in (rows, other))
        with pytest.raises(ReportError, match="row 1203"):
            one.merge(two, suffix=" v2")

    def test_equal_data_read_twice_can_be_merged(self):
        """Rows equal in content are the same rows, a broken one and a missing number among them."""
        rows = [{"prompt": f"p{row}", "completion": "c", "x": float("nan")} for row in range(4)]
        rows[2] = {"messages": "[broken"}
        one, two = (
            Report(Samples([dict(row) for row in rows]), {name: make_grades(np.ones(4))})
            for name in ("a", "b")
        )
        assert one.merge(two).graders == ["a", "b"]


class Structure(html.parser.HTMLParser):
    """Collects the tags and attribute names of a page."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes = set(), set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}


class TestDisplay:
    def test_terminal_has_table_findings_and_isolation(self, report):
        """One table, one sentence a finding, one isolation line."""
        lines = str(report).splitlines()
        assert lines[0] == "1 grader on 4 rows"
        assert lines[-1] == "isolation: kernel"
        assert any("quality" in line and "0.625" in line for line in lines)

    def test_isolation_names_who_differs(self):
        """Graders confined differently are listed one by one."""
        a, b = make_grades([1.0]), make_grades([1.0])
        b.isolation = ""
        assert Report(make_samples(1), {"a": a, "b": b}).isolation == "isolation: a kernel, b no sandbox"

    def test_terminal_is_safe_from_escapes(self):
        """A grader's name cannot move the cursor, start a line or turn the text round."""
        name = f"a\nb\t{NASTY}"
        grades = make_grades(np.ones(40), row0=Grade.failed("runtime", NASTY))
        grades.isolation = "kernel\x1b"
        other = make_grades(np.ones(40))
        report = Report(make_samples(40), {name: grades, "b": other})
        text = f"{report}{report.findings!r}{report.compare(name, 'b')}{report.isolation}{report!r}"
        assert not set(text) & set("\x1b\u202e\t\ud800")
        assert sum(line.startswith(("b ", "b\t")) for line in text.splitlines()) == 0
        text.encode()

    def test_isolation_of_graders_that_never_ran(self):
        """No row tried is not the same as no sandbox."""
        stopped, unread, none = Grades.empty(2), Grades.empty(2), make_grades([1.0, 0.0])
        stopped.finish()
        for row in range(2):
            unread.put(row, Grade.failed("sample", "cannot be read"))
        none.isolation = ""
        report = Report(make_samples(2), {"stopped": stopped, "unread": unread, "none": none})
        assert report.isolation == "isolation: stopped not run, unread not run, none no sandbox"
        assert Report(make_samples(1).take([]), {"g": Grades.empty(0)}).isolation == "isolation: not run"

    def test_isolation_stands_in_the_frame(self, report):
        """Every line of the long table has the isolation of its score."""
        assert report.frame["isolation"].tolist() == ["kernel"] * 4
        assert set(Report(report.samples, {"g": Grades.empty(4)}).frame["isolation"]) == {"not run"}

    def test_frame_can_be_saved_whatever_it_holds(self):
        """Lone surrogates in ids, names, reasons and errors are escapes in the table."""
        grades = make_grades(
            [1.0, 1.0], row0=Grade.failed("runtime", "e\ud800"), row1=Grade(1.0, reasoning="r\udfff")
        )
        samples = Samples([{"id": f"i{row}\ud800é", "prompt": "p", "completion": "c"} for row in range(2)])
        text = Report(samples, {"g\ud800": grades}).frame.to_csv(index=False)
        text.encode()
        assert all(piece in text for piece in ("i0\\ud800é", "e\\ud800", "r\\udfff", "g\\ud800"))

    def test_huge_means_stay_short(self):
        """A score of 1e308 does not fill the table with digits."""
        lines = str(Report(make_samples(2), {"g": make_grades([1e308, 1e308])})).splitlines()
        assert max(map(len, lines)) < 250

    def test_html_has_no_foreign_markup(self):
        """Completions, names, reasons and errors are text in the notebook view."""
        samples = make_samples(60, completion=NASTY.replace("{", "{{").replace("}", "}}"))
        grades = make_grades(
            np.ones(60), row1=Grade.failed("runtime", NASTY), row2=Grade(1.0, reasoning=NASTY)
        )
        page = Report(samples, {NASTY: grades})._repr_html_()
        parsed = Structure()
        parsed.feed(page)
        assert parsed.tags <= {
            "div", "style", "table", "thead", "tbody", "tr", "th", "td", "svg", "line", "rect", "title",
            "b", "i", "strong", "path", "circle", "text", "span", "details", "summary", "p",
        }  # fmt: skip
        assert not [name for name in parsed.attributes if name.startswith("on")]
        assert "\u202e" not in page
        page.encode()

    def test_html_does_not_grow_with_rows(self):
        """100 times the rows, the same size within digits."""
        small, large = (
            Report(make_samples(n), {"g": make_grades(np.arange(n) % 7 / 7)})._repr_html_()
            for n in (300, 30_000)
        )
        assert abs(len(large) - len(small)) < 400

    def test_bundle_is_html_markdown_and_text(self, report):
        """No figure rides along unasked."""
        assert set(report._repr_mimebundle_()) == {"text/html", "text/markdown", "text/plain"}

    def test_repr_is_short_and_stable(self, report):
        """No address, no table."""
        assert repr(report) == "Report(4 rows, graders 'quality')"


class TestText:
    def test_hidden_characters_show(self):
        """Direction, control and surrogate characters become code points; tabs and lines stay."""
        assert visible("a\u202eb\x1b\ud800\tc\r\n") == "a⟨U+202E⟩b⟨U+001B⟩⟨U+D800⟩\tc\n"

    def test_joiners_stay(self):
        """Emoji and scripts that need joiners are left whole."""
        assert visible("👩\u200d🔬 می\u200cشود") == "👩\u200d🔬 می\u200cشود"

    def test_one_line_is_one_line(self):
        """Line ends and tabs are spaces; what hides is shown."""
        assert one_line("a\r\nb\t\nc\x1b") == "a b c⟨U+001B⟩"

    def test_encodable_text_is_left_alone(self):
        """Only lone surrogates change."""
        assert encodable("é\u202e\n") == "é\u202e\n"
        assert encodable("é\ud800") == "é\\ud800"

    @given(st.text(st.characters(exclude_categories=()), max_size=20))
    def test_visible_text_hides_nothing(self, text):
        """For any input, the result can be written and displays the same twice."""
        said = visible(text)
        said.encode()
        assert not HIDDEN.search(said)
        assert visible(said) == said

    def test_long_text_says_what_was_cut(self):
        """The cut is named."""
        assert shown("x" * 1_005, 5) == "xxxxx… (1,000 more characters)"


class TestBins:
    def test_edges_belong_to_the_bin_on_their_right(self):
        """0.15 starts a bin, however it is rounded; 1 is in the last one."""
        counts = histogram(make_grades([0.15, 0.1 + 0.05, 3 * 0.05, 1.0, 0.0])).counts
        assert (counts[3], counts[19], counts[0]) == (3, 1, 1)

    def test_bins_and_rows_agree(self):
        """What a bar counts is what its ends choose."""
        scores = np.round(np.random.default_rng(3).random(2_000), 2)
        counted = histogram(make_grades(scores))
        for at, count in enumerate(counted.counts):
            assert within(scores, counted.edges[at], counted.edges[at + 1]).sum() == count

    def test_outside_scores_widen_the_range(self):
        """All scores are counted, wherever they lie."""
        counted = histogram(make_grades([-2.0, 0.5, 7.0, 1.7e308]))
        assert counted.counts.sum() == 4
        assert counted.edges[0] == -2

    @settings(max_examples=200)
    @given(
        st.lists(
            st.one_of(
                st.floats(allow_nan=False, allow_infinity=False),
                st.floats(-3, 3),
                st.integers(-40, 60).map(lambda step: step * 0.05),
            ),
            max_size=40,
        )
    )
    def test_every_bar_counts_the_rows_it_opens(self, scores):
        """For any scores: a bar shows the number of its rows, and every score is in one bar."""
        grades = make_grades(scores)
        counted = histogram(grades)
        assert counted.counts.sum() == len(scores)
        assert np.isfinite(counted.edges).all()
        for at, count in enumerate(counted.counts):
            ends = (float(counted.edges[at]), float(counted.edges[at + 1]))
            assert len(select(ends, grades, len(scores))) == count

    def test_widened_scale(self):
        """Scores up to 2: those at 1.0 and 1.5 belong to the bar on their right, only 2.0 to the last."""
        scores = np.array([1.0, 1.0, 1.5, 1.5, 1.5, 2.0])
        assert within(scores, 0.5, 1.0).sum() == 0
        assert within(scores, 1.0, 1.5).sum() == 2
        assert within(scores, 1.5, 2.0).sum() == 4

    def test_edges_read_well(self):
        """0.15 and not 0.15000000000000002."""
        assert edges_of(np.array([0.5])).tolist()[3] == 0.15

    def test_svg_numbers_are_clean(self, report):
        """Bars are numbers only."""
        assert not re.search("nan|inf", report._repr_html_())


class TestLabels:
    """Labels as people give them."""

    def report(self, labels):
        import workbench as wb

        rows = [{"prompt": str(i), "completion": "x", "ok": i % 2 == 0} for i in range(200)]
        grades = Grades.empty(200)
        grades.put_scores(0, np.ones(200), seconds=0.0)
        return Report(wb.Samples(rows), {"g": grades}, labels=labels)

    def test_a_column_name_is_enough(self):
        """A column of the samples can be the labels."""
        assert "too-lenient" in {finding.kind for finding in self.report("ok").findings}
        with pytest.raises(ReportError, match="column 'nope'"):
            self.report("nope")

    def test_words_are_read(self):
        """Text labels, as CSV files have them, are understood."""
        words = ["TRUE" if i % 2 == 0 else "no" for i in range(200)]
        assert [str(f) for f in self.report(words).findings] == [str(f) for f in self.report("ok").findings]

    def test_a_shuffled_series_is_refused(self):
        """A Series with its own index would be used by position, silently wrong."""
        series = pd.Series([i % 2 == 0 for i in range(200)])
        assert self.report(series).findings == self.report("ok").findings
        with pytest.raises(ReportError, match="separate index"):
            self.report(series.sample(frac=1, random_state=0)).findings  # noqa: B018

    @pytest.mark.parametrize("labels", [True, 3, {"a": 1}, b"x", print])
    def test_what_is_no_list_is_refused(self, labels):
        """A single value is not a column of labels."""
        with pytest.raises(ReportError, match="one entry per row"):
            self.report(labels).findings  # noqa: B018

    @pytest.mark.parametrize("pass_threshold", [float("nan"), float("inf"), True, "x"])
    def test_the_pass_mark_is_a_number(self, pass_threshold):
        """A pass threshold that cannot be compared is refused."""
        from workbench.analysis.diagnostics import diagnose

        with pytest.raises(ReportError, match="pass_threshold"):
            diagnose(self.report("ok"), pass_threshold=pass_threshold)

    @pytest.mark.parametrize("labels", [pd.DataFrame({"ok": [True] * 200}), np.ones((200, 1)), {0, 1}])
    def test_what_has_no_order_of_rows_is_refused(self, labels):
        """A frame iterates over its column names and a set in any order: neither is one label a row."""
        with pytest.raises(ReportError, match="one entry per row"):
            self.report(labels).findings  # noqa: B018

    def test_a_frame_as_long_as_it_is_wide_is_refused(self):
        """A frame whose columns are named 0 and 1 would pass for two labels."""
        from workbench.analysis.diagnostics import diagnose

        with pytest.raises(ReportError, match="found: DataFrame"):
            diagnose(make_grades([1.0, 0.0]), labels=pd.DataFrame([[1, 0]]))

    def test_labels_that_can_be_read_once_are_refused(self):
        """An iterator is empty the second time."""
        with pytest.raises(ReportError, match="one entry per row"):
            self.report(iter([True] * 200)).findings  # noqa: B018


class TestScale:
    """A pass threshold belongs to a scale."""

    def report(self, scores, **settings):
        rows = [{"prompt": str(i), "completion": "x"} for i in range(len(scores))]
        return Report(Samples(rows), {"g": make_grades(scores)}, **settings)

    def test_the_pass_mark_is_the_middle_of_the_scale(self):
        """Scores of 2 out of 1 to 5 reject; against 0.5 all of them would have been accepted."""
        report = self.report(np.full(100, 2.0)).diagnose(labels=[False] * 100, scale=(1, 5))
        assert not any("lenient" in finding.kind for finding in report.findings)
        high = self.report(np.full(100, 3.0)).diagnose(labels=[False] * 100, scale=(1, 5))
        assert [f.kind for f in high.findings if f.severity == "error"] == ["too-lenient"]
        assert high.pass_threshold is None

    def test_zero_to_one_keeps_one_half(self):
        """0.5 accepts and 0.49 does not."""
        lenient = [
            [finding.kind for finding in self.report(np.full(100, score), labels=[False] * 100).findings]
            for score in (0.5, 0.49)
        ]
        assert ["too-lenient" in kinds for kinds in lenient] == [True, False]

    @pytest.mark.parametrize("settings", [{"scale": (1, 5), "pass_threshold": 0.5}, {"pass_threshold": 1.1}])
    def test_a_pass_mark_off_the_scale_is_refused(self, settings):
        """It would accept or reject every row."""
        with pytest.raises(ReportError, match="not on the scale"):
            self.report([0.5]).diagnose(**settings)

    def test_an_old_pass_mark_must_fit_a_new_scale(self):
        """What is not given stays, and is looked at again."""
        with pytest.raises(ReportError, match="not on the scale"):
            self.report([0.5], pass_threshold=0.7).diagnose(scale=(1, 5))

    @pytest.mark.parametrize("scale", [(0, float("inf")), ("a", "b"), (False, True), (0,), (0, float("nan"))])
    def test_a_scale_is_two_finite_numbers(self, scale):
        """Ends that cannot be counted with are refused."""
        with pytest.raises(ReportError, match="lowest and the highest"):
            self.report([0.5]).diagnose(scale=scale)


class TestSettings:
    """Arguments looked at before a run."""

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"preset": "nope"}, "unknown preset"),
            ({"labels": [True]}, "one entry per row"),
            ({"labels": ["perhaps"] * 4}, "neither good"),
            ({"labels": "nope"}, "column 'nope'"),
            ({"labels": pd.DataFrame({"x": [1] * 4})}, "one entry per row"),
            ({"pass_threshold": 3}, "not on the scale"),
            ({"scale": (1, 0)}, "lowest and the highest"),
        ],
    )
    def test_raises_what_diagnosis_would(self, report, settings, message):
        """The same error, before there is a grade."""
        with pytest.raises(ReportError, match=message) as early:
            check_settings(report.samples, **settings)
        with pytest.raises(ReportError) as late:
            report.diagnose(**settings)
        assert str(early.value) == str(late.value)

    def test_is_silent_where_all_is_well(self, report):
        """Good settings, and no settings."""
        check_settings(report.samples)
        check_settings(report.samples, preset="seed", labels=[1, 0, None, "yes"])
        check_settings(report.samples, pass_threshold=3, scale=(1, 5))
