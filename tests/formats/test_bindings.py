"""The binding of a name in an Adaptive file is read at the call, as in Python, or refused."""

import ast

import pytest

import workbench as wb
from workbench.core.errors import FormatError
from workbench.formats.platforms.adaptive import NotWrittenOutError, constant_at, module_of

CALL = "adaptive.graders.create.function(key='{key}', fn=grade)\n"
JUDGE = "adaptive.graders.create.binary_judge(key='j', criteria=C, judge_model='m')\n"
THREAD = wb.StringThread([("assistant", "x")])


def one(score, body="return {}"):
    return f"async def grade(thread):\n    {body.format(score)}\n\n"


def scores(text):
    return [entry.grader(THREAD).score for entry in wb.loads(text, trust=True).entries]


def test_each_call_gets_the_function_before_it():
    """Two functions of one name, each with its call: the first call has the first function."""
    assert scores(one(0.25) + CALL.format(key="a") + one(0.75) + CALL.format(key="b")) == [0.25, 0.75]


def test_helpers_and_constants_are_those_of_that_moment():
    """What a function reads is what it was when the call was made."""
    uses = one("X + helper()", "return {}")
    first = "X = 0.25\ndef helper():\n    return 0.0\n" + uses + CALL.format(key="a")
    then = "X = 0.5\nX += 0.125\ndef helper():\n    return 0.125\n" + uses + CALL.format(key="b")
    assert scores(first + then) == [0.25, 0.75]


def test_calls_inside_functions_see_the_whole_file():
    """A call in a function runs after the module: the last definition counts."""
    text = one(0.25) + f"def main():\n    {CALL.format(key='a')}\n" + one(0.75)
    assert scores(text) == [0.75]


def test_what_is_bound_later_only_is_still_found():
    """A function defined after its call is used."""
    assert scores(CALL.format(key="a") + one(0.5)) == [0.5]


def test_a_constant_is_read_by_its_name():
    """`criteria=C` is the value of C there, not the letter C."""
    text = 'C = "Is it polite?"\n' + JUDGE + 'C = "later"\n'
    assert wb.loads(text)[0].criteria == "Is it polite?"


@pytest.mark.parametrize(
    "before",
    [
        "",
        "from rules import C\n",
        'C = f"{x}"\n',
        'C = "a"\nC += "b"\n',
        'C = "a"\nC = load()\n',
        'C, D = "ab"\n',
        'C = "a"\ndef change():\n    global C\n    C = "b"\n',
        'C = ["a"]\nC.append("b")\n',
        'C = {}\nC["a"] = 1\n',
        "C: str\n",
    ],
)
def test_a_value_that_is_not_written_out_is_refused(before):
    """An argument that only running the file could determine is refused with its line."""
    with pytest.raises(FormatError, match="not written out") as error:
        wb.loads(before + JUDGE)
    assert "criteria=C" in error.value.found
    assert f"line {before.count(chr(10)) + 1}" in error.value.where


@pytest.mark.parametrize("text", ['C = "a"\nfor C in x:\n    {}', 'C = "a"\ndef main(C):\n    {}'])
def test_a_name_bound_around_the_call_is_refused(text):
    """A loop's or an argument's name is not the module's constant."""
    with pytest.raises(FormatError, match="not written out"):
        wb.loads(text.format(JUDGE))


def test_a_text_may_be_the_function():
    """`fn=SOURCE` with a text of the file is that text."""
    assert scores(f"SOURCE = {one(0.5)!r}\n" + CALL.format(key="a").replace("fn=grade", "fn=SOURCE")) == [0.5]


def test_a_function_that_is_not_there_is_named_with_those_that_are():
    """A slip of the pen lists the functions of the file."""
    with pytest.raises(FormatError, match="fn=grad:") as error:
        wb.loads(one(1) + CALL.format(key="a").replace("fn=grade", "fn=grad"))
    assert error.value.found == "grade"
    assert "fn=grade" in error.value.hint


def test_decorators_and_imports_travel():
    """A definition keeps its decorators, and the imports they need."""
    text = "import functools\nX = 1\n@functools.cache\ndef f():\n    return X\n"
    assert module_of(text, ast.parse(text), "f", 6) == (
        "import functools\n\n\nX = 1\n\n\n@functools.cache\ndef f():\n    return X\n"
    )


def test_a_constant_before_it_is_set_is_none():
    """A line above the assignment has no value yet."""
    tree = ast.parse("a\nC = 1\nb\n")
    assert constant_at(tree, "C", 3) == 1
    with pytest.raises(NotWrittenOutError):
        constant_at(tree, "C", 1)
