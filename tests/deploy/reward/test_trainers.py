"""Each trainer's signature: what it passes, what the grader reads, and its word for "no score"."""

import asyncio
import importlib.util
import inspect
from types import SimpleNamespace

import numpy as np
import pytest

import workbench as wb
from tests.deploy.reward.graders import faulty, proven
from workbench.deploy.reward import NoScoreError
from workbench.sandbox.host.worker_pool import worker_pool

SEEN = """
async def grade(thread):
    metadata = thread.metadata or {}
    said = [f"{turn.role}: {turn.content}" for turn in thread.get_turns()]
    wanted = metadata.get("wanted", said)
    reference = {metadata.get(name) for name in ("reference", "expected", "ground_truth", "label", "answer")}
    return 1.0 if said == wanted and reference <= {"4", None} else 0.0
"""


@pytest.fixture(scope="module")
def seen():
    with wb.reward(proven(SEEN, "seen")) as reward:
        yield reward


@pytest.fixture(scope="module")
def faults():
    with wb.reward(faulty()) as reward:
        yield reward


@pytest.fixture(autouse=True, scope="module")
def _closed():
    yield
    worker_pool().close()


def test_trl(seen, faults):
    """Columns as lists, None for no score, counts to TRL's own log; what is no column of the data set is left out."""
    logged = []
    found = faults.trl(
        prompts=["p"] * 3, completions=["a", "bb", "ccc"], completion_ids=[[1]] * 3, kind=["fine", "crash", "fine"],
        trainer_state=object(), log_extra=print, log_metric=lambda name, value: logged.append((name, value)),
        environments=[object()] * 3,
    )  # fmt: skip
    assert found == [1.0, None, 3.0]
    assert ("faulty/failed", 1.0) in logged
    chat = [[{"role": "user", "content": "2+2?"}]]
    answer = [[{"role": "assistant", "content": "4"}]]
    assert seen.trl(prompts=chat, completions=answer, wanted=[["user: 2+2?", "assistant: 4"]]) == [1.0]


def test_trl_takes_several_graders_with_weights():
    """A suite without a rule is a list of functions, each logged by its grader's name."""
    reward = wb.reward(
        [wb.Entry(wb.Length(maximum=1, name="short"), weight=2.0), wb.Contains(expected="a", name="a")]
    )
    short, has_a = reward.trl
    assert (short.__name__, has_a.__name__, reward.weights) == ("short", "a", [2.0, 1.0])
    given = {"prompts": ["p"] * 2, "completions": ["a", "b c"]}
    assert (short(**given), has_a(**given)) == ([1.0, 0.0], [1.0, 0.0])


def test_verl(seen):
    """One row a call; the reference stands under every usual name, and `extra_info` is metadata."""
    extra = {"prompt": "2+2?", "wanted": ["user: 2+2?", "assistant: 4"], "num_turns": 2}
    assert seen.verl(data_source="d", solution_str="4", ground_truth="4", extra_info=extra) == 1.0
    assert seen.verl("d", "4", "5") == 0.0
    assert seen.verl(data_source="d", solution_str="4", ground_truth="4", reward_router_address=None) == 1.0


def test_verl_calls_of_many_threads_from_an_event_loop(faults):
    """As verl's reward loop calls: each row in an executor's thread; one that hangs costs itself."""

    async def rows():
        loop = asyncio.get_running_loop()
        calls = [
            loop.run_in_executor(
                pool, lambda at=at: reward.verl("d", "x" * at, None, {"kind": "loop" if at == 5 else "fine"})
            )
            for at in range(64)
        ]
        return await asyncio.gather(*calls)

    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(64) as pool, wb.reward(faults.suite, on_error=-1.0) as reward:
        assert asyncio.run(rows()) == [-1.0 if at == 5 else float(at) for at in range(64)]


def test_no_score_where_there_is_no_word_for_it(faults):
    """An error that names grader, row and reason; or the number that was chosen, never a number of ours."""
    with pytest.raises(NoScoreError, match=r"(?s)'faulty'.*crash.*on_error"):
        faults.verl("d", "a", None, {"kind": "crash"})
    with wb.reward(faults.suite, on_error=0.25) as reward:
        assert reward.verl("d", "a", None, {"kind": "crash"}) == 0.25


@pytest.mark.filterwarnings("ignore:grader 'seen' reads the column")
def test_openrlhf(seen):
    """The completion is what stands behind the prompt, without special tokens at the end; each grader has its logs."""
    found = seen.openrlhf(["Q: 2+2?4<|im_end|>\n", "Q: 2+2?5</s>"], ["Q: 2+2?"] * 2, ["4", "5"])
    assert list(found) == ["rewards", "scores", "extra_logs"]
    assert [float(value) for value in found["rewards"]] == [1.0, 0.0]
    logs = {name: [float(value) for value in values] for name, values in found["extra_logs"].items()}
    assert logs == {"seen": [1.0, 0.0], "seen_failed": [0.0, 0.0], "seen_skipped": [0.0, 0.0]}


def test_openrlhf_logs_what_failed_and_what_was_skipped(tmp_path):
    """NaN is no score; the exported file has the same logs."""
    text = (
        "import workbench as wb\n\n\nasync def grade(thread):\n    if thread.completion() == 'skip':\n        raise wb.Skip('x')\n"
        "    return 1.0 / len(thread.completion())\n"
    )
    call = (["q", "qskip", "qaa"], ["q"] * 3, [None] * 3)
    suite = wb.Suite(
        [wb.Entry(proven(text, "parts")), wb.Length(maximum=9)], combine=wb.combine.Formula("length")
    )
    wb.export(suite, tmp_path / "f.py", "openrlhf")
    spec = importlib.util.spec_from_file_location("f", tmp_path / "f.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with wb.reward(suite) as reward:
        for found in (reward.openrlhf(*call), module.reward_func(*call)):
            logs = {name: [float(value) for value in values] for name, values in found["extra_logs"].items()}
            assert logs["parts_failed"] == [1.0, 0.0, 0.0]
            assert logs["parts_skipped"] == [0.0, 1.0, 0.0]
            assert np.isnan(logs["parts"]).tolist() == [True, True, False]
            assert logs["length"] == [1.0, 1.0, 1.0]


def test_openrlhf_reads_what_was_said(seen):
    """A grader sees the very text that the model wrote."""
    text = 'async def grade(thread):\n    return 1.0 if thread.completion() == "yes <b>" else 0.0\n'
    with wb.reward(proven(text, "said")) as reward:
        found = reward.openrlhf(["pyes <b><|endoftext|><|endoftext|>"], ["p"], [None])
        assert float(found["rewards"][0]) == 1.0


def test_slime(seen):
    """A sample, or a group of them with `--group-rm`; awaited."""
    wanted = {"wanted": ["user: 2+2?", "assistant: 4"]}
    sample = SimpleNamespace(prompt="2+2?", response="4", label="4", metadata=wanted)
    other = SimpleNamespace(prompt="2+2?", response="4", label="5", metadata=None)

    async def both():
        return await seen.slime(None, sample), await seen.slime(None, [sample, other], evaluation=False)

    assert asyncio.run(both()) == (1.0, [1.0, 0.0])


def test_verifiers(seen):
    """The task's fields are metadata, the trace's last branch the conversation; `task` and `trace` by name."""
    task = SimpleNamespace(idx=3, prompt_text="2+2?", answer="4", wanted=["user: 2+2?", "assistant: 4"])
    branch = SimpleNamespace(
        messages=[{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}]
    )
    whole = SimpleNamespace(branches=[branch], root_reply=None, last_reply="4")
    bare = SimpleNamespace(last_reply="4")
    assert list(inspect.signature(seen.verifiers).parameters) == ["task", "trace"]
    for trace in (whole, bare):
        assert asyncio.run(seen.verifiers(task=task, trace=trace)) == 1.0


def test_numbers_of_numpy_and_text_of_other_classes_are_read(seen):
    """What data sets hold besides plain values."""

    class Text(str):
        __slots__ = ()

    assert seen(["2+2?"], [Text("4")], reference=["4"], n=np.array([1])) == [1.0]
