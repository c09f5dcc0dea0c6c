"""Entries and rules: what counts, what is missing, what a negation turns."""

from dataclasses import dataclass
from typing import Any

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.data.extractors import EXTRACTORS, Extractor, extractor
from workbench.graders.combine import AllPass, Combined, CombiningRule, Entry, Formula, Mean, Sum
from workbench.graders.combine.entry import NEGATED

THREAD = wb.StringThread([("user", "q"), ("assistant", "x")], {})


@dataclass(frozen=True, kw_only=True)
class Says(wb.Grader):
    """Gives what it is told: a number, a grade, or an exception to raise."""

    what: Any = 1.0

    async def grade(self, sample):
        if isinstance(self.what, BaseException):
            raise self.what
        return self.what


def entries(*values, **settings):
    weights = settings.pop("weights", [1.0] * len(values))
    return [
        Entry(Says(what=value, name=f"g{at}"), weight=weight, **settings)
        for at, (value, weight) in enumerate(zip(values, weights, strict=True))
    ]


def whole(rule, *values, **settings):
    return Combined(entries=tuple(entries(*values, **settings)), combine=rule)(THREAD)


SKIP, BROKEN = wb.Grade.skipped("n/a"), ZeroDivisionError("division by zero")
UNREAD = wb.Grade.failed("judge_parse", "no verdict in the answer")


@pytest.mark.parametrize(
    ("rule", "values", "weights", "score"),
    [
        (Mean(), [1.0, 0.5], [0.6, 0.4], 0.8),
        (Mean(), [1.0, SKIP, 0.0], [1, 5, 1], 0.5),
        (Mean(), [1.0, UNREAD], [1, 1], 1.0),
        (Sum(), [1.0, 0.5], [0.6, 0.4], 0.8),
        (Sum(), [1.0, SKIP], [0.6, 0.4], 0.6),
        (Sum(strict=True, weights_sum_to_one=True), [1.0, 0.0, 0.0], [0.1, 0.2, 0.7], 0.1),
        (Formula("max(g0, g1) - g2 ^ 2"), [0.2, 0.9, 0.5], [1, 1, 1], 0.65),
        (Formula("0.25"), [1.0], [1], 0.25),
        (AllPass(), [1.0, 1.0], [1, 1], 1.0),
        (AllPass(), [1.0, 0.4], [1, 1], 0.0),
    ],
)
def test_scores(rule, values, weights, score):
    """Each rule's number on parts that answered, and on parts that may be left out."""
    assert whole(rule, *values, weights=weights).score == pytest.approx(score)


@pytest.mark.parametrize(
    "rule", [Mean(), Mean(strict=True), Sum(), Sum(strict=True), Formula("g0 + g1"), AllPass()]
)
def test_a_broken_part_leaves_the_whole_unscored(rule):
    """A failure is never averaged away, and the whole says which part it was."""
    grade = whole(rule, 1.0, BROKEN)
    assert (grade.status, grade.error.kind) == ("failed", "runtime")
    assert "g1" in grade.error.message
    assert "ZeroDivisionError" in grade.error.message
    assert grade.metadata["missing"] == ["g1"]


@pytest.mark.parametrize("rule", [Mean(strict=True), Sum(strict=True), Formula("g0 + g1"), AllPass()])
def test_a_skipped_part_leaves_strict_rules_unscored(rule):
    """Where every part must answer, a skip makes a skip, with the name."""
    grade = whole(rule, 1.0, SKIP)
    assert grade.status == "skipped"
    assert "g1" in grade.reasoning


def test_a_failed_part_may_be_left_out():
    """With `on_error="skip"` a mean is over the others, while the part's own grade stays failed; a cancelled one is not left out."""
    entries = (Entry(Says(what=0.5, name="a")), Entry(Says(what=BROKEN, name="b"), on_error="skip"))
    grade = Combined(entries=entries)(THREAD)
    assert (grade.status, grade.score) == ("scored", 0.5)
    assert "ZeroDivisionError" in grade.metadata["parts"]["b"]["message"]
    assert entries[1](THREAD).status == "failed"
    for strict in (Mean(strict=True), AllPass(), Formula("a + b")):
        assert Combined(entries=entries, combine=strict)(THREAD).status == "skipped"
    assert Combined(entries=entries[1:])(THREAD).status == "skipped"
    cancelled = Combined(
        entries=(
            entries[0],
            Entry(Says(what=wb.Grade.failed("cancelled", "stopped"), name="c"), on_error="skip"),
        )
    )
    assert cancelled(THREAD).status == "failed"


def test_nothing_left():
    """All parts declined: skipped if all skipped, failed if one could not be read."""
    assert whole(Mean(), SKIP, SKIP).status == "skipped"
    assert whole(Mean(), SKIP, UNREAD).error.kind == "judge_parse"


def test_arithmetic_without_an_answer():
    """log(0) is no score."""
    grade = whole(Formula("log(g0)"), 0.0)
    assert grade.error.kind == "not_finite"
    assert "log(g0)" in grade.error.message


def test_only_errors_block():
    """Warnings and infos are told but do not fail a row; no blocking entry passes."""
    parts = (
        Entry(Says(what=1.0, name="a")),
        Entry(Says(what=0.0, name="b"), severity="warning"),
        Entry(Says(what=0.0, name="c"), severity="info"),
    )
    grade = Combined(entries=parts, combine=AllPass())(THREAD)
    assert (grade.score, grade.passed) == (1.0, True)
    assert "warning: b" in grade.reasoning
    assert Combined(entries=parts[1:], combine=AllPass())(THREAD).passed


class TestEntry:
    """One grade through an entry."""

    def test_threshold_and_negation(self):
        """A threshold makes the verdict; negation turns score and verdict, and says so."""
        entry = Entry(Says(what=0.75), pass_threshold=0.7)
        assert entry.outcome(wb.Grade(0.75)).passed
        turned = Entry(Says(), pass_threshold=0.7, negate=True).outcome(wb.Grade(0.75))
        assert (turned.score, turned.passed, turned.message) == (0.25, False, NEGATED)
        passing = Entry(Says(), negate=True).outcome(wb.Grade(0.0, passed=False, reasoning="no match"))
        assert (passing.score, passing.passed, passing.message) == (1.0, True, None)

    def test_a_negated_failure_stays_a_failure(self):
        """A broken grader never passes by negation."""
        outcome = Entry(Says(), negate=True).outcome(wb.Grade.failed("runtime", "boom"))
        assert (outcome.score, outcome.passed, outcome.message) == (None, None, "boom")

    def test_unless_umbracos_switch_is_set(self):
        """Umbraco's own rule is a switch."""
        entry = Entry(Says(), negate=True, on_error="zero", negate_errors=True)
        outcome = entry.outcome(wb.Grade.failed("runtime", "boom"))
        assert (outcome.score, outcome.passed, outcome.message) == (1.0, True, None)
        assert outcome.grade.score is None
        with pytest.raises(ValueError, match="on_error"):
            Entry(Says(), negate_errors=True)

    @pytest.mark.parametrize(("negate", "counts"), [(True, 1.0), (False, 0.0)])
    def test_what_a_failure_counts_as_is_said(self, negate, counts):
        """The reason names the number that a failed part adds to the whole, negated only where the part is."""
        grade = whole(Mean(), BROKEN, on_error="zero", negate=negate, negate_errors=True)
        assert grade.score == counts
        assert f"failed and counts as {counts}" in grade.reasoning

    def test_a_failure_may_count_as_zero(self):
        """Only where the entry says so."""
        assert Entry(Says(), on_error="zero").outcome(wb.Grade.failed("timeout", "slow")).score == 0.0
        assert whole(Mean(), 1.0, BROKEN, on_error="zero").score == 0.5

    def test_extractor(self):
        """The grader sees the extracted text as the completion; a failing extractor fails its row."""
        grader = wb.FunctionGrader.from_source(
            "async def grade(thread):\n    return float(len(thread.completion()))\n"
        )
        entry = Entry(grader, extractor=Extractor("pattern", {"pattern": r"\d+"}))
        samples = wb.Samples(
            [{"prompt": "q", "completion": "it is 123"}, {"prompt": "q", "completion": "none"}]
        )
        report = wb.Suite([entry]).run(samples, progress=False)
        assert report.scores["grade"].tolist() == [3.0, 0.0]
        assert wb.Suite([entry])(samples[0]).score == 3.0
        memory = Entry(grader, extractor=Extractor("memory_block", {"block_label": "human"}))
        failed = wb.Suite([memory]).run(samples, progress=False)
        assert failed.errors["error_kind"].tolist() == ["sample", "sample"]
        assert wb.Suite([memory])(samples[0]).parts["grade"].grade.error.kind == "sample"

    def test_an_extractor_may_skip_a_row(self):
        """Where the entry's extractor raises `Skip`, the row is skipped with its reason, alone and in a run; other failures stay."""

        @extractor("test-skips")
        def choose(thread):
            if thread.completion() == "broken":
                raise ValueError("no text")
            raise wb.Skip("no answer here")

        entry = Entry(wb.Length(1), extractor="test-skips")
        rows = [{"prompt": "q", "completion": text} for text in ("a", "broken", "b")]
        try:
            grades = wb.Suite([entry]).run(rows, progress=False).grades["length"]
            assert [grade.status for grade in grades] == ["skipped", "failed", "skipped"]
            assert (grades[0].reasoning, grades[1].error.kind) == ("no answer here", "sample")
            assert entry(THREAD).reasoning == "no answer here"
            assert entry(THREAD).status == "skipped"
        finally:
            EXTRACTORS.pop("test-skips")

    def test_an_empty_extraction_is_what_is_graded(self):
        """Where the rule finds nothing, an earlier message is not taken in its place, tool calls or not."""
        call = {"id": "1", "function": {"name": "f", "arguments": "{}"}}
        chat = [
            {"role": "user", "content": "q"},
            {"role": "assistant", "content": "let me see"},
            {"role": "assistant", "content": "", "tool_calls": [call]},
        ]
        entry = Entry(wb.Length(maximum=3), extractor=Extractor("after_marker", {"marker": "ANSWER:"}))
        assert wb.Suite([entry])(wb.StringThread.from_messages(chat, {})).score == 1.0
        seen = entry.show(wb.StringThread.from_messages(chat, {}))
        assert (seen.completion(), len(seen.tool_calls())) == ("", 1)

    @pytest.mark.parametrize(
        "settings",
        [
            {"weight": -1},
            {"weight": True},
            {"severity": "fatal"},
            {"on_error": "pass"},
            {"pass_threshold": float("nan")},
        ],
    )
    def test_refused_settings(self, settings):
        """Values out of range are refused at once."""
        with pytest.raises(ValueError):
            Entry(Says(), **settings)


def test_checks_of_rules():
    """Rules refuse entries they cannot combine, with the numbers and names."""
    with pytest.raises(ValueError, match=r"0.5 \+ 0.4 = 0.9"):
        Combined(entries=tuple(entries(1.0, 1.0, weights=[0.5, 0.4])), combine=Sum(weights_sum_to_one=True))
    with pytest.raises(ValueError, match="not a grader of this suite"):
        Combined(entries=tuple(entries(1.0)), combine=Formula("g0 + nope"))
    with pytest.raises(ValueError, match="above 0"):
        Combined(entries=tuple(entries(1.0, weights=[0.0])))
    with pytest.raises(ValueError, match="two graders are called"):
        Combined(entries=(Says(), Says()))


@pytest.mark.parametrize(
    "rule", [Mean(), Mean(strict=True), Sum(weights_sum_to_one=True), AllPass(), Formula("a + 1")]
)
def test_rules_round_trip(rule):
    """A rule is its spec."""
    assert CombiningRule.build(rule.spec()) == rule
    with pytest.raises(FormatError, match="mean"):
        CombiningRule.build({"rule": "median"})


def test_only_parts_that_matter_are_blamed():
    """What fails without being asked is not the reason that a row has no score."""
    severities = ["error", "warning"]
    parts = [
        Entry(Says(what=what), name, severity=severity)
        for what, name, severity in zip([SKIP, BROKEN], ["a", "b"], severities, strict=True)
    ]
    for rule in (AllPass(), Formula("a * 2")):
        grade = Combined(entries=tuple(parts), combine=rule)(THREAD)
        assert (grade.status, grade.metadata["missing"]) == ("skipped", ["a"])


def test_a_constant_is_no_score_where_a_part_broke():
    """A formula of numbers alone needs every part, so that a stopped run has no scores of its own."""
    assert whole(Formula("1"), BROKEN).status == "failed"


@pytest.mark.parametrize("rule", [Mean(), Sum()])
def test_sums_no_float_can_hold_fail(rule):
    """Without a warning of numpy's, too."""
    assert whole(rule, 1e200, 1.0, weights=[1e200, 1.0]).error.kind == "not_finite"


@pytest.mark.parametrize(
    "fields",
    [
        {"entries": [5]},
        {"entries": [{"grader": {"kind": "ascii-printable"}}], "combine": "mean"},
        {"entries": [{"grader": {"kind": "ascii-printable"}}], "combine": None},
        {"entries": [{"grader": {"kind": "ascii-printable"}, "name": 5}]},
        {"entries": [{"grader": {"kind": "ascii-printable"}, "negate": "no"}]},
        {"entries": [{"grader": {"kind": "ascii-printable"}, "weight": "1"}]},
        {"entries": [{"grader": {"kind": "ascii-printable"}, "pass_threshold": "1"}]},
        {"entries": [{"grader": {"kind": "ascii-printable"}, "on_error": []}]},
    ],
)
def test_wrong_files_are_format_errors(fields):
    """Whatever a file holds, the refusal is one kind of error, from a combined grader and from a suite."""
    with pytest.raises(FormatError):
        wb.graders.from_spec({"kind": "combined", **fields})
    with pytest.raises(FormatError):
        wb.Suite.build({"entries": fields["entries"], "combine": fields.get("combine", "mean") or "mean"})


@pytest.mark.parametrize("spec", [{}, "x", {"entries": 5}, {"entries": []}])
def test_what_is_no_suite(spec):
    """A suite without a list of entries is refused as a file."""
    with pytest.raises(FormatError):
        wb.Suite.build(spec)


def test_code_stays_code_when_combined():
    """Two deterministic graders make one; with somebody else's among them it is none of ours."""
    rows = wb.Samples([{"completion": "x"}])
    both = wb.Suite([wb.AsciiPrintable(), wb.Length(maximum=3)], combine=Mean()).run(rows, progress=False)
    mixed = wb.Suite([wb.AsciiPrintable(), Says(name="says")], combine=Mean()).run(rows, progress=False)
    assert both.grades["combined"].code
    assert not mixed.grades["combined"].code
