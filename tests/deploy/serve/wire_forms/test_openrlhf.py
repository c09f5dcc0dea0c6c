"""OpenRLHF's remote reward model, asked as OpenRLHF 0.11.2 asks: aiohttp, lists of one, fields read with `get`."""

import asyncio

import aiohttp
import pytest

import workbench as wb
from tests.deploy.serve.servers import served


async def fetch(url, queries, prompts, labels):
    """The request of `SingleTurnAgentExecutor._fetch_rewards_via_http`, one attempt of its five."""
    payload = {"query": queries, "prompts": prompts, "labels": labels}
    session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=180))
    async with session, session.post(url, json=payload) as response:
        response.raise_for_status()
        return await response.json()


def asked(server, *lists):
    return asyncio.run(fetch(f"{server.url}/openrlhf", *lists))


@pytest.mark.parametrize("end", ["", "</s>", "<|im_end|>\n", "<|endoftext|><|endoftext|>"])
def test_the_completion_stands_behind_the_prompt(end, server):
    """Prompt and special tokens at the end are no part of what is graded."""
    info = asked(server, [f"<|user|>q<|assistant|>Paris{end}"], ["<|user|>q<|assistant|>"], ["Paris"])
    assert info.get("rewards") == info.get("scores") == 1.0
    logs = info.get("extra_logs")
    assert set(logs.values()) == {0.0}
    assert all(name.endswith(("_failed", "_skipped")) for name in logs)


def test_several_queries_get_lists(server):
    """Rewards in the order of the queries."""
    info = asked(server, ["q4", "q5", "q4"], ["q", "q", "q"], ["4", "4", "4"])
    assert info["rewards"] == info["scores"] == [1.0, 0.0, 1.0]


def test_labels_may_be_missing(server):
    """A data set without labels sends None, or no labels at all."""
    assert asked(server, ["q4"], ["q"], [None])["rewards"] == 1.0
    assert server.post("/openrlhf", {"query": ["q4"], "prompts": ["q"]}).json()["rewards"] == 1.0


def test_lists_of_other_lengths_are_refused(server):
    """One prompt a query."""
    answer = server.post("/openrlhf", {"query": ["a", "b"], "prompts": ["a"], "labels": []})
    assert answer.status_code == 400
    assert answer.json()["error"]["message"] == "prompts has 1 entries, and query has 2"


def test_one_row_without_a_score_is_named(server):
    """Which query of several has no reward."""
    answer = server.post(
        "/openrlhf", {"query": ["q4", "qboom"], "prompts": ["q", "q"], "labels": [None, None]}
    )
    assert (answer.status_code, answer.json()["error"]["row"]) == (422, "query 1")


def test_the_label_has_the_name_that_was_given():
    """`--reference solution`: what trainers send as the label is the column that the grader reads."""
    text = "async def grade(thread):\n    return float(thread.completion() == (thread.metadata or {}).get('solution'))\n"
    grader = wb.FunctionGrader.from_source(text, name="solved")
    grader.validate().raise_for_failure()
    with served(grader, reference="solution") as server:
        assert asked(server, ["q4", "q5"], ["q", "q"], ["4", "4"])["rewards"] == [1.0, 0.0]
        sent = {"prompt": "q", "response": "4", "label": "4"}
        assert server.post("/slime", sent).json() == 1.0


def test_the_log_says_what_was_skipped():
    text = (
        "import workbench as wb\n\n\nasync def grade(thread):\n    if thread.completion() == 'no':\n        raise wb.Skip('no')\n"
        "    return 1.0\n"
    )
    grader = wb.FunctionGrader.from_source(text, name="some")
    grader.validate().raise_for_failure()
    with served(grader, on_error=0.5) as server:
        found = asked(server, ["qno"], ["q"], ["4"])
        assert found == {
            "rewards": 0.5,
            "scores": 0.5,
            "extra_logs": {"some_failed": 0.0, "some_skipped": 1.0},
        }
