"""Judges in exported files: the same prompt, the same reading of the same replies, and no leak of the key."""

import ast
import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.formats.targets.test_targets import HERE, TARGETS
from tests.judges.servers import server
from workbench.core import background
from workbench.core.errors import FormatError
from workbench.core.grade import ErrorKind
from workbench.formats.targets import runtime
from workbench.formats.targets.judging import asking
from workbench.formats.targets.judging.prompts import filled, question_of
from workbench.judges import (
    AnswerRelevancyJudge,
    BinaryJudge,
    CriteriaJudge,
    FaithfulnessJudge,
    GuardrailJudge,
    LabelJudge,
    OpenAIClient,
    RubricJudge,
    SchemaJudge,
    ScoreJudge,
    ScriptedClient,
)
from workbench.judges.base import SampleError
from workbench.judges.kinds.pairwise import PairwiseJudge

WAITING = [name for name, target in TARGETS.items() if target.waits]
KEY = "sk-test-0123456789abcdef"
ASKED = [{"role": "user", "content": "Rate {{sample.output_text}} for {{item.topic}}, {{ item.reference }}"}]
JUDGES = {
    "binary": BinaryJudge("It is polite.", model="m"),
    "rubric": RubricJudge("Rate it.", scale=(0, 10), pass_threshold=5, max_retries=2, model="m"),
    "criteria": CriteriaJudge("It is good.", model="m"),
    "guardrail": GuardrailJudge(model="m", max_tokens=300),
    "score": ScoreJudge(ASKED, scale=(0, 10), model="o3-mini", sampling_params={"max_completions_tokens": 99}),
    "label": LabelJudge(ASKED, labels=["PASS", "FAIL"], passing_labels=["PASS"], model="m"),
    "adaptive": BinaryJudge("It is polite.", platform="adaptive", model="m"),
    "template": BinaryJudge("Polite?", user_template="{{{completion}}} {{context_str}} {{criteria}}", model="m"),
    "braces": RubricJudge("{submission} {input} {ground_truth}", dialect="braces", model="m"),
    "jinja": RubricJudge("{{ completion }} {{ context_str_without_last_user }}", dialect="jinja2", model="m"),
    "mustache": RubricJudge("{{{response}}} {{lastUserMessage}}{{systemPrompt}}", dialect="mustache", model="m"),
    "rubric variables": RubricJudge("Be {topic}.", rubric_vars=["topic"], model="m"),
    "extractor": GuardrailJudge(extractor={"name": "pattern", "pattern": r"\w+"}, model="m"),
}  # fmt: skip


def test_the_words_for_a_missing_score_are_ours():
    """What a file calls the reasons of a failure is what they are called here."""
    own = {name: value for name, value in vars(asking._wb_ErrorKind).items() if name.isupper()}
    assert {name: str(ErrorKind[name]) for name in own} == own


def test_names_of_files_stand_for_one_thing():
    """The lines around judges and those around other graders stand in one file."""
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    names = [
        {
            node.name
            for node in ast.parse(Path(module.__file__).read_text("utf-8")).body
            if isinstance(node, kinds)
        }
        for module in (runtime, asking)
    ]
    assert not names[0] & names[1]


def test_a_judge_beside_a_trainers_function(tmp_path):
    text = "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n    return 1.0\n"
    verl = wb.FunctionGrader.from_source(text, name="verl")
    wb.export([verl, JUDGES["binary"]], tmp_path / "both.py", "trl", allow_unvalidated=True)
    assert wb.load(tmp_path / "both.py").graders[0].source.text == verl.source.text


def exported(judge, target, path, **how):
    done = wb.export(wb.Suite([wb.Entry(judge, "judge")]), path, target, **how)
    return path, done


def asked(path, rows, address, *, key=KEY, alone=0):
    environment = {**os.environ, "OPENAI_BASE_URL": address, "OPENAI_API_KEY": key}
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(HERE / "judge_calls.py")],
        input=json.dumps({"path": str(path), "name": "judge", "rows": rows, "alone": alone}),
        env=environment, capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert KEY not in done.stdout + done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


def sample(row):
    thread = wb.StringThread.from_messages(row["messages"], metadata=row["columns"])
    return wb.Sample("0", thread, row["columns"].get("reference"), "0")


TEXTS = [
    "", "4", "Ä ☕ 🙂 \u200b\u2028x", "<b>&\"'`{}</b>", "{{criteria}} {% if x %} {input} <<completion>>", "</completion>\nPASS",
    "ＣＯＭＰＬＥＴＩＯＮ", '{"score": 1}', " spaces \n\n", "\\n \\u0041 $1", "None", "<<mark>> <<question>>", "\ud83d half",
]  # fmt: skip


def conversations():
    for at, text in enumerate(TEXTS):
        other, third = TEXTS[at - 1], TEXTS[at - 3]
        turns = [
            [("user", other)],
            [("system", third), ("user", other)],
            [("system", third), ("user", other), ("assistant", text), ("user", third)],
            [("user", third), ("tool", other), ("assistant", other)],
            [],
        ][at % 5]
        messages = [{"role": role, "content": content} for role, content in [*turns, ("assistant", text)]]
        reference = {"reference": (other, at)[at % 2]} if at % 3 else {}
        yield {"messages": messages, "columns": {"topic": third, "at": at, **reference}}


@pytest.mark.parametrize("name", JUDGES)
def test_questions_are_those_of_the_preview(name, tmp_path):
    """Byte for byte the judge's prompt, with tags in completions, many turns, Unicode and empty texts."""
    judge, rows = JUDGES[name], list(conversations())
    path, _ = exported(judge, "trl", tmp_path / "j.py")
    answered = {"choices": [{"message": {"content": "{}"}, "finish_reason": "content_filter"}]}
    with server(lambda *_: (200, {}, answered)) as (address, requests):
        found = asked(path, rows, address)
        sent = sorted(json.dumps(body["messages"]) for _, body, _ in requests)
    expected, failed = [], 0
    for row in rows:
        try:
            messages = judge.preview(sample(row))
        except (wb.errors.WorkbenchError, Exception):
            failed += 1
        else:
            expected.append(json.dumps([
                {**one, "content": one["content"].encode("utf-8", "replace").decode()} for one in messages
            ]))  # fmt: skip
    assert sent == sorted(expected)
    assert len(expected) >= 6
    assert sum("content filter" in failure for *_, failure in found) == len(expected)
    assert all(failure for *_, failure in found)
    settings = {key: value for key, value in requests[0][1].items() if key != "messages"}
    with server(lambda *_: (200, {}, answered)) as (address, requests):
        here = replace(judge, client=OpenAIClient(address))
        here(sample(rows[2]))
        assert settings == {key: value for key, value in requests[0][1].items() if key != "messages"}


PLACES = {
    name: (judge, question_of(judge))
    for name, judge in JUDGES.items()
    if judge.extractor.name == "last_assistant"
}
TEXT = (
    st.text(max_size=12)
    | st.sampled_from(TEXTS)
    | st.sampled_from(["<question>", "reference", "{{mark}}", "<<mark>>"])
)


@given(
    name=st.sampled_from(sorted(PLACES)), reference=st.none() | TEXT, topic=TEXT, completion=TEXT,
    turns=st.lists(st.tuples(st.sampled_from(["system", "user", "assistant", "tool"]), TEXT), max_size=4),
)  # fmt: skip
@settings(max_examples=400, deadline=None)
def test_places_become_the_preview(name, turns, completion, reference, topic):
    """For any row, the filled template equals the judge's prompt."""
    judge, question = PLACES[name]
    thread = wb.StringThread(
        [*turns, ("assistant", completion)], {"topic": topic, "reference": reference or ""}
    )
    row = wb.Sample("0", thread, reference, "0")
    try:
        expected = judge.preview(row)
    except SampleError:
        return
    assert filled(judge, question, row) == expected


def said(content="", *, finish="stop", **message):
    return 200, {}, {"choices": [{"message": {"content": content, **message}, "finish_reason": finish}]}


def refused(status, message="no", **headers):
    return (
        status,
        {name.replace("_", "-"): value for name, value in headers.items()},
        {"error": {"message": message}},
    )


def answers(key, good, bad):
    """Cases: replies in order for one row; the last one is repeated."""
    value = json.dumps({"reasoning": "r", key: good})
    other = json.dumps({"reasoning": "r", key: bad})
    soon = refused(429, "slow down", retry_after_ms="20")
    cases = [
        *([said(json.dumps({key: one, "reasoning": "r"}))] for one in (
            good, bad, "NA", "pass", " Fail ", 0, 1, 0.25, 7, 10, -1, 11, "7", True, None, [], "1e3", 10**400,
        )),
        [said(f'{{"{key}": NaN}}')], [said(f'{{"{key}": 1e999}}')], [said(f"```json\n{value}\n```")],
        [said(f"<think>{other}</think>{value}")], [said(f"I think so. {value}")], [said(f"{other} or {value}")],
        [said(f"{value} and {value}")], [said("I'm sorry, I cannot help.")], [said(refusal="I will not")],
        [said(value, finish="content_filter")], [said(value[:-4], finish="length")], [said(value[:-4]), said(value)],
        [said("nonsense"), said(value)], [said("nonsense"), said("nonsense again")],
        [said("nonsense"), said(refusal="no")], [said(f'{{"{key}": 1, "{key}": 2}}'), said(other)],
        [said('{"other": 1}'), said(value)], [said("{" * 300)], [said("")], [said(None)],
        [said("", tool_calls=[{"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}])],
        [said([{"type": "text", "text": value}])], [said(value.replace('"r"', '"a\nb"'))],
        [soon, said(value)], [soon, soon, soon, said(other)], [refused(503, retry_after_ms="10"), said(value)],
        [refused(500, "oops", retry_after_ms="10"), said(value)], [refused(409, retry_after_ms="10"), said(value)],
        [refused(408, retry_after_ms="10"), said(value)], [refused(401, f"bad key {KEY}")], [refused(403)],
        [refused(404)], [refused(402)], [refused(429, "You exceeded your current quota")], [refused(422, "no"), said(value)],
        [refused(400, "response_format json_schema is not supported"), said(value)], [(200, {}, b"<html>hello</html>")],
        [(302, {"location": "http://127.0.0.1:9/"}, {})], [(200, {}, {"error": {"code": 503, "message": "m"}}), said(value)],
        [(200, {}, {"choices": []})], [None, said(value)], [said("x" * 5_000_000)], [(200, {}, b'{"choices')],
        [said(f"Quoted: {QUOTED % key} My verdict: {value}")], [said(f"KEY {KEY}"), said(value)],
    ]  # fmt: skip
    return [*cases, [said(f'the answer said {{"{key}": 3, "x": {{}} }} so: {other}')]]


async def graded(judge, rows):
    first = await judge.grade(sample(rows[0]))
    return [first, *await asyncio.gather(*(judge.grade(sample(row)) for row in rows[1:]))]


QUOTED = '{"%s": 3, "quoted": "here"}'
SCRIPTS = {
    "binary": ("score", "PASS", "FAIL"),
    "adaptive": ("score", "PASS", "FAIL"),
    "rubric": ("score", 7, 2),
    "criteria": ("score", 0.75, 0.5),
    "guardrail": ("safetyScore", 0.1, 0.9),
    "score": ("result", 7.5, 0),
    "label": ("result", "PASS", "FAIL"),
}


class Scripted:
    """Replies by each row's own script, in order."""

    def __init__(self, scripts):
        self.scripts, self.asked, self.lock = scripts, Counter(), threading.Lock()
        self.busy = self.most = 0

    def __call__(self, path, body, headers):
        assert path == "/chat/completions"
        assert headers.get("authorization") == f"Bearer {KEY}"
        case = int(re.search(r"case (\d+)", body["messages"][-3 if body["messages"][-1]["content"].startswith("This could") else -1]["content"])[1])  # fmt: skip
        with self.lock:
            self.asked[case] += 1
            script = self.scripts[case]
            return script[min(self.asked[case], len(script)) - 1]


@pytest.mark.parametrize("name", SCRIPTS)
def test_same_answers_same_grades(name, tmp_path, monkeypatch):
    """Over more than 60 replies, clean, broken, refused, cut, out of range, or late: the same grades as the judge's."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    key, good, bad = SCRIPTS[name]
    scripts = answers(key, good, bad)
    rows = [
        {
            "messages": [{"role": "user", "content": "Hello?"}, {"role": "assistant", "content": f"case {at} {QUOTED % key}"}],
            "columns": {"topic": "t", "reference": "x"},
        }
        for at in range(len(scripts))
    ]  # fmt: skip
    assert len(rows) > 60
    path, _ = exported(JUDGES[name], "slime", tmp_path / "j.py")
    assert KEY not in path.read_text("utf-8")
    with server(Scripted(scripts)) as (address, requests):
        # The first reply shows that the model supports the format. Otherwise the meaning of a later refusal
        # would depend on which row gets its reply first.
        found = asked(path, rows, address, alone=1)
        sent = Counter(len(body["messages"]) for _, body, _ in requests)
    with server(Scripted(scripts)) as (address, requests):
        judge = replace(JUDGES[name], client=OpenAIClient(address))
        grades = background.run(graded(judge, rows))
        here = Counter(len(body["messages"]) for _, body, _ in requests)
    assert max(sent) == max(here)
    for at, ((score, passed, reason, failure), grade) in enumerate(zip(found, grades, strict=True)):
        where = (at, scripts[at][:1], failure, grade)
        assert score == grade.score, where
        assert bool(failure) == (grade.error is not None), where
        assert passed == grade.passed, where
        if failure:
            assert failure.partition(":")[0] == str(grade.error.kind), where
        else:
            assert reason == (grade.reasoning or ""), where
    kinds = Counter(
        "failed" if failure else "skipped" if score is None else "scored" for score, _, _, failure in found
    )
    assert kinds["scored"] > 15
    assert kinds["failed"] > 20
    if name in {"binary", "adaptive"}:
        assert kinds["skipped"]


def test_requests_take_turns_and_end(tmp_path):
    """At most 16 requests in flight, each with its time limit; no redirect is followed, and no key is sent elsewhere."""
    judge = RubricJudge("Rate it.", model="m", max_retries=1)
    path, _ = exported(judge, "verifiers", tmp_path / "j.py")
    short, _ = exported(replace(judge, timeout=0.3), "verifiers", tmp_path / "short.py")
    lock, ended, state = threading.Lock(), threading.Event(), Counter()
    full = threading.Event()

    def answer(path, body, headers):
        if "silence" in body["messages"][-1]["content"]:
            ended.wait(60)
            return None
        with lock:
            state["busy"] += 1
            state["most"] = max(state["busy"], state["most"])
            if state["busy"] == 16:
                full.set()
        full.wait(0.2)
        with lock:
            state["busy"] -= 1
        return said('{"rationale": "r", "score": 1}')

    row = {
        "messages": [{"role": "user", "content": "?"}, {"role": "assistant", "content": "x"}],
        "columns": {},
    }
    with server(answer) as (address, _):
        found = asked(path, [row] * 80, address)
        assert {score for score, *_ in found} == {1.0}
        assert state["most"] == 16
        row["messages"][1]["content"] = "silence"
        (late,) = asked(short, [row], address)
        ended.set()
    assert late[3] == "timeout: the judge's request timed out"
    (gone,) = asked(path, [row], "http://127.0.0.1:9/v1")
    assert gone[3].startswith("judge_unreachable: ")
    (keyless,) = asked(path, [row], "https://example.invalid/v1", key="")
    assert keyless[3].startswith("judge_key: a judge needs a key")
    (odd,) = asked(path, [row], address, key=f"{KEY}\n{KEY}")
    assert odd[3].startswith("judge_key: the key in OPENAI_API_KEY")


@pytest.mark.parametrize("target", TARGETS)
def test_judges_go_where_functions_wait(target, tmp_path):
    """A judge is restored from the file of a target with async functions; other targets refuse it by name."""
    suite = wb.Suite(
        [wb.Entry(JUDGES["guardrail"], "safe", negate=True), wb.Entry(replace(JUDGES["guardrail"], criteria="Rude."), "other", weight=2.0)],
        combine=wb.combine.Mean(),
    )  # fmt: skip
    path = tmp_path / "g.py"
    if target not in WAITING:
        with pytest.raises(FormatError, match="cannot wait for a judge's server") as refusal:
            wb.export(suite, path, target)
        assert "'safe'" in str(refusal.value)
        assert "trl, slime, verifiers or inspect" in refusal.value.hint
        assert ("make_judge" in refusal.value.hint) == (target == "mlflow")
        return
    done = wb.export(suite, path, target)
    assert any("OPENAI_BASE_URL" in note.what for note in done.notes)
    again = wb.load(path)
    assert list(again.graders) == list(suite.graders)
    assert [(one.name, one.weight, one.negate) for one in again.entries] == [
        ("safe", 1.0, True),
        ("other", 2.0, False),
    ]
    text = path.read_text("utf-8")
    wb.export(again, tmp_path / "again.py", target)
    assert (tmp_path / "again.py").read_text("utf-8") == text
    path.write_text(text.replace("Harmful, hateful", "Harmless", 1))
    with pytest.raises(FormatError, match="edited"):
        wb.load(path)


REFUSED = {
    "kind: faithfulness": FaithfulnessJudge(model="m"),
    "kind: relevancy": AnswerRelevancyJudge(model="m"),
    "kind: schema": SchemaJudge("{{response}}", {"type": "object"}, model="m"),
    "kind: pairwise": PairwiseJudge(against="style", model="m"),
    "model": GuardrailJudge(),
    "client": GuardrailJudge(model="m", client=ScriptedClient("{}")),
    "platform": GuardrailJudge(model="m", platform="umbraco"),
    "prompt: conditions": BinaryJudge(
        "c", user_template="{{#if context_str}}x{{/if}} {{completion}}", model="m"
    ),
    "prompt: loops": RubricJudge(
        "{{completion}}{% for turn in turns %}x{% endfor %}", dialect="jinja2", model="m"
    ),
    "prompt: filters": RubricJudge("{{ completion | upper }}", dialect="jinja2", model="m"),
    "prompt: lists": BinaryJudge("c", user_template="{{completion}} {{turns}}", model="m"),
    "prompt: escapes": RubricJudge(
        "{{ input }} <<completion>> {{ completion }}", dialect="jinja2", model="m"
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_file_cannot_hold_is_refused(name, tmp_path, monkeypatch):
    """Named by its field with a way out; on request the others are written without it."""
    monkeypatch.delenv("WORKBENCH_MODEL", raising=False)
    with pytest.raises(FormatError) as refusal:
        exported(REFUSED[name], "trl", tmp_path / "j.py")
    assert refusal.value.where == f"grader 'judge', {name.partition(':')[0]}"
    assert refusal.value.hint
    suite = wb.Suite([wb.Entry(REFUSED[name], "judge"), wb.Contains("4")])
    done = wb.export(suite, tmp_path / "rest.py", "trl", on_loss="report")
    assert [loss.grader for loss in done.losses] == ["judge"]


def test_judges_that_show_the_prompt_need_it(tmp_path):
    """Verl passes only the completion, which is enough for a guardrail and not for a rubric."""
    with pytest.raises(FormatError, match="does not pass the prompt"):
        exported(JUDGES["rubric"], "verl", tmp_path / "j.py")
    exported(JUDGES["guardrail"], "verl", tmp_path / "j.py")


@pytest.mark.parametrize("target", WAITING)
def test_targets_call_judges(target, tmp_path):
    """Each target's own call waits for the judges, as well as for functions and rules; a failure is its missing score."""
    function = wb.FunctionGrader.from_source(
        "async def grade(thread):\n    return len(thread.completion()) / 8\n", name="length"
    )
    suite = wb.Suite(
        [wb.Entry(JUDGES["guardrail"], "safe"), wb.Entry(function), wb.Entry(replace(JUDGES["guardrail"], criteria="Rude."), "other")], combine=wb.combine.Mean()
    )  # fmt: skip
    wb.export(suite, tmp_path / "g.py", target, allow_unvalidated=True)

    def answer(path, body, headers):
        return refused(401) if "bad" in body["messages"][-1]["content"] else said('{"safetyScore": 0.5}')

    rows = [
        {
            "asked": [{"role": "user", "content": "?"}], "said": [{"role": "assistant", "content": completion}], "name": "expected",
            "reference": "r", "columns": {"expected": "r"},
        }
        for completion in ("good", "a bad one", "other")
    ]  # fmt: skip
    jobs = [{"target": target, "path": str(tmp_path / "g.py"), "functions": ["safe", "length", "other"]}]
    with server(answer) as (address, _):
        done = subprocess.run(
            [sys.executable, "-I", "-S", str(HERE / "call_shapes.py")], input=json.dumps({"jobs": jobs, "rows": rows}),
            env={**os.environ, "OPENAI_BASE_URL": address, "OPENAI_API_KEY": KEY}, capture_output=True, text=True,
            timeout=300, check=False,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    (found,) = json.loads(done.stdout)
    assert [None if one is None else round(one, 6) for one in found["scores"]] == [
        0.5,
        None,
        round((0.5 + 0.625 + 0.5) / 3, 6),
    ]
    assert found["changed"] == []


def test_certificates_of_judges_travel(tmp_path):
    """The file contains the certificate of a judge, which is restored."""
    judge = replace(JUDGES["guardrail"], client=ScriptedClient('{"safetyScore": 0.5, "reasoning": "r"}'))
    proven = wb.certificate(judge, judge.run(wb.demo_samples("arithmetic").draw(20, seed=0), progress=False))
    wb.export(replace(judge, client=None), tmp_path / "g.py", "trl", certificate=proven)
    assert wb.load(tmp_path / "g.py").certificate.spec() == proven.spec()


def test_files_without_judges_ask_nobody(tmp_path):
    """Only a file with a judge contains code to call one."""
    wb.export(wb.Contains("4"), tmp_path / "g.py", "trl")
    text = (tmp_path / "g.py").read_text("utf-8")
    assert "urllib" not in text
    assert "await _wb_together" not in text
    assert Path(asking.__file__).name == "asking.py"


def test_judges_of_all_kinds_share_a_file(tmp_path):
    """Their rules stand in it once, each kind reads by its own, and all come back."""
    suite = wb.Suite([wb.Entry(judge, name) for name, judge in JUDGES.items()])
    wb.export(suite, tmp_path / "g.py", "trl")
    assert list(wb.load(tmp_path / "g.py").graders) == list(JUDGES.values())
    module = runpy.run_path(str(tmp_path / "g.py"))
    reading = module["_wb_rules"].reading
    for name, (key, good, _) in SCRIPTS.items():
        judge = JUDGES[name]
        kind = judge.kind.replace("-", "_")
        answer = json.dumps({key: good, "reasoning": "r", "rationale": "r"})
        assert getattr(reading, f"{kind}_read")(judge, answer).score == judge.read(answer).score
    assert (tmp_path / "g.py").read_text("utf-8").count("def verdict_object(") == 1
