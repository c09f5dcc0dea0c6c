"""The cell magic: captured, validated, shown, and refused with a message."""

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell

import workbench as wb
from tests.seeds.blocks import block
from workbench.app.widgets.notebook import make
from workbench.core.errors import WorkbenchError

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
    """The name is bound to the grader, and the five checks are shown."""
    shell.run_cell_magic("grader", "half --timeout 2", CELL)
    half = shell.user_ns["half"]
    assert isinstance(half, wb.FunctionGrader)
    assert half.validation.ok
    assert half.timeout == 2.0
    assert "✓ test_run" in capsys.readouterr().out


def test_magic_uses_names_of_other_cells(shell):
    """Helpers and constants of the notebook are captured with the cell."""
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
    """A missing name, an unknown flag or a value that is not a number is reported."""
    with pytest.raises(WorkbenchError, match="%%grader|needs a number|does not know|above 0"):
        make(line, CELL, {})


def test_refusals_are_usage_errors(shell):
    """In the notebook a refusal is a message, not a traceback through our files."""
    with pytest.raises(UsageError, match="numpy"):
        shell.run_cell("import numpy").raise_error()
        shell.run_cell_magic(
            "grader", "third", "async def grade(thread):\n    return float(numpy.mean([1.0]))\n"
        )


def test_js_cells_are_scripts(shell, capsys):
    """`--js` reads the cell as JavaScript, validates it and binds its name."""
    from workbench.graders.code.script import ScriptGrader

    cell = "function grade(input) {\n  return input.response.length / 2;\n}\n"
    shell.run_cell_magic("grader", "--js short --timeout 2 --memory 32", cell)
    short = shell.user_ns["short"]
    assert isinstance(short, ScriptGrader)
    assert (short.script, short.timeout, short.memory_mb) == (cell, 2.0, 32)
    assert short.validation.ok
    assert short(wb.StringThread([("assistant", "abc")])).score == 1.5
    assert "function grade" in capsys.readouterr().out
    shell.run_cell_magic("grader", "short --js", cell.replace("/ 2", "/ 3"))
    assert shell.user_ns["short"](wb.StringThread([("assistant", "abc")])).score == 1.0


def test_js_refusals_are_told(shell):
    """A limit out of range is a message; an invalid script fails its checks and can be fixed."""
    with pytest.raises(UsageError, match="at most 400"):
        shell.run_cell_magic("grader", "--js big --memory 5000", "function grade(i) { return 1; }")
    shell.run_cell_magic("grader", "--js wrong", "async def grade(thread):\n    return 1.0\n")
    assert shell.user_ns["wrong"].validation.failure.name == "syntax"


def test_a_cell_that_also_creates_its_grader_is_told_what_to_do(shell):
    """The first example of Adaptive's document, unchanged: omit the call, or load the text; both then work."""
    cell = block("adaptive", "Create a function grader")
    with pytest.raises(UsageError, match="creates graders on Adaptive") as error:
        shell.run_cell_magic("grader", "same", cell)
    assert "workbench.loads(text)" in str(error.value)
    assert "adaptive.graders.create.function" in str(error.value)
    assert "same" not in shell.user_ns
    assert [grader.name for grader in wb.loads(cell)] == ["exact-match"]
    shell.run_cell_magic("grader", "same", cell.partition("adaptive.graders.create")[0])
    assert shell.user_ns["same"].validation.ok


def test_cells_of_other_platforms(shell):
    """A cell with Letta's signature is a grader of that signature."""
    shell.run_cell("LIMIT = 3").raise_error()
    shell.run_cell_magic(
        "grader",
        "brief",
        "from letta_evals.decorators import grader\nfrom letta_evals.models import GradeResult\n\n"
        "@grader\ndef brief_enough(sample, submission):\n    return GradeResult(score=float(len(submission) <= LIMIT))\n",
    )
    brief = shell.user_ns["brief"]
    assert brief.signature == "letta"
    assert "letta_evals.decorators" in brief.source.text
    assert brief(wb.StringThread([("assistant", "abc")])).score == 1.0


@pytest.mark.parametrize(
    "name", ["In", "Out", "get_ipython", "display", "_", "__", "_3", "_i", "_i7", "_oh", "__builtins__"]
)
@pytest.mark.parametrize("flag", ["", "--js "])
def test_names_that_the_notebook_needs_are_refused(name, flag):
    """A grader must not hide the shell's own names, which cells rely on."""
    with pytest.raises(WorkbenchError, match="choose another name"):
        make(flag + name, "function grade(input) { return 1; }" if flag else CELL, {})


def test_a_name_is_kept_as_python_reads_it():
    """Python turns a ligature into two letters, so the grader's name must have two as well."""
    assert make("\ufb01t", CELL, {}).name == "fit"
    assert make("_mine", CELL, {}).name == "_mine"
