"""Each family of diagnostics on planted defects, and on healthy graders."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.analysis.diagnostics import diagnose
from workbench.core.grade import ErrorKind, GradeError


def only(grades, kind, **rest):
    findings = [finding for finding in diagnose(grades, **rest) if finding.kind == kind]
    assert len(findings) <= 1
    return findings[0] if findings else None


class TestBroken:
    def test_names_the_kinds_of_errors(self, graded):
        """30 of 100 failures are an error, with the failed rows as evidence."""
        finding = only(graded(np.ones(100), failed=range(30), kind=ErrorKind.TIMEOUT), "broken")
        assert finding.severity == "error"
        assert "30 %: timeout: it broke" in finding.message
        assert finding.rows == tuple(range(30))
        assert finding.interval.lo > 0.02

    def test_needs_no_minimum(self, graded):
        """Two failures of two would happen once in 2,500 times at 2 %; one of one is no verdict."""
        assert only(graded(np.ones(2), failed=range(2)), "broken").severity == "error"
        assert only(graded(np.ones(20), failed=[3]), "broken").severity == "note"

    def test_knows_prompts(self, graded):
        """One prompt whose 8 answers fail is one failure of its kind; three of them are a verdict."""
        groups = np.arange(80) // 8
        assert only(graded(np.ones(80), failed=range(8)), "broken", groups=groups).severity == "note"
        assert only(graded(np.ones(80), failed=range(24)), "broken", groups=groups).severity == "error"

    def test_names_the_most_common_error(self, graded):
        """The message of most failures stands in the sentence, cut to fit it."""
        grades = graded(np.ones(60))
        for row in range(40):
            grades.fail(row, GradeError(ErrorKind.RUNTIME, "KeyError: 'zz'." if row % 4 else "x" * 500))
        message = only(grades, "broken").message
        assert "failed, 66.7 %: runtime, most often KeyError: 'zz'" in message
        long = graded(np.ones(30))
        for row in range(30):
            long.fail(row, GradeError(ErrorKind.RUNTIME, "y" * 5_000))
        assert len(only(long, "broken").message) < 220
        assert f"runtime: {'y' * 120}…" in only(long, "broken").message

    def test_says_once_that_nothing_was_scored(self, graded):
        """Where *broken* is a verdict it covers *nothing-scored*; where it is a note it does not."""
        kinds = [finding.kind for finding in diagnose(graded(np.ones(30), failed=range(30)))]
        assert kinds == ["broken"]
        one_prompt = diagnose(graded(np.ones(5), failed=range(5)), groups=np.zeros(5, int))
        assert [finding.kind for finding in one_prompt] == ["broken"]
        kinds = [finding.kind for finding in diagnose(graded(np.ones(1), failed=[0]))]
        assert kinds == ["broken"]

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

    def test_few_rows_say_how_many_it_takes(self, graded):
        """Five scored rows; 36 are the least that can show how scores are spread."""
        assert (
            "takes at least 36 independent rows"
            in only(graded([0.2, 0.9, 0.4, 0.6, 0.1]), "few-rows").message
        )

    @pytest.mark.parametrize("answers", [1, 3, 7])
    def test_thirty_six_rows_are_not_few(self, graded, answers):
        """36 prompts are enough however often each is answered alike; 35 are not."""
        scores, groups = np.repeat(np.linspace(0, 1, 36), answers), np.arange(36 * answers) // answers
        assert only(graded(scores), "few-rows", groups=groups) is None
        assert only(graded(scores[answers:]), "few-rows", groups=groups[answers:])

    def test_rows_of_one_prompt_are_said_to_be(self, graded):
        """They do not show how the grader does on another."""
        finding = only(graded(np.linspace(0, 1, 40)), "one-prompt", groups=np.zeros(40, int))
        assert (finding.severity, finding.message[:34]) == ("note", "all 40 scored rows are completions")
        assert only(graded(np.linspace(0, 1, 40)), "one-prompt") is None

    @pytest.mark.parametrize(
        ("groups", "words"),
        [
            ([0], "1 scored row: too few"),
            ([0, 1], "2 scored rows: too few"),
            ([0] * 12, "12 scored rows, all of one prompt, which count as one independent row: too few"),
            (
                list(range(6)) * 2,
                "12 scored rows, which count as 6 independent ones since prompts repeat: too few",
            ),
        ],
    )
    def test_few_rows_in_words(self, graded, groups, words):
        """How many rows there are, and how many they count as where fewer."""
        scores = np.array(groups) / 6 + 0.1
        assert only(graded(scores), "few-rows", groups=np.array(groups)).message.startswith(words)

    @pytest.mark.parametrize(
        ("n", "failed", "words"),
        [
            (1, 1, "broken: the only row failed: "),
            (2, 2, "broken: both rows failed: "),
            (12, 12, "broken: all 12 rows failed: "),
            (12, 5, "broken: 5 of 12 rows failed, 41.7 %: "),
        ],
    )
    def test_failed_rows_in_words(self, graded, n, failed, words):
        """All of them are no share."""
        assert words in only(graded(np.ones(n), failed=range(failed)), "broken").message

    def test_one_row_and_all_rows_in_words(self, graded):
        """A single row is in the singular, and where all rows are skipped there is no rest."""
        assert (
            only(graded(np.ones(1), skipped=[0]), "nothing-scored").message
            == "the only row was skipped: there is no score"
        )
        assert only(graded(np.ones(2), skipped=[0, 1]), "skipped").message == "both rows were skipped"
        assert only(graded(np.ones(12), skipped=[3]), "skipped").message.startswith(
            "1 of 12 rows was skipped, 8.3 %; all other"
        )
        assert only(graded(np.ones(2)), "one-prompt", groups=np.zeros(2, int)).message.startswith(
            "both scored rows are"
        )

    @pytest.mark.parametrize(
        ("messages", "words"),
        [
            (["a"], "runtime: a"),
            (["a", "b"], "runtime, such as a"),
            (["a", "a"], "runtime: a"),
            (["a", "a", "a"], "runtime: a"),
            (["b", "a", "a"], "runtime, most often a"),
        ],
    )
    def test_how_common_an_error_is(self, graded, messages, words):
        """One message of all rows, the most common of several, or one of those that each row has of its own."""
        grades = graded(np.ones(20))
        for row, message in enumerate(messages):
            grades.fail(row, GradeError(ErrorKind.RUNTIME, message))
        assert words in only(grades, "broken").message

    def test_error_kinds_are_words(self, graded):
        """One kind is not repeated if its message begins with it; of several, each has its number of rows."""
        grades = graded(np.ones(20))
        for row in range(3):
            grades.fail(row, GradeError(ErrorKind.RETURN_TYPE, "return type list"))
        assert "failed, 15 %: return type list" in only(grades, "broken").message
        grades.fail(3, GradeError(ErrorKind.TIMEOUT, "too slow"))
        message = only(grades, "broken").message
        assert "return type on 3, timeout on 1, most often return type list" in message

    def test_few_prompts_count_as_few_rows(self, graded):
        """100 equal answers to five prompts are worth five rows."""
        finding = only(graded(np.full(100, 0.4)), "few-rows", groups=np.arange(100) // 20)
        assert "5 independent" in finding.message


class TestSameScore:
    @pytest.mark.parametrize(("n", "severity"), [(35, "note"), (36, "warning")])
    def test_needs_thirty_six_rows(self, graded, n, severity):
        """Nine of ten rows alike would all be alike in 36 rows once in forty times."""
        finding = only(graded(np.full(n, 0.95)), "same-score")
        assert finding.severity == severity
        assert f"gives every row the same score, 0.95 on {n} of {n} rows" in finding.message

    def test_it_is_the_only_thing_said_of_the_scores(self, graded):
        """An always-0.95 grader has one fault, not five."""
        assert [f.kind for f in diagnose(graded(np.full(60, 0.95)))] == ["same-score"]

    def test_it_explains_what_labels_show(self, graded):
        """Lenient, and no better than chance: both follow, and nothing is cleared."""
        labels = [True, False] * 100
        findings = diagnose(graded(np.full(200, 0.95)), labels=labels)
        assert [(f.kind, f.cause) for f in findings] == [
            ("same-score", ""),
            ("too-lenient", "same-score"),
            ("no-better-than-chance", "same-score"),
        ]

    def test_one_other_score_is_enough(self, graded):
        """Then it is no longer every row."""
        assert only(graded(np.r_[np.full(60, 0.95), 0.5]), "same-score") is None

    def test_copies_of_one_prompt_count_once(self, graded):
        """100 equal answers to ten prompts are ten rows."""
        finding = only(graded(np.full(100, 0.6)), "same-score", groups=np.arange(100) // 10)
        assert (finding.severity, finding.unit) == ("note", "prompt")


def ended(n, rows, score):
    """N rows, so many of them at one end of the scale."""
    return np.r_[np.full(rows, score), np.full(n - rows, 0.5)]


class TestSaturation:
    @pytest.mark.parametrize(("score", "kind"), [(1.0, "saturated-high"), (0.0, "saturated-low")])
    def test_a_verdict_a_note_and_nothing(self, graded, score, kind):
        """99 of 100 at one end are a verdict, 90 a note, 80 neither."""
        place = "top" if score else "bottom"
        verdict = only(graded(ended(100, 99, score)), kind)
        assert verdict.severity == "warning"
        assert verdict.message.startswith(f"nearly every score is at the {place}: 99 % of 100 scores are")
        note = only(graded(ended(100, 90, score)), kind)
        assert (note.severity, note.message[:11]) == ("note", "most scores")
        assert only(graded(ended(100, 80, score)), kind) is None

    @pytest.mark.parametrize("score", [1.0, 0.0, 0.6])
    def test_a_handful_of_rows_gives_no_hints(self, graded, score):
        """Below 8 scored rows only *few-rows* speaks; from 8 on the shape may be hinted at."""
        groups = np.arange(7) // 2
        assert [f.kind for f in diagnose(graded(np.full(7, score)), groups=groups)] == ["few-rows"]
        assert "same-score" in {finding.kind for finding in diagnose(graded(np.full(8, score)))}

    def test_ends_are_where_they_are_said_to_be(self, graded):
        """0.95 is the ceiling, 0.94 is not; 0.05 is the floor, 0.06 is not."""
        assert only(graded(ended(100, 99, 0.95)), "saturated-high")
        assert only(graded(ended(100, 99, 0.94)), "saturated-high") is None
        assert only(graded(ended(100, 99, 0.05)), "saturated-low")
        assert only(graded(ended(100, 99, 0.06)), "saturated-low") is None

    def test_never_says_lenient_without_labels(self, graded):
        """A high mean may come from good answers."""
        assert not any("lenient" in finding.message for finding in diagnose(graded(np.ones(500))))

    def test_other_scales_are_brought_to_the_same_ends(self, graded):
        """4.9 of 0 to 5 is the ceiling, which is then at 4.75."""
        finding = only(graded(np.r_[np.full(99, 4.9), 2]), "saturated-high", scale=(0, 5))
        assert finding.severity == "warning"
        assert "are 4.75 or above" in finding.message

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
        """At a true ceiling share of 0.98 a hundred rows decide in more than five of six runs."""
        rng = np.random.default_rng(3)
        runs = [graded(rng.random(100) < 0.98) for _ in range(60)]
        verdicts = [
            any(
                finding.kind in ("saturated-high", "same-score") and finding.is_verdict
                for finding in diagnose(grades)
            )
            for grades in runs
        ]
        assert sum(verdicts) >= 50


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
        """An sd of 0.03 around 0.6 is shown by 300 rows: of so many, too few can be unseen to raise it to 0.1."""
        finding = only(graded(np.random.default_rng(5).normal(0.6, 0.03, 300)), "no-variance")
        assert finding.severity == "warning"
        assert finding.interval.hi < 0.1
        assert "ddof=1" in finding.message

    def test_no_variance_of_few_rows_is_not_shown(self, graded):
        """A grader that passes 95 % gives twenty equal scores in a third of cases, and its sd is 0.22."""
        rng = np.random.default_rng(1)
        for _ in range(40):
            assert not any(f.is_verdict for f in diagnose(graded((rng.random(20) < 0.95) * 1.0)))

    def test_narrow_range_takes_fewer_rows(self, graded):
        """All of 60 scores between 0.55 and 0.65, in the user's units; what follows from it stands below."""
        scores = 100 * np.random.default_rng(5).normal(0.6, 0.015, 60)
        findings = diagnose(graded(scores), scale=(0, 100))
        assert findings[0].kind == "narrow-range"
        assert findings[0].severity == "warning"
        assert "100 % of 60 between 5" in findings[0].message
        assert {finding.cause for finding in findings[1:]} <= {"narrow-range"}

    def test_scores_that_rank_are_not_called_flat(self, graded):
        """0.49 for bad rows and 0.51 for good ones: little spread, and all that group-relative training needs."""
        labels = [False, True] * 150
        findings = diagnose(graded(np.where(labels, 0.51, 0.49)), labels=labels)
        assert not any(finding.is_verdict for finding in findings)
        assert (
            "good rows still score above bad ones"
            in only(graded(np.where(labels, 0.51, 0.49)), "narrow-range", labels=labels).advice
        )

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
        findings = diagnose(graded(np.tile([1.0, 5.0], 50)))
        assert [finding.kind for finding in findings] == ["out-of-scale"]
        assert "scale=(1, 5)" in findings[0].advice

    def test_rounding_is_not_off_the_scale(self, graded):
        """A weighted sum may exceed 1 by the last bit."""
        assert only(graded(np.full(50, 1.0000000001)), "out-of-scale") is None


class TestGroups:
    def test_dead_prompts(self, graded):
        """Prompts that give every answer one score leave nothing to learn."""
        scores = np.repeat(np.random.default_rng(7).random(40), 4)
        finding = only(graded(scores), "zero-variance-groups", groups=np.arange(160) // 4)
        assert finding.severity == "warning"
        assert finding.n == 40
        assert len(finding.rows) == 160

    def test_few_prompts_are_enough_where_all_are_dead(self, graded):
        """Six dead of six would happen once in 64 times at one half; five of five are no verdict. Plans are in prompts."""
        scores = np.repeat(np.random.default_rng(8).random(6), 4)
        assert only(graded(scores), "zero-variance-groups", groups=np.arange(24) // 4).severity == "warning"
        finding = only(graded(scores[:20]), "zero-variance-groups", groups=np.arange(20) // 4)
        assert (finding.severity, finding.unit) == ("note", "prompt")

    @pytest.mark.parametrize(("zero_variance", "fires"), [(600, True), (500, False)])
    def test_more_than_half_must_be_zero_variance(self, graded, zero_variance, fires):
        """Of 1,000 prompts 600 are past one half, 500 are not."""
        scores = np.tile([0.2, 0.8, 0.2, 0.8], 1_000)
        scores[: 4 * zero_variance] = 0.5
        finding = only(graded(scores), "zero-variance-groups", groups=np.arange(4_000) // 4)
        assert (finding is not None and finding.is_verdict) == fires

    def test_two_answers_are_often_alike_by_chance(self, graded):
        """Prompts with two or three answers are not counted."""
        scores = np.repeat(np.random.default_rng(8).random(40), 3)
        assert only(graded(scores), "zero-variance-groups", groups=np.arange(120) // 3) is None

    def test_single_answers_say_nothing(self, graded):
        """Without two answers to one prompt there is no spread to miss."""
        assert only(graded(np.ones(100)), "zero-variance-groups") is None

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

    def test_wrong_labels_may_explain_what_code_accepts(self, graded):
        """Three of 556: a note that names the label error it would take, with the rows, highest score first."""
        grades = self.code(graded(np.r_[0.6, 0.9, 0.7, np.zeros(553)]))
        finding = only(grades, "accepts-known-bad", labels=[False] * 556)
        said = "accepts 3 of 556 known-bad rows; a code grader should accept none, unless 0.5 % of all labels are wrong"
        assert finding.message == said
        assert (finding.severity, finding.interval, finding.rows) == ("note", None, (1, 2, 0))

    def test_code_that_accepts_more_than_wrong_labels_explain(self, graded):
        """3 % of 1,000, shown to be above 1 %, is a warning though too few for leniency."""
        grades = self.code(graded(np.r_[np.ones(30), np.zeros(970)]))
        finding = only(grades, "accepts-known-bad", labels=[False] * 1_000)
        assert (finding.severity, finding.interval.lo > 0.01) == ("warning", True)

    @pytest.mark.parametrize("good", [0.5, 0.9])
    def test_a_perfect_grader_with_one_percent_wrong_labels_is_left_alone(self, graded, good):
        """10,000 rows, half or nine tenths of them good: no verdict in 20 runs but one."""
        rng, alarms = np.random.default_rng(4), 0
        for _ in range(20):
            truth = rng.random(10_000) < good
            labels = (truth ^ (rng.random(10_000) < 0.01)).tolist()
            alarms += any(f.is_verdict for f in diagnose(self.code(graded(truth * 1.0)), labels=labels))
        assert alarms <= 1

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

    def test_forty_of_forty_is_a_verdict(self, graded):
        """A bound allows it: sixty rows are what clears a grader."""
        finding = only(graded(np.ones(40)), "too-lenient", labels=[False] * 40)
        assert finding.severity == "error"
        clear = only(graded(np.zeros(60)), "too-lenient", labels=[False] * 60)
        assert clear is None  # the same score on every row clears nobody
        scores, labels = np.r_[np.zeros(60), np.ones(40)], [False] * 60 + [True] * 40
        cleared = only(graded(scores), "too-lenient", labels=labels)
        assert cleared.severity == "within_limit"
        assert "accepts at most 4.9 % of known-bad rows, 0 of 60 here" in str(cleared)

    def test_a_coin_is_a_coin(self, graded):
        """Not lenient and strict at once: no better than chance, which explains both."""
        rng = np.random.default_rng(0)
        labels = (rng.random(400) < 0.5).tolist()
        findings = diagnose(graded((rng.random(400) < 0.5) * 1.0), labels=labels)
        assert [(f.kind, f.cause) for f in findings] == [
            ("no-better-than-chance", ""),
            ("too-lenient", "no-better-than-chance"),
            ("too-strict", "no-better-than-chance"),
        ]

    def test_strict_with_the_rows_that_prove_it(self, graded):
        """Rejected known-good rows are the evidence; thirty labels are enough."""
        finding = only(graded(np.r_[np.zeros(15), np.ones(15)]), "too-strict", labels=[True] * 30)
        assert finding.severity == "error"
        assert set(finding.rows) == set(range(15))

    def test_a_fair_grader_is_neither(self, graded):
        """3 % false accepts and 5 % false rejects are within bounds."""
        scores = np.r_[np.arange(200) % 33 == 0, np.arange(200) % 20 != 0]
        findings = diagnose(graded(scores), labels=[False] * 200 + [True] * 200)
        assert not any(finding.is_verdict for finding in findings)

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
        assert "seed rule applies on 3 rows, without an interval" in str(lenient)
        assert lenient.interval is None
        assert "sample 0.04 (ddof=1), population 0.0327" in str(variance)
