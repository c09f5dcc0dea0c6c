"""Files as samples: what is read, and which line an error names."""

from __future__ import annotations

import csv
import json
from decimal import Decimal

import pandas as pd
import pytest

import workbench as wb
from workbench.core.errors import SamplesError

ROW = {"prompt": "2+2?", "completion": "4", "expected": "4"}


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_json_lines(tmp_path):
    """JSON Lines are read with byte order mark, CRLF, blank lines and line separators inside text."""
    content = (
        b"\xef\xbb\xbf"
        + json.dumps(ROW).encode()
        + b'\r\n\r\n{"prompt": "a\xe2\x80\xa8b", "completion": 5}\n'
    )
    samples = wb.read_samples(write(tmp_path / "x.jsonl", content))
    assert [s.thread.completion() for s in samples] == ["4", "5"]
    assert samples[1].thread.messages()[0].content == "a\u2028b"
    assert samples[0].thread.metadata == {"expected": "4"}
    assert samples[1].thread.metadata == {"expected": None}


def test_whole_numbers_stay_whole_beside_missing_ones(tmp_path):
    """A 4 does not become 4.0 because another row has no number."""
    path = write(tmp_path / "x.ndjson", '{"prompt": "a", "answer": 4}\n{"prompt": "b"}\n')
    samples = wb.read_samples(str(path))
    assert samples[0].reference == 4
    assert isinstance(samples[0].reference, int)


def test_a_broken_line_is_named(tmp_path):
    """A broken JSON line ends the reading and is named; without strict it is a problem of its row."""
    path = write(tmp_path / "x.jsonl", json.dumps(ROW) + '\n\n{"prompt": \n[1]\n')
    with pytest.raises(SamplesError, match="line 3 cannot be read") as caught:
        wb.read_samples(path)
    assert caught.value.where == f"{path}, line 3"
    samples = wb.read_samples(path, strict=False)
    assert list(samples.problems) == [1, 2]
    assert (
        samples.problems[2]
        == f"{path}, row 2 (line 4): found '[1]' (list), expected one JSON object, in UTF-8"
    )
    assert samples[0].thread.completion() == "4"
    assert samples.threads[1].to_wire() == wb.StringThread([], {}).to_wire()
    with pytest.raises(SamplesError, match="row 1 cannot be read"):
        samples[1]


def test_a_file_of_broken_lines_is_refused(tmp_path):
    """A file without one readable line is refused, strict or not."""
    path = write(tmp_path / "x.jsonl", "one\ntwo\n")
    for strict in (True, False):
        with pytest.raises(SamplesError):
            wb.read_samples(path, strict=strict)


@pytest.mark.parametrize("line", ["[" * 100_000, "9" * 5_000, '{"a": "\\', "\udcff"])
def test_hostile_json_is_a_named_error(tmp_path, line):
    """Deep nesting, huge numbers, cut escapes and bad bytes are errors of their line."""
    path = write(tmp_path / "x.jsonl", line.encode("utf-8", "surrogateescape") + b"\n")
    with pytest.raises(SamplesError, match="line 1"):
        wb.read_samples(path)


def test_lone_surrogates_are_kept(tmp_path):
    """An escaped lone surrogate reaches the thread."""
    path = write(tmp_path / "x.jsonl", '{"completion": "\\ud800"}')
    samples = wb.read_samples(path)
    assert samples[0].thread.completion() == "\ud800"
    assert samples.packed().rows == 1


def test_json_list(tmp_path):
    """A JSON file contains a list of objects, or objects after each other; anything else is refused with the reason."""
    assert len(wb.read_samples(write(tmp_path / "x.json", json.dumps([ROW, ROW])))) == 2
    assert len(wb.read_samples(write(tmp_path / "d.json", json.dumps({"rows": [ROW]})))) == 1
    assert len(wb.read_samples(write(tmp_path / "l.json", f"{json.dumps(ROW)}\n{json.dumps(ROW)}"))) == 2
    with pytest.raises(SamplesError, match="no list") as caught:
        wb.read_samples(write(tmp_path / "e.json", json.dumps({"a": {"b": 1}})))
    assert "keys a" in caught.value.found
    with pytest.raises(SamplesError, match="not JSON"):
        wb.read_samples(write(tmp_path / "b.json", "[" + json.dumps(ROW)))
    with pytest.raises(SamplesError, match="line 2 cannot be read"):
        wb.read_samples(write(tmp_path / "c.json", json.dumps(ROW) + "\n{"))
    with pytest.raises(SamplesError, match="row 1 cannot be read"):
        wb.read_samples(write(tmp_path / "m.json", json.dumps([ROW, 3])))


def test_csv_cells_stay_as_written(tmp_path):
    """Leading zeros and words like None are text; an empty cell is missing."""
    content = '\ufeffid,prompt,completion,expected\r\n01,"a, b\r\nc",04,None\r\n02,q,,NA\r\n'
    samples = wb.read_samples(write(tmp_path / "x.csv", content))
    assert list(samples.ids) == ["01", "02"]
    assert samples[0].thread.get_turns() == [("user", "a, b\r\nc"), ("assistant", "04")]
    assert samples[1].thread.completion() is None
    assert list(samples.references) == ["None", "NA"]


def test_csv_with_huge_cells(tmp_path):
    """A cell of a megabyte is read, and the csv module's own limit is left as it was."""
    before = csv.field_size_limit()
    samples = wb.read_samples(write(tmp_path / "x.csv", "prompt,completion\np," + "x" * 1_000_000 + "\n"))
    assert len(samples[0].thread.completion()) == 1_000_000
    assert csv.field_size_limit() == before


def test_csv_messages_and_metadata_as_json_text(tmp_path):
    """JSON text in cells is read, and a broken one names its line in the file."""
    chat = json.dumps([{"role": "user", "content": "line\nbreak"}])
    rows = pd.DataFrame({"messages": [chat, "[{"], "metadata": ['{"k": 1}', ""]})
    path = tmp_path / "x.csv"
    rows.to_csv(path, index=False)
    samples = wb.read_samples(path)
    assert samples[0].thread.metadata == {"k": 1}
    assert f"{path}, row 1 (line 3): column 'messages'" in samples.problems[1]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"prompt,completion\na,b\n\na,b,c\n", 4),
        (b"prompt,completion\na\n", 2),
        (b'prompt,completion\na,"b\nc\n', 2),
        (b"prompt,completion\na,caf\xe9\n", 2),
    ],
)
def test_broken_csv_names_the_line(tmp_path, content, line):
    """Rows too long or short, open quotes and other encodings are refused with the line."""
    with pytest.raises(SamplesError) as caught:
        wb.read_samples(write(tmp_path / "x.csv", content))
    assert caught.value.where.endswith(f"x.csv, line {line}")


def test_csv_without_rows_or_with_another_separator(tmp_path):
    """An empty CSV is refused, a header alone is no rows, the separator is that of the header."""
    with pytest.raises(SamplesError, match="empty"):
        wb.read_samples(write(tmp_path / "x.csv", ""))
    assert len(wb.read_samples(write(tmp_path / "h.csv", "prompt,completion\n"))) == 0
    assert (
        wb.read_samples(write(tmp_path / "s.csv", "prompt;completion\na;b, c\n"))[0].thread.completion()
        == "b, c"
    )
    assert (
        wb.read_samples(write(tmp_path / "x.tsv", "prompt\tcompletion\na\tb\n"))[0].thread.completion() == "b"
    )


def test_parquet(tmp_path):
    """Nested lists of structs, nulls, decimals, dates and categories come through as plain data."""
    frame = pd.DataFrame(
        {
            "messages": [
                [{"role": "user", "content": "hi", "tool_calls": None}],
                [{"role": "user", "content": "yo"}],
            ],
            "answer": pd.array([4, None], dtype="Int64"),
            "scores": [[[1, 2], [3]], None],
            "price": [Decimal("1.50"), None],
            "when": pd.to_datetime(["2026-01-02", None]),
            "kind": pd.Categorical(["x", None]),
        }
    )
    path = tmp_path / "x.parquet"
    frame.to_parquet(path)
    samples = wb.read_samples(path)
    assert samples[0].thread.get_turns() == [("user", "hi")]
    assert samples[0].thread.metadata == {
        "answer": 4,
        "scores": [[1, 2], [3]],
        "price": "1.50",
        "when": "2026-01-02",
        "kind": "x",
    }
    assert set(samples[1].thread.metadata.values()) == {None}
    assert samples.packed().rows == 2


def test_files_that_are_not_what_they_say(tmp_path):
    """Missing files, folders, unknown suffixes and false Parquet are refused by name."""
    for name, content in (("x.parquet", b"no"), ("x.xlsx", b"no")):
        with pytest.raises(SamplesError) as caught:
            wb.read_samples(write(tmp_path / name, content))
        assert name in caught.value.where
    for name in ("none.jsonl", "none.csv", "none.parquet", "none.json"):
        with pytest.raises(SamplesError, match="cannot be opened"):
            wb.read_samples(tmp_path / name)
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(SamplesError, match="a folder cannot be read"):
        wb.read_samples(tmp_path / "folder.jsonl")


def test_an_empty_json_lines_file_has_no_rows(tmp_path):
    """No lines are no rows."""
    assert len(wb.read_samples(write(tmp_path / "x.jsonl", ""))) == 0
