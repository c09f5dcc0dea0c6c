"""Code graders as Python modules that stand alone."""

import ast
import asyncio
import re
import sys

import pytest

import workbench as wb
from tests.graders.code_examples import CODE_EXAMPLES, sample
from tests.graders.portable.cases import EVERYWHERE, PYTHON_ONLY, ROWS, UNFINISHED
from workbench.core.errors import FormatError
from workbench.data.extractors import EXTRACTORS, extractor
from workbench.graders import Control
from workbench.graders.portable import portable
from workbench.graders.structure import JsonSchema
from workbench.graders.text import Contains, ExactMatch, Regex
from workbench.graders.text.openai_text import StringCheck


def named(grader):
    """A grader's settings, as a test's name."""
    return f"{grader.kind}-{'-'.join(map(str, list(grader.spec().values())[1:]))}"[:60]


def scores(grader, rows=ROWS):
    """The score of every row, None where it failed."""
    return [grade.score for grade in asyncio.run(grader.grade_all(wb.Samples(rows), Control()))]


@pytest.mark.parametrize("grader", [*EVERYWHERE, *PYTHON_ONLY], ids=named)
def test_the_module_scores_what_the_grader_scores(grader):
    """In the sandbox every row has the same score to the last bit, and fails where the grader fails."""
    module = wb.FunctionGrader.from_source(portable(grader), timeout=5.0)
    assert scores(module, ROWS + UNFINISHED) == scores(grader, ROWS + UNFINISHED)


def test_the_cases_tell_scores_apart():
    """The rows are no walk-over: nearly every grader has rows that pass, rows that do not."""
    told = [len({score for score in scores(grader) if score is not None}) for grader in EVERYWHERE]
    assert sum(count > 1 for count in told) > 0.75 * len(told)


@pytest.mark.parametrize("grader", [*EVERYWHERE, *PYTHON_ONLY], ids=named)
def test_modules_need_the_standard_library_alone(grader):
    """Imports are the standard library's and the thread's; every name that is used is there; it is small."""
    text = portable(grader)
    tree = ast.parse(text)
    imported = {
        (node.module if isinstance(node, ast.ImportFrom) else node.names[0].name).partition(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    }
    assert imported - {"adaptive_harmony"} <= sys.stdlib_module_names
    assert "workbench." not in re.sub(r'""".*?"""', "", text, flags=re.DOTALL)
    assert len(text) < 20_000


class Bare:
    """A thread of a platform that knows turns and metadata only."""

    metadata = {"expected": "4"}

    def get_turns(self):
        """Two turns."""
        return [("user", "2+2?"), ("assistant", " 4")]


@pytest.mark.parametrize(
    ("kind", "score"), [("exact-match", 0.0), ("tool-call", 0.0), ("text-similarity", 0.5)]
)
def test_a_platform_that_knows_less_can_run_it(kind, score, monkeypatch):
    """The default extractor needs turns and metadata; without tool calls there are none."""
    monkeypatch.setitem(sys.modules, "adaptive_harmony", wb)
    space = {}
    exec(portable(CODE_EXAMPLES[kind]()), space)
    assert asyncio.run(space["grade"](Bare())) == score


def test_the_reference_may_have_another_name():
    """With reference_field the reference is looked for under that key alone."""
    module = wb.FunctionGrader.from_source(portable(ExactMatch(), reference_field="gold"))
    assert module(sample("x", None, gold="x")).score == 1.0
    assert "under gold" in module(sample("x", "x")).error.message


def test_settings_are_literals_and_nothing_else():
    """Text that looks like code stays text."""
    nasty = "'''\"\"\" + __import__('os').system('x')\n\\"
    module = wb.FunctionGrader.from_source(portable(Contains(name=nasty, expected=nasty, ignore_case=False)))
    assert module(sample(nasty)).score == 1.0
    assert module.validate().ok


@pytest.mark.parametrize(
    ("make", "where", "hint"),
    [
        (lambda: JsonSchema(schema={}), "json-schema.schema", "json-keys"),
        (CODE_EXAMPLES["per-turn"], "per-turn", "own format"),
        (
            lambda: wb.FunctionGrader.from_source("async def grade(thread): return 1.0"),
            "function",
            "own format",
        ),
        (lambda: Regex(flavor="dotnet"), "regex.flavor", "python"),
        (lambda: StringCheck(input="{{ item.a.b }}{{", reference=""), "string-check.input", "item.x"),
        (lambda: Contains(expected="", extractor="_own_rule"), "contains.extractor", "own format"),
        (lambda: Contains("a", on_empty="skip"), "contains.on_empty", '"zero"'),
        (lambda: Contains(on_no_reference="skip"), "contains.on_no_reference", '"zero"'),
    ],
)
def test_what_cannot_travel_is_refused_by_name(make, where, hint):
    """The refusal names the grader, the field and the way out."""
    extractor("_own_rule")(_own)
    try:
        grader = make()
        with pytest.raises(FormatError) as caught:
            portable(grader)
    finally:
        del EXTRACTORS["_own_rule"]
    assert repr(grader.name) in caught.value.what
    assert caught.value.where == where
    assert hint in caught.value.hint


def _own(thread):
    return "x"


def test_negation_turns_scores_round_and_keeps_failures():
    """`negate` gives 1 - x; a row without a reference still raises."""
    code = wb.FunctionGrader.from_source(portable(Contains(name="c"), negate=True))
    rows = [wb.StringThread([("assistant", text)], {"reference": "a"}) for text in ("a", "b")]
    assert [code(row).score for row in rows] == [0.0, 1.0]
    failed = code(wb.StringThread([("assistant", "a")]))
    assert failed.score is None
    assert failed.error is not None
