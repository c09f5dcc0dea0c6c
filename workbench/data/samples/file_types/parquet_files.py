"""Parquet: one file, or a folder of files."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pandas as pd

from workbench.core.errors import SamplesError
from workbench.data.samples.file_types import reader
from workbench.data.samples.parquet_bounds import read_table
from workbench.data.samples.parquet_columns import parquet_dataset, to_frame
from workbench.data.samples.table import Loaded


def _example() -> bytes:
    content = BytesIO()
    pd.DataFrame({"prompt": ["2+2?"], "completion": ["4"]}).to_parquet(content)
    return content.getvalue()


@reader(".parquet", example=_example)
def read_parquet(path: Path, _: bool) -> Loaded:
    """All rows of a file, or of every file in a folder."""
    import pyarrow as pa

    if path.is_file():
        path.open("rb").close()
    try:
        files = [path] if path.is_file() else list(path.rglob("*.parquet"))
        return Loaded(to_frame(read_table(parquet_dataset(path), sum(one.stat().st_size for one in files))))
    except pa.ArrowException as error:
        raise SamplesError(
            "the file is not Parquet", where=str(path), found=str(error)[:200], expected="a Parquet file"
        ) from error
