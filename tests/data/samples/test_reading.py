"""The line that reports how rows were read."""

import json

import pandas as pd

import workbench as wb


def test_roles_metadata_and_prompts_are_in_the_line():
    """What was taken for what, what became metadata, and how many prompts are empty or repeated."""
    rows = [
        {"question": "a?", "model_out": "1", "answer": "1", "topic": "x"},
        {"question": "a?", "model_out": "2", "answer": "1", "topic": "x"},
        {"question": " ", "model_out": "3", "answer": "1", "topic": "y"},
    ]
    assert wb.Samples(rows, columns={"completion": "model_out"}).reading == (
        "3 rows; prompt from 'question', completion from 'model_out', reference from 'answer'; metadata from 'topic'; "
        "2 different prompts, 1 repeated; 1 empty prompt"
    )


def test_a_shape_its_old_scores_and_unreadable_rows():
    """A tool's shape has its name; scores of a past run are named; unreadable rows are counted."""
    rows = [
        {"prompt": "p", "completion": "c", "reward": 1.0, "metadata": "{no object"},
        {"prompt": "q", "completion": "c", "reward": 0.5},
    ]
    line = wb.Samples(rows).reading
    assert "old scores of reward" in line
    assert line.endswith("1 unreadable row")
    items = wb.Samples([{"item": {"q": 1}, "sample": {"output_text": "x"}}])
    assert items.reading.startswith("read as OpenAI items and samples: 1 row; completion from sample")


def test_a_view_counts_its_own_rows():
    """Of a selection, rows and prompts of the selection are counted."""
    samples = wb.demo_samples("rag")
    assert samples.reading.startswith("demo data: 360 rows; ")
    assert samples.head(3).reading.startswith("demo data: 3 rows; ")


def test_rows_read_on_demand_are_not_counted(tmp_path):
    """Counting prompts would read the whole file."""
    pd.DataFrame({"prompt": ["a", "b"], "completion": ["x", "y"]}).to_parquet(tmp_path / "r.parquet")
    line = wb.read_samples(tmp_path / "r.parquet", lazy=True).reading
    assert line.endswith("prompts are not counted, because rows are read on demand")


def test_the_file_is_named(tmp_path):
    """The line starts with the file."""
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps({"prompt": "a", "completion": "b"}), "utf-8")
    assert (
        wb.read_samples(path).reading
        == f"{path}: 1 row; prompt from 'prompt', completion from 'completion'; 1 different prompt"
    )
