"""Which columns a grader's text reads."""

import pytest

from workbench.graders.capture.analysis import columns_read

BODIES = {
    'thread.metadata["solution"]': ({"solution"}, set()),
    'thread.metadata.get("solution")': (set(), {"solution"}),
    'thread.metadata["a"] if "a" in thread.metadata.keys() else 0': (set(), {"a"}),
    'thread.metadata["a"] if thread.metadata.get("a") else 0': (set(), {"a"}),
    'response().metadata["a"] + other.metadata["b"]': (set(), set()),
    'thread.metadata.get("solution", None)': (set(), {"solution"}),
    'thread.metadata.get("level", 1)': (set(), {"level"}),
    'thread.metadata.get("a") or thread.metadata.get("b")': (set(), {"a", "b"}),
    'thread.metadata["a"] if "a" in thread.metadata else 0': (set(), {"a"}),
    'thread.metadata[key] + other["x"]': (set(), set()),
    '(thread.metadata or {})["a"]': ({"a"}, set()),
    'dict(thread.metadata).pop("a")': ({"a"}, set()),
    "len(thread.metadata)": (set(), set()),
}


@pytest.mark.parametrize("body", BODIES)
def test_what_is_asked_of_the_metadata(body):
    found = columns_read(f"async def grade(thread):\n    return {body}\n")
    assert (found.needed, found.optional) == BODIES[body]


def test_names_of_the_metadata():
    text = """
async def grade(thread):
    meta = thread.metadata or {}
    again = meta
    return float(again["a"] == meta.get("b"))
"""
    assert columns_read(text).both == {"a", "b"}
    assert columns_read(text).needed == {"a"}


@pytest.mark.parametrize(
    "body",
    [
        "data = thread.metadata\n    label = data['label']\n    data = json.loads('{}')\n    return data['value'] == label",
        "label = thread.metadata['label']\n    for data in [thread]:\n        pass\n    data: dict = {}\n    return data['value'] == label",
        "def other(data):\n        data = {}\n        return data['value']\n    data: dict = thread.metadata\n    return thread.metadata['label']",
    ],
)
def test_a_name_that_is_something_else_too(body):
    """A variable that holds anything else somewhere is not taken for the columns."""
    assert columns_read(f"import json\n\n\nasync def grade(thread):\n    {body}\n").both <= {"label"}


def test_what_is_caught_is_optional():
    text = """
async def grade(thread):
    try:
        level = thread.metadata["level"]
    except KeyError:
        level = 1
    if (meta := thread.metadata) is not None:
        return float(meta["x"])
"""
    found = columns_read(text)
    assert (found.needed, found.optional) == ({"x"}, {"level"})


def test_parameters_of_reward_functions():
    """The last function of that name counts, and what the trainer gives by itself is no column."""
    text = """
def helper(prompts, unknown): pass

def grade(prompts, completions, solution, level=1, *, more, log_metric=None, **columns):
    return [float(columns["rest"][0] == columns.get("perhaps", [0])[0])]
"""
    found = columns_read(text, "trl")
    assert found.needed == {"solution", "more", "rest"}
    assert found.optional == {"level", "perhaps"}
    text = 'def grade(data_source, solution_str, ground_truth, extra_info=None):\n    return extra_info["level"]\n'
    assert columns_read(text, "verl").needed == {"level"}
    assert not columns_read(text).needed


@pytest.mark.parametrize("text", ["", "def (", "x = 1"])
def test_no_function(text):
    for signature in ("thread", "trl", "verl"):
        assert columns_read(text, signature).needed == set()
