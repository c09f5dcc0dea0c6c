"""Parquet files that unpack to far more than they are, or whose metadata are made to be unreadable."""

import json
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from workbench.errors import ReportError, SamplesError
from workbench.samples import parquet_bounds

TEXT = "x" * 400_000


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    """A thousandth of the limits, so that a test unpacks megabytes and not gigabytes."""
    monkeypatch.setattr(parquet_bounds, "MAX_UNPACKED", 4_000_000)
    monkeypatch.setattr(parquet_bounds, "MAX_STEP", 4_000_000)
    monkeypatch.setattr(parquet_bounds, "MAX_PAGE", 4_000_000)


def dictionary_bomb(path, **settings):
    """One text in a dictionary, and a hundred rows that point to it."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100, pa.int32()), [TEXT])
    columns = {"prompt": [str(i) for i in range(100)], "completion": texts}
    pq.write_table(pa.table(columns), path, compression="zstd", **settings)


def plain_bomb(path):
    """The same texts, each written out and compressed together."""
    columns = {"prompt": [str(i) for i in range(100)], "completion": [TEXT] * 100}
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)


BOMBS = {
    "a dictionary": dictionary_bomb,
    "a dictionary that is read as texts": lambda path: dictionary_bomb(path, store_schema=False),
    "pages": plain_bomb,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_file_that_unpacks_to_too_much_is_refused(bomb, tmp_path):
    """With the limit, before all of it is there."""
    path = tmp_path / "a.parquet"
    BOMBS[bomb](path)
    assert path.stat().st_size < 10_000
    with pytest.raises(SamplesError) as caught:
        wb.read_samples(path)
    assert "unpacks" in caught.value.what
    assert "4,000,000" in caught.value.expected


@pytest.mark.parametrize("bomb", BOMBS)
def test_lazy_rows_of_such_a_file_are_not_all_read(bomb, tmp_path):
    """It is refused where it is opened, or the rows beyond the limit are, with the reason."""
    path = tmp_path / "a.parquet"
    BOMBS[bomb](path)
    with pytest.raises(SamplesError) as caught:
        wb.read_samples(path, lazy=True)[99].completion()  # fmt: skip
    assert "unpacks" in str(caught.value)


def test_few_rows_are_decoded_at_a_time(tmp_path):
    """So few that each could be the whole dictionary."""
    path = tmp_path / "a.parquet"
    dictionary_bomb(path)
    group = pq.ParquetFile(path).metadata.row_group(0)
    assert parquet_bounds.step_rows(str(path), group, "completion", 8192) == 4_000_000 // (len(TEXT) + 4)
    assert parquet_bounds.step_rows(str(path), group, "prompt", 100) == 100


def test_a_page_that_is_too_large_is_refused(tmp_path):
    """By its own header, whatever the metadata of the column say."""
    path = tmp_path / "a.parquet"
    columns = {"prompt": ["a"], "completion": ["x" * 5_000_000]}
    pq.write_table(pa.table(columns), path, compression="zstd", use_dictionary=False)
    group = pq.ParquetFile(path).metadata.row_group(0)
    with pytest.raises(SamplesError) as caught:
        parquet_bounds.step_rows(str(path), group, "completion", 8192)
    assert "5,000,0" in caught.value.found


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        json.dumps({"index_columns": 5, "columns": 7}),
        json.dumps({"index_columns": [["a"]], "columns": [[]]}),
    ],
    ids=["nested", "of other kinds", "lists"],
)
def test_metadata_that_are_made_to_be_unreadable_end_in_words(text, lazy, tmp_path):
    """No RecursionError and no TypeError of the packages that read them."""
    path = tmp_path / "a.parquet"
    table = pa.table({"prompt": ["q"], "completion": ["a"]})
    pq.write_table(table.replace_schema_metadata({b"pandas": text.encode()}), path)
    with pytest.raises(SamplesError) if text.startswith("[[") else suppress(SamplesError):
        assert len(wb.read_samples(path, lazy=lazy)) == 1


def test_an_honest_file_is_read_as_before(tmp_path):
    """In steps, with the same rows."""
    path = tmp_path / "a.parquet"
    rows = {
        "prompt": [f"q{i} " * 20 for i in range(9000)],
        "completion": [f"a{i % 50} " * 90 for i in range(9000)],
    }
    pq.write_table(pa.table(rows), path)
    assert (
        parquet_bounds.could_unpack_to(str(path), pq.ParquetFile(path).metadata) > parquet_bounds.MAX_UNPACKED
    )
    assert wb.read_samples(path).frame["completion"].tolist() == rows["completion"]
    assert list(wb.read_samples(path, lazy=True).column("completion")) == rows["completion"]


@pytest.mark.parametrize("text", ["[" * 100_000, "{}", '{"format": "x"}', "5"])
def test_a_report_whose_settings_are_made_to_be_unreadable(text, tmp_path):
    """A ReportError, whatever stands there."""
    path = tmp_path / "a.parquet"
    wb.ExactMatch().run(wb.Samples([{"prompt": "a", "completion": "b"}])).to_parquet(path)
    table = pq.read_table(path)
    keys = {key: text.encode() for key in table.schema.metadata}
    pq.write_table(table.replace_schema_metadata(keys), path)
    with pytest.raises(ReportError):
        wb.read_report(path)
