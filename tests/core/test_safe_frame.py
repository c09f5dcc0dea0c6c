"""Frames that are safe to print."""

import io
import pickle

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.core.display_text import HIDDEN
from workbench.core.safe_frame import SafeFrame, SafeSeries, safe_frame

HOSTILE = "\x1b]0;title\x07\x1b[2J\x1b[31mred\x9b5m\u202egnp\x08\x7f"


def is_safe(text):
    return HIDDEN.search(text) is None


def hostile_frame():
    return safe_frame(
        pd.DataFrame(
            {HOSTILE: [HOSTILE, "b"], "n": [1, 2]}, index=pd.Index([HOSTILE, "y"], name=HOSTILE, dtype=object)
        )
    )


@pytest.mark.parametrize(
    "made",
    [
        lambda frame: frame,
        lambda frame: frame[HOSTILE],
        lambda frame: frame.iloc[0],
        lambda frame: frame.T,
        lambda frame: frame.head(1),
        lambda frame: frame[frame["n"] > 1].reset_index(drop=True),
        lambda frame: pd.concat([frame, frame]),
        lambda frame: frame.rename_axis("row").groupby(HOSTILE).size(),
        lambda frame: frame[HOSTILE].to_frame(),
        lambda frame: frame[HOSTILE].value_counts(),
        lambda frame: frame.rename_axis("row").value_counts(),
        lambda frame: frame.describe(include="all"),
        lambda frame: frame[HOSTILE].describe(),
        lambda frame: pickle.loads(pickle.dumps(frame)),
        lambda frame: frame.sort_values("n").fillna(""),
    ],
)
def test_what_is_made_of_it_is_safe(made):
    """Frames and series that pandas makes of a safe frame print safely, too."""
    thing = made(hostile_frame())
    assert isinstance(thing, SafeFrame | SafeSeries)
    assert is_safe(repr(thing))
    assert is_safe(str(thing))
    assert is_safe(thing.to_string())


def test_the_summary_of_columns_is_safe(capsys):
    frame, file = hostile_frame(), io.StringIO()
    frame.info()
    frame.info(buf=file)
    assert capsys.readouterr().out == file.getvalue()
    assert "non-null" in file.getvalue()
    assert is_safe(file.getvalue())


def test_the_values_stay():
    """Only text forms change: cells, names and files are those of the frame."""
    frame = hostile_frame()
    assert frame.iloc[0, 0] == HOSTILE
    assert list(frame.columns) == [HOSTILE, "n"]
    assert HOSTILE in frame.to_csv()
    pd.testing.assert_frame_equal(frame, frame.copy())


def test_written_text_is_safe(tmp_path):
    """To an open file and to a path, as pandas takes them."""
    frame, file = hostile_frame(), io.StringIO()
    assert frame.to_string(file) is None
    frame.to_string(tmp_path / "frame.txt")
    assert file.getvalue() == frame.to_string() == (tmp_path / "frame.txt").read_text("utf-8")


@given(st.text(), st.text())
def test_any_text(name, value):
    assert is_safe(repr(safe_frame(pd.DataFrame({name: [value]}))))


def test_tables_of_a_report(tmp_path):
    """Every table that a user may print: of rows, grades, errors, comparisons, probes, stores and stops."""
    rows = [{"id": f"{HOSTILE}{n}", "prompt": f"{n}{HOSTILE}", "completion": f"{HOSTILE} {n}", "expected": HOSTILE,
             "topic": HOSTILE} for n in range(12)]  # fmt: skip
    failing = wb.CustomGrader(fail, name="fails")
    graders = [
        wb.ExactMatch(),
        wb.Contains(HOSTILE, name=HOSTILE),
        failing,
        wb.CustomGrader(reasons, name="r"),
    ]
    samples = wb.read_samples(rows)
    store = wb.open_store(f"sqlite:///{tmp_path}/store.db")
    report = wb.Suite(graders).run(samples, progress=False, store=store, repeats=2)
    store.labels.put(samples[0].id, True, labeller="ann")
    tables = [
        report.frame, report.scores, report.summary, report.errors, report.rows("r"), report.rows(), report.noise,
        report.weights, report.frame["reasoning"], report.compare("r", "exact-match").frame, samples.frame,
        samples.column("topic"), samples.head(3).frame.iloc[0], store.runs.list().frame, store.labels.columns(samples),
        wb.probe(wb.ExactMatch(), samples).table, wb.probe(wb.Contains("a"), samples).texts(),
    ]  # fmt: skip
    for table in tables:
        assert is_safe(repr(table))
    assert HOSTILE in report.rows("r").iloc[0]["completion"]
    store.close()


def fail(thread):
    raise ValueError(thread.completion())


def reasons(thread):
    return wb.Grade(1.0, reasoning=thread.completion())
