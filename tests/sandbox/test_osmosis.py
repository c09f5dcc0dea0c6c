"""Our stand-ins for Osmosis' classes: context, configs, artifacts, discovery, the older decorators."""

import asyncio
import json
import sys
import types

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.sandbox.platforms import osmosis, osmosis_legacy
from workbench.sandbox.platforms.osmosis import (
    GraderConfig,
    GraderContext,
    RolloutSample,
    discover_grader,
    error_category,
    grader_runs,
    require_rewards,
    sanitize_artifacts,
    validate_backend,
)
from workbench.sandbox.platforms.osmosis_rows import context, messages_of

SIZE = 65536


@pytest.mark.parametrize(
    ("artifacts", "same"),
    [
        (None, True),
        ({}, True),
        ({"judge": {"explanation": "Missed."}}, True),
        ({"x": "a" * (SIZE - 8)}, True),
        ({"x": "a" * (SIZE - 7)}, False),
        ({"x": "é" * 32764}, True),
        ({"x": "é" * 32765}, False),
        ({1: "a"}, True),
    ],
)
def test_artifacts_pass_up_to_65536_bytes(artifacts, same):
    """Bytes are counted unescaped, and the last one still fits."""
    assert (sanitize_artifacts(artifacts) is artifacts) is same


def test_large_artifacts_say_their_size():
    """The mark names what was there and what is allowed."""
    found = sanitize_artifacts({"x": "a" * (SIZE - 7)})
    assert found == {
        "_error": {"code": "artifacts_too_large", "size_bytes": SIZE + 1, "max_size_bytes": SIZE}
    }


@pytest.mark.parametrize("value", [[1], "text", 3, True])
def test_artifacts_of_another_type(value):
    """Only a dict is artifacts."""
    assert sanitize_artifacts(value) == {
        "_error": {"code": "artifacts_invalid_type", "type": type(value).__name__}
    }


def loop():
    found = {}
    found["self"] = found
    return found


@pytest.mark.parametrize(
    "value",
    [
        {"x": float("nan")},
        {"x": float("inf")},
        {"x": {1}},
        {"x": object()},
        {(1, 2): 3},
        {"x": "\ud800"},
        loop(),
    ],
    ids=["nan", "inf", "set", "object", "tuple key", "surrogate", "cycle"],
)
def test_artifacts_that_are_no_json(value):
    """Strict JSON only."""
    found = sanitize_artifacts(value)["_error"]
    assert found["code"] == "artifacts_not_serializable"
    assert found["detail"]


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(codec="utf-8")), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(st.dictionaries(st.text(st.characters(codec="utf-8")), JSON, max_size=4), st.integers(2, 200))
def test_the_limit_is_the_compact_size(value, limit):
    """What passes is exactly what compact JSON of at most so many bytes can say."""
    size = len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())
    assert ("_error" not in (sanitize_artifacts(value, limit) if value else {})) is (
        size <= limit or not value
    )


def test_context_keeps_the_last_reward_and_artifacts():
    """Rewards may be set again; artifacts replace what was there."""
    ctx = GraderContext(samples={"s": RolloutSample("s")})
    assert ctx.artifacts is None
    ctx.set_sample_reward("s", 0.1)
    ctx.set_sample_reward("s", 0.9)
    ctx.set_artifacts({"a": 1})
    ctx.set_artifacts({"b": 2})
    assert (ctx.get_samples()["s"].reward, ctx.artifacts) == (0.9, {"b": 2})
    with pytest.raises(ValueError, match="Sample t not found"):
        ctx.set_sample_reward("t", 1.0)
    with pytest.raises(TypeError, match="artifacts must be a dict"):
        ctx.set_artifacts([1])


def test_rewards_are_required():
    """The two texts of the platform."""
    with pytest.raises(ValueError, match="No samples after grading"):
        require_rewards({})
    with pytest.raises(ValueError, match="Sample s has no reward after grading"):
        require_rewards({"s": RolloutSample("s")})


@pytest.mark.parametrize(
    ("label", "metadata", "runs"),
    [(None, None, False), ("x", None, True), (None, {"a": 1}, True), ("", None, True), (None, {}, True)],
)
def test_when_a_grader_runs(label, metadata, runs):
    """With a label or metadata; empty ones count."""
    assert grader_runs(label, metadata) is runs


class Strict(GraderConfig):
    name: str = "strict"
    partial_credit: bool = True
    threshold: float = 0.8
    tags: list[str] = []
    mode: "str | None" = None


def test_config_defaults_and_extra_keys():
    """Typed class attributes are fields with defaults; other keys are kept."""
    config = Strict(threshold="0.5", extra={"a": 1})
    assert (config.threshold, config.partial_credit, config.extra) == (0.5, True, {"a": 1})
    assert config.model_dump() == {
        "name": "strict", "description": None, "concurrency": {"max_concurrent": None},
        "partial_credit": True, "threshold": 0.5, "tags": [], "mode": None, "extra": {"a": 1},
    }  # fmt: skip
    config.tags.append("mine")
    assert Strict().tags == []
    assert Strict() == Strict() != config


def test_config_of_the_document():
    """A plain config dumps as the platform's does."""
    config = GraderConfig(name="g", concurrency={"max_concurrent": 3})
    assert config.model_dump() == {"name": "g", "description": None, "concurrency": {"max_concurrent": 3}}


@pytest.mark.parametrize(
    "make",
    [
        GraderConfig,
        lambda: GraderConfig(name=3),
        lambda: GraderConfig(name="g", concurrency={"max_concurrent": 0}),
        lambda: GraderConfig(name="g", concurrency={"max_concurrent": 1.5}),
        lambda: GraderConfig(name="g", concurrency=7),
        lambda: Strict(threshold="high"),
        lambda: Strict(partial_credit=2),
        lambda: Strict(tags="abc"),
        lambda: setattr(Strict(), "threshold", None),
        lambda: setattr(Strict().concurrency, "max_concurrent", -1),
        lambda: Strict(mode=3),
    ],
)
def test_config_values_are_checked(make):
    """A missing name and values that do not fit are refused, when assigned too."""
    with pytest.raises(ValueError, match=r"required|is no|max_concurrent"):
        make()


class A(osmosis.Grader):
    async def grade(self, ctx):
        """Nothing."""


class B(A):
    pass


def module(**names):
    made = types.ModuleType("entry")
    made.__dict__.update({"Grader": osmosis.Grader, **names})
    return made


def test_discovery():
    """One class, under any number of names; imported ones count; one config."""
    config = GraderConfig(name="g")
    assert discover_grader(module()) == (None, None)
    assert discover_grader(module(A=A, Alias=A, cfg=config, same=config)) == (A, config)
    with pytest.raises(ValueError, match="Multiple Grader classes found: A, B"):
        discover_grader(module(A=A, B=B))
    with pytest.raises(ValueError, match="Multiple GraderConfig instances found: c1, c2"):
        discover_grader(module(A=A, c1=config, c2=GraderConfig(name="h")))


class Sync(osmosis.Grader):
    def grade(self, ctx):
        """Not async."""


class Abstract(osmosis.Grader):
    pass


class SyncInit(Sync):
    def __init__(self):
        """Takes no config."""


class Workflow(osmosis.AgentWorkflow):
    async def run(self, ctx):
        """Nothing."""


@pytest.mark.parametrize(
    ("grader", "rest", "codes"),
    [
        (A, {}, []),
        (None, {}, ["MISSING_GRADER"]),
        (int, {}, ["INVALID_GRADER_CLASS"]),
        ("A", {}, ["INVALID_GRADER_CLASS"]),
        (Sync, {}, ["GRADER_GRADE_NOT_ASYNC"]),
        (Abstract, {}, ["GRADER_INIT_FAILED"]),
        (SyncInit, {}, ["GRADER_GRADE_NOT_ASYNC", "GRADER_INIT_FAILED"]),
        (A, {"workflow": Workflow, "agent_name": "main-1"}, []),
        (A, {"workflow": A}, ["INVALID_WORKFLOW_CLASS"]),
        (
            None,
            {"workflow": A, "agent_name": "a b"},
            ["MISSING_GRADER", "INVALID_WORKFLOW_CLASS", "INVALID_AGENT_NAME"],
        ),
    ],
)
def test_validate_backend_collects_all_codes(grader, rest, codes):
    """Every problem is listed, not only the first."""
    assert [code for code, _ in validate_backend(grader, **rest)] == codes


def test_error_categories():
    """By the exception's kind."""
    from urllib.error import HTTPError, URLError

    class HTTPStatusError(Exception):
        pass

    expected = {
        TimeoutError(): "timeout", ValueError(): "validation_error",
        TypeError(): "validation_error", AssertionError(): "validation_error", KeyError(): "agent_error",
        URLError("x"): "http_error", HTTPStatusError(): "http_error", RuntimeError(): "agent_error",
        HTTPError("u", 500, "m", None, None): "http_error",
    }  # fmt: skip
    assert {error: error_category(error) for error in expected} == expected


def legacy(text):
    names = {name: getattr(osmosis_legacy, name) for name in osmosis_legacy.__all__}
    made = types.ModuleType("legacy_case")
    made.__dict__.update(names)
    sys.modules["legacy_case"] = made
    try:
        exec(text, made.__dict__)
    finally:
        del sys.modules["legacy_case"]
    return made.f


CLASSIC = "solution_str: str, ground_truth: str, extra_info: dict = None"


@pytest.mark.parametrize(
    ("mark", "parameters", "fine"),
    [
        ("osmosis_reward", CLASSIC, True),
        ("osmosis_reward", CLASSIC + ", **kw", True),
        ("osmosis_reward", "solution_str: str, ground_truth: str, extra_info: dict | None = None", True),
        ("osmosis_reward", "anything, else_", True),
        ("osmosis_reward", "solution_str, ground_truth: str, extra_info: dict = None", False),
        ("osmosis_reward", "solution_str: str, truth: str, extra_info: dict = None", False),
        ("osmosis_reward", "solution_str: str, ground_truth: str, extra_info: dict", False),
        ("osmosis_reward", "solution_str: str, ground_truth: str, extra_info: list = None", False),
        ("osmosis_reward", "solution_str: str, ground_truth: str | None, extra_info: dict = None", False),
        ("osmosis_reward", "solution_str: str = '', ground_truth: str = '', extra_info: dict = None", True),
        ("osmosis_reward", "solution_str: str", False),
        ("osmosis_rubric", "solution_str: str, ground_truth: str | None, extra_info: dict = None", True),
        ("osmosis_rubric", "solution_str: str, ground_truth: str = None, extra_info: dict = None", False),
        ("osmosis_rubric", "solution_str: str, ground_truth: str | None, extra_info: dict", True),
        ("osmosis_rubric", "solution_str: str, ground_truth: str, extra_info: dict", True),
        ("osmosis_rubric", "solution_str: str, ground_truth: str, extra_info", True),
        ("osmosis_rubric", "solution_str: str, ground_truth: 'str', extra_info: 'Unknown', **kw", True),
        ("osmosis_rubric", "solution_str: str, ground_truth: str | int, extra_info: dict", False),
        ("osmosis_rubric", "solution_str: str, ground_truth: str | None, extra: dict", False),
        ("osmosis_rubric", "solution_str: str, ground_truth: str | None", False),
        ("osmosis_rubric", "solution_str, ground_truth: str | None, extra_info: dict", False),
        ("osmosis_rubric", "solution_str: str = '', ground_truth: str = '', extra_info: dict = None", False),
        ("osmosis_rubric", "anything, else_", True),
    ],
)
def test_legacy_signatures(mark, parameters, fine):
    """A first parameter `solution_str` makes the classic form, which is checked; others are left alone."""
    text = f"@{mark}\ndef f({parameters}) -> float:\n    return 1.0\n"
    if fine:
        assert legacy(text).__name__ == "f"
    else:
        with pytest.raises(TypeError, match=mark):
            legacy(text)


def test_legacy_calls():
    """A float it must be; `data_source` is dropped unless taken; async works."""
    one = legacy(f"@osmosis_reward\ndef f({CLASSIC}):\n    return float(solution_str == ground_truth)\n")
    assert one("a", "a") == 1.0
    assert one("a", "b", data_source="x") == 0.0
    with pytest.raises(TypeError, match="float, not int"):
        legacy(f"@osmosis_reward\ndef f({CLASSIC}):\n    return 1\n")("a", "a")
    taking = legacy(f"@osmosis_reward\ndef f({CLASSIC}, **kw):\n    return float(kw['data_source'] == 'd')\n")
    assert taking("a", "b", data_source="d") == 1.0
    waiting = legacy(f"@osmosis_reward\nasync def f({CLASSIC}):\n    return 0.5\n")
    assert asyncio.run(waiting("a", "a")) == 0.5
    rubric = legacy(
        "@osmosis_rubric\ndef f(solution_str: str, ground_truth: str | None, extra_info: dict = None):\n    return 0.5\n"
    )
    assert rubric("a", None) == 0.5
    with pytest.raises(TypeError, match="solution_str cannot be int"):
        rubric(3, None)


def test_messages_are_rebuilt():
    """As chat messages, or as content blocks where the calls were blocks."""
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    chat = [
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "content": "42", "tool_call_id": "1"},
        {"role": "assistant", "content": "done"},
    ]
    assert messages_of(wb.StringThread.from_messages(chat)) == chat
    block = {"toolUseId": "1", "name": "f", "input": {"a": 1}}
    blocks = [
        {"role": "user", "content": [{"text": "q"}]},
        {"role": "assistant", "content": [{"text": "let me"}, {"toolUse": block}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "1", "content": [{"text": "42"}]}}]},
    ]
    assert messages_of(wb.StringThread.from_messages(blocks)) == blocks


def test_context_of_a_row():
    """Label as text, metadata without what stands for samples, None for what is empty."""
    thread = wb.StringThread([("user", "q"), ("assistant", "a")])
    ctx = context(thread, 12, {}, "r1")
    assert (ctx.label, ctx.metadata, list(ctx.samples), ctx.project_path) == ("12", None, ["r1"], None)
    several = {
        "k": 1,
        "samples": {"a": [{"role": "user"}], "b": {"messages": [], "label": "x", "remove_sample": True}},
    }
    ctx = context(thread, None, several, "r1")
    assert (ctx.label, ctx.metadata) == (None, {"k": 1})
    assert (ctx.samples["b"].label, ctx.samples["b"].remove_sample, ctx.samples["a"].messages) == (
        "x",
        True,
        [{"role": "user"}],
    )
    assert context(thread, None, {}, "r1") is None
    with pytest.raises(ValueError, match="sample a: messages must be a list of dicts"):
        context(thread, "x", {"samples": {"a": "text"}}, "r1")
