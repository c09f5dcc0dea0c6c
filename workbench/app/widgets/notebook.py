"""What a notebook adds to the app: the magic `%%grader`, and cells that run again and continue their session."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.analysis.labels import read_labels
from workbench.app.session.columns import mapped, readable
from workbench.app.session.grader_text import taken_by
from workbench.app.session.session import DEFAULTS, Session
from workbench.core.errors import WorkbenchError
from workbench.data.samples import Samples
from workbench.formats.platforms.adaptive import creates
from workbench.graders.base import announce
from workbench.graders.capture import capture
from workbench.graders.capture.analysis import signature_of
from workbench.graders.capture.cell_texts import install
from workbench.graders.code.function import FunctionGrader
from workbench.graders.code.script import ScriptGrader
from workbench.report.settings import label_column
from workbench.sandbox.host.zygote import StartError, warn_absent

if TYPE_CHECKING:
    from IPython.core.interactiveshell import InteractiveShell


Place = tuple[str, str, int]
"""A cell, a kind of view, and the view's index, because a cell may show several."""


class _CellView(NamedTuple):
    """A view, its session, whether it owns the session, and a copy of the labels it was given."""

    session: Session
    view: Any
    owns: bool
    labels: NDArray[np.int8]


_views: dict[Place, _CellView] = {}

_cell_runs: dict[tuple[str, str], tuple[str, int]] = {}
"""By cell and kind: its last run, and how many views that run has created."""


def current_cell() -> tuple[str, str]:
    """The running cell's id from the front end, and the number of its run; "" if unknown."""
    # Looked up, not imported: if no kernel has loaded it, no cell runs.
    if "ipykernel" not in sys.modules:
        return "", ""
    from IPython import get_ipython

    get_parent = getattr(getattr(get_ipython(), "kernel", None), "get_parent", dict)
    parent: Any = get_parent() or {}
    run = str(parent.get("header", {}).get("msg_id", ""))
    return str(parent.get("metadata", {}).get("cellId", "")), run


def _place(kind: str) -> Place | None:
    """The cell of a view that is being created; None outside of a cell."""
    name, run = current_cell()
    last_run, count = _cell_runs.get((name, kind), ("", 0))
    return (name, kind, count if run == last_run else 0) if name else None


def session_of_cell(kind: str, samples: Any, graders: Any = None, **settings: Any) -> Session:
    """The session this cell had for the same samples, with the current graders; else a new one.

    A new one takes over what was written in the app; a store whose file was deleted is opened again.

    Args:
        kind: Of the view.
        samples: As `Session` takes them.
        graders: As `Session` takes them.
        settings: As `Session` takes them.
    """
    data, unmapped = readable(samples)
    place = _place(kind)
    previous = None if place is None else _views.get(place)
    if previous is not None and not previous.owns:
        previous = None  # a session owned by another view continues without this cell
    roles = previous.session.mapping if previous is not None else {}
    if (
        roles
        and previous is not None
        and previous.session.samples.source == data.source
        and _has(data, roles)
    ):
        # The cell still has the columns from before the user mapped them in the app.
        data, unmapped = mapped(data.frame, roles, data.source), ""
        settings = {**settings, "labels": previous.session.settings["labels"]}
    if previous is not None and _fits(previous, data, {**DEFAULTS, **settings}):
        previous.session.graders.set_given(graders)
        previous.session.reopen_storage()
        return previous.session
    if previous is not None and _opened_over(previous, data, {**DEFAULTS, **settings}):
        # The cell still has the rows from before the user opened a file in the app, which an undo restores.
        previous.session.graders.set_given(graders)
        previous.session.reopen_storage()
        return previous.session
    session = Session(data, graders, unmapped=unmapped, **settings)
    if previous is not None:
        session.continue_from(previous.session)
    return session


def _opened_over(previous: _CellView, samples: Samples, settings: dict[str, Any]) -> bool:
    """Whether the user opened a file instead of the given samples."""
    first = next((each.before for each in previous.session.files.changes if each.before is not None), None)
    if first is None:
        return False
    under = previous._replace(session=first, labels=_labels(first.samples, first.settings))
    return _fits(under, samples, settings)


def _has(samples: Samples, roles: Mapping[str, str]) -> bool:
    return {name for name in roles.values() if name} <= set(map(str, samples.frame.columns))


def remember_view(kind: str, view: Any, *, owns: bool) -> None:
    """Record a cell's view; its previous view is closed, and that view's session if it is a different one.

    Args:
        kind: Of the view.
        view: The view.
        owns: Whether it owns its session; otherwise the session continues when the view is closed.
    """
    place = _place(kind)
    if place is None:
        return
    name, run = current_cell()
    _cell_runs[name, kind] = (run, place[2] + 1)
    previous, session = _views.get(place), view.session
    same = previous is not None and previous.session is session
    if previous is not None and same:
        labels = previous.labels
    else:
        labels = _labels(session.samples, session.settings) if owns else np.empty(0, np.int8)
    _views[place] = _CellView(session, view, owns, labels)
    if previous is not None:
        previous.view.dispose(end_session=previous.owns and not same)


def exchange_session(view: Any) -> None:
    """Record that a view has another session, with other columns of the same rows."""
    for place, cell_view in _views.items():
        if cell_view.view is view:
            labels = _labels(view.session.samples, view.session.settings)
            _views[place] = _CellView(view.session, view, cell_view.owns, labels)


def forget_view(view: Any) -> None:
    """Forget a view that is closed."""
    for place in [place for place, cell_view in _views.items() if cell_view.view is view]:
        del _views[place]


def _fits(previous: _CellView, samples: Samples, settings: dict[str, Any]) -> bool:
    """Whether a session has the given samples and settings: labels are compared by value."""
    before = previous.session.settings
    return (
        before.keys() == settings.keys()
        and all(before[name] == settings[name] for name in ("labeller", "dataset"))
        and _same_store(before["store"], settings["store"])
        and _same_samples(previous.session.samples, samples)
        and np.array_equal(previous.labels, _labels(samples, settings))
    )


def _labels(samples: Samples, settings: dict[str, Any]) -> NDArray[np.int8]:
    return read_labels(label_column(samples, settings["labels"]), len(samples))


def _same_store(a: Any, b: Any) -> bool:
    """Whether two values refer to one store: a `Store` equals only itself, because each in memory differs; others by address."""
    return a is b or (type(a) is type(b) and bool(a == b))


def _same_samples(a: Samples, b: Samples) -> bool:
    """Whether these are the same rows of the same source with the same contents."""
    if a is b:
        return True
    alike = (len(a), a.source, a.columns) == (len(b), b.source, b.columns)
    return alike and all(
        part(a) == part(b)
        for part in (
            lambda rows: list(rows.ids),
            lambda rows: rows.content_digest(),  # turns, tools and metadata
            lambda rows: rows.problems,
            lambda rows: list(map(repr, rows.references)),  # 1 is not True, and NaN is NaN
            lambda rows: list(rows.groups),
        )
    )


def load(shell: InteractiveShell) -> None:
    """Register the magic and start recording cells, so that capture finds their text."""
    install(shell)

    def grader(line: str, cell: str) -> None:
        """`%%grader [--js] name [--timeout SECONDS] [--memory MIB]`: turn this cell into a grader and validate it."""
        _run_magic(shell, line, cell)

    shell.register_magic_function(grader, magic_kind="cell", magic_name="grader")  # type: ignore[call-arg, arg-type]


def _run_magic(shell: InteractiveShell, line: str, cell: str) -> None:
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
    options = _magic_options([word for word in words if word != "--js"], line)
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


def _magic_options(words: list[str], line: str) -> dict[str, Any]:
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
