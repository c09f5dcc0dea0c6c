"""What a server really counts is learned from its first answer, and one long row ends no run."""

import asyncio

import pytest

import workbench as wb
from tests.judges.examples import AGENT
from workbench.core.errors import FormatError
from workbench.judges import Reply, Usage
from workbench.judges.protocol import check_request

SAID = '{"reasoning": "fine", "score": "PASS"}'
MODEL = "gpt-4o-mini"


class Server:
    """Counts what it is told to; many questions are under way."""

    concurrency = 50

    def __init__(self, usage):
        self.usage, self.asked, self.under_way, self.most = usage, 0, 0, []

    async def complete(self, messages, **settings):
        self.asked += 1
        self.under_way += 1
        await asyncio.sleep(0)
        self.most.append(self.under_way)
        self.under_way -= 1
        return Reply(SAID, self.usage(messages), {"finish_reason": "stop"})


def graded(server, budget, rows, **settings):
    judge = wb.BinaryJudge(criteria="polite", model=MODEL, client=server, **settings)
    return judge.run(
        [{"prompt": text, "completion": "Good day"} for text in rows], budget=budget, progress=False
    )


NAMES = [f"q{row}" for row in range(300)]


def test_a_system_prompt_of_the_servers_own_is_learned_before_others_are_asked():
    """The first question goes alone, and what its server counted beyond the message is set aside from then on."""
    server = Server(lambda _: Usage(4_000, 10))
    report = graded(server, wb.Budget(tokens=40_000), NAMES, max_tokens=50)
    assert server.most[0] == 1
    assert 30_000 < report.frame["tokens"].sum() <= 40_000


def test_a_fee_of_every_call_is_added_and_does_not_multiply_the_reserve():
    """A server that asks 50 times the table's price for a call is held to the budget, and nearly all of it is used."""
    server = Server(lambda _: Usage(50, 5, 0.001))
    report = graded(server, 0.2, NAMES, max_tokens=4_000)
    assert 0.9 * 0.2 < report.frame["cost"].sum() <= 0.2


@pytest.mark.parametrize("long_rows", [1, 7])
def test_a_row_that_is_too_large_for_what_is_left_fails_alone(long_rows):
    """The rows that fit are asked; the error and a note say what it may cost and what is left."""
    server = Server(lambda messages: Usage(len(str(messages)) // 4, 5))
    rows = ["Z" * 400_000 + str(row) for row in range(long_rows - 1)] + NAMES[:150]
    rows += ["Z" * 400_000, *NAMES[150:]]
    report = graded(server, 0.05, rows, max_tokens=100)
    assert (report.summary["scored"].iloc[0], server.asked) == (300, 300)
    assert list(report.errors["error_kind"]) == ["budget"] * long_rows
    assert "the request may cost more than the remaining budget" in report.errors["error"].iloc[-1]
    [note] = report.notes
    assert "of $0.0500 remaining; every unsent request could cost $0.06" in note


@pytest.mark.parametrize(("budget", "calls"), [(0.3, 3), (0.7, 7), (2.3, 23)])
def test_a_budget_that_is_a_multiple_of_the_price_is_used_whole(monkeypatch, budget, calls):
    """Sums of floating-point dollars that miss the limit by rounding are no overrun."""
    monkeypatch.setitem(wb.judges.PRICES, MODEL, wb.judges.Price(0, 1e5))
    server = Server(lambda _: Usage(0, 1))
    report = graded(server, budget, NAMES[:60], max_tokens=1)
    assert server.asked == calls
    assert not any("exceeded" in note for note in report.notes)


@pytest.mark.parametrize("models", [["gpt-4o", "x"], {MODEL: "x"}, object()])
def test_a_client_may_call_anything_its_models(models):
    """Only a mapping of settings is read as one."""
    server = Server(lambda _: Usage(5, 5))
    server.models = models
    assert graded(server, 1.0, NAMES[:3]).summary["scored"].iloc[0] == 3


def test_a_model_of_blanks_is_none(monkeypatch):
    """The environment's is taken in its place."""
    monkeypatch.setenv("WORKBENCH_MODEL", MODEL)
    assert wb.BinaryJudge(criteria="polite", model="  ").model == MODEL


def test_an_agent_that_names_no_model_takes_the_environments(monkeypatch):
    """Its own goes before, where it names one."""
    monkeypatch.setenv("WORKBENCH_MODEL", MODEL)
    unnamed = {**AGENT, "agents": [{**AGENT["agents"][0], "llm_config": {}}]}
    models = [wb.AgentJudge(prompt="Rate it.", agent=agent).model for agent in (unnamed, AGENT)]
    assert models == [MODEL, "gpt-4.1-mini"]


def test_a_subclass_may_ask_for_more_but_not_for_another_model_or_more_answers():
    """What breaks no accounting passes on the wire."""
    check_request({"model": MODEL, "stop": ["x"], "logprobs": True, "n": 1})
    for refused in ({"n": 2}, {"stream": True}, {"extra_body": {"model": "o1"}}, {"base_url": "http://x"}):
        with pytest.raises(FormatError, match="may not send"):
            check_request(refused)
