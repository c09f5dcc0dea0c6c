"""The ladder: designs, both orders, ranks, failures, runs that resume, rewards."""

import asyncio
import json
import threading
from itertools import pairwise

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core.errors import FormatError
from workbench.core.grades import Grades
from workbench.graders import Control
from workbench.graders.base import from_spec
from workbench.judges import OpenAIClient

TEMPLATE = "<answer_a>\n{{ answer_a }}\n</answer_a>\n<answer_b>\n{{ answer_b }}\n</answer_b>"


def texts_of(messages):
    """The two completions of a request."""
    content = messages[1]["content"]
    return [content.split(f"<answer_{letter}>\n")[1].split(f"\n</answer_{letter}>")[0] for letter in "ab"]


def longer(messages):
    """A model that prefers the longer completion."""
    a, b = map(len, texts_of(messages))
    return json.dumps({"reasoning": "", "verdict": "A" if a > b else "B" if b > a else "TIE"})


def first(messages):
    """A model that prefers what it reads first."""
    return json.dumps({"reasoning": "", "verdict": "A"})


def ladder(model=longer, **settings):
    return wb.Ladder(wb.PairwiseJudge("is longer", client=wb.ScriptedClient(model)), **settings)


def rows(*lengths, prompts=2, **columns):
    return [
        {"prompt": f"task {prompt}", "completion": "x" * length, **columns}
        for prompt in range(prompts)
        for length in lengths
    ]


def calls(grader):
    return len(grader.grader.client.calls)


def test_every_pair_is_compared_in_both_orders():
    """N (n - 1) requests per prompt; never across prompts; the rank is from 0 to 1."""
    grader = ladder()
    report = grader.run(rows(3, 1, 4, 2), progress=False)
    assert report.scores["ladder"].tolist() == pytest.approx([2 / 3, 0, 1, 1 / 3] * 2)
    assert calls(grader) == 2 * 4 * 3
    metadata = report.grades["ladder"][2].metadata
    assert (metadata["wins"], metadata["ties"], metadata["losses"]) == (6, 0, 0)
    listed = sum(len(grade.metadata["comparisons"]) for grade in report.grades["ladder"])
    assert listed == 2 * 6


def test_ties_share_a_rank():
    """Equal completions have equal scores, here and as strengths."""
    report = ladder().run(rows(2, 5, 2, 5), progress=False)
    assert report.scores["ladder"].tolist() == pytest.approx([1 / 6, 5 / 6] * 4)
    strengths = ladder(score="strength").run(rows(2, 5, 2), progress=False).scores["ladder"].tolist()
    assert strengths[0] == strengths[2] < 0.5 < strengths[1]


def test_a_judge_that_prefers_the_first_ranks_nothing():
    """In both orders the effect of the order cancels: all completions are equal."""
    report = ladder(first).run(rows(1, 2, 3), progress=False)
    assert report.scores["ladder"].tolist() == pytest.approx([0.5] * 6)
    assert report.grades["ladder"][0].metadata["strength"] == 0
    (line,) = [line for line in report.facts if line.startswith("ladder")]
    assert "the completion read first won 12 of 12" in line


def test_an_adaptive_design_asks_less():
    """Neighbours only: fewer requests than all pairs, and the strongest and weakest are found."""
    grader = ladder(design="adaptive")
    report = grader.run(rows(*range(1, 17), prompts=1), progress=False)
    scores = report.scores["ladder"].tolist()
    assert calls(grader) <= 2 * 8 * 5 < 16 * 15
    assert scores[0] == 0
    assert scores[-1] == 1
    assert sum(a < b for a, b in pairwise(scores)) >= 10
    one_round = ladder(design="adaptive", rounds=1)
    one_round.run(rows(1, 2, 3, 4, prompts=1), progress=False)
    assert calls(one_round) == 4


def test_anchors_need_no_other_completion():
    """The share won against fixed texts, for one row alone too; a reward can call it row by row."""
    grader = ladder(design="anchors")
    thread = wb.StringThread([("user", "q"), ("assistant", "xxx")], {"anchors": ["x", "xxx", "xxxxx", "xx"]})
    grade = grader(thread)
    assert grade.score == pytest.approx(2.5 / 4)
    assert [one["against"] for one in grade.metadata["comparisons"]] == [
        f"anchor {at}" for at in (1, 2, 3, 4)
    ]
    report = grader.run(rows(1, 9, anchors="xxx"), progress=False)
    assert report.scores["ladder"].tolist() == [0, 1, 0, 1]
    missing = grader(wb.StringThread([("user", "q"), ("assistant", "xxx")]))
    assert missing.error.kind == "sample"
    assert "'anchors'" in missing.error.message


def test_one_completion_has_no_rank():
    """Alone in its prompt it is skipped; a single call is refused with the ways out."""
    report = ladder().run(rows(1, prompts=1) + rows(1, 2, prompts=2)[2:], progress=False)
    assert report.grades["ladder"].statuses.tolist() == ["skipped", "scored", "scored"]
    grade = ladder()(wb.StringThread([("user", "q"), ("assistant", "a")]))
    assert grade.error.kind == "sample"
    assert "design='anchors'" in grade.error.message


def test_failed_comparisons_are_left_out():
    """A row has the rank of the others' comparisons; one whose comparisons all failed fails."""

    def model(messages):
        return "no verdict" if 7 in map(len, texts_of(messages)) else longer(messages)

    report = ladder(model).run(rows(1, 7, 3, 2, prompts=1), progress=False)
    scores = report.scores["ladder"].tolist()
    assert (scores[0], scores[3], scores[2]) == pytest.approx((0, 0.5, 1))
    assert report.errors["row"].tolist() == [1]
    assert "all 3 comparisons failed" in report.errors["error"][0]
    assert any("3 failed comparisons were left out" in line for line in report.facts)


def test_an_exhausted_budget_fails_whole_prompts():
    """Ranks of some comparisons only would not be those of the other prompts."""
    grader = wb.Ladder(wb.PairwiseJudge("c", model="m", client=wb.ScriptedClient(longer)))
    report = grader.run(rows(1, 2, 3, prompts=3), budget=wb.Budget(calls=8), progress=False)
    statuses = report.grades["ladder"].statuses.reshape(3, 3)
    assert all(len(set(line)) == 1 for line in statuses.tolist())
    assert set(report.errors["error_kind"]) <= {"budget", "cancelled"}
    assert 0 < report.summary.loc["ladder", "scored"] < 9


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"design": "swiss"}, "design"),
        ({"score": "elo"}, "score"),
        ({"rounds": 3}, "rounds"),
        ({"design": "adaptive", "rounds": 0}, "rounds"),
        ({"anchors": ""}, "anchors"),
    ],
)
def test_settings_that_do_not_fit_are_refused(settings, words):
    """By name."""
    with pytest.raises(FormatError, match=words):
        ladder(**settings)


def test_one_order_or_another_judge_is_refused():
    """Without both orders the order effect would stay in the ranks."""
    with pytest.raises(FormatError, match="both orders"):
        wb.Ladder(wb.PairwiseJudge("c", swap=False))
    with pytest.raises(FormatError, match="PairwiseJudge"):
        wb.Ladder(wb.BinaryJudge("c"))
    assert wb.Ladder("is shorter").grader == wb.PairwiseJudge("is shorter")


def test_spec_and_file(tmp_path):
    """The judge and the settings come back."""
    made = wb.Ladder(wb.PairwiseJudge("c", temperature=0.5), design="adaptive", rounds=3, score="strength")
    assert from_spec(json.loads(json.dumps(made.spec()))) == made
    wb.save([made], tmp_path / "g.json")
    assert wb.load(tmp_path / "g.json").graders[0] == made


def test_a_run_in_parts_is_refused():
    """A part may have some completions of a prompt only; anchors work in parts."""
    control = Control()
    control.is_part = True
    grades = asyncio.run(ladder().grade_all(wb.Samples(rows(1, 2)), control))
    assert {error.kind for error in grades.errors.values()} == {"sample"}
    assert "design='anchors'" in grades.errors[0].message
    grades = asyncio.run(ladder(design="anchors").grade_all(wb.Samples(rows(1, 2, anchors="xx")), control))
    assert not grades.errors


def test_a_resumed_run_compares_the_missing_prompts(tmp_path):
    """Prompts that an exhausted budget left out are compared when the run resumes, the others are not compared again."""
    client = wb.ScriptedClient(longer)
    grader = wb.Ladder(wb.PairwiseJudge("c", model="m", client=client))
    data, path = rows(1, 7, 3, prompts=3), tmp_path / "run.db"
    first_run = grader.run(data, resume=path, budget=wb.Budget(calls=8), progress=False)
    scored = int(first_run.summary.loc["ladder", "scored"])
    sent = len(client.calls)
    report = grader.run(data, resume=path, progress=False)
    assert report.scores["ladder"].tolist() == [0, 1, 0.5] * 3
    assert len(client.calls) - sent == 18 - 6 * scored // 3


def test_a_run_that_lacks_some_rows_of_a_prompt_compares_all(tmp_path):
    """A rank among some of the completions would be another rank: the file's grades of the others are not used."""
    client = wb.ScriptedClient(longer)
    grader = wb.Ladder(wb.PairwiseJudge("c", model="m", client=client))

    class Saved:
        def kept(self, n):
            grades = Grades.empty(n)
            grades.put(0, wb.Grade(0.25))
            return grades

    control = Control(checkpoint=Saved())
    grades = asyncio.run(wb.Entry(grader).grade_all(wb.Samples(rows(1, 7, 3, prompts=1)), control))
    assert [grade.score for grade in grades] == [0, 1, 0.5]


def test_a_stopped_run_ends_soon():
    """Comparisons not sent are cancelled; no row gets a rank of some of them."""
    control, release = Control(), threading.Event()

    def model(messages):
        control.cancel.set()
        return longer(messages)

    grades = asyncio.run(ladder(model).grade_all(wb.Samples(rows(*range(1, 30))), control))
    release.set()
    assert {error.kind for error in grades.errors.values()} == {"cancelled"}
    assert grades.n_failed == 58


@pytest.mark.parametrize("design", ["all", "anchors"])
def test_a_cancelled_call_sends_no_further_requests(design):
    """A cancellation, such as by a trainer that ends, also ends the comparisons in flight."""

    async def cancelled():
        ended = []

        class Client:
            async def complete(self, messages, **settings):
                try:
                    await asyncio.sleep(3600)
                finally:
                    ended.append(messages)

        judge = wb.PairwiseJudge("is longer", client=Client())
        samples = list(wb.Samples(rows(1, 2, 3, anchors=["a", "b"])))
        task = asyncio.ensure_future(wb.Ladder(judge, design=design).grade_together(samples))
        await asyncio.sleep(0.05)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await asyncio.sleep(0.05)
        return task.cancelled(), len(ended), len(asyncio.all_tasks())

    was_cancelled, n_ended, n_tasks = asyncio.run(cancelled())
    assert was_cancelled
    assert n_ended > 0
    assert n_tasks == 1  # this test's own


def test_over_http_with_faults(monkeypatch, tmp_path):
    """A server with an error on one pair: the others count; a second run with a store sends nothing."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")

    def answer(_path, body, _headers):
        lengths = sorted(map(len, texts_of(body["messages"])))
        if lengths == [1, 2]:
            return 400, {}, {"error": {"message": "not allowed"}}
        return 200, {}, completion(longer(body["messages"]))

    with server(answer) as (address, requests), wb.open_store(f"sqlite:///{tmp_path}/s.db") as store:
        client = OpenAIClient(address, max_retries=0)
        grader = wb.Ladder(wb.PairwiseJudge("is longer", model="m", client=client))
        one = grader.run(rows(1, 2, 3, prompts=1), store=store, progress=False)
        sent = len(requests)
        two = grader.run(rows(1, 2, 3, prompts=1), store=store, progress=False)
    assert one.scores["ladder"].tolist() == two.scores["ladder"].tolist() == [0.25, 0.25, 1]
    assert len(requests) - sent == 2
    assert one.summary.loc["ladder", "tokens"] == 40


def test_ranks_are_rewards_in_trl_and_verl():
    """TRL's batch is grouped by prompt, verl's batch by prompt or index; row by row verl has no group."""
    prompts = ["a", "a", "b", "b"]
    completions = ["xx", "x", "x", "xxx"]
    reward = wb.reward(ladder(), on_error=-1.0)
    assert reward(prompts, completions) == [1, 0, 0, 1]
    assert reward.trl(prompts, completions, completion_ids=[]) == [1, 0, 0, 1]
    chats = [[{"role": "user", "content": text}] for text in prompts]
    replies = [[{"role": "assistant", "content": text}] for text in completions]
    assert reward.trl(chats, replies) == [1, 0, 0, 1]
    assert reward.verl_batch(["d"] * 4, completions, ["t"] * 4, [{"prompt": text} for text in prompts]) == [
        1,
        0,
        0,
        1,
    ]
    assert reward.verl_batch(["d"] * 2, completions[:2], ["t"] * 2) == [-1, -1]  # in no group
    calls = [{"id": "c", "type": "function", "function": {"name": name, "arguments": "{}"}} for name in "ab"]
    turns = [[{"role": "assistant", "content": "", "tool_calls": [call]}] for call in calls]
    called = [[*chats[0], *turns[prompt]] for prompt in (0, 0, 1, 1)]
    assert reward.trl(called, replies) == [1, 0, 0, 1]  # prompts that differ by a tool call, as in a run
    bare = wb.PairwiseJudge("is longer", user_template=TEMPLATE, client=wb.ScriptedClient(longer))
    extras = [{"index": at} for at in (0, 0, 1, 1)]
    assert wb.reward(wb.Ladder(bare)).verl_batch(["d"] * 4, completions, ["t"] * 4, extras) == [1, 0, 0, 1]
    assert reward.verl("d", "xx", "t", {"index": 0}) == -1
    anchored = wb.reward(ladder(design="anchors"))
    assert anchored.verl("d", "xx", "t", {"prompt": "a", "anchors": ["x", "xxx"]}) == 0.5
