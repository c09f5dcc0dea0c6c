"""A live plotly chart: the figure is the state, and a click says what it means."""

from __future__ import annotations

import base64
import gzip
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
import traitlets

from workbench.display_text import one_line
from workbench.widgets.views.assets import static
from workbench.widgets.views.view import View

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

__all__ = ["Chart"]

Picked = Callable[[list[Any]], None]


class Chart(View):
    """A figure in the page's own colours, whose marks can be picked.

    `FigureWidget` keeps 5 MB of plotly.js in every figure's state and forgets changes on reload. Here the
    state is the figure's JSON; the first chart of a page asks for plotly.js, and the others share it.

    A mark can be picked where its trace has `customdata`: by click, by a box over several, or by keyboard
    (arrows, Enter, Escape).

    Args:
        figure: What to draw; None for nothing yet.
        label: What a screen reader says of it.

    Attributes:
        picked: `customdata` of the marks picked last; set it to pick by code (callbacks stay silent).

    Example:
        >>> import plotly.graph_objects as go
        >>> chart = Chart(go.Figure(go.Bar(y=[3, 4], customdata=["low", "high"])), label="scores")
        >>> chart.on_pick(print)
        >>> chart
        Chart('scores')
    """

    _esm = static("dom.js", "load.js", "chart.js")
    _css = static("theme.css", "chart.css")

    spec = traitlets.Unicode().tag(sync=True)
    label = traitlets.Unicode().tag(sync=True)
    picked: traitlets.List[Any] = traitlets.List().tag(sync=True)
    plotly = traitlets.Unicode().tag(sync=True)

    def __init__(self, figure: Figure | None = None, *, label: str = "") -> None:
        self._figure: Figure | None = None
        self._callbacks: list[Picked] = []
        super().__init__(label=one_line(label), plotly=_version())
        self.figure = figure

    @property
    def figure(self) -> Figure | None:
        """What is drawn. A figure changed in place must be set again to be seen."""
        return self._figure

    @figure.setter
    def figure(self, figure: Figure | None) -> None:
        spec = _spec(figure)
        self._figure = figure
        self.spec = spec

    def on_pick(self, callback: Picked) -> None:
        """Call `callback` with the `customdata` of what was picked; with an empty list when cleared."""
        self._callbacks.append(callback)

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored."""
        if message.get("ask") == "plotly":
            self.send({"tell": "plotly"}, [_script()])
        elif message.get("do") == "pick" and isinstance(message.get("picks"), list):
            self.picked = message["picks"]
            for callback in tuple(self._callbacks):
                callback(list(self.picked))

    def __repr__(self) -> str:
        return f"Chart({self.label!r})" if self.label else "Chart()"


def _spec(figure: Figure | None) -> str:
    """The figure as JSON without its template: colours come from the page."""
    if figure is None:
        return ""
    from plotly.io import to_json

    drawn = _as_lists(figure.to_plotly_json())
    drawn.get("layout", {}).pop("template", None)
    return str(to_json(drawn, validate=False))


def _as_lists(value: Any) -> Any:
    """A figure whose packed arrays are lists: the page's own code reads them too."""
    if isinstance(value, Mapping):
        return _unpacked(value) if "bdata" in value else {key: _as_lists(item) for key, item in value.items()}
    return [_as_lists(item) for item in value] if isinstance(value, list | tuple) else value


def _unpacked(packed: Mapping[str, Any]) -> Any:
    """An array out of plotly's packing: base64 of its bytes, type, and shape such as "2, 3"."""
    numbers = np.frombuffer(base64.b64decode(packed["bdata"]), packed["dtype"])
    shape = [int(size) for size in str(packed.get("shape", len(numbers))).split(",")]
    return numbers.reshape(shape).tolist()


def _version() -> str:
    from plotly.offline import get_plotlyjs_version

    return str(get_plotlyjs_version())


@cache
def _script() -> bytes:
    """plotly.js of the installed package, compressed to a third: remote notebooks have slow lines."""
    from plotly.offline import get_plotlyjs

    return gzip.compress(get_plotlyjs().encode(), 6, mtime=0)
