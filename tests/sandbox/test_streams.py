"""Datasets that are encoded while they are graded: the same grades, whatever happens to a worker."""

import numpy as np
import pandas as pd
import pytest

import workbench as wb
from workbench.core.grade import ErrorKind
from workbench.data.packed import Stream
from workbench.data.samples import encoding
from workbench.sandbox.host import run

LENGTH = """
async def grade(thread):
    return float(len(thread.completion() or ""))
"""
DIES = """
import os

async def grade(thread):
    text = thread.completion()
    if text == "crash":
        os._exit(1)
    while text == "hang":
        pass
    return float(len(text))
"""


@pytest.fixture
def streamed(monkeypatch):
    """Every dataset is sent as it is graded."""
    monkeypatch.setattr(encoding, "CACHED_ROWS", 0)


def samples_of(texts):
    return wb.Samples(pd.DataFrame({"prompt": [f"q{row}" for row in range(len(texts))], "completion": texts}))


def scores(text, samples, **settings):
    grader = wb.FunctionGrader.from_source(text)
    return grader.run(samples, progress=False, **settings).grades[grader.name]


@pytest.mark.parametrize("workers", [1, 2])
def test_every_row_gets_its_own_grade(streamed, workers):
    """In order, over many commands and both halves of the buffer, with text of any script."""
    texts = ["é" * (row % 97) + "a" * (row % 13) for row in range(20_000)]
    samples = samples_of(texts)
    assert isinstance(samples.packed(), Stream)
    grades = scores(LENGTH, samples, workers=workers)
    assert np.array_equal(grades.scores, [len(text) for text in texts])


def test_a_row_that_ends_its_worker_costs_itself(streamed):
    """The rows around a crash and a hang are sent again to another worker."""
    texts = [f"{row}" for row in range(3_000)]
    texts[700], texts[1900] = "crash", "hang"
    grades = scores(DIES, samples_of(texts))
    assert sorted(grades.errors) == [700, 1900]
    assert [grades.errors[row].kind for row in (700, 1900)] == [ErrorKind.CRASH, ErrorKind.TIMEOUT]
    rest = [row for row in range(3_000) if row not in grades.errors]
    assert np.array_equal(grades.scores[rest], [len(texts[row]) for row in rest])


def test_rows_larger_than_the_buffer(streamed, monkeypatch):
    """Commands ask for fewer rows where these are large; one that fits in none gets a worker with a larger one."""
    monkeypatch.setattr(run, "BUFFER_BYTES", 4_000)
    texts = ["a" * size for size in [10] * 50 + [3_000] * 20 + [50_000, 10, 90_000, 90_001] + [10] * 50]
    grades = scores(LENGTH, samples_of(texts), workers=1)
    assert np.array_equal(grades.scores, [len(text) for text in texts])


def test_graders_of_platforms_get_the_reference_and_the_id(streamed):
    """Extras are sent with the rows."""
    frame = pd.DataFrame({"id": ["a", "b"], "completion": ["4", "5"], "answer": ["4", "4"]})
    grader = wb.FunctionGrader.from_source(
        "from letta_evals.models import GradeResult\n"
        "def grade(sample, submission):\n"
        "    return GradeResult(score=float(sample.ground_truth == submission), rationale=str(sample.id))\n"
    )
    grades = grader.run(wb.Samples(frame), progress=False).grades[grader.name]
    assert grades.errors == {}
    assert grades.scores.tolist() == [1.0, 0.0]


def test_rows_that_cannot_be_read_fail(streamed):
    """What the encoder found on its way is told as in every run."""
    rows = [{"messages": [{"role": "user", "content": "q"}, {"role": "assistant", "content": "abc"}]}] * 5
    samples = wb.Samples([*rows, {"messages": [{"content": "no role"}]}])
    grades = scores(LENGTH, samples)
    assert grades.scores[:5].tolist() == [3.0] * 5
    assert grades.errors[5].kind is ErrorKind.SAMPLE
    assert "role" in grades.errors[5].message


def test_a_row_of_many_megabytes(streamed):
    """It reaches its worker in time, and the rows around it are graded."""
    texts = ["a"] * 5 + ["b" * 100_000_000 + "😀"] + ["c"] * 5
    grades = scores(LENGTH, samples_of(texts), workers=1)
    assert np.array_equal(grades.scores, [len(text) for text in texts])


def test_a_large_row_that_ends_its_worker_costs_itself(streamed, monkeypatch):
    """As a small one does: it is not asked again until the run gives up."""
    monkeypatch.setattr(run, "BUFFER_BYTES", 4_000)
    text = DIES.replace('text == "crash"', "len(text) > 5_000")
    texts = ["a"] * 5 + ["b" * 6_000] + ["c"] * 5 + ["d" * 7_000]
    grades = scores(text, samples_of(texts), workers=1)
    assert {row: error.kind for row, error in grades.errors.items()} == {
        5: ErrorKind.CRASH,
        11: ErrorKind.CRASH,
    }


def test_who_stops_a_run_does_not_wait_for_the_rest(streamed, monkeypatch):
    """Rows that were never sent are not read when the kinds of their columns say that they can be."""
    samples = samples_of(["a"] * 30_000)
    sent = samples._encoding.encode(0, 10)
    assert sent
    monkeypatch.setattr(encoding.Encoder, "encode", lambda *_, **__: pytest.fail("rows were read"))
    assert samples.problems == {}


def test_a_stopped_run_over_messages_reads_no_more(streamed, monkeypatch):
    """Rows of lists have to be read to know their faults; those that were never sent are not."""
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": "abc"}]
    samples = wb.Samples([{"messages": messages}] * 150_000 + [{"messages": [{"content": "no role"}]}])
    read = []
    before = encoding.Encoder.encode

    def note(self, start, stop, **settings):
        read.append(stop)
        return before(self, start, stop, **settings)

    monkeypatch.setattr(encoding.Encoder, "encode", note)
    grader = wb.FunctionGrader.from_source(LENGTH)
    report = grader.run(samples, progress=lambda _: False)
    cancelled = [
        error for error in report.grades[grader.name].errors.values() if error.kind is ErrorKind.CANCELLED
    ]
    assert cancelled
    assert max(read, default=0) < len(samples)
