"""Parquet: one file, or a folder of files."""

from __future__ import annotations

from io import BytesIO
from typing import Any

import pandas as pd
import pyarrow as pa

from workbench.core.errors import SamplesError
from workbench.data.samples import parquet_bounds
from workbench.data.samples.file_types import reader
from workbench.data.samples.parquet_bounds import (
    Unpacked,
    check_metadata,
    could_unpack_to,
    step_rows,
)
from workbench.data.samples.parquet_columns import parquet_dataset, to_frame
from workbench.data.samples.source_file import Loaded, SourceFile


def _example() -> bytes:
    content = BytesIO()
    pd.DataFrame({"prompt": ["2+2?"], "completion": ["4"]}).to_parquet(content)
    return content.getvalue()


@reader(".parquet", example=_example)
def read_parquet(file: SourceFile) -> Loaded:
    """All rows of a file, or of every file in a folder."""
    path = file.path
    if file.content is not None:
        raise SamplesError(
            "a compressed Parquet file cannot be read", where=str(path), found="Parquet inside another file",
            expected="a .parquet file, which is compressed by itself", hint="unpack it first: gunzip or unzstd",
        )  # fmt: skip
    if path.is_file():
        path.open("rb").close()
    try:
        files = [path] if path.is_file() else list(path.rglob("*.parquet"))
        return Loaded(to_frame(_read_table(parquet_dataset(path), sum(one.stat().st_size for one in files))))
    except pa.ArrowException as error:
        raise SamplesError(
            "the file is not Parquet", where=str(path), found=str(error)[:200], expected="a Parquet file"
        ) from error


def _read_table(dataset: Any, total: int) -> pa.Table:
    """All rows of a dataset, decoded in steps if they could exceed the limit.

    Raises:
        SamplesError: They exceed it.
    """
    fragments = list(dataset.get_fragments())
    for fragment in fragments:
        check_metadata(fragment.path, fragment.metadata)
    if sum(could_unpack_to(one.path, one.metadata) for one in fragments) <= parquet_bounds.MAX_UNPACKED:
        return dataset.to_table()
    unpacked = Unpacked(fragments[0].path, total)
    batches = []
    for fragment in fragments:
        for part in fragment.split_by_row_group():
            group = fragment.metadata.row_group(part.row_groups[0].id)
            rows = step_rows(fragment.path, group, None, 65_536)
            for batch in part.to_batches(
                schema=dataset.schema, batch_size=rows, batch_readahead=1, use_threads=False
            ):
                unpacked.add(batch)
                batches.append(batch)
    return pa.Table.from_batches(batches, schema=dataset.schema)
