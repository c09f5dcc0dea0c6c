"""What every action of a session uses: the lock that its parts share, and the lines of code that repeat the action."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from traitlets import Any as AnyTrait
from traitlets import HasTraits, Unicode

from workbench.core.errors import WorkbenchError

if TYPE_CHECKING:
    from workbench.app.session.session_labels import DatasetLabels
    from workbench.app.session.storage import Storage


@dataclass(frozen=True)
class Problem:
    """An error, for display.

    Attributes:
        what: What happened.
        trace: The traceback; "" for an interrupt.
        where: The panel it happened in.
    """

    what: str
    trace: str = ""
    where: str = ""

    @classmethod
    def of(cls, error: BaseException, where: str = "") -> Problem:
        """The problem for an exception."""
        if isinstance(error, KeyboardInterrupt):
            return cls("Interrupted.", "", where)
        trace = "".join(traceback.format_exception(error))
        is_own_error = isinstance(error, WorkbenchError)
        return cls(str(error) if is_own_error else f"{type(error).__name__}: {error}", trace, where)


class ActionLock:
    """A re-entrant lock with callbacks before a thread's outermost release.

    Attributes:
        on_release: Called with the lock held, when one thread's change is complete.
    """

    def __init__(self) -> None:
        # Re-entrant: changing a trait calls its observers, which may act on the session in the same thread.
        self._lock = threading.RLock()
        self._depth = 0
        self.on_release: list[Callable[[], object]] = []

    def __enter__(self) -> Self:
        self._lock.acquire()
        self._depth += 1
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for callback in tuple(self.on_release) if self._depth == 1 else ():
                callback()
        finally:
            self._depth -= 1
            self._lock.release()


class ActionGuard(HasTraits):
    """Guards state that several threads change: a user's clicks, cells that run, and background runs.

    Traits:
        problem: The last error of a callback; None for none.

    Attributes:
        lock: Every thread that changes the session holds the lock.
    """

    problem = AnyTrait(None, allow_none=True)

    def __init__(self) -> None:
        super().__init__()
        self.lock = ActionLock()
        self._depth = 0

    @contextmanager
    def locked(self, where: str = "", *, by_person: bool = False) -> Iterator[None]:
        """Acquire the lock; an exception inside becomes the `problem` and is not propagated.

        Args:
            where: Where it happened, as shown with the problem.
            by_person: Whether a user acts, which dismisses the previous problem. The progress of a run does not
                dismiss it.
        """
        with self.lock:
            self._depth += 1
            try:
                with self.recorded(where):
                    if by_person and self._depth == 1:
                        self.problem = None
                    yield
            finally:
                self._depth -= 1

    @contextmanager
    def unlocked(self, where: str = "") -> Iterator[None]:
        """As `locked`, for a user's action that takes long, without holding the lock."""
        with self.lock:
            self.problem = None
        with self.recorded(where):
            yield

    @contextmanager
    def recorded(self, where: str) -> Iterator[None]:
        """Make an exception inside the `problem`, without holding the lock meanwhile."""
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 (it is shown, not swallowed)
            with self.lock:
                self.problem = Problem.of(error, where)


class LastCode(HasTraits):
    """The lines that would repeat the last action.

    Traits:
        text: The lines.
    """

    text = Unicode("")


def grader_code(name: str) -> str:
    """A grader of the app, by its name."""
    return f"app.graders[{name!r}]"


def graders_code(names: Sequence[str]) -> str:
    """A list of graders of the app."""
    return f"[{', '.join(map(grader_code, names))}]"


class _Code(str):
    """Code that is inserted into a call literally, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def call(function: str, *values: Any, **named: Any) -> str:
    """A call in the usual notation; arguments that are None are omitted."""
    keywords = (f"{name}={value!r}" for name, value in named.items() if value is not None)
    return f"{function}({', '.join([*map(repr, values), *keywords])})"


def run_code(
    suite: str,
    labels: DatasetLabels,
    n: int,
    *,
    draw: Mapping[str, Any],
    budget: float | None = None,
    repeats: int = 1,
    merges: bool = False,
) -> str:
    """A run, and its report as the app shows it.

    Args:
        suite: The graders that run, in code.
        labels: The labels they run with, and the storage.
        n: Rows drawn; 0 for all.
        draw: Seed and strata.
        budget: US dollars; None for no limit.
        repeats: How often each row is graded.
        merges: Whether grades of the same rows by other graders are shown as well.
    """
    url = labels.storage.url
    run = call(
        f"{suite}.run", _Code("rows"), labels=_labels_of_rows(labels),
        store=url or None, dataset=labels.dataset if url else None,
        budget=budget, repeats=repeats if repeats > 1 else None,
    )  # fmt: skip
    lines = [
        _rows_line(n, draw),
        f"report = {run}",
        *(["report = app.beside(report)"] if merges else []),
        "report",
    ]
    return "\n".join(lines)


def grading_code(suite: str, labels: DatasetLabels, n: int, draw: Mapping[str, Any]) -> str:
    """The grades of the drawn rows, which no store has; arguments as of `run_code`."""
    run = call(f"{suite}.run", _Code("rows"), labels=_labels_of_rows(labels))
    return "\n".join([_rows_line(n, draw), f"report = {run}", "report"])


def _rows_line(n: int, draw: Mapping[str, Any]) -> str:
    return f"rows = {call('app.samples.draw', n, **draw) if n else 'app.samples'}"


def _labels_of_rows(labels: DatasetLabels) -> _Code | None:
    code = labels.code_for("rows")
    return _Code(code) if code else None


def mapping_code(roles: Mapping[str, str], source: str, labels: Any) -> str:
    """The samples with these columns, and the app over them, given the role of each column."""
    columns = {role: name for role, name in roles.items() if name and role != "labels"}
    data = repr(source) if source else "app.samples.frame"
    app = call("wb.Workbench", _Code("samples"), labels=labels if isinstance(labels, str) else None)
    return f"samples = wb.read_samples({data}, columns={columns!r})\napp = {app}"


def opened_code(name: str, labels: Any, renamed: Mapping[Any, str] | None) -> str:
    """The app with its graders over the rows of a file; with `renamed`, its columns' new names, below the app's own rows."""
    app = call(
        "wb.Workbench",
        _Code("rows"),
        _Code("list(app.graders.values())"),
        labels=labels if isinstance(labels, str) else None,
    )
    file = call("wb.read_samples", name)
    if renamed is None:
        return f"rows = {file}\napp = {app}"
    added = f"{file}.frame" + (f".rename(columns={dict(renamed)!r})" if renamed else "")
    return f"import pandas as pd\nrows = pd.concat([app.samples.frame, {added}])\napp = {app}"


def rows_code(where: Sequence[Mapping[str, Any]]) -> str:
    """The rows of the report that meet these conditions; all rows if there are none."""
    if not where:
        return "app.report.rows()"
    return f"app.report.rows(where=app.report.row_numbers({', '.join(map(repr, map(dict, where)))}))"


def relabel_code(labels: DatasetLabels) -> str:
    """The report, diagnosed again with these labels."""
    values = labels.code_for("app.report.samples") or "[None] * len(app.report)"
    return f"report = app.report.diagnose(labels={values})\nreport"


def compare_code(first: str, second: str, *, versions: bool) -> str:
    """A comparison of two graders; with `versions` one of them is an earlier version."""
    return call(f"app.{'versions' if versions else 'report'}.compare", first, second)


def export_code(
    suite: str,
    target: str,
    format: str,  # noqa: A002
    *,
    on_loss: str,
    on_error: str | float,
    allow_unvalidated: bool,
    reference: str = "",
) -> str:
    """An export; settings with their default value are omitted."""
    unusual = {
        "on_loss": on_loss if on_loss != "refuse" else None,
        "on_error": on_error if on_error != "raise" else None,
        "reference": reference or None,
        "allow_unvalidated": allow_unvalidated or None,
    }
    return call("wb.export", _Code(suite), target, format, **unusual)


def label_code(
    labels: DatasetLabels, name: str, value: bool | None, note: str, tags: Sequence[str] = ()
) -> str:
    """Saving a label in the store."""
    details: dict[str, Any] = _without_empty(note=note, drawn=labels.drawn_of(name))
    details |= {"tags": list(tags)} if tags else {}
    sample = _Code(labels.code_of(name))
    return call(f"{_store_code(labels.storage)}.labels.put", sample, value, **_owner(labels), **details)


def undo_code(labels: DatasetLabels, name: str) -> str:
    """Undoing a label."""
    return call(f"{_store_code(labels.storage)}.labels.undo", _Code(labels.code_of(name)), **_owner(labels))


def keep_code(storage: Storage, name: str, change: str) -> str:
    """Saving a grader in the store: `change` is "create" or "edit"."""
    return f"{_store_code(storage)}.graders.{change}({name!r}, {grader_code(name)})"


def history_code(storage: Storage, name: str) -> str:
    """A grader's history in the store."""
    return call(f"{_store_code(storage)}.graders.history", name)


def stored_version_code(storage: Storage, name: str, version: int) -> str:
    """Loading a grader's version from the store into the app."""
    return f"app.add({call(f'{_store_code(storage)}.graders.get', name, version)})"


def _owner(labels: DatasetLabels) -> dict[str, str]:
    return _without_empty(labeller=labels.labeller, dataset=labels.dataset)


def _without_empty(**texts: str) -> dict[str, str]:
    return {key: text for key, text in texts.items() if text}


def _store_code(storage: Storage) -> str:
    """The store, as the next cell opens it: one in memory has no address."""
    return f"wb.open_store({storage.url!r})" if not storage.in_memory else "app.session.storage.store"
