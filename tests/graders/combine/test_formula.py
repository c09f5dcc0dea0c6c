"""OpenAI's formulas: read by a parser, never evaluated as code."""

import math
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.graders.combine import Expression, FormulaError

VALUES = {"a": 0.5, "b": 2.0, "c_1": 3.0}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a ^ 2", 0.25),
        ("2 ^ 3 ^ 2", 512.0),
        ("-b ^ 2", -4.0),
        ("b ^ -1", 0.5),
        ("--a", 0.5),
        ("max(a, b, c_1)", 3.0),
        ("min(1, a + b - 0.5)", 1.0),
        ("abs(a - b)", 1.5),
        ("ceil(0.1) + floor(1.9)", 2.0),
        ("log(exp(a))", 0.5),
        ("sqrt(4) / b", 1.0),
        ("(a + b) * .5e1", 12.5),
        ("1 - 2 - 3", -4.0),
        ("8 / 2 / 2", 2.0),
    ],
)
def test_values(text, value):
    """Operators bind as in arithmetic, power to the right."""
    assert float(Expression.read(text, VALUES).value(VALUES)) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "flag"),
    [
        ("a + * b", "formula_parse_error"),
        ("a.real", "formula_parse_error"),
        ("", "formula_parse_error"),
        ("(a", "formula_parse_error"),
        ("a b", "formula_parse_error"),
        ("min(a)", "formula_parse_error"),
        ("abs(a, b)", "formula_parse_error"),
        ("__import__('os')", "formula_parse_error"),
        ("a[0]", "formula_parse_error"),
        ("a ** 2", "formula_parse_error"),
        ("pow(a, 2)", "formula_parse_error"),
        ("(" * 200 + "a" + ")" * 200, "formula_parse_error"),
        ("a^" * 2000 + "a", "formula_parse_error"),
        ("1+" * 10_000 + "1", "formula_parse_error"),
        ("d", "invalid_variable_error"),
        ("max + 1", "invalid_variable_error"),
    ],
)
def test_what_cannot_be_read(text, flag):
    """Everything else is an error with OpenAI's flag and the place."""
    with pytest.raises(FormulaError) as caught:
        Expression.read(text, VALUES)
    assert caught.value.flag == flag
    assert "where" in str(caught.value)


NUMBERS = st.floats(-4, 4).map(lambda x: round(x, 3))
FORMULAS = st.recursive(
    st.one_of(st.sampled_from(list(VALUES)), NUMBERS.map(lambda x: f"({x!r})")),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        inner.map(lambda t: f"abs({t})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
    ),
    max_leaves=12,
)


@given(FORMULAS)
def test_agrees_with_python(text):
    """On what both know, a formula means what Python means."""
    expected = eval(
        text, {"__builtins__": {}, "abs": abs, "max": max, **VALUES}
    )  # the oracle, on our own text
    assert math.isclose(float(Expression.read(text).value(VALUES)), expected, rel_tol=1e-9, abs_tol=1e-9)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(text):
    """No text ends in anything but a value or our error."""
    try:
        rule = Expression.read(text)
        rule.value(dict.fromkeys(rule.names, 1.0))
    except FormulaError:
        pass


def test_a_formula_of_many_terms_has_a_value():
    """Thousands of terms are one loop, no nest of calls."""
    rule = Expression.read(" + ".join(["a"] * 1500) + "-a*1/1" * 500)
    assert rule.value({"a": 1.0}) == 1000.0


def test_a_formula_read_from_deep_inside_is_refused_in_words():
    """Python's own limit on calls does not leak out as a RecursionError."""

    def down(depth):
        return Expression.read("min(1," * 90 + "a" + ")" * 90) if not depth else down(depth - 1)

    limit = sys.getrecursionlimit()
    with pytest.raises(FormulaError):
        for depth in range(limit - 900, limit, 50):
            down(depth)
