"""The cell magic: captured, proved, shown, and refused in words."""

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from workbench.errors import WorkbenchError
from workbench.widgets.magics import make

CELL = "async def grade(thread: StringThread) -> float:\n    return 0.5\n"


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)  # IPython warns when another environment is active
    InteractiveShell.clear_instance()
    ip = InteractiveShell.instance()
    ip.run_cell("%load_ext workbench").raise_error()
    yield ip
    ip.history_manager.end_session()
    InteractiveShell.clear_instance()


def test_magic_defines_and_shows_the_grader(shell, capsys):
    """The name holds the grader, and the five checks are shown."""
    shell.run_cell_magic("grader", "half --timeout 2", CELL)
    half = shell.user_ns["half"]
    assert isinstance(half, wb.FunctionGrader)
    assert half.validation.ok
    assert half.timeout == 2.0
    assert "✓ test_run" in capsys.readouterr().out


def test_magic_uses_names_of_other_cells(shell):
    """Helpers and constants of the notebook travel with the cell."""
    shell.run_cell("LIMIT = 3\ndef short(text):\n    return len(text) <= LIMIT\n").raise_error()
    shell.run_cell_magic(
        "grader", "brief", "async def grade(thread):\n    return float(short(thread.completion()))\n"
    )
    assert shell.user_ns["brief"](wb.StringThread([("assistant", "abc")])).score == 1.0
    assert "LIMIT = 3" in shell.user_ns["brief"].source.text


def test_magic_does_not_run_the_cell_here(shell):
    """The cell's text is the grader; it runs in the sandbox only."""
    shell.run_cell_magic("grader", "quiet", "import sys\nsys.modules['workbench_was_here'] = sys\n" + CELL)
    import sys

    assert "workbench_was_here" not in sys.modules


def test_rerun_takes_the_new_text(shell):
    """Running the cell again replaces the grader."""
    shell.run_cell_magic("grader", "half", CELL)
    shell.run_cell_magic("grader", "half", CELL.replace("0.5", "0.25"))
    assert shell.user_ns["half"](wb.StringThread([("assistant", "x")])).score == 0.25


@pytest.mark.parametrize(
    "line", ["", "2x", "--timeout 3", "name --speed 3", "name --timeout soon", "name --timeout"]
)
def test_wrong_lines_are_refused(line):
    """A missing name, an unknown flag or a value that is no number is said to be so."""
    with pytest.raises(WorkbenchError, match="%%grader|needs a number|does not know|above 0"):
        make(line, CELL, {})


def test_refusals_are_usage_errors(shell):
    """In the notebook a refusal is a message, not a traceback through our files."""
    with pytest.raises(UsageError, match="numpy"):
        shell.run_cell("import numpy").raise_error()
        shell.run_cell_magic(
            "grader", "third", "async def grade(thread):\n    return float(numpy.mean([1.0]))\n"
        )
