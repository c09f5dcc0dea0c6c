"""Rows of a run graded again: code that keeps state, or draws by chance, says so in the report; healthy code is silent."""

import pytest

import workbench as wb
from workbench.sandbox.host.zygote import engine_path

ROWS = [{"prompt": f"Question {row // 4}", "completion": f"answer number {row}"} for row in range(400)]
SEEN = "seen = []\nasync def grade(thread):\n    seen.append(1)\n    return 1.0 if len(seen) <= 40 else 0.0\n"
TWICE = (
    "KNOWN = set()\nasync def grade(thread):\n    start = thread.completion()[:15]\n"
    "    known = start in KNOWN\n    KNOWN.add(start)\n    return float(known)\n"
)
COIN = "import random\nasync def grade(thread):\n    return float(random.random() < 0.5)\n"
LOADED = "import random\nSHIFT = random.random()\nasync def grade(thread):\n    return SHIFT\n"
CACHE = (
    "import functools\n@functools.lru_cache\ndef size(text):\n    return len(text) / 100\n"
    "async def grade(thread):\n    return size(thread.completion())\n"
)


def run(text, *, workers=1, rows=ROWS, **settings):
    return wb.FunctionGrader.from_source(text).run(rows, workers=workers, progress=False, **settings)


def kinds(report):
    return {finding.kind for finding in report.findings}


@pytest.mark.parametrize("workers", [1, 2, 4])
def test_a_result_that_hangs_on_the_workers_says_so(workers):
    """The mean is 0.1, 0.2 and 0.4 with one, two and four workers: each run has the note and the finding."""
    report = run(SEEN, workers=workers)
    assert report.summary.loc["grade", "mean"] == pytest.approx(0.1 * workers)
    assert "keeps-state" in kinds(report)
    assert any("result on the number of workers" in note for note in report.notes)


@pytest.mark.parametrize(
    ("text", "kind"),
    [(SEEN, "keeps-state"), (TWICE, "keeps-state"), (COIN, "uses-chance"), (LOADED, "uses-chance")],
)
def test_the_cause_is_named(text, kind):
    """State comes out the same in the same order, chance does not; rows that changed are the evidence."""
    report = run(text)
    (finding,) = [one for one in report.findings if one.kind in {"keeps-state", "uses-chance"}]
    assert finding.kind == kind
    assert finding.n <= 20
    assert finding.value == len(finding.rows) / finding.n > 0


@pytest.mark.parametrize("rows", [1, 3, 400])
def test_healthy_code_is_silent(rows):
    """A cache of a pure function gives a row the same score always."""
    report = run(CACHE, rows=ROWS[:rows])
    assert not kinds(report) & {"keeps-state", "uses-chance"}
    assert report.notes == ()
    assert len(report.grades["grade"].graded_again) == min(rows, 20)


def test_rows_that_fail_tell_nothing():
    """A grader that fails every row is not graded again."""
    report = run("async def grade(thread):\n    raise ValueError('no')\n", rows=ROWS[:30])
    assert report.grades["grade"].graded_again == {}


def test_slow_rows_are_few():
    """What takes a twentieth of a second a row is graded again on a few rows only."""
    slow = "import time\nasync def grade(thread):\n    time.sleep(0.05)\n    return 1.0\n"
    report = run(slow, rows=ROWS[:12], workers=4)
    assert 1 <= len(report.grades["grade"].graded_again) <= 10


def test_only_the_first_repeat_is_looked_at_again():
    """Repeats show noise by themselves; the rows of a combined grader's part are told as the whole's."""
    suite = wb.Suite(
        [wb.combine.Combined([wb.FunctionGrader.from_source(SEEN), wb.Contains("answer")], name="both")]
    )
    report = suite.run(ROWS, workers=1, repeats=2, progress=False)
    assert "keeps-state" in kinds(report)
    assert len(report.notes) == 1


def test_a_finding_moves_with_its_rows():
    """Grades taken in another order keep which row changed."""
    grades = run(SEEN).grades["grade"]
    row = next(row for row, changed in grades.graded_again.items() if changed)
    taken = grades.take([row, 0 if row else 1])
    assert taken.graded_again[0]
    assert taken.unstable == "state"


@pytest.mark.skipif(not engine_path(), reason="needs quickjs-ng")
def test_a_script_that_counts_its_calls():
    """JavaScript as Python."""
    script = wb.ScriptGrader.from_source(
        "let n = 0;\nfunction grade(input) { n += 1; return n <= 40 ? 1 : 0; }"
    )
    assert "keeps-state" in kinds(script.run(ROWS, workers=2, progress=False))
