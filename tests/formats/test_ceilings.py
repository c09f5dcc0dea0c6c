"""Limits that imported code requests: reduced to one ceiling for every way of import, and reported."""

import json
import warnings
from dataclasses import replace

import pytest

import workbench as wb
from workbench.graders.combine import Combined
from workbench.graders.serialization import from_record, spec_of
from workbench.judges import AgentJudge
from workbench.sandbox.host.program import IMPORTED_MB, IMPORTED_SECONDS

FUNCTION = "async def grade(thread):\n    return 0.5\n"
SCRIPT = "function grade(input) { return 0.5; }"
MODULE = "import workbench as wb\n\n\n@wb.grader(timeout=1e9, memory_mb=1000000)\n" + FUNCTION
ROLLOUT = (
    "class G(Grader):\n    async def grade(self, ctx):\n        for one in ctx.samples:\n"
    "            ctx.set_sample_reward(one, 0.5)\n"
)
MUCH = {"timeout": 1e9, "memory_mb": 10**6}
TOLD = r"reduced limits: .*timeout=.*60 s and 2,048 MiB.*Next step"


def function(**limits):
    return wb.FunctionGrader.from_source(FUNCTION, name="greedy", **limits)


def judge(**limits):
    agent = {
        "agents": [{"system": "", "llm_config": {"model": "m"}}],
        "tools": [
            {
                "name": "submit_grade",
                "source_code": "def submit_grade(score: float, rationale: str):\n    pass\n",
                "json_schema": {"name": "submit_grade", "parameters": {"type": "object", "properties": {}}},
            }
        ],
    }
    return AgentJudge(prompt="p", agent=agent, name="greedy", **limits)


def limits_of(grader):
    return {name: getattr(grader, name) for name in grader.ceilings}


GREEDY = {
    "function": function(**MUCH),
    "rollout": wb.RolloutGrader.from_source(ROLLOUT, **MUCH),
    "script": wb.ScriptGrader.from_source(SCRIPT, timeout=1e9),
    "agent judge": judge(tool_timeout=1e9, tool_memory_mb=10**6),
}


@pytest.mark.parametrize("grader", GREEDY.values(), ids=GREEDY)
@pytest.mark.parametrize("trust", [False, True])
def test_a_record_asks_for_no_more_than_the_ceiling(grader, trust):
    """The author of a record cannot set a row's time or a worker's memory beyond the ceilings, trusted or not."""
    with pytest.warns(UserWarning, match=TOLD):
        read = from_record(spec_of(grader), trust=trust)
    assert all(limits_of(read)[name] <= most for name, most in read.ceilings.items())
    assert limits_of(read) != limits_of(grader)


def test_a_store_gives_no_more_than_the_ceiling():
    """The same for graders from a store, which others may write to."""
    grader = GREEDY["function"]
    grader.remember(replace(function().validate(), sha256=grader.source.sha256))
    with wb.open_store("sqlite://") as store:
        store.graders.create("greedy", grader)
        with pytest.warns(UserWarning, match=TOLD):
            read = store.graders.get("greedy")
    assert all(limits_of(read)[name] <= most for name, most in read.ceilings.items())


def test_a_python_file_asks_for_no_more_than_the_ceiling(tmp_path):
    """The settings of a decorator in a file are the file's wish, from a path as from a pasted text."""
    path = tmp_path / "greedy.py"
    path.write_text(MODULE)
    for read in (lambda: wb.load(path), lambda: wb.loads(MODULE), lambda: wb.load(path, trust=True)):
        with pytest.warns(UserWarning, match=TOLD):
            grader = read().graders[0]
        assert limits_of(grader) == {"timeout": IMPORTED_SECONDS, "memory_mb": IMPORTED_MB}
        assert grader.limits.row_seconds == IMPORTED_SECONDS


def test_a_native_file_asks_for_no_more_than_the_ceiling(tmp_path):
    """What the schema allows a file to contain is reduced as well, also for a nested grader; the rest is unchanged."""
    inner = Combined(
        name="both", entries=(wb.Entry(function(timeout=600.0)), wb.Entry(function(), name="other"))
    )
    path = tmp_path / "graders.json"
    wb.save([function(timeout=600.0), inner], path, allow_unvalidated=True)
    with pytest.warns(UserWarning, match=TOLD) as told:
        outer, both = wb.load(path).graders
    assert len(told) == 2
    assert limits_of(outer) == {"timeout": IMPORTED_SECONDS, "memory_mb": 512}
    assert [entry.grader.timeout for entry in both.entries] == [IMPORTED_SECONDS, 1.0]
    assert json.loads(path.read_text())["graders"][0]["timeout"] == 600.0


def test_what_is_within_the_ceiling_is_kept_in_silence(tmp_path):
    """A file's own limits count up to the ceiling."""
    path = tmp_path / "graders.json"
    wb.save(function(timeout=60.0, memory_mb=2048), path, allow_unvalidated=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert limits_of(wb.load(path).graders[0]) == {"timeout": 60.0, "memory_mb": 2048}


def test_what_a_user_types_is_the_users():
    """A limit typed here is unchanged, on the user's own text and on imported text."""
    assert function(timeout=600.0).timeout == 600.0
    theirs = wb.FunctionGrader.from_source(FUNCTION, imported=True, timeout=600.0)
    assert theirs.timeout == 600.0
    with pytest.warns(UserWarning, match=TOLD):
        read = from_record(spec_of(function(timeout=600.0)))
    assert replace(read, timeout=600.0).timeout == 600.0
