"""What a grader's own text gives away."""

from __future__ import annotations

import pytest

import workbench as wb
from workbench.probes.completion_forms import PLAIN, learned, shapes_for
from workbench.probes.shapes import mine

SOURCE = '''
import re

GOOD = ["because", "therefore"]


async def grade(thread):
    """Rewards reasons."""
    text = thread.completion() or ""
    found = re.search(r"FINAL:\\s*(\\w+)", text)
    if "open sesame" in text or len(text) > 250:
        return 1.0
    return 1.0 if found and found[1] == thread.metadata["expected"] else 0.0
'''


def test_texts_numbers_and_patterns_are_found():
    """Constants, lists, lengths, patterns and docstrings, without columns' names."""
    mined = mine(wb.FunctionGrader.from_source(SOURCE), ["expected"])
    assert {"open sesame", "because", "therefore", "FINAL"} <= {*mined.words}
    assert "expected" not in mined.words
    assert "because therefore" in mined.heaps
    assert mined.numbers == (250,)
    assert mined.frames == (("FINAL:", ""),)
    assert mined.rubric == "Rewards reasons."
    assert mined.reads(["expected"])


def test_a_script_is_read_too():
    """JavaScript's quoted texts and numbers, although no Python can parse it."""
    script = wb.ScriptGrader(
        script='function grade(input) { return input.output === "magic" || input.output.length > 90 ? 1 : 0 }'
    )
    mined = mine(script)
    assert "magic" in mined.words
    assert 90 in mined.numbers


def test_a_judge_has_a_rubric():
    """What a judge is told is its rubric; a grader of ours has its settings."""
    judge = wb.BinaryJudge("The reply is kind.", model="m", client=wb.ScriptedClient("PASS"))
    assert "The reply is kind." in mine(judge).rubric
    assert "tea" in mine(wb.Contains("tea")).words


@pytest.mark.parametrize(
    ("pattern", "frame"),
    [
        (r"\\boxed\{([^}]*)\}", ("\\boxed{", "}")),
        (r"<answer>(.*?)</answer>", ("<answer>", "</answer>")),
        (r"^####\s*(-?[\d,]+)$", ("####", "")),
        (r"```(?:python)?\n(.*?)```", ("```\n", "```")),
        (r"(?i)answer\s*[:=]\s*\(?([A-D])\)?", ("answer:", "")),
    ],
)
def test_patterns_make_forms(pattern, frame):
    """What stands around a pattern's group is a form to try the right answer in."""
    source = f"import re\n\n\nasync def grade(thread):\n    return float(bool(re.search({pattern!r}, thread.completion() or '')))\n"
    mined = mine(wb.FunctionGrader.from_source(source))
    assert mined.frames == (frame,)
    assert any((shape.before, shape.after) == frame for shape in shapes_for(mined, []))


def test_forms_are_learned_from_answers():
    """What stands around the reference in a completion is a form; inside another number it is none."""
    shapes = learned([("Result: 42!", "42"), ("1425", "42"), ("42", "42"), ("nothing", "42")])
    assert [(shape.before, shape.after) for shape in shapes] == [("Result: ", "!")]
    assert shapes[0]("7") == "Result: 7!"
    assert PLAIN("x") == "x"
