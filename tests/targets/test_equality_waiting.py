"""A judge's file inside each target with async functions: the target's code calls it, and the server replies by row."""

from __future__ import annotations

import asyncio
import json
import re

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.targets.calling import call
from workbench.core import background
from workbench.judges import GuardrailJudge, OpenAIClient

pytestmark = pytest.mark.install

TARGETS = ["trl", "verl", "verifiers", "slime", "inspect"]
KEY = "sk-test-0123456789abcdef"
ROWS = [
    {
        "prompt": f"Question {at}?",
        "completion": f"case {at} <b>said</b>",
        "reference_column": "expected",
        "columns": {"expected": "4", "id": str(at)},
    }
    for at in range(48)
]


def answer(path, body, headers):
    """By the row's number: most are scored, some replies are malformed, some requests are refused."""
    assert headers["authorization"] == f"Bearer {KEY}"
    case = int(re.search(r"case (\d+)", json.dumps(body["messages"]))[1])
    if case % 12 == 5:
        return 401, {}, {"error": {"message": "no such key"}}
    said = (
        "nonsense" if case % 12 == 7 else json.dumps({"reasoning": "r", "safetyScore": round(case / 47, 3)})
    )
    return 200, {}, {"choices": [{"message": {"content": said}, "finish_reason": "stop"}]}


@pytest.fixture(scope="module")
def asked():
    """The server's address, and what the judge here makes of every row."""
    with server(answer) as (address, _):
        judge = GuardrailJudge(model="m", client=OpenAIClient(address))
        samples = wb.Samples([{"prompt": row["prompt"], "completion": row["completion"]} for row in ROWS])

        async def grades():
            return await asyncio.gather(*(judge.grade(sample) for sample in samples))

        with pytest.MonkeyPatch.context() as environment:
            environment.setenv("OPENAI_API_KEY", KEY)
            scores = [grade.score for grade in background.run(grades())]
        assert sum(score is None for score in scores) == 8
        yield address, scores


@pytest.mark.parametrize("target", TARGETS)
def test_scores_are_the_same(target, asked, tmp_path, monkeypatch):
    address, expected = asked
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    wb.export(GuardrailJudge(model="m"), tmp_path / "exported.py", target)
    (tmp_path / "work").mkdir()
    found = call(target, tmp_path / "exported.py", ROWS, tmp_path / "work")
    assert [None if one is None else round(one, 5) for one in found["scores"]] == [
        None if one is None else round(one, 5) for one in expected
    ], found["errors"]
    assert KEY not in json.dumps(found)
