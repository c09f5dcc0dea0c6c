"""Excel: the first sheet with rows of a workbook."""

from __future__ import annotations

import re
import zipfile
from importlib.util import find_spec
from io import BytesIO

import pandas as pd

from workbench.core.errors import SamplesError
from workbench.data.samples.columns import frame_roles
from workbench.data.samples.file_types import reader
from workbench.data.samples.file_types.delimited import MAX_ABOVE, above_header, header_place
from workbench.data.samples.source_file import Loaded, SourceFile


def _example() -> bytes:
    """A workbook with one sheet, written by hand: the package that reads it may be missing."""
    cells = "".join(
        f'<row r="{row}">' + "".join(f'<c r="{name}{row}" t="inlineStr"><is><t>{text}</t></is></c>' for name, text in zip("AB", texts, strict=True)) + "</row>"
        for row, texts in enumerate((("prompt", "completion"), ("2+2?", "4")), 1)
    )  # fmt: skip
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    parts = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/><Override PartName="/xl/workbook.xml" ContentType="{kinds}.sheet.main+xml"/><Override PartName="/xl/worksheets/sheet1.xml" ContentType="{kinds}.worksheet+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relation}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{relation}"><sheets><sheet name="rows" sheetId="1" r:id="r1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" Type="{relation}/worksheet" Target="worksheets/sheet1.xml"/></Relationships>',
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData></worksheet>',
    }
    content = BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as book:
        for name, text in parts.items():
            book.writestr(name, text)
    return content.getvalue()


@reader(".xlsx", example=_example)
def read_excel(file: SourceFile) -> Loaded:
    """The rows of the only sheet that has any; cells as they are stored.

    Raises:
        SamplesError: The package openpyxl is missing, the file is not a workbook, or several sheets have rows.
    """
    if find_spec("openpyxl") is None:
        raise SamplesError(
            "Excel files need the package openpyxl", where=str(file.path), found="it is not installed",
            expected="the extra 'excel'", hint="pip install 'grader-workbench[excel]', or save the sheet as CSV",
        )  # fmt: skip
    try:
        sheets = pd.read_excel(
            BytesIO(file.read()),
            sheet_name=None,
            dtype=object,
            engine="openpyxl",
            keep_default_na=False,
            na_values=[""],
        )
    except (zipfile.BadZipFile, KeyError, OSError, ValueError, SyntaxError) as error:
        raise SamplesError(
            "the file is not an Excel workbook", where=str(file.path), found=f"{type(error).__name__}: {str(error)[:200]}",
            expected="a .xlsx file that is not damaged", hint="save the sheet as CSV",
        ) from error  # fmt: skip
    full = {name: frame for name, frame in sheets.items() if len(frame)}
    graded = {
        name: frame for name, frame in full.items() if "completion" in frame_roles(_below_title(frame)[0])
    }
    if len(full) > 1 and len(graded) == 1:
        frame, notes = _below_title(next(iter(graded.values())))
        others = ", ".join(repr(name) for name in full if name not in graded)
        note = f"read the sheet {next(iter(graded))!r}, the only one with completions; left out {others}"
        return Loaded(frame.astype(object).where(frame.notna(), None), notes=(note, *notes))
    if len(full) > 1:
        raise SamplesError(
            "several sheets have rows", where=str(file.path), found=", ".join(map(repr, full)), expected="one sheet with rows",
            hint=f"pass one: wb.read_samples(pandas.read_excel(path, sheet_name={next(iter(graded or full))!r}))",
        )  # fmt: skip
    frame, notes = _below_title(next(iter(full.values()), next(iter(sheets.values()))))
    return Loaded(frame.astype(object).where(frame.notna(), None), notes=notes)


_UNNAMED = re.compile(r"Unnamed: \d+")
"""Names that pandas gives to columns without one."""


def _below_title(frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The rows below a title, or below empty lines, with their names, and a note; unchanged without such lines."""
    first = [None if _UNNAMED.fullmatch(str(name)) else name for name in frame.columns]
    place = header_place([first, *frame.head(MAX_ABOVE).to_numpy(object).tolist()])
    if not place:
        return frame, ()
    names = frame.iloc[place - 1]
    kept = [
        number
        for number, name in enumerate(names)
        if not pd.isna(name) or frame.iloc[place:, number].notna().any()
    ]
    below = frame.iloc[place:, kept].reset_index(drop=True)
    return below.set_axis(
        ["" if pd.isna(names.iloc[number]) else str(names.iloc[number]) for number in kept], axis=1
    ), above_header(place)
