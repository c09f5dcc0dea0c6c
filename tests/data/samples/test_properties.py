"""Properties of samples that hold for any data."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import json
import marshal
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from workbench.data.row_columns import loaded
from workbench.data.samples.plain import MAX_DEPTH, NotPlainError, is_missing, plain, text
from workbench.data.samples.row_drawing import draw_rows, shares

TEXT = st.text(st.characters(), max_size=20)  # lone surrogates included
SCALAR = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | TEXT
    | st.binary(max_size=8)
    | st.datetimes()
    | st.dates()
    | st.times()
    | st.timedeltas()
    | st.decimals(allow_nan=True)
    | st.fractions()
    | st.uuids()
    | st.complex_numbers()
    | st.sampled_from(
        [
            pd.NA,
            pd.NaT,
            np.datetime64("NaT", "s"),
            np.float32("nan"),
            np.bool_(True),
            np.int8(3),
            np.str_("s"),
        ]
    )
    | st.builds(np.float64, st.floats())
    | st.builds(pd.Timestamp, st.datetimes(dt.datetime(1700, 1, 1), dt.datetime(2200, 1, 1)))  # noqa: DTZ001
)
VALUE = st.recursive(
    SCALAR,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner)
        | st.dictionaries(TEXT, inner, max_size=4)
        | st.builds(lambda items: np.array([*items, None], dtype=object), st.lists(inner, max_size=3))
        | st.frozensets(st.integers() | TEXT, max_size=4)
    ),
    max_leaves=12,
)


@given(VALUE)
def test_plain_data_always_pack(value):
    """Whatever has a plain form survives marshal, and plain data are their own plain form."""
    result = plain(value)
    assert repr(marshal.loads(marshal.dumps(result))) == repr(plain(result)) == repr(result)


def has_time_of_day(cell):
    """A column of times without one is a column of days."""
    return cell is pd.NaT or not isinstance(cell, dt.datetime) or cell.time() != dt.time()


@given(st.lists(st.tuples(TEXT | st.none(), TEXT | st.none(), SCALAR.filter(has_time_of_day)), max_size=20))
def test_frames_round_trip_to_threads(rows):
    """Any prompt, completion and metadata cell is found again in the thread, one by one and packed."""
    frame = pd.DataFrame(rows, columns=["prompt", "completion", "tag"], dtype=object)
    samples = wb.Samples(frame)
    wires = [wire for batch in samples.packed().batches for wire in loaded(batch)]
    assert samples.problems == {}
    for (prompt, completion, tag), sample, wire in zip(rows, samples, wires, strict=True):
        spoken = [("user", prompt), ("assistant", completion)]
        assert sample.thread.get_turns() == wire[0] == [turn for turn in spoken if turn[1] is not None]
        assert sample.thread.completion() == completion
        assert repr(wire[1]) == repr(sample.thread.metadata) == repr({"tag": plain(tag)})


@given(st.lists(st.tuples(st.sampled_from(["system", "user", "assistant", "document"]), TEXT), max_size=6))
def test_threads_round_trip(turns):
    """A thread read as samples is the thread again, as a list and as JSON text."""
    thread = wb.StringThread(turns, {"k": 1})
    chat = json.dumps([{"role": role, "content": content} for role, content in turns])
    for samples in (wb.Samples([thread]), wb.Samples([{"messages": chat, "k": 1}])):
        assert samples[0].thread.to_wire() == thread.to_wire()


@given(
    st.lists(st.sampled_from("abcd"), max_size=60),
    st.integers(0, 70),
    st.integers(0, 2**32),
    st.sampled_from([None, "task", ["task", "half"]]),
)
def test_draw(tasks, n, seed, by):
    """A draw is deterministic, without repeats, in order, of the size asked for, within the data."""
    samples = wb.Samples([{"prompt": str(i), "task": task, "half": i % 2} for i, task in enumerate(tasks)])
    if not tasks:
        by = None
    drawn = samples.draw(n, seed=seed, by=by)
    rows = drawn.row_numbers.tolist()
    assert rows == samples.draw(n, seed=seed, by=by).row_numbers.tolist()
    assert rows == sorted(set(rows))
    assert len(rows) == min(n, len(tasks))
    if by == "task" and n >= len(set(tasks)):
        assert set(drawn.frame["task"]) == set(tasks)


@given(size=st.integers(0, 300), n=st.integers(0, 400), seed=st.integers(0, 2**31))
def test_a_plain_draw_takes_the_smallest_keys(size, n, seed):
    """One random key a row, as when all of them were sorted: a seed draws the same rows in every version."""
    keys = np.random.default_rng(seed).random(size)
    expected = np.sort(np.argsort(keys, kind="stable")[:n])
    assert draw_rows(size, n, seed=seed).tolist() == expected.tolist()


@given(st.lists(st.integers(1, 500), min_size=1, max_size=30), st.data())
def test_shares_are_fair(sizes, data):
    """Shares sum to n, never exceed a stratum, leave none out, and are within one of proportion above one."""
    n = data.draw(st.integers(0, sum(sizes)))
    result = shares(sizes, n)
    assert result.sum() == n
    assert (result <= sizes).all()
    assert (result >= 0).all()
    if n >= len(sizes):
        assert (result >= 1).all()
    order = np.argsort(sizes, kind="stable")
    assert (np.diff(result[order]) >= -1).all()


@given(st.lists(st.sampled_from(["a", "a#2", "a#3", "b", "1", None]), max_size=12))
def test_ids_are_unique_and_keep_what_was_given(names):
    """Every id is unique and begins with the one given; the first of a name keeps it."""
    ids = list(wb.Samples([{"prompt": "p", "id": name} for name in names]).ids)
    assert len(set(ids)) == len(names)
    for row, (name, used) in enumerate(zip(names, ids, strict=True)):
        assert used.startswith(str(row) if name is None else name)
    for name in {name for name in names if name is not None}:
        if name not in map(str, [row for row, given_name in enumerate(names) if given_name is None]):
            assert ids[names.index(name)] == name


@settings(max_examples=50)
@given(st.lists(st.fixed_dictionaries({"prompt": TEXT, "x": VALUE}), min_size=1, max_size=5))
def test_pages_are_always_text(rows):
    """The HTML of any data can be written as UTF-8 and holds no markup of theirs."""
    page = wb.Samples(
        pd.DataFrame({"prompt": [r["prompt"] for r in rows], "x": [r["x"] for r in rows]}, dtype=object)
    )
    page._repr_html_().encode()


class Colour(enum.StrEnum):
    RED = "red"


@dataclasses.dataclass
class Point:
    x: int
    y: float


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Colour.RED, "red"),
        (Point(1, 2.0), {"x": 1, "y": 2.0}),
        ({1: "a", None: "b"}, {"1": "a", "None": "b"}),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array(["2026-01-01"], dtype="datetime64[ns]"), ["2026-01-01T00:00:00"]),
        (np.array(5), 5),
        (np.longdouble(1.5), 1.5),
        (pd.Series([1, 2]), [1, 2]),
        (pd.array([1, None], dtype="Int64"), [1, None]),
        (pd.Timedelta(seconds=90), 90.0),
        (pd.Period("2026-01"), "2026-01"),
        (Decimal("1.10"), "1.10"),
        (Fraction(1, 3), "1/3"),
        ({"b", "a"}, ["a", "b"]),
        (bytearray(b"x"), b"x"),
        (float("inf"), float("inf")),
    ],
)
def test_plain_examples(value, expected):
    """Each kind of value has the plain form its docstring says."""
    assert plain(value) == expected
    assert type(plain(value)) is type(expected)


def test_plain_refuses_what_is_no_data():
    """Objects, clashing keys, endless and very deep structures are refused."""
    endless: list = []
    endless.append(endless)
    deep: list = []
    for _ in range(MAX_DEPTH + 5):
        deep = [deep]
    for value in (object(), {1: "a", "1": "b"}, endless, deep, [lambda: 0], Point):
        with pytest.raises(NotPlainError):
            plain(value)


def test_missing_inside_a_structure():
    """NaN inside a list stays a number, NA and NaT become None, a missing cell is None."""
    assert str(plain([float("nan"), pd.NA, pd.NaT])) == "[nan, None, None]"
    assert all(map(is_missing, [None, float("nan"), np.float32("nan"), pd.NA, pd.NaT, Decimal("NaN")]))
    assert not any(map(is_missing, ["", 0, [], {}, False]))


def test_text_refuses_bytes_inside_json():
    """Bytes in a list have no JSON text, and bytes that are not UTF-8 no text at all."""
    for value in ([b"x"], b"\xff"):
        with pytest.raises(NotPlainError):
            text(value)
