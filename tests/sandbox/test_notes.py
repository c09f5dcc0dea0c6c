"""The notes that come back beside scores: bounded, cleaned, never dropped, never believed."""

import asyncio
import json
import sys

import pytest

import workbench as wb
from workbench.core.grade import ErrorKind
from workbench.graders.code.rollout import RolloutGrader
from workbench.graders.code.script import ScriptGrader
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.child import protocol
from workbench.sandbox.host import results
from workbench.sandbox.host.results import MAX_DEPTH, MAX_REASONING, read_done, read_notes
from workbench.sandbox.host.worker import WorkerLostError

HEAD = "import os\nfrom letta_evals.models import GradeResult\n\n\ndef grade(sample, submission):\n"


def grades(body, count=40, **settings):
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    rows = wb.Samples([{"completion": str(i), "expected": "x"} for i in range(count)])
    grader = wb.FunctionGrader.from_source(HEAD + lines, **settings)
    return asyncio.run(grader.grade_all(rows, Control(workers=1)))


def test_every_row_keeps_its_own_note():
    """Reasoning and metadata stand at their row, through many ranges."""
    found = grades(
        "return GradeResult(score=0.5, rationale='r' + submission, metadata={'n': submission})", 3000
    )
    assert [found.reasoning[i] for i in range(3000)] == [f"r{i}" for i in range(3000)]
    assert [found.metadata[i]["n"] for i in range(3000)] == [str(i) for i in range(3000)]


@pytest.mark.parametrize("size", [100, 5_000, 60_000, 120_000])
def test_notes_that_do_not_fit_one_answer_all_arrive(size):
    """A range ends where its answer is full, and the rest is asked again."""
    found = grades(
        f"return GradeResult(score=float(submission) / 100, metadata={{'x': 'ü' * ({size} // 2)}})"
    )
    assert found.n_scored == 40
    assert [round(100 * found.scores[i]) for i in range(40)] == list(range(40))
    assert all(len(found.metadata[i]["x"]) == size // 2 for i in range(40))


def test_failures_and_notes_share_the_room():
    """Long errors between long notes lose neither."""
    body = "if int(submission) % 2:\n    raise ValueError(submission + 'e' * 1900)\nreturn GradeResult(score=1, rationale='r' * 9000)"
    found = grades(body, 200)
    assert (found.n_scored, found.n_failed) == (100, 100)
    assert all(found.errors[i].message.startswith(f"ValueError: {i}e") for i in range(1, 200, 2))
    assert all(len(found.reasoning[i]) == 9000 for i in range(0, 200, 2))


@pytest.mark.parametrize(
    ("metadata", "code"),
    [
        ("{'x': 'a' * 200_000}", "metadata_too_large"),
        ("{'x': '\\x00' * 30_000}", "metadata_too_large"),
        ("{'x': float('nan')}", "metadata_not_serializable"),
        ("{'x': object()}", "metadata_not_serializable"),
        ("{(1, 2): 3}", "metadata_not_serializable"),
        (
            "__import__('functools').reduce(lambda a, _: {'x': a}, range(100_000), {})",
            "metadata_not_serializable",
        ),
    ],
)
def test_metadata_that_cannot_travel_leaves_a_mark(metadata, code):
    """The score and the reasoning stand; the mark says what is missing and why."""
    found = grades(f"return GradeResult(score=1, rationale='why', metadata={metadata})", 2)
    assert (found.n_scored, found.reasoning[1]) == (2, "why")
    assert found.metadata[1]["_error"]["code"] == code


def test_a_lost_worker_takes_no_note_with_it():
    """Rows finished before a crash are asked again, so that what they said is there."""
    body = "if submission in {'5', '17', '38'}:\n    os._exit(1)\nreturn GradeResult(score=1, rationale='r' + submission)"
    found = grades(body)
    assert sorted(found.errors) == [5, 17, 38]
    assert {error.kind for error in found.errors.values()} == {ErrorKind.CRASH}
    assert all(found.reasoning[i] == f"r{i}" for i in range(40) if i not in found.errors)


def test_a_row_that_crashes_only_sometimes_ends_the_run():
    """A worker that dies when all its rows are done is not replaced for ever."""
    found = grades(
        "if submission == '39':\n    import atexit, signal\n    signal.setitimer(signal.ITIMER_REAL, 0)\n    os._exit(1)\nreturn GradeResult(score=1)"
    )
    assert found.n_scored == 39


def test_subclasses_cannot_answer_twice():
    """A note is encoded once; what its own code says the second time is not heard."""
    body = (
        "class Sly(dict):\n    seen = 0\n    def items(self):\n        Sly.seen += 1\n"
        "        return [('x', 'a' * (10 if Sly.seen < 3 else 10 ** 7))]\n"
        "return GradeResult(score=1, metadata=Sly(x=1))"
    )
    assert grades(body, 5).n_scored == 5


FORGED = [
    {"notes": "text"},
    {"notes": [[0]]},
    {"notes": [[0, "x"]]},
    {"notes": [[-1, {"reasoning": "r"}], [5, {"reasoning": "r"}], [True, {"reasoning": "r"}], ["0", {}]]},
    {"notes": [[0, {"reasoning": 3, "metadata": [1]}]]},
    {"notes": {"0": {"reasoning": "r"}}},
    {},
]


@pytest.mark.parametrize("reply", FORGED)
def test_forged_notes_are_left_out(reply):
    """Whatever is not of the right shape, or not of this range, says nothing."""
    assert not any(read_notes(reply, 5).values())


def test_texts_of_notes_are_cut_and_cleaned():
    """At every depth, keys too; NaN that no JSON holds is None."""
    deep = "end"
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    note = {
        "reasoning": "\u202e" + "r" * 10**6,
        "metadata": {"a\u202e": ["\x1b[31m", {"b": float("nan")}], "deep": deep},
    }
    found = read_notes({"notes": [[0, note]]}, 1)[0]
    assert len(found["reasoning"]) == MAX_REASONING
    assert found["reasoning"][0] == "\ufffd"
    assert found["metadata"]["a\ufffd"] == ["\ufffd[31m", {"b": None}]
    assert "too deeply" in json.dumps(found)


@pytest.mark.parametrize("done", [0, -1, 6, 1.0, True, "5", None])
def test_a_range_that_claims_no_progress_breaks_the_protocol(done):
    """Else a worker could be asked for ever."""
    with pytest.raises(WorkerLostError):
        read_done({"done": done}, 5)
    assert read_done({}, 5) == read_done({"done": 5}, 5) == 5


def forging(reply):
    """A grade function that writes its own answer for the range it is in, then waits."""
    return (
        "import gc, json, struct, sys\n"
        "frame = sys._getframe()\n"
        "while frame and 'command' not in frame.f_locals:\n    frame = frame.f_back\n"
        f"text = json.dumps({reply!r}).encode()\n"
        f"data = struct.pack('<IQI', {protocol.MAGIC}, frame.f_locals['command']['seq'], len(text)) + text\n"
        "while data:\n    data = data[os.write(4, data):]\n"
        "while True: pass"
    )


@pytest.mark.parametrize(
    "reply",
    [
        {"texts": [], "errors": [], "notes": [[0, {"metadata": {"x": "y" * 1000}}]], "done": 0},
        {"texts": [], "errors": [], "notes": [[9, {"reasoning": "forged"}]], "done": 10**9},
        {"notes": None, "done": "all"},
    ],
)
def test_a_worker_that_forges_progress_is_ended(reply):
    """Its rows fail; the run ends, and nothing it claimed is kept."""
    found = grades(forging(reply), 6, timeout=0.2)
    assert found.n_scored == 0
    assert not found.reasoning
    assert not found.metadata


def test_skips_are_skips():
    """A row the grader does not apply to has neither score nor error."""
    text = "class G(Grader):\n    async def grade(self, ctx):\n        for name in ctx.samples:\n            ctx.set_sample_reward(name, 1.0)\n"
    rows = wb.Samples([{"completion": "a", "label": text} for text in ("x", None)] * 800)
    found = asyncio.run(RolloutGrader.from_source(text).grade_all(rows, Control(workers=1)))
    assert (found.n_scored, found.n_skipped, found.n_failed) == (800, 800, 0)
    assert found[1].reasoning.startswith("the row has neither")


def test_answers_keep_their_size(tmp_path, monkeypatch):
    """The largest note, the failures around it and what was printed fit one answer."""
    given = [[0, {"metadata": {"x": "a" * protocol.MAX_NOTE}}], [1, {"reasoning": "r" * protocol.ENOUGH}]]
    errors = {i: ("runtime", f"{i}" + "\x00" * 2000) for i in range(protocol.NOTED_ROWS)}
    with (tmp_path / "answer").open("w+b", buffering=0) as file:
        monkeypatch.setattr(protocol, "WRITE_FD", file.fileno())
        protocol.answer(1, {"notes": given, "done": 1, "output": "\x00" * 4000, "errors": errors})
        file.seek(0)
        data = file.read()
    magic, seq, size = protocol.HEADER.unpack_from(data)
    assert (magic, seq) == (protocol.MAGIC, 1)
    assert size == len(data) - protocol.HEADER.size <= protocol.MAX_TEXT
    told = json.loads(data[protocol.HEADER.size :])
    assert (told["notes"], len(told["errors"])) == (given, protocol.NOTED_ROWS)


def test_scripts_and_python_share_the_channel():
    """A script's reasons arrive through the same bounds."""
    rows = wb.Samples([{"completion": str(i)} for i in range(60)])
    script = "function evaluate(i) { return {score: 1, reason: i.response, big: 'x'.repeat(50000)}; }"
    found = asyncio.run(ScriptGrader.from_source(script).grade_all(rows, Control()))
    assert [found.reasoning[i] for i in range(60)] == [str(i) for i in range(60)]
    assert all(len(found.metadata[i]["big"]) == 50_000 for i in range(60))


def test_numbers_the_host_cannot_read_leave_a_mark():
    """A grader that lifts Python's limit on digits loses a note, and no row."""
    body = (
        "import sys\nsys.set_int_max_str_digits(0)\n"
        "return GradeResult(score=1, metadata={'n': 10 ** (5000 if submission == '3' else 50)})"
    )
    found = grades(body, 8)
    assert found.n_scored == 8
    assert found.metadata[3]["_error"]["code"] == "metadata_not_serializable"
    assert found.metadata[4]["n"] == 10**50


def test_a_row_whose_answer_cannot_be_read_costs_only_itself():
    """Rows that share an answer with a broken one are asked again, one at a time."""
    body = (
        "import sys\nif submission == '5':\n    sys.set_int_max_str_digits(0)\n    frame = sys._getframe()\n"
        "    while 'index' not in frame.f_locals:\n        frame = frame.f_back\n"
        "    frame.f_locals['self']._notes[frame.f_locals['index']] = {'metadata': {'n': 10 ** 5000}}\n"
        "    return GradeResult(score=1)\n"
        "return GradeResult(score=1, rationale='r' + submission)"
    )
    found = grades(body)
    assert list(found.errors) == [5]
    assert "malformed reply" in found.errors[5].message
    assert all(found.reasoning[i] == f"r{i}" for i in range(40) if i != 5)


def test_a_stopped_run_keeps_skips_as_skips():
    """A skipped row of the range in work is no failure."""
    text = (
        "import time\nclass G(Grader):\n    async def grade(self, ctx):\n        time.sleep(0.05)\n"
        "        for sample in ctx.samples.values():\n            sample.reward, sample.remove_sample = 1.0, True\n"
    )
    rows = wb.Samples([{"completion": "a", "label": "x"}] * 60)
    control = Control(lambda done, failed: control.cancel.set() if done >= 3 else None, workers=1)
    found = asyncio.run(RolloutGrader.from_source(text).grade_all(rows, control))
    assert found.n_skipped >= 3
    assert {error.kind for error in found.errors.values()} == {ErrorKind.CANCELLED}


def test_one_run_keeps_only_so_much(monkeypatch):
    """Notes and error texts of a whole run have a bound in memory; what comes later says that it was left out."""
    monkeypatch.setattr(results.NoteMemory.__init__, "__defaults__", (2_000_000,))
    found = grades("return GradeResult(score=1, rationale='r' * 9000, metadata={'x': [[]] * 3000})", 100)
    assert found.n_scored == 100
    assert len(found.reasoning[0]) == 9000
    assert found.metadata[99]["_error"] == {"code": "run_notes_too_large", "max_size_bytes": 2_000_000}
    kept = [found.metadata[i] for i in range(100) if "x" in found.metadata[i]]
    assert 2_000_000 < results.weight(kept) + 9000 * len(kept) < 2_000_000 + 30 * protocol.MAX_TEXT
    failed = grades("raise ValueError(submission + chr(0x1F600) * 1900)", 2000)
    assert len(failed.errors[0].message) > 1900
    assert len(failed.errors[1999].message) == 100


@pytest.mark.parametrize("value", ["a", "é" * 50, {"a": [1, 2.0, None, True]}, [[]] * 50, {}, [{"k": {}}]])
def test_weight_is_what_a_value_takes(value):
    """Containers count with all they hold."""
    assert results.weight(value) >= sys.getsizeof(value)
    assert results.weight([value, value]) > 2 * results.weight(value)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stopped_run_keeps_no_score_without_its_note(workers):
    """Notes come with a range's answer, so quick ranges in work are waited for when a run is stopped."""
    script = "function evaluate(i) { let s = 0; for (let k = 0; k < 5000; k++) s += k; return {score: 1, reason: 'r' + i.response}; }"
    rows = wb.Samples([{"completion": str(i)} for i in range(20_000)])
    control = Control(lambda done, failed: control.cancel.set() if done >= 1000 else None, workers=workers)
    found = asyncio.run(ScriptGrader.from_source(script).grade_all(rows, control))
    scored = [i for i in range(len(rows)) if found[i].score is not None]
    assert 1000 <= len(scored) < 20_000
    assert found.reasoning == {i: f"r{i}" for i in scored}
