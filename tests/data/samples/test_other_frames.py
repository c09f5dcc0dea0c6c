"""Rows of Polars, DuckDB and Hugging Face: real objects of these packages, where they are installed."""

import pytest

import workbench as wb
from workbench.core.errors import SamplesError

ROWS = {
    "messages": [
        [{"role": "user", "content": f"{n}?"}, {"role": "assistant", "content": text}] for n, text in enumerate(("x", "y", ""))
    ],
    "answer": ["x", None, "z"],
    "reward": [1.0, None, 0.5],
}  # fmt: skip
TEXTS = {"prompt": ["a", "b"], "completion": ["x", None], "answer": [1, 2]}


def check(data):
    """Nested messages are turns, a missing reference is None, and numbers are past scores."""
    samples = wb.Samples(data)
    assert samples.completions() == ["x", "y", ""]
    assert samples.references.tolist() == ["x", None, "z"]
    assert samples.old_grades["reward"].n_scored == 2
    assert [turn.role for turn in samples[0].thread.get_turns()] == ["user", "assistant"]


def check_texts(data):
    """A missing completion is none, and whole numbers stay whole."""
    samples = wb.Samples(data)
    assert samples.completions() == ["x", None]
    assert samples.references.tolist() == [1, 2]


@pytest.mark.parametrize("kind", ["DataFrame", "LazyFrame"])
def test_polars(kind):
    polars = pytest.importorskip("polars", reason="polars is not installed")
    check(getattr(polars, kind)(ROWS))
    check_texts(getattr(polars, kind)(TEXTS))


def test_duckdb():
    """A relation, and the result of a query."""
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    import pyarrow as pa

    chats, texts = pa.table(ROWS), pa.table(TEXTS)  # noqa: F841 (queries name them)
    check(duckdb.from_arrow(chats))
    check(duckdb.sql("SELECT * FROM chats"))
    check_texts(duckdb.sql("SELECT * FROM texts"))


@pytest.mark.parametrize("is_iterable", [False, True])
def test_datasets(is_iterable):
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    for rows, test in ((ROWS, check), (TEXTS, check_texts)):
        data = datasets.Dataset.from_dict(rows)
        test(data.to_iterable_dataset() if is_iterable else data)


def test_splits_of_datasets():
    """One split is its rows; of several, one has to be chosen."""
    datasets = pytest.importorskip("datasets", reason="datasets is not installed")
    data = datasets.Dataset.from_dict(TEXTS)
    check_texts(datasets.DatasetDict({"train": data}))
    with pytest.raises(SamplesError, match="train"):
        wb.Samples(datasets.DatasetDict({"train": data, "test": data}))
