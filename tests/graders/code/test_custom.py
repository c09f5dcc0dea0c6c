"""Custom graders: any callable, in this process, plainly marked, exported by path only."""

import asyncio
import gc
import json
import pickle
import sys
import threading
from functools import partial

import pytest

import workbench as wb
from workbench.core.errors import CaptureError, IsolationError
from workbench.graders.base import from_spec
from workbench.graders.code.custom import CustomGrader
from workbench.graders.concurrent_rows import Control

TEXT = wb.StringThread([("user", "q"), ("assistant", "four")], {})
ROWS = wb.Samples([{"completion": text, "expected": "4"} for text in ("4", "5")])


def length(thread):
    """How long it is.

    More words.
    """
    return len(thread.completion()) / 10


async def right(sample):
    return float(sample.thread.completion() == sample.reference)


def annotated(row: wb.Sample) -> float:
    return float(row.reference == "4")


def told(row: "wb.StringThread") -> wb.Grade:
    return wb.Grade(0.5, passed=True, reasoning="told")


class Counter:
    def __call__(self, thread):
        return 1.0

    def method(self, thread):
        return 0.25


def test_of_takes_name_and_description():
    """From the function, where none is given."""
    grader = CustomGrader(length)
    assert (grader.name, grader.description) == ("length", "How long it is.")
    assert grader.target == f"{__name__}:length"
    assert CustomGrader(length, name="n").name == "n"


@pytest.mark.parametrize(
    ("fn", "wanted"),
    [
        (length, 0.4),
        (annotated, 0.0),
        (told, 0.5),
        (lambda thread: 0.75, 0.75),
        (Counter(), 1.0),
        (Counter().method, 0.25),
        (partial(lambda factor, thread: factor, 2.0), 2.0),
    ],
)
def test_any_callable_grades(fn, wanted):
    """Functions, lambdas, objects, methods, partials."""
    assert CustomGrader(fn)(TEXT).score == wanted


def test_samples_go_to_those_who_ask():
    """By annotation, or a parameter called sample; everybody else gets the thread."""
    assert [CustomGrader(right)(sample).score for sample in ROWS] == [1.0, 0.0]
    assert CustomGrader(annotated)(ROWS[0]).score == 1.0
    assert CustomGrader(told)(TEXT).reasoning == "told"


def test_sync_callables_leave_the_loop_free():
    """Two rows of a blocking function are graded at once: each waits for the other."""
    meet = threading.Barrier(2, timeout=10)

    def waiting(thread):
        meet.wait()
        return 1.0

    grades = asyncio.run(CustomGrader(waiting).grade_all(ROWS, Control()))
    assert [grade.score for grade in grades] == [1.0, 1.0]


def test_grades_say_that_nothing_confined_them():
    """The label stands beside the scores."""
    assert asyncio.run(CustomGrader(length).grade_all(ROWS, Control())).isolation == "none"


@pytest.mark.parametrize("value", [True, float("nan"), "1", None])
def test_what_is_no_score_fails(value):
    """A failed grade, as of every grader."""
    grade = CustomGrader(lambda thread: value)(TEXT)
    assert grade.score is None
    assert grade.error is not None


def test_timeouts():
    """A row that takes too long fails; the async one is stopped."""
    stopped = threading.Event()

    async def endless(thread):
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()

    grade = CustomGrader(endless, timeout=0.05)(TEXT)
    assert (grade.error.kind, grade.error.message) == ("timeout", "timed out: no score within 0.05 s")
    assert stopped.is_set()
    release = threading.Event()
    grade = CustomGrader(lambda thread: release.wait(10), timeout=0.05)(TEXT)
    release.set()
    assert grade.error.kind == "timeout"


@pytest.mark.parametrize("kind", ["async", "sync", "returned"])
def test_a_function_that_blocks_holds_up_nobody_else(kind):
    """Its row fails, the house's loop and other graders go on, and a stop keeps what was graded."""
    entered, release = threading.Event(), threading.Event()

    def plain(thread):
        if thread.completion() == "5":
            entered.set()
            release.wait(60)
        return 1.0

    async def coroutine(thread):
        return plain(thread)

    fn = {
        "async": coroutine,
        "sync": plain,
        "returned": partial(lambda made, thread: made(thread), coroutine),
    }
    grades = CustomGrader(fn[kind], name="blocks", timeout=0.2).run(ROWS, progress=False).grades["blocks"]
    assert [grade.score for grade in grades] == [1.0, None]
    assert grades[1].error.message.startswith("timed out: no score within 0.2 s")
    assert ("plain def" in grades[1].error.message) == (kind != "sync")
    entered.clear()
    job = wb.Suite([CustomGrader(fn[kind], name="blocks")]).start(ROWS)
    assert entered.wait(600)
    assert CustomGrader(length)(TEXT).score == 0.4
    job.cancel()
    grades = job.report(60).grades["blocks"]
    assert (grades[0].score, grades[1].error.kind) == (1.0, "cancelled")
    assert CustomGrader(right)(ROWS[0]).score == 1.0
    assert not release.is_set()
    release.set()


def test_a_coroutine_that_is_not_begun_leaves_no_complaint():
    """A plain function around an async one made it; a stop came before its turn."""
    entered, release, made = threading.Event(), threading.Event(), threading.Event()

    async def blocks(thread):
        entered.set()
        release.wait(60)

    def around(thread):
        entered.wait(60)
        made.set()
        return right(ROWS[0])

    job = wb.Suite([CustomGrader(blocks, name="a")]).start(ROWS[:1])
    assert entered.wait(600)
    other = wb.Suite([CustomGrader(around, name="b")]).start(ROWS[:1])
    assert made.wait(600)
    other.cancel()
    assert other.report(60).grades["b"].n_failed == 1
    gc.collect()  # a coroutine that nobody awaited complains here
    release.set()
    job.report(60)


def test_a_row_that_waits_for_its_turn_is_not_late():
    """Behind more rows that block than there are threads: its own time begins when it does."""
    release = threading.Event()

    def blocks(thread):
        return float(thread.completion() == "good" or release.wait(60))

    rows = [{"completion": "bad"}] * 40 + [{"completion": "good"}]
    grades = CustomGrader(blocks, timeout=0.1).run(rows, progress=False).grades["blocks"]
    assert (grades.n_failed, grades[40].score) == (40, 1.0)
    release.set()


def test_graders_that_call_graders():
    """More rows than there are threads; where the call would hold up the loop it needs, it is refused."""
    inner = CustomGrader(length, name="inner")

    async def waits(thread):
        return inner(thread).score

    async def awaits(sample):
        return await inner.grade(sample)

    outer = CustomGrader(inner, name="outer")
    rows = wb.Samples([{"completion": "four"}] * 80)
    suite = wb.Suite([outer, CustomGrader(waits), CustomGrader(awaits)])
    grades = suite.start(rows).report(120).grades
    assert [grade.score for name in ("outer", "awaits") for grade in grades[name]] == [0.4] * 160
    assert {"await instead" in grade.error.message for grade in grades["waits"]} == {True}


def test_the_path_is_all_that_is_saved():
    """A spec names the function and holds no code; without a path there is no spec."""
    grader = CustomGrader(length)
    assert grader.spec() == {
        "kind": "custom", "name": "length", "description": "How long it is.", "target": f"{__name__}:length",
    }  # fmt: skip
    again = from_spec(json.loads(json.dumps(grader.spec())))
    assert again == grader
    assert again(TEXT).score == 0.4
    assert pickle.loads(pickle.dumps(grader)) == grader
    for live in (lambda thread: 1.0, Counter(), Counter().method):
        with pytest.raises(CaptureError, match="no import path") as raised:
            CustomGrader(live).spec()
        assert ".py file" in str(raised.value)


def test_a_function_of_a_notebook_has_no_path(monkeypatch):
    """`__main__` is another module in every process."""

    def cell(thread):
        return 1.0

    cell.__module__, cell.__qualname__ = "__main__", "cell"
    monkeypatch.setattr(sys.modules["__main__"], "cell", cell, raising=False)
    assert CustomGrader(cell).target == ""


def test_reading_imports_nothing(tmp_path, monkeypatch):
    """The module is imported when the grader first runs, and only when it is trusted."""
    (tmp_path / "wb_custom_case.py").write_text("def score(thread):\n    return 0.5\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    theirs = from_spec({"kind": "custom", "target": "wb_custom_case:score"}).as_imported()
    with pytest.raises(IsolationError, match="trust=True"):
        theirs.check_ready()
    assert theirs(TEXT).error.kind == "sandbox"
    assert "wb_custom_case" not in sys.modules
    assert theirs.trusted()(TEXT).score == 0.5
    assert theirs.as_imported(trust=True)(TEXT).score == 0.5
    monkeypatch.delitem(sys.modules, "wb_custom_case")


@pytest.mark.parametrize(
    "target", ["", "json", "json:", ":dumps", "a b:c", "../x:y", "os:system; x", "1a:b", 3]
)
def test_targets_that_are_no_paths(target):
    """Refused when made, by name."""
    with pytest.raises((ValueError, TypeError)):
        CustomGrader(target=target)


@pytest.mark.parametrize(
    ("target", "part"),
    [
        ("no_such_module_here:f", "No module named"),
        ("json:nothing", "nothing"),
        ("json:__name__", "not callable"),
    ],
)
def test_targets_that_are_not_there(target, part):
    """A run is refused before its first row, a single grade fails."""
    grader = CustomGrader(target=target)
    with pytest.raises(CaptureError, match=part):
        grader.check_ready()
    assert grader(TEXT).error is not None


@pytest.mark.parametrize("fn", [3, lambda: 1.0, lambda a, b: 1.0, lambda *, k: 1.0])
def test_only_callables_of_one_parameter(fn):
    """Said when the grader is made."""
    with pytest.raises(TypeError, match="must take one parameter|requires a function"):
        CustomGrader(fn)


@pytest.mark.parametrize("timeout", [0, -1, float("inf"), True, "1"])
def test_timeouts_out_of_range(timeout):
    """Refused by value."""
    with pytest.raises(ValueError, match="timeout must be above 0"):
        CustomGrader(length, timeout=timeout)


CALLS = [{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}]
TOOL_ROW = {
    "messages": [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": CALLS},
        {"role": "tool", "content": "r", "tool_call_id": "1"},
    ]
}


def last_role(thread):
    return float(thread.get_turns()[-1].role == "tool")


def through_a_helper(thread):
    return last_role(thread)


class Reader:
    def __call__(self, thread):
        return [float(turn.role == "tool") for turn in thread.get_turns()][-1]

    def __len__(self):
        return 0


@pytest.mark.parametrize(
    "fn",
    [
        last_role,
        through_a_helper,
        Reader(),
        Reader().__call__,
        partial(last_role),
        lambda t: last_role(t) * 1.0,
    ],
    ids=["path", "helper", "object", "method", "partial", "lambda"],
)
def test_functions_that_read_turns_need_no_completion(fn):
    grader = CustomGrader(fn, name="t")
    assert grader.needs_answer == "turn"
    assert grader.run([TOOL_ROW], progress=False).grades["t"].scores.tolist() == [1.0]


@pytest.mark.parametrize("fn", [length, right, annotated, Counter(), Counter().method, partial(length)])
def test_other_functions_need_a_completion(fn):
    grader = CustomGrader(fn, name="t")
    assert grader.needs_answer == "completion"
    assert grader.run([TOOL_ROW], progress=False).grades["t"].errors[0].kind == "no_completion"


def test_what_an_unloaded_target_reads_is_unknown(tmp_path, monkeypatch):
    """Asking imports nothing; a run imports it, and then knows."""
    (tmp_path / "wb_custom_unloaded.py").write_text("def score(thread):\n    return 0.5\n")
    monkeypatch.syspath_prepend(tmp_path)
    grader = CustomGrader(target="wb_custom_unloaded:score")
    assert grader.needs_answer == "turn"
    assert "wb_custom_unloaded" not in sys.modules
    grader.check_ready()
    assert grader.needs_answer == "completion"
    assert CustomGrader(target="wb_custom_unloaded:gone").needs_answer == "turn"
