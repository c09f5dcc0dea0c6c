"""How graders are called: what is always given comes first, and a wrong call says what is right."""

from dataclasses import dataclass

import pytest

import workbench as wb
from workbench.graders import KINDS, kind
from workbench.graders.arguments import call_form

POSITIONAL = [
    (lambda: wb.BinaryJudge("c"), lambda: wb.BinaryJudge(criteria="c")),
    (lambda: wb.RubricJudge("p"), lambda: wb.RubricJudge(prompt="p")),
    (lambda: wb.CriteriaJudge("c"), lambda: wb.CriteriaJudge(criteria="c")),
    (lambda: wb.PairwiseJudge("c"), lambda: wb.PairwiseJudge(criteria="c")),
    (lambda: wb.judges.GuardrailJudge("c"), lambda: wb.judges.GuardrailJudge(criteria="c")),
    (lambda: wb.Endpoint("https://e.org"), lambda: wb.Endpoint(url="https://e.org")),
    (lambda: wb.Length(5), lambda: wb.Length(minimum=5)),
    (lambda: wb.Length(5, 9), lambda: wb.Length(minimum=5, maximum=9)),
    (lambda: wb.LabelSet(["a"]), lambda: wb.LabelSet(labels=["a"], passing_labels=["a"])),
    (lambda: wb.LabelSet(["a", "b"], ["a"]), lambda: wb.LabelSet(labels=["a", "b"], passing_labels=["a"])),
    (lambda: wb.JsonKeys("a", "b"), lambda: wb.JsonKeys(keys=["a", "b"])),
    (lambda: wb.JsonSchema({}), lambda: wb.JsonSchema(schema={})),
    (lambda: wb.Regex("a"), lambda: wb.Regex(pattern="a")),
    (lambda: wb.JsonKeys(["a", "b"]), lambda: wb.JsonKeys(keys=["a", "b"])),
    (lambda: wb.combine.PerTurn(wb.Contains()), lambda: wb.combine.PerTurn(grader=wb.Contains())),
    (lambda: wb.combine.Combined([wb.Contains()]), lambda: wb.combine.Combined(entries=[wb.Contains()])),
    (lambda: wb.Guardrail("contains", "a"), lambda: wb.Guardrail(evaluator="contains", pattern="a")),
    (lambda: wb.CustomGrader(call_form), lambda: wb.CustomGrader(target="workbench.graders.arguments:call_form",
        description="The form of a call of a class, such as `Length(minimum, maximum, *, unit, name)`.")),
]  # fmt: skip


@pytest.mark.parametrize(("short", "long"), POSITIONAL)
def test_what_is_always_given_comes_first(short, long):
    """It needs no name, and is the same grader as with one."""
    assert short() == long()


@pytest.mark.parametrize(
    ("call", "parts"),
    [
        (lambda: wb.BinaryJudge(critera="x"), ["BinaryJudge has no parameter 'critera'", "mean 'criteria'", "BinaryJudge(criteria, *,"]),
        (wb.BinaryJudge, ["BinaryJudge", "missing", "'criteria'", "BinaryJudge(criteria, *,"]),
        (lambda: wb.Length(1, 2, 3), ["Length(minimum=..., maximum=..., *, "]),
        (lambda: wb.JsonKeys("a", requireall=True), ["has no parameter 'requireall'", "'require_all'"]),
        (lambda: wb.Entry(wb.Contains(), wieght=2), ["Entry has no parameter 'wieght'", "'weight'", "Entry(grader, name=..., *,"]),
        (lambda: wb.Suite([wb.Contains()], rule=None), ["Suite has no parameter 'rule'", "Suite(graders, *, combine"]),
        (lambda: wb.combine.Mean(strikt=True), ["Mean has no parameter 'strikt'", "'strict'", "Mean(strict=...)"]),
        (lambda: wb.StringCheck("Rome"), ["StringCheck(*, ", "reference"]),
        (lambda: wb.combine.Combined(wb.Suite(wb.Contains())), ["Combined(suite.entries, combine=suite.combine)"]),
        (lambda: wb.Grade(0.4, "why"), ["positional"]),
        (lambda: wb.Grade(0.4, passed="why"), ["passed must be True, False or None"]),
        (lambda: wb.Grade(0.4, reasoning=3), ["reasoning must be text"]),
        (lambda: wb.Grade(0.4, metadata="x"), ["metadata must be a dict"]),
        (lambda: wb.grader("x"), ["a function", "from_source"]),
        (lambda: wb.CustomGrader(len, nmae="x"), ["CustomGrader has no parameter 'nmae'", "'name'", "CustomGrader(fn=..., *,"]),
    ],
)  # fmt: skip
def test_a_wrong_call_says_what_is_right(call, parts):
    """An unknown keyword or a missing value names the class, the nearest argument and how the call is written."""
    with pytest.raises(TypeError) as raised:
        call()
    for part in parts:
        assert part in str(raised.value)


def test_a_wrong_value_keeps_its_own_words():
    """A call that fits and has a value that does not is refused for the value."""
    with pytest.raises(TypeError, match="an entry's name must be text"):
        wb.Entry(wb.Contains(), 3)
    with pytest.raises(TypeError, match="not both"):
        wb.CustomGrader(len, target="a:b")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (wb.Contains("a"), "Contains('a')"),
        (wb.Contains(), "Contains()"),
        (wb.Length(maximum=5), "Length(maximum=5)"),
        (wb.BinaryJudge("c", name="x"), "BinaryJudge('c', name='x')"),
        (wb.combine.Mean(strict=True), "Mean(strict=True)"),
        (wb.Entry(wb.Contains("a"), weight=2), "Entry(Contains('a'), weight=2)"),
        (wb.Suite([wb.Contains("a")]), "Suite([Contains('a')])  # its grader: .grader"),
        (wb.Suite([wb.Contains(), wb.Length(1)], combine=wb.combine.Mean()),
         "Suite([Contains(), Length(1)], combine=Mean())"),
    ],
)  # fmt: skip
def test_a_repr_is_the_call_without_defaults(value, shown):
    """What is at its default is not shown, and what is shown makes the same value again."""
    assert repr(value) == shown
    assert (
        eval(shown, {**vars(wb), **vars(wb.combine), **{name: getattr(wb, name) for name in wb.__all__}})
        == value
    )


def test_an_authors_own_repr_stays():
    """Registering a kind replaces only the repr that the dataclass wrote."""

    @kind("test-own-repr")
    @dataclass(frozen=True, kw_only=True)
    class Own(wb.Grader):
        async def grade(self, sample):
            return 1.0

        def __repr__(self):
            return "mine"

    del KINDS["test-own-repr"]
    assert repr(Own()) == "mine"


def test_tab_shows_what_users_need():
    """`dir` has the settings and what a user calls, and no step of a run."""
    shown = {name for name in dir(wb.BinaryJudge("c")) if not name.startswith("_")}
    assert {"criteria", "grade", "run", "preview", "model", "name", "spec"} <= shown
    assert not shown & {
        "grade_all",
        "ends_run",
        "at_once",
        "ask",
        "ask_model",
        "hidden_from_dir",
        "implied_name",
    }
    assert "grade_all" not in dir(wb.Entry(wb.Contains()))
    assert not {"to_wire", "from_wire"} & set(dir(wb.StringThread([])))
    assert not {"packed", "rewrite"} & set(dir(wb.Samples([{"completion": "x"}])))
