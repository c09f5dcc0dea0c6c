"""Each family of diagnostics on planted defects, and on healthy graders."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.diagnostics import diagnose
from workbench.grade import ErrorKind, GradeError


def only(grades, kind, **rest):
    findings = [finding for finding in diagnose(grades, **rest) if finding.kind == kind]
    assert len(findings) <= 1
    return findings[0] if findings else None


class TestBroken:
    def test_names_the_kinds_of_errors(self, graded):
        """30 of 100 failures are an error, with the failed rows as evidence."""
        finding = only(graded(np.ones(100), failed=range(30), kind=ErrorKind.TIMEOUT), "broken")
        assert finding.severity == "error"
        assert "timeout 30" in finding.message
        assert finding.rows == tuple(range(30))
        assert finding.interval.lo > 0.02

    def test_needs_twenty_rows(self, graded):
        """19 failures of 19 are not yet a verdict; 20 of 20 are."""
        assert only(graded(np.ones(19), failed=range(19)), "broken").needed == 1
        assert only(graded(np.ones(20), failed=range(20)), "broken").severity == "error"

    def test_failures_of_one_prompt_are_failures(self, graded):
        """Few prompts do not excuse a grader that fails on every row."""
        finding = only(graded(np.ones(40), failed=range(40)), "broken", groups=np.zeros(40, int))
        assert finding.severity == "error"

    def test_names_the_most_common_error(self, graded):
        """The message of most failures stands in the sentence, cut to fit it."""
        grades = graded(np.ones(60))
        for row in range(40):
            grades.fail(row, GradeError(ErrorKind.RUNTIME, "KeyError: 'zz'." if row % 4 else "x" * 500))
        message = only(grades, "broken").message
        assert "runtime 40, most often KeyError: 'zz'" in message
        long = graded(np.ones(30))
        for row in range(30):
            long.fail(row, GradeError(ErrorKind.RUNTIME, "y" * 5_000))
        assert len(only(long, "broken").message) < 220
        assert f"all {'y' * 120}…" in only(long, "broken").message

    def test_says_once_that_nothing_was_scored(self, graded):
        """Where *broken* is a verdict it covers *nothing-scored*; where it is a note it does not."""
        kinds = [finding.kind for finding in diagnose(graded(np.ones(30), failed=range(30)))]
        assert kinds == ["broken"]
        kinds = [finding.kind for finding in diagnose(graded(np.ones(5), failed=range(5)))]
        assert kinds == ["nothing-scored", "broken"]

    def test_one_broken_grader_covers_no_other(self, graded):
        """Each grader has its own findings."""
        columns = {"a": graded(np.ones(30), failed=range(30)), "b": graded(np.ones(30), skipped=range(30))}
        findings = {(finding.grader, finding.kind) for finding in diagnose(columns)}
        assert {("a", "broken"), ("b", "nothing-scored")} <= findings

    def test_rare_failures_are_silent(self, graded):
        """One failure in 200 rows is below 2 %."""
        assert only(graded(np.ones(200), failed=[3]), "broken") is None

    @pytest.mark.parametrize("kind", [ErrorKind.CANCELLED, ErrorKind.BUDGET])
    def test_rows_never_tried_are_no_failures(self, graded, kind):
        """A stopped run is unfinished, not broken."""
        grades = graded(np.ones(100), failed=range(60), kind=kind)
        assert only(grades, "broken") is None
        assert only(grades, "unfinished").value == 60

    def test_nothing_scored_is_said(self, graded):
        """All skipped: no verdict is possible, and that is a warning."""
        finding = only(graded(np.ones(30), skipped=range(30)), "nothing-scored")
        assert finding.severity == "warning"
        assert "30 skipped" in finding.message

    def test_skips_are_counted(self, graded):
        """The share skipped is named, and skipped rows are evidence."""
        finding = only(graded(np.ones(50), skipped=[1, 2]), "skipped")
        assert "4 %" in finding.message
        assert finding.rows == (1, 2)

    def test_scores_by_rule_name_the_main_cause(self, graded):
        """Scores that no grading gave are a warning, with the most common reason and all their rows."""
        grades = graded(np.zeros(40))
        grades.ungraded.update({7: "bad pattern", 3: "no reference", 5: "no reference"})
        finding = only(grades, "ungraded")
        assert (finding.severity, finding.rows) == ("warning", (3, 5, 7))
        assert finding.message == "3 of 40 rows have a score by rule, not by grading: no reference"

    def test_few_rows_say_how_many_more(self, graded):
        """Five scored rows: thirty more are needed."""
        assert only(graded([0.2, 0.9, 0.4, 0.6, 0.1]), "few-rows").needed == 30

    @pytest.mark.parametrize("answers", [1, 3, 7])
    def test_thirty_five_rows_are_not_few(self, graded, answers):
        """35 prompts are enough however often each is answered alike; 34 want one prompt's answers more."""
        scores, groups = np.repeat(np.linspace(0, 1, 35), answers), np.arange(35 * answers) // answers
        assert only(graded(scores), "few-rows", groups=groups) is None
        few = only(graded(scores[answers:]), "few-rows", groups=groups[answers:])
        assert few.needed == answers

    @pytest.mark.parametrize(
        ("messages", "words"),
        [
            (["a"], "all a"),
            (["a", "b"], "such as a"),
            (["a", "a"], "all a"),
            (["b", "a", "a"], "most often a"),
        ],
    )
    def test_how_common_an_error_is(self, graded, messages, words):
        """One message of all rows, the most common of several, or one of those that each row has of its own."""
        grades = graded(np.ones(20))
        for row, message in enumerate(messages):
            grades.fail(row, GradeError(ErrorKind.RUNTIME, message))
        assert f"runtime {len(messages)}, {words}" in only(grades, "broken").message

    def test_few_prompts_count_as_few_rows(self, graded):
        """100 equal answers to five prompts are worth five rows."""
        finding = only(graded(np.full(100, 0.4)), "few-rows", groups=np.arange(100) // 20)
        assert finding.needed == 600
        assert "5 independent" in finding.message


class TestSaturation:
    @pytest.mark.parametrize(("score", "kind"), [(1.0, "saturated-high"), (0.0, "saturated-low")])
    @pytest.mark.parametrize(
        ("n", "severity", "needed"), [(15, "note", 20), (16, "note", 19), (34, "note", 1), (35, "warning", 0)]
    )
    def test_minimum_rows(self, graded, score, kind, n, severity, needed):
        """All rows at one end: a note from 16 rows, a verdict from 35, and the count missing before."""
        finding = only(graded(np.full(n, score)), kind)
        assert (finding.severity, finding.needed) == (severity, needed)
        assert finding.message.startswith("nearly") == (16 <= n < 35)
        assert finding.message.startswith("perhaps") == (n < 16)

    @pytest.mark.parametrize("score", [1.0, 0.0, 0.6])
    def test_a_handful_of_rows_gives_no_hints(self, graded, score):
        """Below 8 scored rows only *few-rows* speaks; from 8 on the shape may be hinted at."""
        groups = np.arange(7) // 2
        assert [finding.kind for finding in diagnose(graded(np.full(7, score)), groups=groups)] == [
            "few-rows"
        ]
        hints = {finding.kind for finding in diagnose(graded(np.full(8, score)))}
        assert hints & {"saturated-high", "saturated-low", "no-variance"}

    def test_ends_are_where_they_are_said_to_be(self, graded):
        """0.95 is the ceiling, 0.94 is not; 0.05 is the floor, 0.06 is not."""
        assert only(graded(np.full(50, 0.95)), "saturated-high")
        assert only(graded(np.full(50, 0.94)), "saturated-high") is None
        assert only(graded(np.full(50, 0.05)), "saturated-low")
        assert only(graded(np.full(50, 0.06)), "saturated-low") is None

    def test_never_says_lenient_without_labels(self, graded):
        """A high mean may come from good answers."""
        assert not any("lenient" in finding.message for finding in diagnose(graded(np.ones(500))))

    def test_other_scales_are_brought_to_the_same_ends(self, graded):
        """4.9 of 0 to 5 is the ceiling."""
        assert only(graded(np.full(50, 4.9)), "saturated-high", scale=(0, 5)).severity == "warning"

    @pytest.mark.parametrize(("n", "most"), [(5, 0), (10, 0), (20, 0), (50, 0)])
    def test_healthy_graders_are_never_saturated(self, graded, n, most):
        """Pass rate 0.7: no verdict in 200 runs, where "all above 0.9" fires in 17 % at five rows."""
        rng = np.random.default_rng(n)
        runs = [graded(rng.random(n) < 0.7) for _ in range(200)]
        fired = [only(grades, "saturated-high") for grades in runs]
        assert sum(finding is not None and finding.severity == "warning" for finding in fired) <= most

    def test_seed_rule_fires_on_healthy_graders(self, graded):
        """The literal rule on five rows calls 12 % to 22 % of healthy graders lenient: why it has no verdict."""
        rng = np.random.default_rng(0)
        runs = [graded(rng.random(5) < 0.7) for _ in range(400)]
        fired = [only(grades, "seed-too-lenient", preset="seed") is not None for grades in runs]
        assert 0.12 <= np.mean(fired) <= 0.22

    def test_power_at_a_hundred_rows(self, graded):
        """At a true ceiling share of 0.98 a hundred rows decide in more than nine of ten runs."""
        rng = np.random.default_rng(3)
        runs = [graded(rng.random(100) < 0.98) for _ in range(60)]
        fired = [
            finding.severity == "warning" for grades in runs if (finding := only(grades, "saturated-high"))
        ]
        assert sum(fired) >= 54


class TestSpread:
    def test_collapse(self, graded):
        """Scores that nearly all are 0.7 have collapsed."""
        finding = only(graded([0.7] * 296 + [0.2, 0.4, 0.9, 0.5]), "collapsed")
        assert finding.severity == "warning"
        assert finding.interval.hi < 1.5

    def test_two_levels_in_use_are_no_collapse(self, graded):
        """A fifth of the scores elsewhere is 1.65 levels, above 1.5."""
        assert only(graded([0.7] * 800 + [0.3] * 200), "collapsed") is None

    def test_near_collapse_of_a_continuous_scale_is_a_note(self, graded):
        """Many distinct scores on two levels."""
        scores = np.random.default_rng(4).normal([0.7, 0.75] * 200, 0.001)
        finding = only(graded(scores), "collapsed")
        assert finding.severity == "note"
        assert finding.needed == 0

    def test_pass_or_fail_has_no_scale(self, graded):
        """A grader of zeros and ones is not collapsed, however often it passes."""
        assert only(graded(np.r_[np.ones(95), np.zeros(5)]), "collapsed") is None

    def test_few_levels_on_purpose_are_fine(self, graded):
        """Three grades in even use are no note."""
        assert only(graded(np.tile([0.0, 0.5, 1.0], 60)), "collapsed") is None

    def test_no_variance(self, graded):
        """An sd of 0.03 around 0.6."""
        finding = only(graded(np.random.default_rng(5).normal(0.6, 0.03, 100)), "no-variance")
        assert finding.severity == "warning"
        assert finding.interval.hi < 0.1
        assert "ddof=1" in finding.message

    def test_no_variance_needs_twenty_rows(self, graded):
        """12 equal rows need 8 more; equal rows of one prompt count once."""
        assert only(graded(np.full(12, 0.6)), "no-variance").needed == 8
        clustered = only(graded(np.full(100, 0.6)), "no-variance", groups=np.arange(100) // 10)
        assert (clustered.severity, clustered.needed) == ("note", 100)

    @pytest.mark.parametrize("size", [1, 10])
    def test_healthy_spread_stays_quiet(self, graded, size):
        """An sd of 0.16: at most 5 % false alarms in 60 runs, with rows alone and in clusters of ten."""
        rng = np.random.default_rng(6)
        fired = 0
        for _ in range(60):
            centre = np.repeat(rng.normal(0.5, 0.13, 30), size)
            grades = graded(np.clip(centre + rng.normal(0, 0.09, 30 * size), 0, 1))
            finding = only(grades, "no-variance", groups=np.arange(30 * size) // size)
            fired += finding is not None and finding.severity == "warning"
        assert fired <= 3

    def test_scores_off_the_scale_are_said_and_not_judged(self, graded):
        """Scores of 1 to 5: one warning, no verdict about ends or spread."""
        findings = diagnose(graded(np.full(100, 5.0)))
        assert [finding.kind for finding in findings] == ["out-of-scale"]
        assert "scale=" in findings[0].advice

    def test_rounding_is_not_off_the_scale(self, graded):
        """A weighted sum may exceed 1 by the last bit."""
        assert only(graded(np.full(50, 1.0000000001)), "out-of-scale") is None


class TestGroups:
    def test_dead_prompts(self, graded):
        """Prompts that give every answer one score leave nothing to learn."""
        scores = np.repeat(np.random.default_rng(7).random(40), 4)
        finding = only(graded(scores), "dead-groups", groups=np.arange(160) // 4)
        assert finding.severity == "warning"
        assert finding.n == 40
        assert len(finding.rows) == 160

    def test_dead_prompts_need_thirty_with_four_answers(self, graded):
        """29 prompts need four rows more."""
        scores = np.repeat(np.random.default_rng(8).random(29), 4)
        finding = only(graded(scores), "dead-groups", groups=np.arange(116) // 4)
        assert (finding.severity, finding.needed) == ("note", 4)

    @pytest.mark.parametrize(("dead", "fires"), [(600, True), (500, False)])
    def test_more_than_half_must_be_dead(self, graded, dead, fires):
        """Of 1,000 prompts 600 are past one half, 500 are not."""
        scores = np.tile([0.2, 0.8], 1_000)
        scores[: 2 * dead] = 0.5
        groups = np.r_[np.arange(2_000) // 2, np.arange(120) // 4]
        finding = only(graded(np.r_[scores, np.tile([0.1, 0.4, 0.6, 0.9], 30)]), "dead-groups", groups=groups)
        assert (finding is not None and finding.severity == "warning") == fires

    def test_single_answers_say_nothing(self, graded):
        """Without two answers to one prompt there is no spread to miss."""
        assert only(graded(np.ones(100)), "dead-groups") is None

    def test_prompt_decides(self, graded):
        """Scores that only vary between prompts get a note."""
        rng = np.random.default_rng(9)
        scores = np.clip(np.repeat(rng.random(60), 4) + rng.normal(0, 0.01, 240), 0, 1)
        finding = only(graded(scores), "prompt-decides", groups=np.arange(240) // 4)
        assert finding.severity == "note"
        assert finding.interval.lo > 0.9

    def test_prompt_decides_needs_thirty_with_four_answers(self, graded):
        """The same scores of 29 prompts get no note, and no wish for more rows either."""
        scores = np.clip(np.repeat(np.linspace(0, 1, 30), 4) + np.tile([0.0, 0.01, 0.0, 0.01], 30), 0, 1)
        groups = np.arange(120) // 4
        assert only(graded(scores), "prompt-decides", groups=groups).needed == 0
        assert only(graded(scores[4:]), "prompt-decides", groups=groups[4:]) is None

    def test_a_good_part_within_prompts_is_no_note(self, graded):
        """An ICC of about 0.8 leaves enough to learn from."""
        rng = np.random.default_rng(10)
        scores = np.repeat(rng.normal(0.5, 0.1, 200), 4) + rng.normal(0, 0.05, 800)
        assert only(graded(np.clip(scores, 0, 1)), "prompt-decides", groups=np.arange(800) // 4) is None


class TestAgreement:
    def test_lenient_with_the_rows_that_prove_it(self, graded):
        """Accepted known-bad rows are the evidence, highest score first."""
        scores = np.r_[np.linspace(0.6, 1, 40), np.zeros(60), np.ones(50)]
        labels = [False] * 100 + [True] * 50
        finding = only(graded(scores), "too-lenient", labels=labels)
        assert finding.severity == "error"
        assert finding.rows[0] == 39
        assert set(finding.rows) == set(range(40))
        assert finding.interval.lo > 0.05

    def code(self, grades):
        grades.isolation = "kernel"
        return grades

    def test_code_should_accept_no_known_bad_row(self, graded):
        """Three of 556 claim no rate, yet the rows are shown, highest score first, as a warning."""
        grades = self.code(graded(np.r_[0.6, 0.9, 0.7, np.zeros(553)]))
        finding = only(grades, "accepts-known-bad", labels=[False] * 556)
        assert finding.message == "accepts 3 of 556 known-bad rows; a code grader should accept none"
        assert (finding.severity, finding.interval, finding.rows) == ("warning", None, (1, 2, 0))
        assert only(grades, "too-lenient", labels=[False] * 556) is None

    def test_a_lenient_grader_is_told_once(self, graded):
        """Where the rate is a verdict, the single rows are its evidence."""
        grades = self.code(graded(np.ones(100)))
        kinds = {finding.kind for finding in diagnose(grades, labels=[False] * 100)}
        assert "too-lenient" in kinds
        assert "accepts-known-bad" not in kinds

    def test_single_accepts_are_about_labelled_code_only(self, graded):
        """Not without labels, not for what ran in no sandbox, not in the literal preset, not at none."""
        scores, labels = np.r_[1.0, np.zeros(99)], [False] * 100
        assert only(self.code(graded(scores)), "accepts-known-bad") is None
        assert only(graded(scores), "accepts-known-bad", labels=labels) is None
        assert only(self.code(graded(scores)), "accepts-known-bad", labels=labels, preset="seed") is None
        assert only(self.code(graded(np.zeros(100))), "accepts-known-bad", labels=labels) is None

    def test_lenient_needs_sixty_bad_rows(self, graded):
        """59 accepted of 59 are not yet a verdict."""
        finding = only(graded(np.ones(59)), "too-lenient", labels=[False] * 59)
        assert (finding.severity, finding.needed) == ("note", 1)

    def test_strict_with_the_rows_that_prove_it(self, graded):
        """Rejected known-good rows are the evidence; thirty labels are enough."""
        finding = only(graded(np.r_[np.zeros(15), np.ones(15)]), "too-strict", labels=[True] * 30)
        assert finding.severity == "error"
        assert set(finding.rows) == set(range(15))

    def test_a_fair_grader_is_neither(self, graded):
        """3 % false accepts and 5 % false rejects are within bounds."""
        scores = np.r_[np.arange(200) % 33 == 0, np.arange(200) % 20 != 0]
        kinds = {finding.kind for finding in diagnose(graded(scores), labels=[False] * 200 + [True] * 200)}
        assert not kinds & {"too-lenient", "too-strict"}

    def test_the_graders_own_verdict_goes_first(self, graded):
        """A score of 0.4 that the grader itself passed is accepted."""
        grades = graded(np.full(80, 0.4))
        grades.passed[:] = 1
        assert only(grades, "too-lenient", labels=[False] * 80).severity == "error"

    def test_the_pass_mark_can_move(self, graded):
        """With a pass mark of 0.8 a score of 0.6 rejects."""
        assert only(graded(np.full(80, 0.6)), "too-lenient", labels=[False] * 80, pass_threshold=0.8) is None

    def test_failed_rows_are_neither_accepted_nor_rejected(self, graded):
        """Only scored rows are counted."""
        finding = only(graded(np.ones(100), failed=range(30)), "too-lenient", labels=[False] * 100)
        assert finding.n == 70


class TestSeed:
    @pytest.mark.parametrize(
        ("scores", "kinds"),
        [
            ([0.91, 0.99, 0.95], ["seed-too-lenient", "seed-no-variance"]),
            ([0.9, 0.99, 0.95], ["seed-no-variance"]),
            ([0.09, 0.0, 0.05], ["seed-too-strict", "seed-no-variance"]),
            ([0.1, 0.5, 0.9], []),
            ([0.1, 0.12, 0.11], ["seed-no-variance"]),
            ([0.3, 0.44], ["seed-no-variance"]),
            ([0.3, 0.45], []),
            ([0.3], []),
        ],
    )
    def test_rules_are_literal(self, graded, scores, kinds):
        """Strictly above 0.9, strictly below 0.1, std strictly below 0.1."""
        assert [finding.kind for finding in diagnose(graded(scores), preset="seed")] == kinds

    def test_wording_is_honest(self, graded):
        """It says on how many rows, that there is no interval, and which std."""
        lenient, variance = diagnose(graded([0.91, 0.99, 0.95]), preset="seed")
        assert "seed rule fired, on 3 rows, no interval" in str(lenient)
        assert lenient.interval is None
        assert "sample 0.04 (ddof=1), population 0.0327" in str(variance)
