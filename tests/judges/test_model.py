"""No model is a default: it is named, or comes from WORKBENCH_MODEL once, and is missed before any row runs."""

import json
import pickle
from dataclasses import replace
from datetime import timedelta

import pytest

import workbench as wb
from tests.judges.servers import server
from tests.judges.test_client import completion
from workbench.cli import main
from workbench.core.errors import FormatError
from workbench.judges import NoModelError, OpenAIClient, Reply, Usage, prices

THREAD = wb.StringThread([("user", "Hi"), ("assistant", "Hello")])
ROWS = [{"prompt": "Hi", "completion": "Hello"}, {"prompt": "Ho", "completion": "Hello"}]
SAID = '{"reasoning": "fine", "score": "PASS"}'
INPUT = [{"role": "user", "content": "Rate {{sample.output_text}}"}]
KINDS = {
    "binary": lambda **more: wb.BinaryJudge(criteria="polite", **more),
    "rubric": lambda **more: wb.RubricJudge(prompt="Is it right?", **more),
    "schema": lambda **more: wb.judges.SchemaJudge(prompt="{{response}}", output_schema={}, **more),
    "criteria": wb.CriteriaJudge,
    "guardrail": wb.judges.GuardrailJudge,
    "score": lambda **more: wb.judges.ScoreJudge(input=INPUT, **more),
    "label": lambda **more: wb.judges.LabelJudge(input=INPUT, labels=["a"], passing_labels=["a"], **more),
    "pairwise": wb.PairwiseJudge,
    "faithfulness": wb.FaithfulnessJudge,
    "context": wb.ContextRelevancyJudge,
    "answer": wb.AnswerRelevancyJudge,
}


@pytest.fixture(autouse=True)
def environment(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.delenv("WORKBENCH_MODEL", raising=False)


@pytest.mark.parametrize("make", KINDS.values(), ids=KINDS)
def test_a_judge_without_a_model_is_made_and_missed_only_when_it_asks(make):
    """It can be made, copied and written down; a run is refused before its first row, with both ways out."""
    judge = make()
    assert judge.model == ""
    assert "model" not in judge.spec()
    assert pickle.loads(pickle.dumps(replace(judge, description="d"))).model == ""
    with pytest.raises(NoModelError, match=r"needs a model(.|\n)*model=(.|\n)*WORKBENCH_MODEL"):
        judge.check_ready()
    with pytest.raises(NoModelError, match=f"grader {judge.name!r}"):
        judge.run(ROWS, progress=False)


def test_without_a_model_a_judge_shows_its_question_and_takes_a_script():
    """Where nobody is asked, no model is needed."""
    judge = KINDS["binary"](client=wb.ScriptedClient(SAID))
    assert "Hello" in judge.preview(THREAD)[-1]["content"]
    judge.check_ready()
    assert list(judge.run(ROWS, progress=False).scores["binary-judge"]) == [1.0, 1.0]


def test_one_row_says_what_is_missing_and_asks_nothing():
    """Called by hand, the grade is failed with the same words."""
    with server(lambda *_: (200, {}, completion(SAID))) as (address, requests):
        grade = KINDS["binary"](client=OpenAIClient(address))(THREAD)
    assert not requests
    assert "WORKBENCH_MODEL" in grade.error.message


def test_the_environments_model_is_taken_once_and_is_what_is_exported(monkeypatch, tmp_path):
    """What was asked stands in the spec, whatever the variable says afterwards; one that is named goes before it."""
    early, late = KINDS["binary"](), KINDS["binary"]()
    monkeypatch.setenv("WORKBENCH_MODEL", "first")
    assert KINDS["binary"]().model == "first"
    assert KINDS["binary"](model="own").model == "own"
    with server(lambda *_: (200, {}, completion(SAID))) as (address, requests):
        asker = replace(early, client=OpenAIClient(address))
        asker.run(ROWS, progress=False)
        monkeypatch.setenv("WORKBENCH_MODEL", "second")
        asker.run(ROWS, progress=False)
    assert {body["model"] for _, body, _ in requests} == {"first"}
    assert json.loads(wb.save([asker], tmp_path / "g.json").read_text())["graders"][0]["model"] == "first"
    late.check_ready()  # made before the variable was there, asked after it
    assert late.spec()["model"] == "second"


def test_an_agent_keeps_its_own_model(monkeypatch):
    """The environment says nothing about an agent that brings one."""
    from tests.judges.examples import AGENT

    monkeypatch.setenv("WORKBENCH_MODEL", "another")
    assert wb.AgentJudge(prompt="p", agent=AGENT).model == "gpt-4.1-mini"


@pytest.mark.parametrize(
    ("platform", "kind"),
    [
        ("adaptive", "binary"),
        ("adaptive", "context"),
        ("openai", "score"),
        ("openai", "label"),
        ("letta", "rubric"),
    ],
)
def test_a_platform_that_needs_a_model_is_not_given_a_file_without(platform, kind, tmp_path):
    """Another model than the one that was run must not be asked there without a word."""
    rules = {"platform": platform} if kind != "context" else {}
    judge, path = KINDS[kind](**rules), tmp_path / f"g{'.yaml' if platform == 'letta' else '.json'}"
    with pytest.raises(FormatError, match=r"has no model(.|\n)*model"):
        wb.export(judge, path, platform)
    judge = replace(judge, model="m")
    wb.export(judge, path, platform)
    assert "m" in path.read_text()


def test_files_without_a_model_say_what_is_asked(tmp_path):
    """Ours and vLLora's may leave it out, and a note says who decides then; Letta's own default is Letta's."""
    written = wb.export(KINDS["binary"](), tmp_path / "g.json", "native")
    assert "WORKBENCH_MODEL" in str(written)
    vllora = wb.export(KINDS["schema"](platform="vllora", max_tokens=9), tmp_path / "v.json", "vllora")
    assert "model: the judge has none" in str(vllora)
    assert wb.load(tmp_path / "v.json").graders[0].model == ""
    (tmp_path / "l.yaml").write_text("name: s\ngraders:\n  q:\n    kind: rubric\n    prompt: Rate it.\n")
    assert wb.load(tmp_path / "l.yaml", "letta").graders[0].model == "gpt-4o-mini"


def test_the_command_line_says_what_is_missing(tmp_path, capsys, monkeypatch):
    """A file whose judge names no model ends with the same words, before any row."""
    wb.save([KINDS["binary"]()], tmp_path / "g.json")
    (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, ROWS)))
    assert main(["run", str(tmp_path / "g.json"), str(tmp_path / "rows.jsonl")]) == 3
    assert "WORKBENCH_MODEL" in capsys.readouterr().err
    with server(lambda *_: (200, {}, completion(SAID))) as (address, requests):
        monkeypatch.setenv("WORKBENCH_MODEL", "m")
        monkeypatch.setenv("OPENAI_BASE_URL", address)
        assert main(["run", str(tmp_path / "g.json"), str(tmp_path / "rows.jsonl")]) == 0
    assert {body["model"] for _, body, _ in requests} == {"m"}


def scripted(model):
    return KINDS["binary"](model=model, client=wb.ScriptedClient(Reply(SAID, Usage(10, 10))))


@pytest.mark.parametrize(("days", "old"), [(0, False), (180, False), (181, True)])
def test_a_run_says_when_its_prices_are_old(days, old, monkeypatch):
    """From 180 days on, with the day they were read; prices of one's own never are."""
    model = "gpt-6-luna"
    monkeypatch.setattr(prices, "_today", lambda: wb.judges.PRICES[model].read + timedelta(days=days))
    assert [f"read on {wb.judges.PRICES[model].read}" in note for note in scripted(model).run(ROWS, progress=False).notes] == [True] * old  # fmt: skip
    monkeypatch.setitem(wb.judges.PRICES, model, wb.judges.Price(1, 1))
    assert scripted(model).run(ROWS, progress=False).notes == ()
    assert scripted("nobody-knows").run(ROWS, progress=False).notes == ()


def test_every_price_says_when_it_was_read():
    """No price of the table is without a day, and none costs less than nothing."""
    assert all(
        price.read is not None and 0 < price.input < price.output for price in wb.judges.PRICES.values()
    )
