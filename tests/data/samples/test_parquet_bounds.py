"""Parquet files that unpack to far more than they are, or whose metadata are made to be unreadable."""

import json
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import workbench as wb
from workbench.core.errors import ReportError, SamplesError
from workbench.data.samples import parquet_bounds

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


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("compression", ["zstd", "snappy", "none"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_every_page_is_counted_by_its_own_header(version, compression, dictionary, tmp_path):
    """What the headers of all pages say comes to what the column's metadata say, but for the headers themselves."""
    path = tmp_path / "a.parquet"
    texts = [f"{number % 900} {'y' * (number % 50)}" for number in range(20_000)]
    pq.write_table(
        pa.table({"completion": texts, "n": range(20_000)}), path, compression=compression, use_dictionary=dictionary,
        data_page_size=10_000, data_page_version=version, row_group_size=7_000,
    )  # fmt: skip
    metadata = pq.ParquetFile(path).metadata
    for number in range(metadata.num_row_groups):
        for chunk in parquet_bounds._chunks(metadata.row_group(number), None):
            _, unpacked = parquet_bounds._pages(str(path), chunk)
            assert 0.97 * chunk.total_uncompressed_size < unpacked < chunk.total_uncompressed_size


@pytest.mark.parametrize("lazy", [False, True])
def test_a_later_page_that_is_larger_than_its_column_says(lazy, tmp_path):
    """The metadata and the first page are honest; the header of the second page is not."""
    path = tmp_path / "a.parquet"
    rows = pa.table({"prompt": ["p"] * 3, "completion": ["z" * 1_100_000 + str(n) for n in range(3)]})
    pq.write_table(
        rows, path, compression="zstd", use_dictionary=False, data_page_size=1_000_000, write_batch_size=1
    )
    chunk = next(parquet_bounds._chunks(pq.ParquetFile(path).metadata.row_group(0), "completion"))
    data = bytearray(path.read_bytes())
    first, length = parquet_bounds.read_struct(data[chunk.data_page_offset :])
    second = chunk.data_page_offset + length + first[3]
    size = parquet_bounds.read_struct(data[second:])[0][2]
    place = data.index(varint(2 * size), second)
    data[place : place + 4] = varint(2 * 60_000_000)
    path.write_bytes(data)
    with pytest.raises(SamplesError, match="unpacks to more") as caught:
        wb.read_samples(path, lazy=lazy).completions()
    assert "60,000,000" in caught.value.found


def varint(value):
    """A whole number as Thrift's compact form writes it."""
    parts = []
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def test_a_header_that_does_not_end_is_refused(monkeypatch, tmp_path):
    """Its statistics could be any number of bytes."""
    monkeypatch.setattr(parquet_bounds, "MAX_PAGE_HEADER", 2_000)
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"completion": ["z" * 3_000]}), path)
    chunk = next(parquet_bounds._chunks(pq.ParquetFile(path).metadata.row_group(0), None))
    data = bytearray(path.read_bytes())
    # Field 5 of a struct (0x58), in it field 1 (0x18) of so many bytes.
    start = chunk.dictionary_page_offset or chunk.data_page_offset
    head = bytes([0x15, 0, 0x15, 2, 0x15, 2, 0x2C, 0x18]) + varint(10**6)
    data[start : start + len(head)] = head
    path.write_bytes(bytes(data[: start + len(head)]) + b"\x01" * 3_000 + bytes(data[start + len(head) :]))
    with pytest.raises(SamplesError, match="header of a page"):
        parquet_bounds._page_at(str(path), path.open("rb"), start)
