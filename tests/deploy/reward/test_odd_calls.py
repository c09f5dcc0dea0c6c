"""Calls that no trainer should make: an exported file and `wb.reward` give the same, and no score is made up."""

import asyncio
import importlib.util
from types import SimpleNamespace as Record

import pytest

import workbench as wb
from workbench.sandbox.host.worker_pool import worker_pool

SUITE = wb.Suite([wb.Length(maximum=5)])
"""Accepts the empty answer, and any that is short."""
CALLEE = {
    "trl": "reward_funcs",
    "verl": "compute_score",
    "openrlhf": "reward_func",
    "slime": "custom_rm",
    "verifiers": "length",
}


@pytest.fixture(autouse=True, scope="module")
def _closed():
    yield
    worker_pool().close()


def slime(response, prompt="q", **more):
    return (None, Record(**{"prompt": prompt, "response": response, "label": None, "metadata": {}, **more}))


def verifiers(*messages, **more):
    branches = (
        [
            Record(
                messages=[
                    Record(model_dump=lambda mode="python", one=one: dict(one), **one) for one in messages
                ]
            )
        ]
        if messages
        else []
    )
    task = Record(model_dump=lambda mode="python": {"idx": 0}, prompt_text="q")
    return (task, Record(branches=branches, **{"last_reply": None, **more}))


SAID, ASKED = {"role": "assistant", "content": "a"}, {"role": "user", "content": "q"}
CALL = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
TOLD = {"role": "tool", "tool_call_id": "1", "content": "x"}
CALLS = [
    ("trl", {"prompts": ["q"], "completions": [None]}, [None]),
    ("trl", {"prompts": [None], "completions": ["a"]}, [1.0]),
    ("trl", {"prompts": [None, "q"], "completions": ["a", None]}, [1.0, None]),
    ("trl", {"prompts": ["q"], "completions": [7]}, [None]),
    ("trl", {"prompts": [], "completions": []}, []),
    ("trl", {"prompts": ["q", "q"], "completions": ["a"]}, "raises"),
    ("trl", {"prompts": ["q"], "completions": ["a"], "answer": "4"}, "raises"),
    ("trl", {"prompts": ["q"], "completions": ["a"], "answer": ["4", "5"]}, "raises"),
    ("trl", {"prompts": ["q"], "completions": ["a"], "answer": 4}, "raises"),
    ("trl", {"prompts": ["q"], "completions": [[SAID]]}, [1.0]),
    ("trl", {"prompts": ["q"], "completions": [{}]}, [None]),
    ("trl", {"prompts": ["q"], "completions": [[]]}, [None]),
    ("trl", {"prompts": ["q"], "completions": [SAID]}, [1.0]),
    ("trl", {"prompts": ["q"], "completions": [[{"role": "assistant", "content": None}]]}, [None]),
    ("trl", {"prompts": ["q"], "completions": [[{"role": "assistant", "content": ""}]]}, [1.0]),
    (
        "trl",
        {
            "prompts": ["q"],
            "completions": [[{"role": "assistant", "content": None, "tool_calls": [CALL]}, TOLD]],
        },
        [1.0],
    ),
    ("verl", ("d", "a", None), 1.0),
    ("verl", ("d", "a", None, "no dict"), "raises"),
    ("verl", ("d", "", None), 1.0),
    ("verl", ("d", None, None), "raises"),
    ("verl", ("d", 7, None), "raises"),
    ("verl", ("d", "a", "4", None), 1.0),
    ("openrlhf", (["qa"], ["q"], [None]), 1.0),
    ("openrlhf", (["qa", "qb"], ["q"], ["4", "4"]), "raises"),
    ("openrlhf", ([None], ["q"], ["4"]), "raises"),
    ("slime", slime("a"), 1.0),
    ("slime", slime(""), 1.0),
    ("slime", slime(None), "raises"),
    ("slime", slime({}), "raises"),
    ("slime", slime("a", metadata="no dict"), "raises"),
    ("slime", slime("a", prompt=None), 1.0),
    ("slime", slime("a", prompt=[ASKED]), 1.0),
    ("verifiers", verifiers(ASKED, SAID), 1.0),
    ("verifiers", verifiers(), "raises"),
    ("verifiers", verifiers(ASKED), "raises"),
    ("verifiers", verifiers(last_reply="a"), 1.0),
    ("verifiers", verifiers(ASKED, SAID, root_reply="b", last_reply="too long"), 0.0),
]


@pytest.fixture(scope="module")
def functions(tmp_path_factory):
    """Each trainer's function, of a reward and of an exported file."""
    folder = tmp_path_factory.mktemp("files")
    found = {}
    with wb.reward(SUITE) as reward:
        for name, callee in CALLEE.items():
            path = folder / f"{name}.py"
            wb.export(SUITE, path, name)
            spec = importlib.util.spec_from_file_location(name, path)
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            function = getattr(module, callee)
            found[name] = (getattr(reward, name), function[0] if isinstance(function, list) else function)
        yield found


def test_what_is_odd_costs_its_row(functions, tmp_path):
    """With a number for rows without a score, the others of the call are graded."""
    wb.export(SUITE, tmp_path / "f.py", "openrlhf", on_error=-1.0)
    spec = importlib.util.spec_from_file_location("f", tmp_path / "f.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with wb.reward(SUITE, on_error=-1.0) as reward:
        for function in (reward.openrlhf, module.reward_func):
            found = function([None, "qa", "qlong answer"], ["q"] * 3, ["4"] * 3)["rewards"]
            assert [float(one) for one in found] == [-1.0, 1.0, 0.0]


def outcome(function, call):
    try:
        found = function(**call) if isinstance(call, dict) else function(*call)
        found = asyncio.run(found) if asyncio.iscoroutine(found) else found
    except (RuntimeError, ValueError, TypeError, AttributeError):
        return "raises"
    if not isinstance(found, dict):
        return found
    rewards = found["rewards"].tolist() if hasattr(found["rewards"], "tolist") else found["rewards"]
    return rewards[0] if isinstance(rewards, list) else rewards


@pytest.mark.parametrize("extra_info", [None, {}, {"level": 1}])
def test_the_data_source_is_there_whatever_else_is(extra_info, tmp_path):
    """An empty `extra_info` is none."""
    text = "async def grade(thread):\n    return float((thread.metadata or {}).get('data_source') == 'd')\n"
    grader = wb.FunctionGrader.from_source(text, name="source")
    grader.validate().raise_for_failure()
    wb.export(grader, tmp_path / "f.py", "verl")
    spec = importlib.util.spec_from_file_location("f", tmp_path / "f.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    with wb.reward(grader) as reward:
        assert [one("d", "a", None, extra_info) for one in (reward.verl, module.compute_score)] == [1.0, 1.0]


@pytest.mark.parametrize("at", range(len(CALLS)))
def test_the_same_of_both(at, functions):
    trainer, call, expected = CALLS[at]
    assert [outcome(function, call) for function in functions[trainer]] == [expected, expected]
