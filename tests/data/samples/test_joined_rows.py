"""Rows with the columns of another file that have the same id."""

import json
import warnings

import pytest

import workbench as wb
from workbench.core.errors import SamplesError, SamplesWarning

ITEMS = [{"city": "Prague", "river": "Vltava"}, {"city": "Dresden", "river": "Elbe"}]
ANSWERS = ("The Vltava.", "The Nile.")


def output(number):
    body = {
        "object": "chat.completion",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": ANSWERS[number]}}],
    }
    return {
        "id": f"b{number}",
        "custom_id": f"r{number}",
        "response": {"status_code": 200, "body": body},
        "error": None,
    }


def request(number):
    asked = {"role": "user", "content": f"Which river flows through {ITEMS[number]['city']}?"}
    return {
        "custom_id": f"r{number}",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {"messages": [asked]},
    }


def lines(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def read(*arguments, **settings):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SamplesWarning)
        return wb.read_samples(*arguments, **settings)


def test_an_eval_is_run_on_a_batch_with_its_items(tmp_path):
    """The output has the completions, the input the prompts, and the items what the criteria read; in another order."""
    criterion = {"type": "string_check", "name": "same", "input": "{{sample.output_text}}", "reference": "{{item.river}}", "operation": "ilike"}  # fmt: skip
    (tmp_path / "eval.json").write_text(
        json.dumps({"object": "eval", "id": "e", "testing_criteria": [criterion], "data_source_config": {}})
    )
    files = {
        "output": lines(tmp_path / "output.jsonl", map(output, (0, 1))),
        "input": lines(tmp_path / "input.jsonl", map(request, (1, 0))),
        "items": lines(
            tmp_path / "items.jsonl", [{"item": ITEMS[at], "custom_id": f"r{at}"} for at in (1, 0)]
        ),
    }
    samples = read(files["output"], join=[files["input"], files["items"]])
    assert [sample.thread.get_turns()[0].content for sample in samples] == [
        "Which river flows through Prague?", "Which river flows through Dresden?",
    ]  # fmt: skip
    report = wb.read_graders(tmp_path / "eval.json").run(samples, progress=False)
    assert report.scores["same"].tolist() == [1.0, 0.0]
    assert not any("joined" in note for note in samples.notes)


def test_columns_of_the_rows_are_kept():
    """A row without a partner gets nothing, and no row is added."""
    rows = [{"id": 1, "prompt": "a", "completion": "x"}, {"id": 2, "prompt": "b", "completion": "y"}]
    samples = read(rows, join=[{"id": "1", "prompt": "other", "answer": "x"}, {"id": "3", "answer": "z"}])
    assert [(s.thread.get_turns()[0].content, s.reference) for s in samples] == [("a", "x"), ("b", None)]
    assert any("1 of 2 rows joined" in note for note in samples.notes)


def test_completions_of_a_benchmark_are_joined_with_its_prompts():
    """MT-Bench: the turns of both, by question_id."""
    answers = [{"question_id": 81, "model_id": "m", "choices": [{"index": 0, "turns": ["4", "6"]}]}]
    prompts = [{"question_id": 81, "category": "math", "turns": ["2+2?", "And 3+3?"]}]
    turns = [tuple(turn) for turn in read(answers, join=prompts)[0].thread.get_turns()]
    assert turns == [("user", "2+2?"), ("assistant", "4"), ("user", "And 3+3?"), ("assistant", "6")]


@pytest.mark.parametrize(
    ("rows", "other", "what"),
    [
        ([{"prompt": "a", "completion": "b"}], [{"id": 1}], "no common id"),
        ([{"id": 1, "completion": "b"}], [{"id": 1, "x": 1}, {"id": "1", "x": 2}], "twice"),
        ([{"id": 1, "completion": "b"}], [{"id": 2, "x": 1}], "no row has an id"),
    ],
)
def test_what_cannot_be_joined_is_refused(rows, other, what):
    """With the columns, or the ids, of both."""
    with pytest.raises(SamplesError, match=what):
        wb.read_samples(rows, join=other)


def test_rows_on_demand_are_not_joined(tmp_path):
    """They are columns of a file."""
    import pandas as pd

    pd.DataFrame({"id": ["1"], "completion": ["x"]}).to_parquet(tmp_path / "x.parquet")
    with pytest.raises(SamplesError, match="on demand"):
        wb.read_samples(tmp_path / "x.parquet", lazy=True, join=[{"id": "1", "answer": "x"}])
