"""Osmosis grader classes, run as written."""

import asyncio
import dataclasses
import json
import sys
import types

import pytest

import workbench as wb
from workbench.core.errors import CaptureError, IsolationError
from workbench.graders.base import from_spec
from workbench.graders.code.rollout import RolloutGrader
from workbench.graders.concurrent_rows import Control
from workbench.sandbox.host import pool
from workbench.sandbox.host.pool import Pool
from workbench.sandbox.platforms import osmosis

HEAD = "from osmosis_ai.rollout import Grader, GraderConfig, GraderContext, RolloutSample\n"


def grader(body, head=HEAD, **settings):
    """A grader whose `grade` has this body."""
    lines = "".join(f"        {line}\n" for line in body.splitlines())
    return RolloutGrader.from_source(
        f"{head}class G(Grader):\n    async def grade(self, ctx):\n{lines}", **settings
    )


EACH = "for sample_id, sample in ctx.samples.items():\n    "


def row(completion="4", label="4", **more):
    return wb.Samples([{"prompt": "2+2?", "completion": completion, "ground_truth": label, **more}])[0]


# As printed in the seed document.
EXACT = '''from osmosis_ai.rollout import Grader, GraderContext


def _last_text(sample) -> str:
    """Extract the final text block from a sample's last message."""
    if not sample.messages:
        return ""
    content = sample.messages[-1].get("content", "")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return next((b["text"] for b in content if isinstance(b, dict) and "text" in b), "")
    return ""


class ExactMatchGrader(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for sample_id, sample in ctx.samples.items():
            answer = _last_text(sample).strip()
            reward = 1.0 if ctx.label and answer == ctx.label.strip() else 0.0
            ctx.set_sample_reward(sample_id, reward)
'''
TOOL = """from osmosis_ai.rollout import Grader, GraderContext


class ToolCallGrader(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for sample_id, sample in ctx.samples.items():
            used_tool = False
            for m in sample.messages:
                if m.get("role") != "assistant":
                    continue
                content = m.get("content") or []
                if isinstance(content, list) and any(
                    isinstance(b, dict) and "toolUse" in b for b in content
                ):
                    used_tool = True
                    break
            ctx.set_sample_reward(sample_id, 1.0 if used_tool else 0.0)
"""
JUDGE = """class JudgeGrader(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for sample_id, sample in ctx.samples.items():
            ctx.set_sample_reward(sample_id, 0.7)
        ctx.set_artifacts({
            "judge": {"explanation": "Missed the final constraint."},
            "trace_ref": {
                "path": "rollout_traces/run_123/sample_456.jsonl",
                "content_type": "application/jsonl",
                "size_bytes": 38291,
            },
        })
"""
LITELLM = (
    EXACT.split("class ExactMatchGrader", maxsplit=1)[0]
    + """
import litellm


class LLMJudgeGrader(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        for sample_id, sample in ctx.samples.items():
            agent_output = _last_text(sample)
            judge_response = await litellm.acompletion(
                model="openai/gpt-5.2",
                messages=[{
                    "role": "user",
                    "content": f"Rate this response from 0.0 to 1.0.\\n\\n"
                               f"Expected: {ctx.label}\\n"
                               f"Actual: {agent_output}\\n\\n"
                               f"Score (just the number):"
                }],
            )
            score = float(judge_response.choices[0].message.content.strip())
            ctx.set_sample_reward(sample_id, max(0.0, min(1.0, score)))
"""
)
CONFIG = """from osmosis_ai.rollout import Grader, GraderConfig, GraderContext

class MyGraderConfig(GraderConfig):
    name: str = "my-grader"
    partial_credit: bool = True
    similarity_threshold: float = 0.8

class MyGrader(Grader):
    async def grade(self, ctx: GraderContext) -> None:
        threshold = self.config.similarity_threshold if self.config else 0.8
        for sample_id in ctx.samples:
            ctx.set_sample_reward(sample_id, threshold)

my_grader_config = MyGraderConfig()
"""


def test_exact_match_of_the_document():
    """It scores the last message against the label."""
    exact = RolloutGrader.from_source(EXACT)
    assert exact.name == "ExactMatchGrader"
    assert exact.validate().ok
    assert [exact(row(text)).score for text in (" 4\n", "5")] == [1.0, 0.0]


def test_tool_call_grader_of_the_document():
    """Content blocks are rebuilt, so `toolUse` is found."""
    tool = RolloutGrader.from_source(TOOL)
    block = {"toolUse": {"toolUseId": "1", "name": "f", "input": {}}}
    messages = [{"role": "user", "content": "q"}, {"role": "assistant", "content": [block]}]
    rows = wb.Samples([{"messages": messages, "label": "x"}, {"messages": messages[:1], "label": "x"}])
    assert [tool(rows[0]).score, tool(rows[1]).score] == [1.0, 0.0]


def test_judge_with_artifacts_of_the_document():
    """It runs as printed, without an import, and a warning says what to add."""
    judge = RolloutGrader.from_source(JUDGE)
    grade = judge(row())
    assert grade.score == 0.7
    assert grade.metadata["artifacts"]["judge"] == {"explanation": "Missed the final constraint."}
    assert grade.metadata["rewards"] == {"0": 0.7}
    assert "from osmosis_ai.rollout import Grader, GraderContext" in judge.validate().warnings[0]


def test_config_of_the_document():
    """The class is built with the module's one config."""
    assert RolloutGrader.from_source(CONFIG)(row()).score == 0.8


def test_third_party_packages_are_refused_by_name():
    """The document's litellm judge cannot run here; the check says why and what to do."""
    validation = RolloutGrader.from_source("import litellm\n" + EXACT).validate()
    assert validation.failure.name == "execution"
    assert "litellm is not available" in validation.failure.message
    assert "in_process" in str(validation)


def test_context_is_the_row():
    """Label, metadata without the reference, the messages, and no project path."""
    body = "import json\nctx.set_artifacts({'seen': [ctx.label, ctx.metadata, ctx.project_path, [dict(m) for s in ctx.samples.values() for m in s.messages]]})\nctx.set_sample_reward('0', 1)"
    seen = grader(body)(row(topic="maths")).metadata["artifacts"]["seen"]
    assert seen == [
        "4",
        {"topic": "maths"},
        None,
        [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}],
    ]
    assert grader("ctx.set_sample_reward('0', float(ctx.metadata is None))")(row()).score == 1.0


def test_rows_without_label_and_metadata_are_skipped():
    """As Osmosis does not run its graders on them; an empty label counts."""
    rows = wb.Samples([{"completion": "a", "label": text} for text in ("x", None, "")])
    grades = asyncio.run(grader(EACH + "ctx.set_sample_reward(sample_id, 1.0)").grade_all(rows, Control()))
    assert [grade.status for grade in grades] == ["scored", "skipped", "scored"]
    assert "neither a label nor metadata" in grades[1].reasoning


def test_several_samples_make_their_mean():
    """Every sample has its reward; removed ones do not count."""
    samples = {
        "a": [{"role": "assistant", "content": "1"}],
        "b": {"messages": [{"role": "assistant", "content": "2"}]},
        "c": {"messages": [], "remove_sample": True},
    }
    counting = grader(
        EACH
        + "ctx.set_sample_reward(sample_id, len(sample.messages) and float(sample.messages[0]['content']))"
    )
    grade = counting(row(samples=samples))
    assert (grade.score, grade.metadata["rewards"]) == (1.5, {"a": 1.0, "b": 2.0, "c": 0.0})
    removing = grader(EACH + "ctx.set_sample_reward(sample_id, 1.0)\n    sample.remove_sample = True")
    assert removing(row()).status == "skipped"


@pytest.mark.parametrize(
    ("body", "kind", "part"),
    [
        ("pass", "runtime", "validation_error: Sample 0 has no reward after grading"),
        ("ctx.samples.clear()", "runtime", "No samples after grading"),
        (
            "ctx.set_sample_reward('x', 1.0)",
            "runtime",
            "validation_error: ValueError: Sample x not found (line 4",
        ),
        ("raise KeyError('k')", "runtime", "agent_error: KeyError: 'k'"),
        ("assert ctx.label == 'no'", "runtime", "validation_error: AssertionError"),
        ("raise TimeoutError('slow')", "timeout", "timeout: TimeoutError: slow"),
        ("import urllib.error\nraise urllib.error.URLError('x')", "runtime", "http_error: URLError"),
        ("ctx.set_artifacts([1])", "runtime", "TypeError: artifacts must be a dict"),
        ("ctx.set_sample_reward('0', float('nan'))", "not_finite", "nan"),
        ("ctx.set_sample_reward('0', float('-inf'))", "not_finite", "inf"),
        ("ctx.set_sample_reward('0', True)", "return_type", "not bool"),
        ("ctx.set_sample_reward('0', '1')", "return_type", "not str"),
        ("while True: pass", "timeout", "timed out"),
        ("import asyncio\nawait asyncio.Event().wait()", "runtime", "cannot complete"),
        ("import os\nos._exit(0)", "crash", "exit code 0"),
    ],
)
def test_what_is_no_reward_fails_the_row(body, kind, part):
    """With Osmosis' category where the grader raised; NaN and infinities are ours to refuse."""
    grade = grader(body, timeout=0.3)(row())
    assert (grade.score, grade.error.kind) == (None, kind)
    assert part in grade.error.message


def test_artifacts_travel_when_grading_fails():
    """What was attached before the error is kept."""
    grade = grader("ctx.set_artifacts({'a': 1})\nraise ValueError('x')")(row())
    assert grade.error is not None
    assert grade.metadata == {"artifacts": {"a": 1}}


@pytest.mark.parametrize(
    ("artifacts", "code"),
    [("{'x': 'a' * 65529}", "artifacts_too_large"), ("{'x': {1}}", "artifacts_not_serializable")],
)
def test_bad_artifacts_leave_a_mark_and_the_reward(artifacts, code):
    """Artifacts never stop a reward."""
    grade = grader(f"ctx.set_sample_reward('0', 1.0)\nctx.set_artifacts({artifacts})")(row())
    assert (grade.score, grade.metadata["artifacts"]["_error"]["code"]) == (1.0, code)


def test_artifacts_that_are_no_dict_leave_a_mark():
    """Set past the method, they are marked too."""
    grade = grader("ctx.set_sample_reward('0', 1.0)\nctx.artifacts = [1]")(row())
    assert grade.metadata["artifacts"] == {"_error": {"code": "artifacts_invalid_type", "type": "list"}}


def test_full_artifacts_of_many_rows_all_arrive():
    """Rows whose notes do not fit one answer are asked for in smaller ranges; none is dropped."""
    rows = wb.Samples([{"completion": str(i), "label": "x"} for i in range(40)])
    body = "name = next(iter(ctx.samples))\nctx.set_sample_reward(name, float(name))\nctx.set_artifacts({'x': 'é' * 32764, })"
    grades = asyncio.run(grader(body).grade_all(rows, Control()))
    assert [grade.score for grade in grades] == [float(i) for i in range(40)]
    assert all(len(grade.metadata["artifacts"]["x"]) == 32764 for grade in grades)


@pytest.mark.parametrize(
    ("text", "check", "part"),
    [
        ("class G(Grader:\n", "syntax", "line 2"),
        ("x = 1\n", "structure", "no top-level class"),
        ("class G(Grader):\n    pass\n", "structure", "classes there: G"),
        ("class G(Grader):\n    def grade(self, ctx):\n        pass\n", "signature", "must be async"),
        ("class G(Grader):\n    async def grade(self):\n        pass\n", "signature", "(self)"),
        ("class G(Grader):\n    async def grade(self, ctx, more):\n        pass\n", "signature", "more"),
        ("class G:\n    async def grade(self, ctx):\n        pass\n", "execution", "MISSING_GRADER"),
        (
            "class G(Grader):\n    def __init__(self):\n        pass\n    async def grade(self, ctx):\n        pass\n",
            "execution",
            "GRADER_INIT_FAILED",
        ),
        (
            "class A(Grader):\n    async def grade(self, ctx):\n        pass\nclass B(A):\n    pass\n",
            "execution",
            "Multiple Grader classes found: A, B",
        ),
        (
            "class A(Grader):\n    async def grade(self, ctx):\n        pass\nc1 = GraderConfig(name='a')\nc2 = GraderConfig(name='b')\n",
            "execution",
            "Multiple GraderConfig instances found: c1, c2",
        ),
        (
            "class A(Grader):\n    async def grade(self, ctx):\n        pass\nc = GraderConfig()\n",
            "execution",
            "'name' is required",
        ),
        ("class A(Grader):\n    async def grade(self, ctx):\n        pass\n", "test_run", "no reward"),
    ],
)
def test_first_cross_names_the_check(text, check, part):
    """The same five checks as for functions."""
    validation = RolloutGrader.from_source(HEAD + text).validate()
    assert validation.failure.name == check
    assert part in validation.failure.message


def test_value_and_spec():
    """The module's text is the grader."""
    exact = RolloutGrader.from_source(EXACT, timeout=2.0)
    assert from_spec(json.loads(json.dumps(exact.spec()))) == exact
    assert exact.as_imported().source.imported
    assert not exact.as_imported().trust
    assert exact.as_imported(trust=True).trust


def test_in_process_runs_with_other_packages():
    """A class of this process: same rules, no sandbox, plainly marked, and not to be saved."""

    class Local(osmosis.Grader):
        async def grade(self, ctx):
            import numpy as np

            for name in ctx.samples:
                ctx.set_sample_reward(name, float(np.float64(self.config.x)))

    class Config(osmosis.GraderConfig):
        name: str = "c"
        x: float = 0.25

    local = RolloutGrader.in_process(Local, Config())
    assert (local(row()).score, local.name) == (0.25, "Local")
    rows = wb.Samples([{"completion": "a", "label": "x"}, {"completion": "b"}])
    grades = asyncio.run(local.grade_all(rows, Control()))
    assert [grade.status for grade in grades] == ["scored", "skipped"]
    assert grades.isolation == "none"
    with pytest.raises(CaptureError, match="from_source"):
        local.spec()
    entry = types.ModuleType("entry")
    entry.Local, entry.config = Local, Config(x=0.5)
    assert RolloutGrader.in_process(entry)(row()).score == 0.5
    with pytest.raises(ValueError, match="MISSING_GRADER"):
        RolloutGrader.in_process(types.ModuleType("empty"))


def test_in_process_runs_a_module_as_written(tmp_path, monkeypatch):
    """The document's litellm judge runs where litellm is there, without Osmosis' package, and leaves no trace."""
    message = types.SimpleNamespace(content=" 1.7 ")
    answers = types.SimpleNamespace(choices=[types.SimpleNamespace(message=message)])

    async def acompletion(model, messages):
        assert "Expected: 4" in messages[0]["content"]
        return answers

    monkeypatch.setitem(sys.modules, "litellm", types.SimpleNamespace(acompletion=acompletion))
    before = {name for name in sys.modules if name.startswith("osmosis_ai")}
    judge = RolloutGrader.in_process(LITELLM)
    assert (judge(row()).score, judge.name) == (1.0, "LLMJudgeGrader")
    (tmp_path / "judge.py").write_text(LITELLM)
    assert RolloutGrader.in_process(tmp_path / "judge.py")(row()).score == 1.0
    assert {name for name in sys.modules if name.startswith("osmosis_ai")} == before
    assert RolloutGrader.in_process(JUDGE)(row()).metadata["artifacts"]["judge"]


def test_in_process_takes_the_packages_own_classes():
    """A class of the installed package is as good as one of ours."""
    members = {"__module__": "osmosis_ai.rollout.grader", "__init__": lambda self, config=None: None}
    real = type("Grader", (), members)

    class Theirs(real):
        async def grade(self, ctx):
            for name in ctx.get_samples():
                ctx.set_sample_reward(name, 0.5)

    assert RolloutGrader.in_process(Theirs)(row()).score == 0.5


def test_in_process_failures_are_grades():
    """Errors carry the category here too."""

    class Broken(osmosis.Grader):
        async def grade(self, ctx):
            ctx.set_artifacts({"a": 1})
            raise KeyError("k")

    grade = RolloutGrader.in_process(Broken)(row())
    assert "agent_error: KeyError" in grade.error.message
    assert grade.metadata == {"artifacts": {"a": 1}}


@pytest.mark.parametrize("layers", [(), ("rlimits",), ("landlock", "audit")])
def test_imported_rollouts_need_the_kernel(layers, monkeypatch):
    """Refused where nothing confines them, one row or many, unless this very text is trusted."""
    weak = Pool(layers)
    monkeypatch.setattr(pool, "_POOL", weak)
    text = "class G(Grader):\n    async def grade(self, ctx):\n        for name in ctx.samples:\n            ctx.set_sample_reward(name, 1.0)\n"
    rows = wb.Samples([{"completion": "a", "label": "x"}] * 3)
    theirs = RolloutGrader.from_source(text, imported=True)
    for attempt in (lambda: theirs.validate(rows), lambda: asyncio.run(theirs.grade_all(rows, Control()))):
        with pytest.raises(IsolationError):
            attempt()
    assert theirs(rows[0]).error.kind == "sandbox"
    assert theirs.trusted()(rows[0]).score == 1.0
    other = RolloutGrader.from_source(text.replace("1.0", "0.5"), imported=True)
    assert not dataclasses.replace(other, trusted_sha256=theirs.trusted().trusted_sha256).trust
    weak.close()
