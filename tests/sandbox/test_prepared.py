"""A worker that is started beside a run: used where it is there, given up where nobody takes it."""

import pytest

import workbench as wb
from tests.browser.lab import wait_until
from workbench.sandbox.host.pool import WARM_ROWS, Pool, pool
from workbench.sandbox.host.program import Program
from workbench.sandbox.host.spare_workers import Prepared
from workbench.sandbox.host.worker import Worker

PROGRAM = Program("async def grade(thread):\n    return 1.0\n")


def test_it_is_taken_once():
    """Whoever takes it owns it; a second one gets none, and closing has nothing left to discard."""
    discarded = []
    prepared = Prepared(lambda: "a worker", discarded.append)
    prepared.begin()
    assert prepared.take() == "a worker"
    assert prepared.take() is None
    prepared.close()
    assert discarded == []


def test_nobody_took_it():
    """It is discarded."""
    discarded = []
    prepared = Prepared(lambda: "a worker", discarded.append)
    prepared.begin()
    prepared.close()
    assert discarded == ["a worker"]


def test_it_comes_too_late():
    """Once somebody has asked and gone on alone, none is started any more."""
    started = []
    prepared = Prepared(lambda: started.append(1), started.append)
    assert prepared.take() is None
    prepared.begin()
    assert started == []


def test_a_pool_starts_one_and_ends_it():
    """It is a process of the pool's, which is gone when it was given up."""
    prepared = pool().prepare(PROGRAM)
    wait_until(lambda: prepared._worker is not None, what="a worker")
    worker = prepared._worker
    prepared.close()
    wait_until(lambda: worker._closed, what="its end")


@pytest.mark.parametrize("signature", ["thread", "trl"])
@pytest.mark.parametrize("count", [30, WARM_ROWS])
def test_a_run_uses_it(monkeypatch, signature, count):
    """The rows that are graded again are sent to it, with all that a grader is given beside the thread."""
    taken = []
    begun = lambda self: self.begin() or take(self)  # noqa: E731 (however busy the other thread is)
    take = Prepared.take
    monkeypatch.setattr(Prepared, "take", lambda self: taken.append(begun(self)) or taken[-1])
    text = {
        "thread": "async def grade(thread: StringThread) -> float:\n    return 1.0\n",
        "trl": "def score(completions, reference, **kwargs):\n    return [float(one) for one in reference]\n",
    }[signature]
    grader = wb.FunctionGrader.from_source(text, signature=signature)
    rows = [{"prompt": "q", "completion": "4", "reference": str(row)} for row in range(count)]
    grades = grader.run(rows, workers=1, progress=False).grades[grader.name]
    assert len(grades.graded_again) == 20
    assert not grades.unstable
    assert isinstance(taken[0], Worker)
    assert taken[1:] == [None]  # closing found nothing left


@pytest.mark.parametrize(
    ("module", "is_kept"), [("seen = []", True), ("import json\njson.seen = []\nseen = json.seen", False)]
)
def test_a_worker_of_the_run_grades_again_if_loading_the_module_restores_its_state(
    monkeypatch, module, is_kept
):
    """Only where all that a row may leave behind is in the module's names; state between rows is found in either case."""
    kept = []
    reuse = Pool.reuse
    monkeypatch.setattr(
        Pool, "reuse", lambda self, worker: kept.append(worker is not None) or reuse(self, worker)
    )
    text = f"{module}\n\n\nasync def grade(thread):\n    seen.append(1)\n    return float(len(seen))\n"
    rows = [{"prompt": "q", "completion": str(row)} for row in range(30)]
    report = wb.FunctionGrader.from_source(text, name="counts").run(rows, workers=1, progress=False)
    assert kept == [is_kept]
    assert report.grades["counts"].unstable == "state"
    assert report.scores["counts"].tolist() == [float(row) for row in range(1, 31)]
