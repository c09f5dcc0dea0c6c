"""Scores weighted by the probabilities of tokens, where a server returns them."""

import math

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.core.errors import FormatError
from workbench.graders.base import from_spec
from workbench.judges import OpenAIClient, Reply
from workbench.judges.token_odds import expected_value

THREAD = wb.StringThread([("user", "2+2?"), ("assistant", "4")])


def tokens(*parts):
    """Tokens as a reply has them: texts, or dicts of alternatives of which the first was sampled."""
    made = []
    for part in parts:
        alternatives = part if isinstance(part, dict) else {part: 1.0}
        made.append({
            "token": next(iter(alternatives)),
            "top": [[text, math.log(chance)] for text, chance in alternatives.items()],
        })  # fmt: skip
    return made


def reply_of(made):
    return Reply("".join(token["token"] for token in made), raw={"logprobs": made})


def on_the_wire(made):
    """The same in OpenAI's format."""
    content = [
        {
            "token": one["token"], "logprob": one["top"][0][1], "bytes": None,
            "top_logprobs": [{"token": text, "logprob": chance, "bytes": None} for text, chance in one["top"]],
        }
        for one in made
    ]  # fmt: skip
    body = completion("".join(token["token"] for token in made))
    body["choices"][0]["logprobs"] = {"content": content, "refusal": None}
    return body


BINARY = tokens(
    '{"reasoning"',
    ': "PASS or',
    ' FAIL?"',
    ', "score": "',
    {"PASS": 0.7, "FAIL": 0.2, "pass": 0.05, "x": 0.05},
    '"}',
)
PASS = 0.75 / 0.95


@pytest.mark.parametrize(
    ("made", "values", "expected"),
    [
        (BINARY, {"PASS": 1.0, "FAIL": 0.0}, PASS),
        (tokens('{"score":', {' "PA': 0.6, ' "FA': 0.4}, 'SS"}'), {"PASS": 1.0, "FAIL": 0.0}, 0.6),
        (tokens('{"score": ', {"4": 0.5, "5": 0.25, "3": 0.25}, "}"), {str(n): float(n) for n in range(1, 6)}, 4.0),
        (tokens('{"score":', {" 10": 0.5, " 1": 0.5}, "}"), {str(n): float(n) for n in range(11)}, 5.5),
        (tokens('{"score": ', {"0": 1.0}, ".75}"), {"0": 0.0, "1": 1.0}, None),
        (tokens('{"score": ', {"7": 1.0}, "}"), {"0": 0.0, "1": 1.0}, None),
        (tokens('{"grade": ', {"1": 1.0}, "}"), {"0": 0.0, "1": 1.0}, None),
        (tokens('{"score": 0} then {"score": ', {"1": 0.9, "0": 0.1}, "}"), {"0": 0.0, "1": 1.0}, 0.9),
    ],
)  # fmt: skip
def test_the_expected_verdict(made, values, expected):
    """At the place of the verdict, over the tokens that are or begin one of the verdicts; None where that is not possible."""
    found = expected_value(reply_of(made), "score", values)
    assert found == (None if expected is None else pytest.approx(expected))


def test_binary_and_rubric_judges_are_weighted():
    """The verdict stays, the sampled score is in the metadata; NA is skipped."""
    judge = wb.BinaryJudge("c", logprobs=True, client=wb.ScriptedClient([reply_of(BINARY)]))
    grade = judge(THREAD)
    assert (grade.score, grade.passed) == (pytest.approx(PASS), True)
    assert grade.metadata["sampled_score"] == 1.0
    made = tokens('{"rationale": "r", "score": ', {"4": 0.5, "2": 0.5}, "}")
    rubric = wb.RubricJudge(
        "Rate.", scale=(1, 5), pass_threshold=3.5, logprobs=True, client=wb.ScriptedClient([reply_of(made)])
    )
    grade = rubric(THREAD)
    assert (grade.score, grade.passed, grade.metadata["sampled_score"]) == (pytest.approx(3.0), False, 4.0)
    na = reply_of(tokens('{"score": "', {"NA": 0.9, "PASS": 0.1}, '"}'))
    assert wb.BinaryJudge("c", logprobs=True, client=wb.ScriptedClient([na]))(THREAD).status == "skipped"


def test_settings():
    """A scale of few whole numbers; the setting survives the spec, and is a loss in exports."""
    for scale in ((0.5, 5), (0, 100)):
        with pytest.raises(FormatError, match="whole numbers"):
            wb.RubricJudge("Rate.", scale=scale, logprobs=True)
    judge = wb.BinaryJudge("c", logprobs=True)
    assert from_spec(judge.spec()) == judge
    assert judge.request_settings()["top_logprobs"] == 20
    assert "logprobs" not in wb.BinaryJudge("c").request_settings()


ROW = [{"prompt": "2+2?", "completion": "4"}]


def judged(answer, monkeypatch, **settings):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with server(answer) as (address, requests):
        client = OpenAIClient(address, max_retries=0)
        report = wb.BinaryJudge("c", model="m", logprobs=True, client=client).run(
            ROW, progress=False, **settings
        )
    return report, requests


def test_a_server_that_returns_them(monkeypatch, tmp_path):
    """Requested from it, and read; a reply from the store is weighted as well."""
    store = f"sqlite:///{tmp_path}/s.db"
    report, requests = judged(lambda *_: (200, {}, on_the_wire(BINARY)), monkeypatch, store=store)
    assert requests[0][1]["top_logprobs"] == 20
    assert report.scores["binary-judge"].tolist() == pytest.approx([PASS])


@pytest.mark.parametrize(
    "extra",
    [{}, {"logprobs": None}, {"logprobs": {"content": []}}, {"logprobs": {"content": [{"token": 3}]}}],
)
def test_a_server_without_them(monkeypatch, extra):
    """The verdict's score, unweighted."""
    body = completion('{"reasoning": "r", "score": "PASS"}')
    body["choices"][0].update(extra)
    report, _ = judged(lambda *_: (200, {}, body), monkeypatch)
    assert report.scores["binary-judge"].tolist() == [1.0]
    assert "sampled_score" not in report.grades["binary-judge"][0].metadata


def test_a_server_that_rejects_the_setting(monkeypatch):
    """The request is sent again without it, and a note of the report names it."""

    def answer(_path, body, _headers):
        if "logprobs" in body:
            return (
                400,
                {},
                {
                    "error": {
                        "message": "logprobs are not supported with reasoning models",
                        "code": "unsupported",
                    }
                },
            )
        return 200, {}, completion('{"reasoning": "r", "score": "FAIL"}')

    report, requests = judged(answer, monkeypatch)
    assert report.scores["binary-judge"].tolist() == [0.0]
    assert len(requests) == 2
    assert "top_logprobs" not in requests[1][1]
    assert any("does not support log-probabilities" in note for note in report.notes)
