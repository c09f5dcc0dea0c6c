"""Rows of a report as a table asks for them."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pkgutil import iter_modules

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.widgets import using
from workbench import session
from workbench.session.report_rows import ReportRows


async def some(thread):
    """Fails on some rows, skips none."""
    text = thread.completion()
    if text.endswith("4"):
        raise ValueError(f"{using.NASTY} four")
    return len(text) / 9


@cache
def report():
    """A run; not at import, which a grader with an import path would wait for."""
    return wb.Suite([*using.GRADERS, wb.CustomGrader(some, name="some")]).run(using.ROWS, progress=False)


def test_logic_loads_no_widget():
    """No module of the session package loads a widget, so all of them work without a notebook."""
    modules = sorted(module.name for module in iter_modules(session.__path__))
    code = f"import sys; from workbench.session import {', '.join(modules)}; print({{'anywidget', 'ipywidgets'}} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout.strip() == "set()"


LABELS = [None if n % 5 == 0 else bool(n % 2) for n in range(24)]
KEYS = ["", "row", "prompt", "completion", "reference", "score 0", "score 3", "label", "reasoning"]


def rows_of(rows, **settings):
    """Rows with every column there is."""
    return ReportRows(report(), np.array(rows, dtype=np.intp), reasons="some", labels=LABELS, **settings)


def values_of(key):
    """What a column holds for each row of the report, None for nothing."""
    if key.startswith("score"):
        name = report().graders[int(key.split()[1])]
        return [None if np.isnan(score) else float(score) for score in report().grades[name].scores]
    if key == "label":
        return [None if label is None else float(label) for label in LABELS]
    if key == "reasoning":
        grades = report().grades["some"]
        return [
            str(grades.errors[n]) if n in grades.errors else grades.reasoning.get(n) or None
            for n in range(24)
        ]
    names = {"prompt": "prompt", "completion": "completion", "reference": "expected"}
    return [row[names[key]] for row in using.ROWS] if key in names else list(range(24))


@given(st.lists(st.integers(0, 23), unique=True), st.sampled_from(KEYS), st.booleans())
def test_sort_is_stable_and_puts_missing_last(rows, key, descending):
    """The same rows, ordered by the column's values; equal ones in their natural order; those without one last."""
    source = rows_of(rows)
    source.sort("completion", True)
    source.sort(key, descending)
    found = source.rows.tolist()
    assert sorted(found) == sorted(rows)
    values = values_of(key)
    known = [row for row in rows if values[row] is not None]
    ranked = sorted({values[row] for row in known}, reverse=descending) if key else []
    expected = [row for value in ranked for row in known if values[row] == value] if key else rows
    assert found == expected + [row for row in rows if key and values[row] is None]


@given(st.integers(0, 30), st.integers(0, 30))
def test_windows_are_pieces_of_the_whole(start, stop):
    """Any window is what the whole table has there, in the current order."""
    source = rows_of(range(24))
    source.sort("score 0", True)
    assert source.window(start, stop) == source.window(0, 24)[start:stop]
    assert len(source) == 24


def test_cells_say_what_a_row_holds():
    """Scores, failures with their kind, labels and reasons; texts are short and show hidden characters."""
    source = rows_of([4, 1])
    assert [column.title for column in source.columns] == [
        "row", "prompt", "completion", "has yes", "exact", "short", "some", "label", "reference", "reasoning",
    ]  # fmt: skip
    four, one = source.window(0, 2)
    assert four[0] == "row-4"
    assert four[6] == {"text": "runtime", "kind": "failed"}
    assert "⟨U+202E⟩" in four[9]
    assert one[3:8] == [1.0, 1.0, 1.0, pytest.approx(1 / 3), {"text": "good", "kind": "good"}]


def test_detail_and_more_follow_the_order():
    """The reader shows the row that stands there now, with all grades and its label, whichever have a column."""
    source = rows_of([2, 4, 9], graders=["exact"])
    source.sort("row", True)
    found = source.detail(0)
    assert (found["id"], found["label"]) == ("row-9", True)
    assert {one["grader"] for one in found["grades"]} == {*report().graders}
    assert source.more(0, found["turns"][-1]["part"]) == "yes"


def test_a_prompt_is_the_users_last_message():
    """A system prompt would be all that the column shows of a row; answers of tools are no question either."""
    said = [{"role": "system", "content": "You are kind."}, {"role": "user", "content": "first"}]
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asks, answer = {"role": "assistant", "tool_calls": [call]}, {"role": "assistant", "content": "done"}
    block = {"toolResult": {"toolUseId": "c", "content": [{"text": "found"}]}}
    threads = [
        [*said, answer, {"role": "user", "content": "second"}, answer],
        [*said, asks, {"role": "user", "content": [block]}, answer],
        [*said, asks, {"role": "tool", "content": "found", "tool_call_id": "c"}, answer],
        [said[0], {"role": "human", "content": "asked"}, answer],
        [said[0]],
        [answer],
    ]
    rows = [{"id": str(n), "messages": messages} for n, messages in enumerate(threads)]
    run = wb.Suite([using.GRADERS[0]]).run(rows, progress=False)
    source = ReportRows(run, np.arange(6))
    prompts = ["second", "first", "first", "asked", "You are kind.", ""]
    assert [line[1] for line in source.window(0, 6)] == prompts
    source.sort("prompt", False)
    assert source.rows.tolist() == [4, 3, 1, 2, 0, 5]
    assert [turn["role"] for turn in source.detail(4)["turns"]] == ["system", *["user", "assistant"] * 2]


def test_an_unreadable_row_says_so_among_the_others():
    """Its completion says why, and the rows beside it show what they always do."""
    rows = [
        {"messages": [{"role": "system", "content": "be kind"}, {"role": "user", "content": f"ask {n}"}]}
        for n in range(3)
    ]
    del rows[1]["messages"][1]["role"]
    run = wb.Suite([using.GRADERS[0]]).run(rows, progress=False)
    cells = ReportRows(run, np.arange(3)).window(0, 3)
    assert [line[1] for line in cells] == ["ask 0", "", "ask 2"]
    assert cells[1][2] == "(unreadable: row 1 cannot be read)"


def test_sorting_nothing_is_nothing():
    """A table without rows can be sorted by anything."""
    source = rows_of([])
    for key in KEYS:
        source.sort(key, False)
        assert source.window(0, 10) == []


def test_ids_out_of_a_dataset_are_text():
    """An id with markup and hidden characters is a visible text."""
    odd = wb.Suite([using.GRADERS[0]]).run([{**using.ROWS[0], "id": "a\u202eb\nc"}], progress=False)
    assert ReportRows(odd, np.arange(1)).window(0, 1)[0][0] == "a⟨U+202E⟩b c"
