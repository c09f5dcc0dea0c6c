"""Text graders over whole columns: to the letter what they say of each row by itself."""

import asyncio
import dataclasses

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.graders.concurrent_rows import Control
from workbench.graders.rule_grader import RuleGrader

GRADERS = (
    wb.ExactMatch(),
    wb.ExactMatch(ignore_case=True, trim=False),
    wb.ExactMatch(expected=" a"),
    wb.ExactMatch(on_no_reference="zero", on_empty="skip"),
    wb.ExactMatch(wording="letta", on_empty="zero"),
    wb.Contains(),
    wb.Contains(ignore_case=True, on_no_reference="skip"),
    wb.Contains(expected="ß"),
    wb.Contains(extractor="all_assistant"),
    wb.Length(minimum=1, maximum=3),
    wb.Length(maximum=1, unit="words", on_empty="fail"),
    wb.Length(minimum=2, unit="utf16"),
    *(wb.StringCheck(operation=operation) for operation in ("eq", "ne", "like", "ilike")),
    wb.StringCheck(reference="A", operation="ilike"),
    wb.StringCheck(reference="{{item.topic}}", operation="like"),
    wb.StringCheck(input="{{item.topic}}"),
)
TEXT = st.text("aAßİ 1.\U0001f600\x1c\n{", max_size=4)
CELL = st.one_of(st.none(), TEXT, st.sampled_from([1, 1.0, True, float("nan")]))
MESSAGES = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["user", "assistant", "tool"]), "content": TEXT}),
    max_size=3,
)


def one_by_one(grader, samples):
    """The grades of each row's thread, as a single call gives them."""
    return [grader._grade_of(grader._safely(sample.thread, sample.reference), 0.0) for sample in samples]


def by_columns(grader, samples):
    return asyncio.run(grader.grade_all(samples, Control()))


def without_time(grade):
    return dataclasses.replace(grade, seconds=None)


@pytest.mark.parametrize("grader", GRADERS, ids=lambda grader: repr(grader)[:70])
@given(st.data())
def test_columns_and_rows_agree(grader, data):
    """Score, verdict, reason, details, failures and skips; in any view, with references of any kind or none."""
    rows = data.draw(st.integers(1, 6))

    def draw(cells):
        return data.draw(st.lists(cells, min_size=rows, max_size=rows))

    frame = {"completion": draw(st.one_of(st.none(), TEXT)), "expected": draw(CELL), "topic": draw(TEXT)}
    frame |= data.draw(st.sampled_from([{}, {"prompt": ["q"] * rows}]))
    if data.draw(st.booleans()):
        del frame["completion"]
        frame["messages"] = draw(MESSAGES)
    samples = wb.Samples(pd.DataFrame({name: pd.Series(cells) for name, cells in frame.items()}))
    for view in (
        samples,
        samples.take(data.draw(st.permutations(range(rows)))[: data.draw(st.integers(0, rows))]),
    ):
        grades = by_columns(grader, view)
        assert [without_time(grade) for grade in grades] == [
            without_time(g) for g in one_by_one(grader, view)
        ]


def test_a_key_in_the_metadata_outranks_the_reference():
    """`item.reference` is the row's own key where there is one, for whole columns as for rows."""
    rows = [{"completion": "a", "answer": "a", "metadata": {"reference": "b"}}] * 3
    assert by_columns(wb.StringCheck(), wb.Samples(rows)).scores.tolist() == [0.0] * 3
    named = wb.Samples(
        [{"completion": "a", "answer": "a", "reference": "b"}], columns={"reference": "answer"}
    )
    assert by_columns(wb.StringCheck(), named).scores.tolist() == [0.0]


def test_rows_that_cannot_be_read_fail_beside_the_others():
    """A fault in any column is the row's failure, as it is in a run by rows."""
    samples = wb.Samples(
        [{"completion": "a", "expected": "a", "metadata": cell} for cell in ("{}", "[1]", None)]
    )
    grades = by_columns(wb.ExactMatch(), samples)
    assert grades.scores[[0, 2]].tolist() == [1.0, 1.0]
    assert "metadata" in grades.errors[1].message


@pytest.mark.parametrize("grader", GRADERS[:1] + GRADERS[9:10])
def test_graders_that_can_do_so_never_make_a_thread(grader, monkeypatch):
    """It is the columns that are read: this is what makes them fast."""

    def refuse(*_):
        raise AssertionError("a thread was made")

    monkeypatch.setattr(RuleGrader, "_safely", refuse)
    samples = wb.Samples(pd.DataFrame({"prompt": "q", "completion": ["a", "bb"] * 5000, "expected": "a"}))
    grades = by_columns(grader, samples)
    assert grades.n_scored == 10_000
    assert np.isfinite(grades.seconds).all()


def test_a_run_by_columns_can_be_stopped():
    """Rows behind the stop are cancelled, and are no zeros."""
    control = Control(lambda *_: control.cancel.set())
    samples = wb.Samples(pd.DataFrame({"completion": ["a"] * 50_000, "expected": "a"}))
    grades = asyncio.run(wb.ExactMatch().grade_all(samples, control))
    assert 0 < grades.n_scored < 50_000
    assert grades.n_scored + len(grades.cut_off) == 50_000


@pytest.mark.parametrize("dtype", ["string[pyarrow]", "string[python]", pd.ArrowDtype(pa.string()), object])
def test_missing_answers_of_every_kind_of_column(dtype):
    """NaN, NA and None are no answer, whatever pandas holds the text in."""
    frame = pd.DataFrame({"completion": pd.array(["a", None, "c"], dtype=dtype), "expected": ["a", "b", "c"]})
    assert by_columns(wb.ExactMatch(), wb.Samples(frame)).scores.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("odd", [b"b", {"x": b"y"}, 10**5000], ids=["bytes", "dict", "digits"])
def test_a_reference_without_a_text_form_costs_its_own_row(odd):
    """The others keep their grades."""
    samples = wb.Samples([{"completion": "a", "expected": expected} for expected in ("a", odd, "a")])
    grades = by_columns(wb.ExactMatch(), samples)
    assert grades.scores[[0, 2]].tolist() == [1.0, 1.0]
    assert list(grades.errors) == [1]


def test_a_subclass_with_a_rule_of_its_own_is_asked():
    """In a run as in a call."""

    class Loose(wb.ExactMatch):
        def compare(self, text, expected):
            return (1.0, "near", {}) if text[:1] == expected[:1] else (0.0, "far", {})

    class Tail(wb.Contains):
        def text(self, thread):
            return super().text(thread)[-1:]

    class Never(wb.StringCheck):
        def grade_thread(self, thread, reference):
            return 0.0, "never", {}

    class Same(wb.ExactMatch):
        """Changes nothing."""

    samples = wb.Samples([{"completion": "ab", "expected": "ac"}, {"completion": "ab", "expected": "ab"}])
    for kind, scores in ((Loose, [1.0, 1.0]), (Tail, [0.0, 0.0]), (Never, [0.0, 0.0]), (Same, [0.0, 1.0])):
        assert by_columns(kind(), samples).scores.tolist() == scores
    assert Same().has_own_rule
