"""The code around graders in exported files gives the workbench's results: rules, formulas, settings of entries."""

import ast
import inspect
import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.formats.targets.test_targets import GRADERS, TARGETS
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.data.row_columns import REFERENCE_NAMES
from workbench.data.samples.columns import LABEL_NAMES
from workbench.formats.frame import combining, runtime
from workbench.formats.targets.module import formula_in_python
from workbench.formats.targets.parts import needs_namespace, read_names
from workbench.formats.targets.target import ExportPlan, Part
from workbench.graders.combine.combined import combine
from workbench.graders.combine.formula import Expression

NAMES = ("a", "b", "min")
SCORES = st.one_of(st.none(), st.just("failed"), st.sampled_from([0.0, 1.0, 0.5, -2.0, 1e308, 3.25]))
RULES = st.sampled_from(
    [
        wb.combine.Mean(), wb.combine.Mean(strict=True), wb.combine.Sum(), wb.combine.Sum(strict=True), wb.combine.AllPass(),
        wb.combine.Formula("a / b"), wb.combine.Formula("min(a, 1 / min) ^ 2 - .5e1"), wb.combine.Formula("2 ^ -a ^ 2"),
        wb.combine.Formula("sqrt(a) + log(b) * exp(min) + floor(a) - ceil(b) + abs(-a) + max(a, b, 0)"),
    ]
)  # fmt: skip


def test_a_decorated_function_is_given_what_it_was_written_to_take():
    """`functools.wraps` and `lru_cache` hide the parameters, not what they are."""
    import functools

    @functools.lru_cache
    def grade(completions, *, expected): ...

    @functools.wraps(grade)
    def around(*args, **kwargs): ...

    for function in (grade, around):
        assert set(runtime._wb_accepted(function, {"completions": 1, "expected": 2, "level": 3})) == {
            "completions",
            "expected",
        }


def answer(score):
    if score == "failed":
        return runtime._wb_Answer(failure="ValueError: no")
    return runtime._wb_Answer(score)


def grade(score):
    if score == "failed":
        return Grade.failed("runtime", "ValueError: no")
    return Grade.skipped("no") if score is None else Grade(score)


def column(score):
    grades = Grades.empty(1)
    grades.put(0, grade(score))
    return grades


def whole(rule, answers, weights):
    """The combined result by a file's lines."""
    from workbench.formats.targets.module import _combined

    parts = tuple(Part(name, name, "", {"weight": weight}) for name, weight in weights.items())
    text = _combined(ExportPlan(parts, rule), rule)
    return eval(text, {**vars(runtime), **vars(combining), "answers": answers})


@given(st.tuples(SCORES, SCORES, SCORES), st.tuples(*[st.sampled_from([0.0, 1.0, 0.3, 2.5])] * 3), RULES)
def test_rules_are_the_suites(scores, weights, rule):
    """Each rule gives the suite's number, or none where the suite has none: for skips, failures, infinities, zeros."""
    named = dict(zip(NAMES, weights, strict=True))
    entries = [wb.Entry(GRADERS["found"], name, weight=weight) for name, weight in named.items()]
    if isinstance(rule, wb.combine.Mean) and not any(weights):
        return
    parts = {name: column(score) for name, score in zip(NAMES, scores, strict=True)}
    expected = combine(entries, parts, rule)[0]
    found = whole(rule, {name: answer(score) for name, score in zip(NAMES, scores, strict=True)}, named)
    assert (found.score is None) == (expected.score is None), (found, expected)
    assert found.score is None or math.isclose(found.score, expected.score, rel_tol=1e-12)
    assert bool(found.failure) == (expected.error is not None), (found, expected)


FINITE = st.floats(-1e3, 1e3) | st.sampled_from([0.0, -0.0, 1.0, -1.0])


@given(FINITE, FINITE, st.sampled_from(["a / b", "a ^ b", "-a ^ 2", "1 / (1 / a)", "min(a, 1 / b)", "a - b - 1", "2 ^ 3 ^ a", "sqrt(a) + log(b)", "exp(a * b)"]))  # fmt: skip
def test_formulas_are_columns_arithmetic(a, b, text):
    """Division by 0, roots of negative numbers and overflows give what columns of floats give."""
    names, value = formula_in_python(text)
    given_values = {"a": a, "b": b}
    found = eval(value, {**vars(runtime), **vars(combining)})(*(given_values[name] for name in names))
    expected = float(Expression.read(text).value(given_values))
    assert math.isclose(found, expected, rel_tol=1e-9, abs_tol=1e-300) or (
        math.isnan(found) and math.isnan(expected)
    )


@pytest.mark.parametrize("target", TARGETS)
def test_a_targets_lines_have_names_of_their_own(target):
    """What a target's lines bind is nothing that the shared lines bind: neither takes the other's place."""
    trees = [ast.parse(Path(module.__file__).read_text("utf-8")) for module in (runtime, combining)]
    shared = {node.name for tree in trees for node in tree.body if hasattr(node, "name")}
    parts = tuple(Part(name, name, "") for name in ("one", "two"))
    bound = set()
    for rule in (None, wb.combine.Mean(), wb.combine.AllPass()):
        bound |= set(
            re.findall(r"^(?:async )?def (\w+)", TARGETS[target].lines(ExportPlan(parts, rule)), re.MULTILINE)
        )
    assert bound & shared == set()
    assert {name for name in bound if not name.startswith("_wb_")} <= {*TARGETS[target].public, "one", "two"}


def test_whose_names_a_text_reads():
    """Arguments and locals are private; globals, builtins and names of nested functions are not."""
    text = "import re\nA = 1\n\n\ndef f(x, y=A):\n    z = x\n    return [len(z) for w in re.findall(x, y)]\n"
    assert read_names(text) == {"A", "len", "re"}
    assert needs_namespace([text, text]) == [False, False]
    assert needs_namespace([text, text.replace("A = 1", "A = 2")]) == [False, True]
    assert needs_namespace([text], ["z"]) == [False]
    assert needs_namespace([text], ["len"]) == [True]
    assert needs_namespace([text, "def len(x):\n    return 1\n"]) == [False, True]


def test_exported_files_know_the_same_names_of_references():
    """They are written out there, since a file has nothing of the workbench; the order is that of the workbench."""
    names = (*runtime._WB_REFERENCE, *runtime._WB_MORE_REFERENCES)
    assert names == REFERENCE_NAMES
    assert runtime._WB_REFERENCE == LABEL_NAMES


def test_a_grade_takes_what_it_takes_in_a_run():
    """A keyword that fails a row in a run fails it in an exported file, too."""
    assert [*inspect.signature(runtime.Grade).parameters] == [*inspect.signature(wb.Grade).parameters]


def test_files_with_the_earlier_grade_are_read(tmp_path):
    """It accepted any keyword; any other change of the lines around a grader is refused."""
    text = "from workbench import Grade\nasync def grade(thread):\n    return Grade(1.0, reasoning='x')\n"
    path = tmp_path / "reward.py"
    wb.export(wb.FunctionGrader.from_source(text), path, "trl", allow_unvalidated=True)
    written = path.read_text()
    signature = re.search(
        r"    def __init__\(\n        self,\n        score=None,.*?\n    \):\n", written, re.DOTALL
    )
    earlier = "    def __init__(self, score=None, *, passed=None, reasoning=None, error=None, metadata=None, **rest):\n"
    assert signature
    path.write_text(written.replace(signature[0], earlier))
    assert wb.load(path)[0].source.text == text
    path.write_text(written.replace(signature[0], earlier.replace("**rest", "**more")))
    with pytest.raises(wb.errors.FormatError, match="were edited"):
        wb.load(path)
