"""What every panel shares: a session, a guard around callbacks, a place for errors, and a clean end."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import ipywidgets as widgets

from workbench.display_text import counted, shown
from workbench.session.problem import as_html
from workbench.session.session import Session
from workbench.widgets.cell_state import forget_view, remember_view, session_of_cell

__all__ = [
    "Panel",
    "add_classes",
    "close_all",
    "heading",
    "options",
    "remark",
    "replace_options",
    "row",
    "text",
    "two_columns",
]


class Panel(widgets.VBox):  # type: ignore[misc]
    """One view on a session: alone in a cell, or part of a `Workbench`.

    Args:
        samples: A `Workbench`, another panel or a `Session` to share what it knows; else samples, as `Workbench` takes them.
        graders: As in `Workbench`.
        settings: Further arguments of `Workbench`.

    Attributes:
        session: What is known and done; see `Session`.
    """

    title: ClassVar[str] = ""
    css: ClassVar[str] = ""

    def __init__(self, samples: Any, graders: Any = None, **settings: Any) -> None:
        self.session, self._shared = session_of(samples, graders, kind=type(self).__name__, **settings)
        self._observers: list[tuple[Any, Callable[[Any], None], list[str]]] = []
        self._is_filling = False
        self._alert = widgets.HTML()
        super().__init__()
        for name in ("wb-panel", f"wb-{self.css}"):
            self.add_class(name)
        try:
            with self.session.guard.lock, self.filling_controls():
                self.children = [widgets.HTML(STYLE), self._alert, *self.build()]
                self.watch(self._show_problem, self.session.guard, "problem")
                self.refresh()
            self._show_problem()  # of making this panel, or of what came before it
        except BaseException:
            self.dispose(end_session=not self._shared)  # nothing of half a panel stays
            raise
        if not self._shared:
            remember_view(type(self).__name__, self)

    def build(self) -> Sequence[Any]:
        """Make the widgets, once."""
        raise NotImplementedError

    def refresh(self) -> None:
        """Show the session as it is."""
        raise NotImplementedError

    def watch(self, show: Callable[[], object], part: Any, *names: str) -> None:
        """Call `show` when one of these traits of a part of the session changes."""

        def changed(_: Any) -> None:
            with self.session.guard.locked(self.title), self.filling_controls():
                show()
            self._show_problem()

        part.observe(changed, list(names))
        self._observers.append((part, changed, list(names)))

    def callback(self, action: Callable[[], object], *, slow: bool = False) -> Callable[..., None]:
        """A callback for a control: errors are shown in the panel.

        Args:
            action: What it does.
            slow: It may take seconds and takes the lock itself, so that the progress of a run is shown meanwhile.
        """

        def act(*_: Any) -> None:
            guard, by_person = self.session.guard, not self._is_filling
            with guard.unlocked(self.title) if slow else guard.locked(self.title, by_person=by_person):
                if not self._is_filling:
                    action()

        return act

    @contextmanager
    def filling_controls(self) -> Iterator[None]:
        """Set controls to what is known: their callbacks do nothing meanwhile, as they are for people."""
        before, self._is_filling = self._is_filling, True
        try:
            yield
        finally:
            self._is_filling = before

    def _show_problem(self) -> None:
        warning = self.session.storage.warning
        paragraph = f"<p class='wb-warn' role='status'>{text(warning, 600)}</p>" if warning else ""
        self._alert.value = as_html(self.session.guard.problem) + paragraph

    def close(self) -> None:
        """End the panel and everything in it, and what it knows unless it shares that with others."""
        if hasattr(self, "_observers"):  # else its samples could not be read, and Python cleans up
            self.dispose(end_session=not self._shared)

    def dispose(self, *, end_session: bool) -> None:
        """Close the widgets; with `end_session` the session too, and the run in it."""
        forget_view(self)
        for part, changed, names in self._observers:
            part.unobserve(changed, names)
        self._observers = []
        close_all(self.children)
        self.children = []
        _close_one(self)
        if end_session:
            self.session.close()
        super().close()

    def __repr__(self) -> str:
        rows, graders = len(self.session.samples), len(self.session.graders.by_name)
        return f"{type(self).__name__}({counted(rows, 'row')}, {counted(graders, 'grader')})"


def session_of(samples: Any, graders: Any = None, *, kind: str = "", **settings: Any) -> tuple[Session, bool]:
    """The session behind an app, a panel or a session, and whether somebody else owns it; else a new one."""
    session = samples if isinstance(samples, Session) else getattr(samples, "session", None)
    if isinstance(session, Session):
        return session, True
    return session_of_cell(kind, samples, graders, **settings), False


def close_all(children: Iterable[Any]) -> None:
    """Close widgets with all they hold: a box that closes leaves its children, layouts and styles open."""
    for child in children:
        close_all(getattr(child, "children", ()))
        _close_one(child)
        child.close()


def _close_one(widget: Any) -> None:
    for name in ("layout", "style"):
        part = getattr(widget, name, None)
        if isinstance(part, widgets.Widget):
            part.close()


def text(value: Any, limit: int = 300) -> str:
    """Any value as escaped text."""
    return html.escape(shown(value, limit))


def heading(words: str) -> Any:
    """A small title."""
    return widgets.HTML(f"<h3 class='wb-h'>{text(words)}</h3>")


def remark(words: str) -> str:
    """A remark, as HTML."""
    return f"<span class='wb-quiet'>{text(words, 1_000)}</span>"


def add_classes(**parts: Any) -> None:
    """Give controls the class `wb-NAME` of the name each is passed by: for styles and for tests."""
    for name, part in parts.items():
        part.add_class(f"wb-{name.replace('_', '-')}")


def row(*children: Any) -> Any:
    """Controls beside each other, in as many lines as a narrow page needs."""
    box = widgets.Box(children, layout=widgets.Layout(flex_flow="row wrap", align_items="center"))
    box.add_class("wb-controls")
    return box


def two_columns(left: Iterable[Any], right: Iterable[Any]) -> Any:
    """Two columns where a page is wide enough for them, else one below the other."""
    columns = [widgets.VBox(list(part)) for part in (left, right)]
    for column in columns:
        column.add_class("wb-column")
    box = widgets.Box(columns)
    box.add_class("wb-columns")
    return box


def options(pairs: Iterable[tuple[str, Any]]) -> tuple[tuple[str, Any], ...]:
    """Options with visible titles that stay apart: two alike get a number."""
    seen: dict[str, int] = {}
    numbered = []
    for title, value in pairs:
        plain = shown(title, 80).replace("\n", " ")
        seen[plain] = seen.get(plain, 0) + 1
        numbered.append((plain if seen[plain] == 1 else f"{plain} ({seen[plain]})", value))
    return tuple(numbered)


def replace_options(
    control: Any, pairs: Iterable[tuple[str, Any]], default: Any = None, *, keep: bool = True
) -> None:
    """Give a list other options.

    Args:
        control: The list.
        pairs: Titles and values.
        default: What is chosen where nothing is kept; the first by default.
        keep: Whether what was chosen stays where it still is there.
    """
    new = options(pairs)
    values = [value for _, value in new]
    chosen = control.value if keep and control.value in values else default
    if tuple(control.options) != new:
        control.options = new
    control.index = values.index(chosen) if chosen in values else 0 if values else None


STYLE = """<style>
.wb-panel{font-size:13px;overflow:visible}
.wb-panel>*{flex:0 0 auto}
.wb-panel .wb-columns{display:flex;flex-flow:row wrap;gap:4px 16px;overflow:visible;flex:0 0 auto;align-items:flex-start}
.wb-panel .wb-column{flex:1 1 500px;min-width:0;overflow:visible}
.wb-panel .wb-column>*{flex:0 0 auto}
.wb-panel .widget-button{width:auto;min-width:8em}
.wb-panel summary{cursor:pointer}
.wb-app .lm-TabBar .lm-TabBar-tab{flex:1 1 auto!important;min-width:0!important;padding:0 6px!important}
.wb-app .lm-TabBar .lm-TabBar-tabLabel{text-overflow:ellipsis}
.wb-panel .wb-controls{overflow:visible;flex:0 0 auto;gap:4px 12px}
.wb-panel .wb-controls>.widget-checkbox{width:auto}
.wb-panel .wb-h{margin:.2em 0;font-size:14px;font-weight:600}
.wb-panel .wb-quiet{color:var(--jp-ui-font-color2,#767676)}
.wb-panel pre{white-space:pre-wrap;overflow-wrap:anywhere;margin:.2em 0;background:transparent;color:inherit;font-size:12px}
.wb-panel .widget-html-content{line-height:1.45}
.wb-panel .wb-problem{border-left:4px solid var(--jp-error-color1,#d2483f);padding:.3em .8em;margin:.3em 0;background:rgba(210,72,63,.08)}
.wb-panel table.wb-plain{border-collapse:collapse;width:100%;table-layout:auto}
.wb-panel table.wb-plain th,.wb-panel table.wb-plain td{text-align:left;vertical-align:top;padding:3px 10px 3px 0;
border-bottom:1px solid rgba(128,128,128,.3);background:none;overflow-wrap:anywhere;white-space:pre-wrap}
.wb-panel table.wb-plain .wb-name{width:max-content;max-width:min(16em,20vw)} .wb-panel table.wb-plain th:nth-child(4){min-width:6em}
.wb-panel table.wb-plain th:not(:nth-child(4)),.wb-panel table.wb-plain td:nth-child(2),.wb-panel table.wb-plain td:nth-child(3),
.wb-panel table.wb-plain td:nth-child(5){white-space:nowrap;overflow-wrap:normal}
.wb-panel .wb-ok{color:var(--jp-success-color1,#2e7d32)} .wb-panel .wb-no{color:var(--jp-error-color1,#c62828)}
.wb-panel .wb-warn{color:#b26a00}
.wb-panel textarea{font-family:var(--jp-code-font-family,monospace);font-size:12px}
.wb-panel .widget-select-multiple select,.wb-panel .widget-dropdown select{min-width:0}
</style>"""
