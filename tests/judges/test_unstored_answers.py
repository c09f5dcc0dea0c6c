"""While the store cannot keep answers, no more are bought than are under way at once."""

import asyncio

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_budget import DictStore, counts
from tests.judges.test_client import completion
from workbench.core.errors import WorkbenchError
from workbench.graders.concurrent_rows import Control
from workbench.judges.cache import UnstoredAnswerLimit
from workbench.judges.judge_run import JudgeRun, use_judge_run

SAID = '{"reasoning": "fine", "score": "PASS"}'
ROWS = [{"prompt": f"Hi {row}", "completion": "Good day"} for row in range(300)]
AT_ONCE = 4


class LockedStore(DictStore):
    """Nothing is written before more answers wait than may, or none has come for a second; then it is kept, or lost."""

    def __init__(self, lost):
        super().__init__()
        self.lost, self.waiting, self.most, self.free = lost, 0, 0, asyncio.Event()

    async def put(self, key, reply, *, model):
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        while not self.free.is_set():
            before = self.most
            try:
                await asyncio.wait_for(self.free.wait(), 1.0)
            except TimeoutError:
                if self.most > AT_ONCE or self.most == before:
                    self.free.set()
        self.waiting -= 1
        if self.lost:
            raise WorkbenchError("the disk is gone")
        await super().put(key, reply, model=model)


def run_with_store(store, grader):
    async def go():
        with use_judge_run(JudgeRun(replies=store)) as judge_run:
            return await grader.grade_all(wb.read_samples(ROWS), Control()), judge_run

    return asyncio.run(go())


@pytest.mark.parametrize("lost", [False, True], ids=["locked", "zero_variance"])
def test_an_answer_that_waits_for_the_store_holds_its_place(lost, monkeypatch):
    """No more than the concurrency are paid for meanwhile; once it writes again all are, and if it never does no more."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    store = LockedStore(lost)
    with server(lambda *_: (200, {}, completion(SAID))) as (address, requests):
        client = wb.judges.OpenAIClient(address, concurrency=AT_ONCE)
        grades, judge_run = run_with_store(store, wb.BinaryJudge(criteria="polite", model="m", client=client))
    assert store.most <= AT_ONCE
    assert len(requests) == (AT_ONCE if lost else 300)
    assert grades.n_scored == len(requests)  # what was paid for is graded in either case
    assert {error.kind for error in grades.errors.values()} == ({"store"} if lost else set())
    assert len(judge_run.store_errors) == (AT_ONCE if lost else 0)


def test_a_judge_of_several_steps_does_not_wait_for_itself():
    """Its answers are kept at its end: between its steps it holds no place that another step would need."""
    from tests.judges.test_agent import SUBMITTED, agent, tool_call_reply
    from workbench.judges import ScriptedClient

    client = ScriptedClient(
        lambda messages: SUBMITTED if len(messages) > 4 else tool_call_reply("send_message", "{}")
    )
    client.concurrency = 1
    agent_judge = wb.AgentJudge(prompt="p", agent=agent(), client=client)
    report = agent_judge.run(ROWS[:20], store="sqlite://", progress=False)
    assert counts(report) == (20, {})


def test_places_are_given_in_order_and_come_back():
    """First come first served; who gives up waiting leaves the place to the next; writing never waits."""

    async def go():
        limit, order = UnstoredAnswerLimit(1), []

        async def work(name):
            await limit.acquire()
            order.append(name)

        await work("first")
        tasks = [asyncio.ensure_future(work(name)) for name in ("second", "third", "fourth")]
        await asyncio.sleep(0)
        tasks[0].cancel()
        limit.release()
        with limit.storing():
            await asyncio.sleep(0)
            assert order == ["first"]  # the answer that is written has the place
        await tasks[1]
        limit.release()
        tasks[2].cancel()  # in the moment in which it could begin
        await asyncio.gather(*tasks, return_exceptions=True)
        await work("fifth")
        assert (order, limit.busy) == (["first", "third", "fifth"], 1)

    asyncio.run(go())
