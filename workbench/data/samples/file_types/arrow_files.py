"""Arrow: files and streams, such as Feather and the cache of Hugging Face's datasets."""

from __future__ import annotations

from io import BytesIO

import pyarrow as pa

from workbench.core.errors import SamplesError
from workbench.data.samples.file_types import reader
from workbench.data.samples.parquet_columns import to_frame
from workbench.data.samples.source_file import Loaded, SourceFile


def _example() -> bytes:
    table, content = pa.table({"prompt": ["2+2?"], "completion": ["4"]}), BytesIO()
    with pa.ipc.new_file(content, table.schema) as writer:
        writer.write_table(table)
    return content.getvalue()


@reader(".arrow", example=_example)
def read_arrow(file: SourceFile) -> Loaded:
    """All rows of an Arrow file or stream."""
    data = file.read()
    try:
        opened = pa.ipc.open_file(data) if data.startswith(b"ARROW1") else pa.ipc.open_stream(data)
        return Loaded(to_frame(opened.read_all()))
    except (pa.ArrowException, OSError) as error:
        raise SamplesError(
            "the file is not Arrow", where=str(file.path), found=str(error)[:200], expected="an Arrow file or stream",
            hint="write it again, such as with pyarrow.feather.write_feather",
        ) from error  # fmt: skip
