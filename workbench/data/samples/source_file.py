"""`SourceFile`: a file of rows, unpacked, decoded, its kind detected by its first bytes; and `Loaded`, what a reader makes of it."""

from __future__ import annotations

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from workbench.core.errors import SamplesError
from workbench.core.files import STANDARD_INPUT, read_bytes, standard_input
from workbench.data.samples.cells import CellFault
from workbench.data.samples.frame_columns import ColumnData
from workbench.data.samples.shapes import Shape

MAX_UNPACKED = 4 * 1024**3
"""Maximum bytes of a compressed file's content: a file of a few kilobytes may otherwise fill the memory."""

_PIECE = 1 << 20

_MARKS = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
    (b"\xef\xbb\xbf", "utf-8-sig"),
)
"""Byte order marks with their encodings, the longer ones first."""

_PACKED = {".gz": b"\x1f\x8b", ".zst": b"\x28\xb5\x2f\xfd", ".bz2": b"BZh"}
"""Suffix of a compressed file to its first bytes."""

_KINDS = {
    b"PAR1": ".parquet",
    b"ARROW1": ".arrow",
    b"SQLite format 3\0": ".sqlite",
    b"PK\x03\x04": ".zip",
}
"""First bytes of binary files to the suffix of their kind."""


@dataclass(frozen=True)
class Loaded:
    """The result of a reader.

    Attributes:
        frame: The rows; or their columns, if they are read lazily.
        lines: Line number in the file of each row, counted from 1; None if the file has no lines.
        faults: Row to what is wrong with its line, for rows that are included although their line is broken.
        old: Results of earlier graders, by their names: n each, a `Score`, a number, or None for a row without.
        shape: The tool's shape of which the rows are; None for plain rows.
        notes: What was done with the rows when they were read, for the user.
    """

    frame: pd.DataFrame | ColumnData
    lines: Sequence[int] | None = None
    faults: Mapping[int, CellFault] = field(default_factory=dict)
    old: Mapping[str, Sequence[Any] | NDArray[Any]] = field(default_factory=dict)
    shape: Shape | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class SourceFile:
    """A file to be read.

    Attributes:
        path: Its path; `-` is standard input.
        strict: Whether a broken line of a JSON Lines file is an error.
        encoding: The encoding of a text file that the user named; None for UTF-8, or UTF-16 and UTF-32 by their mark.
        suffix: The suffix of its kind, in lower case; without those of compression.
        content: Its bytes, if they were unpacked already.
    """

    path: Path
    strict: bool = True
    encoding: str | None = None
    suffix: str = ""
    content: bytes | None = None

    @classmethod
    def opened(cls, path: Path, *, strict: bool, encoding: str | None) -> SourceFile:
        """A file, unpacked if it is compressed, independent of its suffix.

        Raises:
            SamplesError: The compressed content is damaged or too large.
        """
        is_stdin = str(path) == STANDARD_INPUT
        suffix = ".jsonl" if is_stdin else path.suffix.lower()
        file = cls(path, strict, encoding, suffix)
        start = b"" if is_stdin else read_bytes(path, SamplesError, 64)
        _refuse_other(path, start)
        packed = next((name for name, first in _PACKED.items() if start.startswith(first)), "")
        if not packed:
            kind = next((kind for first, kind in _KINDS.items() if start.startswith(first)), "")
            return replace(file, suffix=_told_apart(suffix, kind))
        inner = Path(path.stem).suffix.lower() if suffix in _PACKED else suffix
        return replace(file, suffix=inner or ".jsonl", content=_unpacked(path, packed))

    def read(self) -> bytes:
        """The bytes."""
        if self.content is not None:
            return self.content
        if str(self.path) == STANDARD_INPUT:
            return standard_input(SamplesError)
        return read_bytes(self.path, SamplesError)

    def utf8(self) -> bytes:
        """A text file as UTF-8 without a mark; bytes that are not valid UTF-8 stay.

        Raises:
            SamplesError: The text is not in the encoding of its mark, or in the one that the user named.
        """
        data = self.read()
        encoding = self.encoding or next((name for mark, name in _MARKS if data.startswith(mark)), "utf-8")
        if encoding == "utf-8-sig":
            return data[3:]
        return data if encoding == "utf-8" else self._decoded(data, encoding).encode("utf-8", "surrogatepass")

    def text(self) -> str:
        """A text file as text.

        Raises:
            SamplesError: It is not UTF-8 and has no mark; the error gives the line and how to name the encoding.
        """
        return self._decoded(self.utf8(), "utf-8")

    def _decoded(self, data: bytes, encoding: str) -> str:
        try:
            return data.decode(encoding)
        except LookupError:
            raise SamplesError(
                f"there is no encoding {encoding!r}", where=str(self.path), expected="such as 'cp1252', 'latin-1' or 'utf-16'",
                hint="encoding='cp1252'",
            ) from None  # fmt: skip
        except UnicodeDecodeError as error:
            line = data.count(b"\n", 0, error.start) + 1
            raise SamplesError(
                f"the file is not {encoding.upper()}",
                where=f"{self.path}, line {line}",
                found=f"byte 0x{data[error.start]:02x} at position {error.start}",
                expected=f"{encoding.upper()} text",
                hint="name its encoding: wb.read_samples(path, encoding='cp1252') for a file of Excel on Windows, 'latin-1' for others",
            ) from error


_OTHERS: Sequence[tuple[bytes, str, str]] = (
    (b"version https://git-lfs", "a pointer of Git LFS, not the file itself", "fetch the file: git lfs pull"),
    (b"<!doctype html", "an HTML page, such as an error or a login page", "download the data itself: a file of JSON, CSV or Parquet"),
    (b"<html", "an HTML page, such as an error or a login page", "download the data itself: a file of JSON, CSV or Parquet"),
    (b"%pdf-", "a PDF document", "copy its rows to a CSV file"),
)  # fmt: skip
"""First bytes, in lower case, of files that have no rows, with what they are and what to do."""


def _refuse_other(path: Path, start: bytes) -> None:
    """Raise an error for a file whose first bytes show that it contains no rows, independent of its suffix."""
    begin = start.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    for first, name, hint in _OTHERS:
        if begin.startswith(first):
            raise SamplesError(
                f"the file is {name}", where=str(path), found=repr(start[:40].decode("utf-8", "replace")), expected="a file of rows", hint=hint
            )  # fmt: skip


def _told_apart(suffix: str, kind: str) -> str:
    """The suffix of a file's kind, if its own is of another kind."""
    if kind in ("", ".zip"):  # workbooks and logs are zip files, too
        return suffix
    return suffix if kind == ".arrow" and suffix == ".feather" else kind


def _unpacked(path: Path, packed: str) -> bytes:
    """The content of a compressed file.

    Raises:
        SamplesError: It is damaged or too large.
    """
    try:
        data = read_bytes(path, SamplesError)
        with _OPENERS[packed](data) as stream:
            return _all_of(stream, path)
    except (OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise SamplesError(
            f"the file is not a complete {packed} file", where=str(path), found=str(error)[:200], expected="a file that is not damaged"
        ) from error  # fmt: skip


_OPENERS: Mapping[str, Callable[[bytes], Any]] = {
    ".gz": lambda data: gzip.GzipFile(fileobj=io.BytesIO(data)),
    ".zst": lambda data: pa.CompressedInputStream(pa.BufferReader(data), "zstd"),
    ".bz2": lambda data: bz2.BZ2File(io.BytesIO(data)),
}
"""Suffix of a compressed file to the function that opens its content."""


def _all_of(stream: io.BufferedIOBase, path: Path) -> bytes:
    pieces, total = [], 0
    while piece := stream.read(_PIECE):
        total += len(piece)
        if total > MAX_UNPACKED:
            raise SamplesError(
                "the compressed file is too large", where=str(path), found=f"more than {MAX_UNPACKED:,} bytes unpacked",
                expected=f"at most {MAX_UNPACKED:,}", hint="convert it to Parquet, and pass lazy=True",
            )  # fmt: skip
        pieces.append(piece)
    return b"".join(pieces)
