"""Rows in a file as a frame, and the register of readers; one module per kind of file adds them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from workbench.core.discovery import refuse_taken
from workbench.core.display_text import one_line
from workbench.core.errors import SamplesError
from workbench.core.files import STANDARD_INPUT, check_regular
from workbench.data.samples.parquet_columns import ParquetColumns
from workbench.data.samples.source_file import Loaded, SourceFile

ReadFile = Callable[[SourceFile], Loaded]


class FileReader(NamedTuple):
    """The reader of the files with one suffix.

    Attributes:
        read: From a file to rows; raises `SamplesError`.
        example: Content that it can read, for the tests over all readers.
    """

    read: ReadFile
    example: bytes | Callable[[], bytes]


READERS: dict[str, FileReader] = {}
"""Every reader by its suffix."""


def reader(suffix: str, *, example: bytes | Callable[[], bytes]) -> Callable[[ReadFile], ReadFile]:
    """Register a function as the reader of the files with a suffix; the modules of `file_types` are loaded by themselves.

    Args:
        suffix: In lower case, with its dot.
        example: Content that it can read: at least one row with a column `completion`.

    Raises:
        ValueError: Another function reads these files.
    """

    def register(read: ReadFile) -> ReadFile:
        taken = READERS.get(suffix)
        refuse_taken("reader", suffix, taken and taken.read, read)
        READERS[suffix] = FileReader(read, example)
        return read

    return register


def load_file(path: Path, *, strict: bool = True, lazy: bool = False, encoding: str | None = None) -> Loaded:
    """A file as a frame, by its content and its suffix; a folder of Parquet files as one.

    Args:
        path: The file or folder; `-` reads JSON Lines from standard input.
        strict: Whether a broken line of a JSON Lines file is an error.
        lazy: Whether rows are read on demand, which only Parquet supports.
        encoding: The encoding of a text file; None for UTF-8, or the one of its byte order mark.

    Raises:
        SamplesError: A missing file, an unknown kind, or unreadable content; the line is named.
    """
    is_standard_input = str(path) == STANDARD_INPUT
    if not is_standard_input and not path.exists():
        raise SamplesError("the file cannot be opened", where=str(path), found="No such file or folder")
    check_regular(path, SamplesError)
    if path.is_dir() and not any(path.rglob("*.parquet")):
        raise SamplesError(
            "a folder cannot be read as samples", where=str(path), found="no file that ends in .parquet",
            expected="a folder of Parquet files, or a file", hint="pass one file of it",
        )  # fmt: skip
    if lazy and not path.is_dir() and path.suffix.lower() != ".parquet":
        raise SamplesError(
            "only Parquet can be read lazily", where=str(path), found=repr(path.suffix), expected="'.parquet'",
            hint="convert it to Parquet once: pandas.read_json(path, lines=True, chunksize=...) and to_parquet, one file per chunk, into one folder",
        )  # fmt: skip
    try:
        if lazy:
            return Loaded(ParquetColumns(path))
        file = (
            SourceFile(path, suffix=".parquet")
            if path.is_dir()
            else SourceFile.opened(path, strict=strict, encoding=encoding)
        )
        return _reader_of(file).read(file)
    except SamplesError:
        raise
    except (RecursionError, ValueError, TypeError, LookupError, AttributeError, MemoryError) as error:
        # The column metadata of a file is untrusted text, which pandas and Arrow do not validate.
        raise SamplesError(
            "the file cannot be read", where=str(path), found=f"{type(error).__name__}: {one_line(str(error))[:200]}",
            expected="a file that is not damaged or manipulated",
        ) from error  # fmt: skip
    except OSError as error:
        raise SamplesError(
            "the file cannot be opened", where=str(path), found=error.strerror or str(error)
        ) from error


_HINTS = {
    ".sqlite": "pass the rows of a query: wb.read_samples(pandas.read_sql('select * from ...', sqlite3.connect(path)))",
    ".pkl": "pickled objects may run code: load it yourself, if you trust it, and pass the rows",
    ".pt": "pickled objects may run code: load it yourself, if you trust it, and pass the rows",
    ".xls": "save it as .xlsx or .csv",
    ".ods": "save it as .xlsx or .csv",
    ".zip": "unpack it, and pass one file of it",
    ".tar": "unpack it, and pass one file of it",
    ".yaml": "graders are read with wb.load(path); pass rows as yaml.safe_load(path.open())",
    ".yml": "graders are read with wb.load(path); pass rows as yaml.safe_load(path.open())",
    ".py": "graders are read with wb.load(path); write rows as JSON, one object per line",
    ".html": "export the results as JSON, CSV or Parquet; for a table of an HTML page, pass pandas.read_html(path)[0]",
    ".md": "copy the table of this Markdown file to a CSV file",
    ".pdf": "copy the rows of this PDF document to a CSV file",
    ".docx": "copy the table of this Word document to a CSV file",
    ".xml": "pass the rows of this XML file as pandas.read_xml(path)",
    ".npz": "pass its arrays as a dict of columns, of numpy.load(path)",
    ".h5": "pass the rows as pandas.read_hdf(path)",
    ".orc": "pass the rows as pandas.read_orc(path)",
    ".avro": "convert it to Parquet or JSON Lines once, and read that",
    ".tfrecord": "convert it to Parquet or JSON Lines once, and read that",
    ".safetensors": "it contains a model's weights; read the file of its completions",
    ".rds": "save it as CSV or Parquet in R: arrow::write_parquet(x, 'rows.parquet')",
    ".dta": "pass the rows as pandas.read_stata(path)",
}
"""Suffix of a known kind that has no reader to what to do."""

_ALIASES = {
    **dict.fromkeys((".db", ".sqlite3", ".duckdb"), ".sqlite"), **dict.fromkeys((".pickle", ".pth", ".joblib"), ".pkl"),
    **dict.fromkeys((".ipc", ".feather"), ".arrow"), **dict.fromkeys((".htm",), ".html"), ".xlsm": ".xlsx", ".pq": ".parquet",
    ".7z": ".zip", ".rar": ".zip", ".xz": ".zip", ".tgz": ".tar", ".markdown": ".md", ".npy": ".npz", ".hdf5": ".h5", ".gguf": ".safetensors",
    ".bin": ".pkl", ".ckpt": ".pkl", ".rda": ".rds", ".doc": ".docx", ".sav": ".dta", ".tab": ".tsv", ".jsonlines": ".jsonl", ".jl": ".jsonl", ".ipynb": ".json",
}  # fmt: skip


def _reader_of(file: SourceFile) -> FileReader:
    """The reader of a file by its suffix, or by its content if no reader has that suffix.

    Raises:
        SamplesError: A kind that is not read.
    """
    suffix = _ALIASES.get(file.suffix, file.suffix)
    found = READERS.get(suffix)
    if found is None and suffix not in _HINTS:
        found = READERS.get(_kind_of_text(file))
    if found is not None:
        return found
    raise SamplesError(
        f"files of kind {file.path.suffix!r} cannot be read as samples",
        where=str(file.path),
        found=repr(file.path.suffix),
        expected="one of " + ", ".join(READERS),
        hint=_HINTS.get(
            suffix, "write it as CSV or JSON Lines, or pass its rows as a DataFrame or a list of dicts"
        ),
    )


def _kind_of_text(file: SourceFile) -> str:
    """The suffix for a text of JSON, or of two lines with the same number of tabs, semicolons or commas; "" for others."""
    start = file.utf8()[:_BEGIN].decode("utf-8", "replace").lstrip()
    if start[:1] in ("{", "["):
        return ".jsonl"
    lines = start.splitlines()[:2]
    is_table = len(lines) > 1 and "\0" not in start
    return (
        ".csv"
        if is_table and any(lines[0].count(mark) == lines[1].count(mark) > 0 for mark in "\t;,")
        else ""
    )


_BEGIN = 100_000
"""Bytes of a file of unknown kind that are inspected."""
