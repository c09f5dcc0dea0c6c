"""`wb.reward`: scores in order, what is no score, what is refused, and what is counted."""

import asyncio
import os
import pickle
import signal
import threading

import pytest

import workbench as wb
from tests.deploy.reward.graders import RIGHT, faulty, proven, right
from workbench.core.errors import IsolationError, NotValidatedError
from workbench.data.extractors import Extractor
from workbench.deploy.reward import TRAINERS
from workbench.deploy.reward.trainer_rows import rows_of
from workbench.sandbox.host.worker_pool import worker_pool

PROMPTS, ANSWERS = ["2+2?", "1+1?", "3+3?"], ["4", "2", "6"]


@pytest.fixture(scope="module")
def grader():
    return right()


@pytest.fixture(scope="module")
def faults():
    return faulty()


@pytest.fixture(autouse=True, scope="module")
def _closed():
    yield
    worker_pool().close()


def test_scores_come_back_in_order(grader):
    """One number a completion; the row's columns are its metadata under their own names."""
    with wb.reward(grader) as reward:
        assert reward(PROMPTS, ["4", "3", "6"], answer=ANSWERS) == [1.0, 0.0, 1.0]


def test_prompts_and_completions_may_be_messages(grader):
    """A conversation is read whole, with tool calls; plain text is one turn of each."""
    text = (
        "async def grade(thread):\n    turns = [turn.role for turn in thread.get_turns()]\n"
        "    return len(turns) + 0.5 * len(thread.tool_calls())\n"
    )
    call = {"id": "1", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    prompts = ["2+2?", [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]]
    answer = [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "4"},
        {"role": "assistant", "content": "4"},
    ]
    with wb.reward(proven(text, "turns")) as reward:
        assert reward(prompts, ["4", answer]) == [2.0, 5.5]


def test_tool_calls_belong_to_their_turn():
    """The calls of a turn are those that the trainer passed for it, in the order of the turns."""
    text = (
        "async def grade(thread):\n    calls = thread.turn_calls(1)\n"
        "    names = [call['function']['name'] for call in thread.tool_calls()]\n"
        "    return float(len(calls) == 1 and names == [str(turn) for turn in range(1, 12)])\n"
    )
    calls = [
        {"id": "1", "type": "function", "function": {"name": str(n), "arguments": "{}"}} for n in range(1, 12)
    ]
    completion = [{"role": "assistant", "content": "", "tool_calls": [call]} for call in calls]
    with wb.reward(proven(text, "calls")) as reward:
        assert reward(["q"], [completion]) == [1.0]


def test_what_is_no_score_is_none(faults):
    """A row that fails, and one that cannot be read, have None, and the others their scores."""
    with wb.reward(faults) as reward:
        kinds = ["fine", "loop", "crash", "bomb", "fine", "fine"]
        found = reward(["p"] * 6, ["a", "b", "c", "d", None, "ff"], kind=kinds)
        assert found == [1.0, None, None, None, None, 2.0]
        failed = reward.stats.graders["faulty"].failed
        assert failed["crash"] == failed["sample"] == 1
        assert sum(failed.values()) == 4


def test_every_honest_row_of_512_is_scored(faults):
    """With one per cent each of loops, crashes and memory bombs, in order; and the batch ends, as a clock of its own shows."""
    kinds = ["fine"] * 512
    for at in range(5):
        kinds[at * 100 + 10], kinds[at * 100 + 11], kinds[at * 100 + 60] = "loop", "crash", "bomb"
    completions = ["x" * at for at in range(512)]
    with wb.reward(faults) as reward:
        found = reward(["p"] * 512, completions, kind=kinds)
    wanted = [float(at) if kind == "fine" else None for at, kind in enumerate(kinds)]
    assert found == wanted
    # What a stuck row took is within a second of its limit: the slowest tells, without a timed test.
    slowest = reward.stats.graders["faulty"].slowest
    assert slowest.seconds < faults.timeout + 10  # seconds; a machine may be busy, an hour it is not


def test_rules_and_code_and_functions_of_this_process_grade_together(grader):
    """A suite's rule makes one number of them; an entry's threshold, negation and extractor hold."""
    suite = wb.Suite(
        [
            wb.Entry(grader, "right", weight=2.0),
            wb.Entry(wb.Contains(expected="4"), "four", negate=True),
            wb.Entry(wb.CustomGrader(lambda thread: len(thread.completion()) / 4, name="long")),
            wb.Entry(wb.Length(maximum=1), "marked", extractor=Extractor("after_marker", {"marker": "so "})),
        ],
        combine=wb.combine.Sum(),
    )
    with wb.reward(suite) as reward:
        found = reward(PROMPTS[:2], ["4", "so 2"], answer=ANSWERS[:2])
        assert found == [2.0 + 0.0 + 0.25 + 1.0, 0.0 + 1.0 + 1.0 + 1.0]
        report = suite.run(
            [
                {"prompt": prompt, "completion": text, "answer": answer}
                for prompt, text, answer in zip(PROMPTS, ["4", "so 2"], ANSWERS, strict=False)
            ],
            progress=False,
        )
        assert found == report.grades["combined"].scores.tolist()


def test_a_judge_grades_through_its_own_client():
    """Rows of a judge are asked for on the workbench's loop; its failures are None."""
    client = wb.ScriptedClient('{"reasoning": "r", "score": "PASS"}')
    judge = wb.BinaryJudge("The answer is polite.", client=client)
    with wb.reward(judge) as reward:
        assert reward(PROMPTS, ["please"] * 3) == [1.0] * 3


def test_skipped_rows_are_none_and_counted():
    """A skip is no zero."""
    text = "import workbench as wb\nasync def grade(thread):\n    raise wb.Skip('no')\n"
    with wb.reward(wb.FunctionGrader.from_source(text), allow_unvalidated=True) as reward:
        assert reward(["p"], ["a"]) == [None]
        assert reward.stats.graders["grade"].skipped == 1


def test_what_is_not_proven_is_refused():
    """With the way out; a failed check is named."""
    with pytest.raises(NotValidatedError, match="never validated"):
        wb.reward(wb.FunctionGrader.from_source(RIGHT))
    nested = wb.Suite(
        [wb.Entry(wb.combine.Combined([wb.FunctionGrader.from_source(RIGHT, name="inner")]), "outer")]
    )
    with pytest.raises(NotValidatedError, match="inner"):
        wb.reward(nested)
    assert wb.reward(nested, allow_unvalidated=True)


def test_imported_source_needs_a_kernel_that_confines(monkeypatch):
    """As anywhere else, before the first row."""
    from workbench.graders import code as sandboxed

    monkeypatch.setattr(sandboxed, "pool", lambda: type("Weak", (), {"level": "partial"}))
    with pytest.raises(IsolationError):
        wb.reward(wb.FunctionGrader.from_source(RIGHT, imported=True), allow_unvalidated=True)


@pytest.mark.parametrize(
    ("given", "error", "words"),
    [
        (lambda: wb.reward(len), TypeError, "@wb.grader"),
        (lambda: wb.reward(7), TypeError, "made of graders"),
        (lambda: wb.reward(wb.Length(maximum=1), on_error="zero"), ValueError, "on_error"),
        (lambda: wb.reward(wb.Length(maximum=1), on_error=float("nan")), ValueError, "on_error"),
        (lambda: wb.reward(wb.Length(maximum=1), workers=0), ValueError, "workers"),
        (lambda: wb.reward(wb.Length(maximum=1)).nemo, AttributeError, "trl"),
        (lambda: wb.reward(wb.Length(maximum=1))(["p"], ["a", "b"]), ValueError, "prompts has 1"),
        (
            lambda: wb.reward(wb.Length(maximum=1))(["p"], ["a"], answer="text"),
            TypeError,
            "answer must be a list",
        ),
        (lambda: wb.reward(wb.Length(maximum=1))(["p"], ["a"], trainer_state=1), TypeError, "reward.trl"),
        (lambda: wb.reward(wb.Length(maximum=1), reference="gold")(["p"], ["a"]), ValueError, "gold"),
    ],
)
def test_wrong_calls_are_told_what_is_right(given, error, words):
    """What is wrong is named."""
    with pytest.raises(error, match=words):
        given()


def test_several_graders_need_a_rule_for_one_number():
    """Where one number is asked for; with `combine=` there is one."""
    both = [wb.Length(maximum=3, name="short"), wb.Contains(expected="a", name="has a")]
    several = wb.reward(both)
    with pytest.raises(ValueError, match="combine=wb.combine.Mean"):
        several(["p"], ["a"])
    with pytest.raises(ValueError, match="verl takes one score"):
        several.verl  # noqa: B018
    assert wb.reward(both, combine=wb.combine.Mean())(["p"], ["abcd"]) == [0.5]
    assert wb.reward(wb.Suite(both), combine=wb.combine.Mean())(["p"], ["abcd"]) == [0.5]


def test_counts_of_each_grader(grader, faults):
    """Scored, failed by kind, the slowest row with its call, and the time; as text, HTML and a frame."""
    with wb.reward(wb.Suite([grader, faults], combine=wb.combine.Mean())) as reward:
        reward(["p"] * 2, ["4", "5"], answer=["4", "4"], kind=["fine", "fine"])
        reward(["p"] * 2, ["4", "5"], answer=["4", "4"], kind=["fine", "loop"])
        stats = reward.stats
        assert (stats.calls, stats.graders["right"].scored, stats.graders["right"].rows) == (2, 4, 4)
        assert dict(stats.graders["faulty"].failed) == {"timeout": 1}
        assert stats.graders["combined"].scored == 3
        slowest = stats.graders["faulty"].slowest
        assert (slowest.call, slowest.row) == (2, 1)
        assert slowest.seconds >= faults.timeout
        assert stats.frame.loc["faulty", "failed: timeout"] == 1
        assert "1 (1 timeout)" in repr(stats)
        failure = stats.graders["faulty"].latest["timeout"]
        assert failure.message.startswith("timed out")
        assert f"faulty: timeout, call {failure.call}, row {failure.row}: timed out" in repr(stats)
        assert "faulty: timeout" in stats._repr_html_()
        assert "<td>faulty</td>" in stats._repr_html_()
        stats.reset()
        assert (stats.calls, stats.graders["right"].rows) == (0, 0)


def test_names_in_tables_are_text():
    """A grader's name cannot bring HTML into the table."""
    reward = wb.reward(wb.Length(maximum=1, name="<b>x</b>"))
    assert "<b>x" not in reward.stats._repr_html_()


@pytest.mark.parametrize("trainer", sorted(TRAINERS))
def test_every_signature_pickles_and_has_a_name(trainer, grader):
    """Trainers log by `__name__` and send functions to other processes."""
    function = getattr(wb.reward(grader), trainer)
    assert function.__name__ == "right"
    again = pickle.loads(pickle.dumps(function))
    assert (type(again), again.__name__) == (type(function), "right")


def test_a_reward_pickles_as_the_suites_own_record(grader):
    """No code and no worker travels; the copy is proven as the first one was, and scores the same."""
    suite = wb.Suite([wb.Entry(grader, weight=2.0), wb.Length(maximum=3)], combine=wb.combine.Mean())
    with wb.reward(suite, on_error=0.5, workers=1) as reward:
        copy = pickle.loads(pickle.dumps(reward))
        assert copy.suite == suite
        assert copy.suite[0].validation == grader.validation
        assert copy.on_error == 0.5
        assert copy(PROMPTS, ["4"] * 3, answer=ANSWERS) == reward(PROMPTS, ["4"] * 3, answer=ANSWERS)
        copy.close()


def in_a_spawned_process(reward, queue):
    """Runs there."""
    queue.put(reward(PROMPTS, ["4", "0", "6"], answer=ANSWERS))


def test_a_spawned_process_has_workers_of_its_own(grader):
    """The reward is sent to it, and grades there."""
    import multiprocessing

    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    with wb.reward(grader) as reward:
        process = context.Process(target=in_a_spawned_process, args=(reward, queue))
        process.start()
        assert queue.get(timeout=120) == [1.0, 0.0, 1.0]
        process.join(60)
        assert process.exitcode == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_grades_beside_its_parent(grader):
    """With a reward that was in use before the fork; both go on."""
    with wb.reward(wb.Suite([grader, wb.Length(maximum=3)], combine=wb.combine.Mean())) as reward:
        wanted = reward(PROMPTS, ["4", "0", "6"], answer=ANSWERS)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                status = 0 if reward(PROMPTS, ["4", "0", "6"], answer=ANSWERS) == wanted else 2
                worker_pool().close()
            finally:
                os._exit(status)
        assert reward(PROMPTS, ["4", "0", "6"], answer=ANSWERS) == wanted
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_threads_and_event_loops_call_at_once(grader):
    """Every call has its own scores; no loop is held."""
    found = {}
    with wb.reward(grader) as reward:
        score = reward.slime

        def loop(number):
            async def several():
                sample = type(
                    "Sample", (), {"prompt": "p", "response": str(number), "label": "3", "metadata": {}}
                )
                return await asyncio.gather(*(score(None, sample) for _ in range(8)))

            found[number] = asyncio.run(several())

        def plain(number):
            found[number] = reward(["p"] * 8, [str(number)] * 8, answer=["3"] * 8)

        threads = [threading.Thread(target=plain if at % 2 else loop, args=(at,)) for at in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    assert found == {at: [float(at == 3)] * 8 for at in range(16)}


def test_it_works_inside_a_running_loop(grader):
    """A synchronous trainer function called from async code, as in a notebook or an actor."""

    async def cell():
        return reward.trl(prompts=PROMPTS, completions=ANSWERS, answer=ANSWERS)

    with wb.reward(grader) as reward:
        assert asyncio.run(cell()) == [1.0] * 3


def test_an_interrupt_gives_up_what_was_not_begun(faults):
    """The cell is free again at once, and the next call is answered."""

    def interrupt():
        _until(lambda: any(group.busy for group in list(worker_pool()._groups.values())))
        os.kill(os.getpid(), signal.SIGINT)

    with wb.reward(faulty(timeout=60.0)) as reward:
        pressing = threading.Thread(target=interrupt)
        pressing.start()
        with pytest.raises(KeyboardInterrupt):
            reward(["p"] * 40, ["a"] * 40, kind=["loop"] * 40)
        pressing.join()
    with wb.reward(faults) as reward:
        assert reward(["p"], ["a"], kind=["fine"]) == [1.0]


def test_closing_ends_the_workers_and_the_next_call_starts_them(grader):
    """So does letting go of the reward."""
    reward = wb.reward(grader)
    reward(PROMPTS, ANSWERS, answer=ANSWERS)
    owner = reward._graders.owners[0]
    assert any(key[0] == owner for key in list(worker_pool()._groups))
    reward.close()
    _until(lambda: not any(key[0] == owner for key in list(worker_pool()._groups)))
    assert reward(PROMPTS, ANSWERS, answer=ANSWERS) == [1.0] * 3
    del reward
    _until(lambda: not any(key[0] == owner for key in list(worker_pool()._groups)))


def _until(true):
    from tests.browser.lab import wait_until

    wait_until(true, what="the workers", seconds=60)


def test_import_is_light():
    """Neither the reward's modules nor its trainers load a trainer."""
    import subprocess
    import sys

    code = "import workbench as wb, sys; wb.reward; print([m for m in ('torch', 'trl', 'ray', 'verl') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "[]"


def test_what_is_known_is_told_before_the_call_ends(faults):
    """Of a call with a row that hangs the others' grades come early, with the rule's and those of rows no grader can see."""

    async def main():
        known = []
        graded = await reward.agrade(rows, early=lambda graded: known.append((graded, graded.known)))
        return known, graded

    entry = wb.Entry(faults, "code", extractor=Extractor("after_marker", {"marker": "so "}))
    reward = wb.reward(wb.Suite([entry, wb.Length(maximum=9, name="short")], combine=wb.combine.Mean()))
    with reward:
        reward(["q"] * 20, ["a"] * 20)
        columns = {"kind": ["", "loop", "", ""]}
        rows = rows_of(["q"] * 4, ["so a", "so a", None, "so abc"], columns)
        known, graded = asyncio.run(main())
    most = max(known, key=lambda told: told[1].sum())
    assert most[1].tolist() == [True, False, True, True]
    assert reward.scores(most[0])[3] == reward.scores(graded)[3] == 2.0
    assert graded.known.all()
    kinds = {row: str(error.kind) for row, error in graded.parts["code"].errors.items()}
    assert kinds == {1: "timeout", 2: "sample"}


def test_a_quick_call_tells_nothing_early(grader):
    """Nobody pays for what nobody needs."""
    told = []
    with wb.reward(grader) as reward:
        reward(["q"], ["4"], answer=["4"])
        rows = rows_of(["q"] * 2, ["4", "5"], {"answer": ["4", "4"]})
        graded = asyncio.run(reward.agrade(rows, early=told.append))
    assert reward.scores(graded) == [1.0, 0.0]
    assert all(not each.known.all() for each in told)
