"""`%load_ext workbench` and the cell magic `%%grader`."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any

from workbench.app.session.grader_text import taken_by
from workbench.core.errors import WorkbenchError
from workbench.formats.platforms.adaptive.reading import creates
from workbench.graders.base import announce
from workbench.graders.capture import capture
from workbench.graders.capture.analysis import signature_of
from workbench.graders.capture.cell_texts import install
from workbench.graders.code.function import FunctionGrader
from workbench.graders.code.script import ScriptGrader
from workbench.sandbox.host.zygote import StartError, warn_absent

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


def load(shell: InteractiveShell) -> None:
    """Register the magic and start recording cells, so that capture finds their text."""
    install(shell)

    def grader(line: str, cell: str) -> None:
        """`%%grader [--js] name [--timeout SECONDS] [--memory MIB]`: turn this cell into a grader and validate it."""
        _run(shell, line, cell)

    shell.register_magic_function(grader, magic_kind="cell", magic_name="grader")  # type: ignore[call-arg, arg-type]


def _run(shell: InteractiveShell, line: str, cell: str) -> None:
    from IPython.core.error import UsageError
    from IPython.display import display

    try:
        item = make(line, cell, shell.user_ns)
    except WorkbenchError as error:
        # A message instead of a traceback through package files: it contains the hint.
        raise UsageError(str(error)) from None
    shell.user_ns[item.name] = item
    try:
        display(item.validate())  # type: ignore[no-untyped-call]
    except StartError as error:
        warn_absent(error)  # no sandbox for validation; the cells below may need none
    announce(item)


def make(line: str, cell: str, namespace: dict[str, Any]) -> FunctionGrader | ScriptGrader:
    """The grader of one cell. The cell's text is captured; it does not run in this process.

    With `--js` the cell is JavaScript, used unchanged.

    Args:
        line: The text after `%%grader`.
        cell: The cell's text.
        namespace: The notebook's names, for helpers from other cells.

    Raises:
        WorkbenchError: The line is invalid, or the cell cannot be captured.
    """
    words = line.split()
    script = "--js" in words
    options = _options([word for word in words if word != "--js"], line)
    if owner := taken_by(options["name"], namespace):
        raise WorkbenchError(f"%%grader {options['name']}: the name is {owner}", hint="choose another name")
    try:
        if script:
            return ScriptGrader.from_source(cell, **options)
        _refuse_calls(cell, options["name"])
        source = capture(cell, namespace=namespace)
        return FunctionGrader(source=source, signature=signature_of(source.text), **options)
    except WorkbenchError:
        raise
    except ValueError as error:
        raise WorkbenchError("%%grader cannot use these settings", found=str(error)) from None


def _refuse_calls(cell: str, name: str) -> None:
    """Refuse a whole cell from Adaptive's documents: it also creates its grader on the platform."""
    if calls := creates(cell):
        line, call = calls[0]
        raise WorkbenchError(
            f"%%grader {name}: the cell also creates graders on Adaptive", where=f"line {line}", found=f"{call}(...)",
            expected="a grade function and its dependencies",
            hint="omit that call, or load functions and calls together: workbench.loads(text)",
        )  # fmt: skip


def _options(words: list[str], line: str) -> dict[str, Any]:
    name, *rest = words or [""]
    name = unicodedata.normalize("NFKC", name)  # as Python reads names; otherwise it could not be called
    if not name.isidentifier():
        raise WorkbenchError(
            "%%grader needs a name",
            found=line.strip() or "nothing",
            expected="%%grader my_grader [--timeout 2], or %%grader --js my_grader for JavaScript",
        )
    options: dict[str, Any] = {"name": name}
    known = {"--timeout": ("timeout", float), "--memory": ("memory_mb", int)}
    # The empty text represents the missing value after a last flag.
    for flag, value in zip(rest[::2], [*rest[1::2], ""], strict=False):
        if flag not in known:
            raise WorkbenchError(f"%%grader does not know {flag}", expected=", ".join([*known, "--js"]))
        field, make_value = known[flag]
        try:
            options[field] = make_value(value)
        except ValueError:
            raise WorkbenchError(f"{flag} needs a number", found=value or "nothing") from None
    return options
