"""Capture in a marimo notebook, whose functions are compiled cell by cell under other names than their texts have."""

from __future__ import annotations

import importlib.util

import pytest

marimo = pytest.importorskip("marimo", reason="needs marimo (pip install 'grader-workbench[test]')")

NOTEBOOK = '''import marimo

app = marimo.App()


@app.cell
def _():
    import re

    import workbench as wb

    return re, wb


@app.cell
def _(re):
    LIMIT = 3

    # What counts as a number.
    def numbers(text):
        """Not
    indented."""
        return re.findall("[0-9]+", text)[:LIMIT]

    return (numbers,)


@app.cell
def _():
    class Rule:
        def holds(self, found):
            return bool(found)

    return (Rule,)


@app.cell
def _(Rule, numbers, wb):
    async def has_numbers(thread: wb.StringThread) -> float:
        return float(Rule().holds(numbers(thread.completion() or "")))

    source = wb.capture(has_numbers)
    return has_numbers, source


@app.cell
def _(wb):
    def _digits(text):
        return text.isdigit()

    async def private(thread):
        return 1.0 if _digits(thread.completion() or "") else 0.0

    try:
        wb.capture(private)
    except wb.errors.CaptureError as error:
        refused = str(error)
    return (refused,)
'''


@pytest.fixture(scope="module")
def defined(tmp_path_factory):
    """What the notebook's cells define."""
    path = tmp_path_factory.mktemp("marimo") / "notebook.py"
    path.write_text(NOTEBOOK)
    spec = importlib.util.spec_from_file_location("notebook", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.app.run()[1]


def test_a_function_travels_with_what_it_reads_from_other_cells(defined):
    """Imports, classes, helpers with their comments and strings, constants: as a notebook's own."""
    source = defined["source"]
    assert source.origin == "a cell"
    for piece in (
        "import re",
        "LIMIT = 3",
        "# What counts as a number.",
        '"""Not\nindented."""',
        "async def grade(",
    ):
        assert piece in source.text
    import workbench as wb

    grader = wb.FunctionGrader.from_source(source.text)
    assert grader(wb.StringThread([("user", "q"), ("assistant", "12")])).score == 1.0


def test_names_that_marimo_keeps_to_one_cell_are_refused(defined):
    """By the name that was written, with a way out."""
    assert "private reads _digits, which marimo keeps private to one cell" in defined["refused"]
    assert "call it digits" in defined["refused"]
