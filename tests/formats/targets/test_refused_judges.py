"""Judges are not exported as code: the refusal names the reward and the server that call them, and both exist."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

import workbench as wb
from tests.deploy.serve.servers import served, thread_of
from tests.formats.targets.test_targets import GRADERS, TARGETS
from workbench.core.errors import FormatError
from workbench.deploy.serve.wire_forms import WIRE_FORMS
from workbench.formats.frame import BEGIN, END

PASS = '{"reasoning": "It is 4.", "score": "PASS"}'
POLITE = wb.BinaryJudge("It is polite.", model="m")
SUITE = wb.Suite([wb.Entry(POLITE, "polite"), wb.Entry(GRADERS["found"], "found")], combine=wb.combine.Mean())
REWARDS = {
    "trl": ("wb.reward(suite).trl", "/score"),
    "verl": ("wb.reward(suite).verl", "/score"),
    "openrlhf": ("wb.reward(suite).openrlhf", "/openrlhf"),
    "slime": ("wb.reward(suite).slime", "/slime"),
    "verifiers": ("wb.reward(suite).verifiers", "/score"),
    "gemini": ("wb.reward(suite)(prompts, completions)", "/gemini"),
}
"""Trainers with a function or a path of their own; any other target has the general ones."""
GENERAL = ("wb.reward(suite)(prompts, completions)", "/score")


def exported(suite, path, target, **how):
    return wb.export(suite, path, target, allow_unvalidated=True, **how)


@pytest.mark.parametrize("target", TARGETS)
def test_refusals_name_reward_and_serve(target, tmp_path):
    """What to type stands in the error, and in the loss if losses are reported; the code is written without the judge."""
    call, path = REWARDS.get(target, GENERAL)
    with pytest.raises(FormatError, match="runs code only, and a binary-judge sends requests") as refusal:
        exported(SUITE, tmp_path / "g.py", target)
    assert refusal.value.where == "grader 'polite', kind"
    assert not list(tmp_path.iterdir())
    done = exported(SUITE, tmp_path / "g.py", target, on_loss="report")
    (loss,) = [str(loss) for loss in done.losses if (loss.grader, loss.field) == ("polite", "kind")]
    for text in (refusal.value.hint, loss):
        assert f"use {call}, or " in text
        assert 'wb.save(suite, "graders.json")' in text
        assert f"workbench serve graders.json (path {path})" in text
    again = [grader.name for grader in wb.load(tmp_path / "g.py").graders]
    assert again == (["found"] if TARGETS[target].own_judges is None else ["binary-judge", "found"])


@pytest.mark.parametrize("target", TARGETS)
def test_a_suite_of_judges_alone(target, tmp_path):
    """With nothing left to write, the error names both ways as well."""
    if TARGETS[target].own_judges is not None:
        return
    with pytest.raises(FormatError, match="no grader can be written") as refusal:
        exported(POLITE, tmp_path / "g.py", target, on_loss="report")
    assert f"use {REWARDS.get(target, GENERAL)[0]}, or " in refusal.value.hint
    assert "workbench serve graders.json" in refusal.value.hint


@pytest.mark.parametrize("target", TARGETS)
def test_what_a_refusal_names_exists(target):
    """The reward has the function, and the server the path."""
    assert not TARGETS[target].reward or TARGETS[target].reward in dir(wb.reward(wb.Contains("4")))
    assert TARGETS[target].served in WIRE_FORMS


CHAT = [{"role": "user", "content": "2+2?"}]
VERIFIERS_TASK = SimpleNamespace(prompt_text="2+2?", answer="4")
VERIFIERS_TRACE = SimpleNamespace(branches=[], root_reply=None, last_reply="4")
SLIME = SimpleNamespace(prompt=CHAT, response="4", label="4", metadata={})
CALLS = {
    "trl": lambda reward: reward.trl(prompts=[CHAT], completions=["4"])[0],
    "verl": lambda reward: reward.verl("d", "4", "4", {"prompt": "2+2?"}),
    "openrlhf": lambda reward: reward.openrlhf(["2+2? 4"], ["2+2?"], ["4"])["rewards"][0],
    "slime": lambda reward: asyncio.run(reward.slime(None, SLIME)),
    "verifiers": lambda reward: asyncio.run(reward.verifiers(VERIFIERS_TASK, VERIFIERS_TRACE)),
}


@pytest.mark.parametrize("trainer", CALLS)
def test_the_named_reward_calls_the_judge(trainer):
    """As each trainer calls it."""
    judge = wb.BinaryJudge("The reply is right.", client=wb.ScriptedClient(PASS))
    with wb.reward(judge) as reward:
        assert float(CALLS[trainer](reward)) == 1.0


def test_the_named_path_calls_the_judge():
    """The general path, for targets without one of their own; the others are tested with the server."""
    judge = wb.BinaryJudge("The reply is right.", client=wb.ScriptedClient(PASS))
    with served(wb.Suite(judge)) as running:
        assert running.post("/score", thread_of("4")).json()["reward"] == 1.0


def earlier(path):
    """A file with a judge, as an earlier version wrote it; shortened to the lines that are read."""
    settings = {
        "target": "trl",
        "version": 1,
        "combine": {"rule": "mean"},
        "graders": [
            {"name": "found", "function": "found"},
            {"name": "polite", "function": "polite", "weight": 2.0, "spec": POLITE.spec()},
        ],
    }
    judge = (
        "async def grade(thread):\n    return await _wb_judged(\n        _wb_rules,\n        thread,\n    )\n"
    )
    texts = "".join(f"{BEGIN}\n{text}\n{END}\n\n" for text in (GRADERS["found"].source.text, judge))
    path.write_text(
        f"# Written by grader workbench for TRL.\n\n{texts}# settings: {json.dumps(settings)}\n", "utf-8"
    )


def test_an_earlier_file_with_a_judge_is_refused(tmp_path):
    """Without the judge the file would give other scores; the error names it and restores it as typed."""
    earlier(tmp_path / "g.py")
    with pytest.raises(FormatError, match="contains a judge, written by an earlier version") as refusal:
        wb.load(tmp_path / "g.py")
    assert "settings.graders[1]" in refusal.value.where
    assert refusal.value.found == "'polite'"
    typed = refusal.value.hint[refusal.value.hint.index("wb.loads(") : refusal.value.hint.index(", and use")]
    last_line = Path(tmp_path / "g.py").read_text("utf-8").splitlines()[-1]
    assert eval(typed, {"wb": wb, "json": json, "LAST_LINE": last_line})[0] == POLITE
