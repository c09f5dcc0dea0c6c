"""inspect_ai's `.eval` logs: zip files with one JSON document per sample, compressed with deflate or zstd."""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from io import BytesIO
from typing import Any

import pyarrow as pa

from workbench.core.errors import SamplesError
from workbench.data.samples.file_types import reader
from workbench.data.samples.memory_rows import load
from workbench.data.samples.source_file import MAX_UNPACKED, Loaded, SourceFile

_ZSTD = 93
"""Number of zstd among the methods of zip files, which Python before 3.14 cannot read."""

_HEADER = 30
"""Bytes of an entry before its name; the lengths of the name and of further fields are the last four."""


def _example() -> bytes:
    sample = {
        "id": "a", "epoch": 1, "input": "2+2?", "target": "4", "scores": {"match": {"value": "C"}},
        "messages": [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "4"}],
    }  # fmt: skip
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as log:
        log.writestr("header.json", json.dumps({"version": 2, "status": "success", "eval": {"task": "sums"}}))
        log.writestr("samples/a_epoch_1.json", json.dumps(sample))
    return content.getvalue()


@reader(".eval", example=_example)
def read_inspect_log(file: SourceFile) -> Loaded:
    """One row per sample and epoch, in the log's order.

    Raises:
        SamplesError: Not a log, or a damaged one, or more than `MAX_UNPACKED` bytes.
    """
    data = file.read()
    try:
        with zipfile.ZipFile(BytesIO(data)) as log:
            entries = [
                one
                for one in log.infolist()
                if one.filename.startswith("samples/") and one.filename.endswith(".json")
            ]
            if not entries:
                raise _refusal(
                    file,
                    "a zip file without samples",
                    "a log with samples",
                    "read the log of a finished run; `inspect log dump` shows it",
                )
            if sum(one.file_size for one in entries) > MAX_UNPACKED:
                raise _refusal(
                    file,
                    f"more than {MAX_UNPACKED:,} bytes unpacked",
                    f"at most {MAX_UNPACKED:,}",
                    "split the run into several logs",
                )
            return load([_sample(log, data, one) for one in entries], str(file.path))
    except (
        zipfile.BadZipFile,
        pa.ArrowException,
        ValueError,
        OSError,
        EOFError,
        NotImplementedError,
        RuntimeError,
        RecursionError,
        struct.error,
        zlib.error,
    ) as error:
        raise _refusal(
            file, f"{type(error).__name__}: {str(error)[:200]}", "a .eval log that is not damaged", "convert it: inspect log convert --to json"
        ) from error  # fmt: skip


def _refusal(file: SourceFile, found: str, expected: str, hint: str) -> SamplesError:
    return SamplesError(
        "the inspect_ai log cannot be read", where=str(file.path), found=found, expected=expected, hint=hint
    )


def _sample(log: zipfile.ZipFile, data: bytes, entry: zipfile.ZipInfo) -> Any:
    content = log.read(entry) if entry.compress_type != _ZSTD else _unpacked(data, entry)
    return json.loads(content)


def _unpacked(data: bytes, entry: zipfile.ZipInfo) -> bytes:
    """The content of an entry that is compressed with zstd; at most the bytes that the log states."""
    lengths = struct.unpack_from("<HH", data, entry.header_offset + _HEADER - 4)
    start = entry.header_offset + _HEADER + sum(lengths)
    packed = data[start : start + entry.compress_size]
    with pa.CompressedInputStream(pa.BufferReader(packed), "zstd") as stream:
        content = bytes(stream.read(entry.file_size + 1))
    if len(content) != entry.file_size or zlib.crc32(content) != entry.CRC:
        raise ValueError(f"{entry.filename} is damaged")
    return content
