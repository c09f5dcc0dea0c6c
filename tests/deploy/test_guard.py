"""`Suite.check`: a grader's own tests, with the outcomes pass, fail and inconclusive."""

import json
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import workbench as wb
from workbench.core.errors import FormatError, ReportError
from workbench.deploy import guard
from workbench.deploy.guard.baseline import Baseline
from workbench.deploy.guard.decisions import FAIL, INCONCLUSIVE, PASS, on_drop
from workbench.deploy.guard.result import check_json, github_annotations, junit_xml, markdown

SOURCE = "async def grade(thread):\n    return float(thread.metadata['answer'] in thread.completion())\n"
STRICT = SOURCE.replace(" in ", " == ")


def grader(source=SOURCE, name="near"):
    return wb.FunctionGrader.from_source(source, name=name)


def rows(n=60, wrong=(), **changes):
    """Rows whose completions contain the reference where the label is good; rows in `wrong` have the other label."""
    made = []
    for at in range(n):
        good = bool(at % 4)
        text = changes.get(f"r{at}", f"{at}." if good else "nothing")
        made.append(
            {
                "id": f"r{at}",
                "prompt": f"{at}?",
                "completion": text,
                "answer": str(at),
                "good": good != (at in wrong),
            }
        )
    return made


def check(source=SOURCE, data=None, **settings):
    return guard.check(
        grader(source), rows() if data is None else data, **{"labels": "good", "progress": False, **settings}
    )


def decision(result, test):
    (found,) = [one for one in result.decisions if one.test == test]
    return found


def test_a_suite_has_the_method():
    """It is the same check."""
    suite = wb.Suite(grader())
    assert str(suite.check(rows(), labels="good", progress=False)) == str(check())


def test_each_labelled_row_is_a_test():
    """One wrong row fails, and is named with its label, score and text."""
    assert check().ok
    result = check(data=rows(wrong=[8]), fail_on="never")
    labels = decision(result, "labels")
    assert result.outcome is FAIL
    assert labels.sentence.startswith("59 of 60 labelled rows graded as labelled: 1 known-good rejected")
    assert labels.rows == ("row r8: labelled good, score 0.000; completion 'nothing'",)


@pytest.mark.parametrize(
    ("n", "wrong", "limit", "outcome"),
    [(60, 0, 0.05, PASS), (60, 0, 0.04, INCONCLUSIVE), (60, 20, 0.05, FAIL), (60, 5, 0.05, INCONCLUSIVE), (59, 0, 0.05, PASS), (58, 0, 0.05, INCONCLUSIVE)],
)  # fmt: skip
def test_a_rate_has_three_outcomes(n, wrong, limit, outcome):
    """The bounds of the share decide; 59 rows without an error are the fewest that show less than 5 %."""
    result = check(data=rows(n, wrong=range(wrong)), max_error_rate=limit, fail_on="never")
    assert decision(result, "labels").outcome is outcome
    assert result.outcome is outcome


@pytest.mark.parametrize(("n", "limit", "needed"), [(20, 0.05, 39), (10, 0.1, 19), (60, 0.04, 14)])
def test_the_rows_needed_are_those_that_decide(n, limit, needed):
    """With so many more rows without an error the test passes; with one less it does not."""
    found = decision(check(data=rows(n), max_error_rate=limit, fail_on="never"), "labels")
    assert found.needed == needed
    assert (
        decision(check(data=rows(n + needed), max_error_rate=limit, fail_on="never"), "labels").outcome
        is PASS
    )
    assert (
        decision(check(data=rows(n + needed - 1), max_error_rate=limit, fail_on="never"), "labels").outcome
        is INCONCLUSIVE
    )


def test_a_labelled_row_without_a_score_is_an_error():
    """It is not graded as labelled, and its reason is named."""
    source = SOURCE.replace(
        "    return", "    if thread.metadata['answer'] == '5':\n        raise KeyError('gone')\n    return"
    )
    labels = decision(check(source, fail_on="never"), "labels")
    assert labels.outcome is FAIL
    assert "1 without a score" in labels.sentence
    assert "KeyError" in labels.rows[0]


def test_completions_of_one_prompt_are_one_cluster():
    """A hundred completions of four prompts show less than a hundred prompts."""
    data = [{**row, "prompt": f"{at % 4}?"} for at, row in enumerate(rows(100))]
    found = decision(check(data=data, max_error_rate=0.05, fail_on="never"), "labels")
    assert (found.outcome, found.unit) == (INCONCLUSIVE, "labelled prompt")


def test_the_same_run_again_passes(tmp_path):
    """Scores equal row by row are no drop, however few the rows."""
    check().save(tmp_path / "last.json")
    result = check(data=rows(5), baseline=tmp_path / "last.json", labels=None)
    assert decision(result, "baseline").sentence == "mean score unchanged on 5 rows, row by row"
    assert result.ok


@pytest.mark.parametrize(("lost", "outcome"), [(1, INCONCLUSIVE), (30, FAIL)])
def test_worse_completions_are_a_drop(tmp_path, lost, outcome):
    """The same grader on other completions: the paired mean decides."""
    check().save(tmp_path / "last.json")
    good = [at for at in range(60) if at % 4][:lost]
    result = check(
        data=rows(**{f"r{at}": "no" for at in good}),
        baseline=tmp_path / "last.json",
        labels=None,
        fail_on="never",
    )
    found = decision(result, "baseline")
    assert found.outcome is outcome
    assert f"{lost} have another completion now" in "".join(result.notes)
    assert (found.needed > 0) == (outcome is INCONCLUSIVE)


def test_better_completions_pass(tmp_path):
    """A rise is not a drop."""
    check().save(tmp_path / "last.json")
    result = check(
        data=rows(**{f"r{at}": str(at) for at in range(60)}),
        baseline=tmp_path / "last.json",
        labels=None,
        fail_on="never",
    )
    assert decision(result, "baseline").outcome is PASS


def test_another_version_is_compared_by_the_labels(tmp_path):
    """A stricter grader rejects "1." : its agreement with the labels dropped; versions and the changed setting are named."""
    check().save(tmp_path / "last.json")
    result = check(STRICT, baseline=tmp_path / "last.json", fail_on="never")
    found = decision(result, "baseline")
    assert found.outcome is FAIL
    assert found.sentence.startswith("share of labelled rows graded as labelled -0.750 on 60 rows")
    assert any(
        "another version of the grader" in note and "(changed: source)" in note for note in result.notes
    )


def test_a_change_of_both_is_not_attributed(tmp_path):
    """Another grader and other completions: inconclusive, with the way out."""
    check().save(tmp_path / "last.json")
    result = check(STRICT, data=rows(r1="x"), baseline=tmp_path / "last.json", labels=None, fail_on="never")
    found = decision(result, "baseline")
    assert found.outcome is INCONCLUSIVE
    assert "check the old grader on the new rows" in found.sentence


def test_rows_without_an_id_are_paired_by_prompt_and_reference(tmp_path):
    """Completions may differ and the order may change; a new row is not compared."""
    data = [{name: row[name] for name in ("prompt", "completion", "answer", "good")} for row in rows(20)]
    columns = {"prompt": "prompt", "completion": "completion", "reference": "answer"}
    check(data=wb.Samples(data, columns=columns)).save(tmp_path / "last.json")
    other = [{**data[0], "prompt": "new?"}, *reversed(data[1:])]
    result = check(data=wb.Samples(other, columns=columns), baseline=tmp_path / "last.json", labels=None)
    assert decision(result, "baseline").sentence == "mean score unchanged on 19 rows, row by row"
    assert "19 of 20 rows are in the baseline" in "".join(result.notes)


def test_an_imported_function_has_the_version_of_its_module(tmp_path, monkeypatch):
    """Another text of the module is another version, though the import path is the same."""
    monkeypatch.syspath_prepend(str(tmp_path))
    module = tmp_path / "guarded_by_a_test.py"
    module.write_text("def f(completion, answer):\n    return float(answer in completion)\n", "utf-8")
    first = guard.check(
        "guarded_by_a_test:f", wb.Samples(rows(8)), labels="good", fail_on="never", progress=False
    )
    module.write_text("def f(completion, answer):\n    return float(completion == answer)\n", "utf-8")
    import linecache

    linecache.clearcache()
    second = guard.check(
        "guarded_by_a_test:f", wb.Samples(rows(8)), labels="good", fail_on="never", progress=False
    )
    (before,), (after,) = (
        [one.fingerprint for one in result.baseline.graders.values()] for result in (first, second)
    )
    assert before["code.guarded_by_a_test:f"] != after["code.guarded_by_a_test:f"]


def test_regression_rows_are_tests():
    """Holes of a probe fail until they are closed, and a fix may not reject what was accepted."""
    data = [{"prompt": f"{n}+{n}?", "completion": str(2 * n), "answer": str(2 * n)} for n in range(11, 51)]
    holes = wb.probe(grader(), data, progress=False, tries=0).rows
    open_holes = decision(guard.check(grader(), holes, progress=False), "regression")
    assert open_holes.outcome is FAIL
    assert open_holes.sentence.startswith("0 of ")
    fixed = "async def grade(thread):\n    return float(thread.completion().strip().strip('*`.') == thread.metadata['answer'])\n"
    closed = decision(guard.check(grader(fixed), holes, progress=False), "regression")
    assert " 0 of " not in closed.sentence.split(",")[0]
    assert closed.rows == tuple(row for row in closed.rows if "should be accepted" in row)


def test_a_gate_and_findings_count_as_chosen():
    """The suite's gate fails a check, findings by severity; "never" ignores both."""
    suite = wb.Suite([grader()], gate=wb.combine.SimpleGate(op="gte", value=2.0))
    for fail_on, tests in (("never", set()), ("gate", {"gate"}), ("error", {"gate", "findings"})):
        result = guard.check(suite, rows(), labels="good", fail_on=fail_on, progress=False)
        assert {one.test for one in result.decisions} - {"labels"} == tests
        assert result.ok == (fail_on == "never")


def test_a_grader_that_always_fails_has_failed():
    """Its own error is a verdict; an unreachable judge is not."""
    result = check("async def grade(thread):\n    return 1 / 0\n", fail_on="never")
    assert decision(result, "scored").outcome is FAIL
    client = wb.ScriptedClient(['{"reasoning": "x", "score": "PASS"}'] * 3)
    judge = wb.BinaryJudge("Is it right?", model="m", client=client, name="judge")
    spent = guard.check(
        judge, rows(3), labels="good", budget=wb.Budget(calls=1), progress=False, fail_on="never"
    )
    assert spent.missed
    assert "budget" in spent.missed[0]
    assert spent.outcome is not PASS
    assert (
        " of 1 labelled row graded as labelled" in decision(spent, "labels").sentence
    )  # the others were not graded


def test_a_damaged_baseline_is_an_error(tmp_path):
    """Another file, a cut file and another release are named; a missing file has the command that makes it."""
    path = tmp_path / "last.json"
    with pytest.raises(FormatError, match="--save"):
        check(baseline=path)
    check().save(path)
    text = path.read_text("utf-8")
    for broken, part in (
        (text[:-30], "damaged"),
        ("[]", "not a baseline"),
        ('{"a": 1}', "not a baseline"),
        (text.replace('"workbench_baseline":1', '"workbench_baseline":9'), "another release"),
        (text.replace('"rows":["r0",', '"rows":['), "damaged"),
        (text.replace('"graders":{', '"graders":{"x":3,'), "damaged"),
    ):
        path.write_text(broken, "utf-8")
        with pytest.raises(FormatError, match=part):
            check(baseline=path)


def test_a_baseline_is_read_as_written(tmp_path):
    """Scores, verdicts, missing scores and fingerprints; the file is JSON without NaN."""
    source = "from workbench import Skip\nasync def grade(thread):\n    if thread.metadata['answer'] == '1':\n        raise Skip\n    return 0.25\n"
    made = check(source, fail_on="never").baseline
    read = Baseline.load(made.save(tmp_path / "b.json"))
    assert json.loads((tmp_path / "b.json").read_text())["graders"]["near"]["scores"][:3] == [
        0.25,
        None,
        0.25,
    ]
    assert math.isnan(read.graders["near"].scores[1])
    assert (read.rows, read.completions, read.graders["near"].fingerprint) == (
        made.rows,
        made.completions,
        made.graders["near"].fingerprint,
    )


def test_no_rows_do_not_pass():
    """An empty file is an error."""
    with pytest.raises(ReportError, match="no rows to check"):
        check(data=wb.Samples([], columns={"completion": None}))


def test_nothing_to_check_is_an_error():
    """Rows without labels, and no baseline: nothing would be tested."""
    with pytest.raises(ReportError, match="nothing to check"):
        check(labels=None, fail_on="never")
    for wrong in (
        {"max_error_rate": 1.5},
        {"max_error_rate": -0.1},
        {"max_drop": float("inf")},
        {"fail_on": "sometimes"},
    ):
        with pytest.raises(ReportError):
            check(**wrong)


def test_the_outcomes_are_right_in_19_of_20_checks():
    """At a true drop of exactly the margin, a check passes, and fails, in at most 1 of 20 cases."""
    rng = np.random.default_rng(0)
    n, outcomes = 150, []
    for _ in range(300):
        before = (rng.random(n) < 0.8).astype(float)
        now = np.where(rng.random(n) < 0.125, 0.0, before)  # 0.8 times 0.125 is a drop of 0.1
        outcomes.append(on_drop("g", before, now, np.arange(n), max_drop=0.1).outcome)
    # 300 cases at 5 % have at most 24 with a probability of 0.99.
    assert outcomes.count(PASS) <= 24
    assert outcomes.count(FAIL) <= 24


def test_a_margin_of_zero_has_no_plan():
    """No number of rows shows that a mean did not drop at all, unless the effect is large enough to plan with."""
    now = np.array([1.0, 0.0, 1.0, 1.0])
    found = on_drop("g", np.array([0.0, 1.0, 1.0, 1.0]), now, np.arange(4), max_drop=0.0)
    assert (found.outcome, found.needed) == (INCONCLUSIVE, 0)
    assert on_drop("g", now, now, np.arange(4), max_drop=0.0).outcome is PASS
    assert on_drop("g", now, 1 - now, np.arange(4), max_drop=9.0).outcome is PASS


def test_documents_escape_what_they_contain():
    """Names and texts of rows cannot break XML, Markdown, or an annotation's line."""
    bad = "a<b>&\"'|`]]>\x00\x1b[2J\n::error::x"
    data = rows(wrong=[8], r8=bad)
    result = guard.check(grader(name=bad.replace("\x00", "")), data, labels="good", progress=False)
    tree = ET.fromstring(junit_xml(result))
    suite = tree.find("testsuite")
    assert (suite.get("tests"), suite.get("failures")) == (
        str(len(result.decisions)),
        str(len(suite.findall("testcase/failure"))),
    )
    assert "\x1b" not in junit_xml(result) + markdown(result)
    lines = list(github_annotations(result, file="g,:.py"))
    assert all(line.startswith("::error file=g%2C%3A.py,title=") and "\n" not in line for line in lines)
    table = [line for line in markdown(result).splitlines() if line.startswith("| ❌")]
    assert all(len([part for part in line.replace("\\|", "").split("|")]) == 6 for line in table)


def test_inconclusive_tests_are_skipped_in_junit():
    """Three outcomes in documents: pass, failure, skipped; JSON has the rows needed."""
    result = check(data=rows(20), max_error_rate=0.05, fail_on="never")
    skipped = ET.fromstring(junit_xml(result)).find("testsuite/testcase/skipped")
    assert "39 more labelled rows needed" in skipped.get("message")
    assert check_json(result)["tests"][0]["needed"] == 39
    assert "❔ inconclusive" in markdown(result)
    assert next(github_annotations(result)).startswith("::warning title=")
