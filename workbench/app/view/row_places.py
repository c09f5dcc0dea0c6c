"""The map of rows as the page draws it: places once per dataset, computed in the background, and colours with every state."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.app.session.row_map import RowMap, row_map
from workbench.core import background
from workbench.core.display_text import counted, one_line
from workbench.core.user_functions import attempt
from workbench.report.where import scaled_scores

if TYPE_CHECKING:
    from workbench.app.view.head import View


SIDE = 4_095
"""The largest coordinate that is sent: no screen shows more."""

_DEPTHS = 10  # steps of a score's colour


class RowPlaces:
    """Requests of the page for the map; see `Actions`.

    Args:
        view: Whose rows are on the map.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self._samples: Any = None  # whose map was requested last
        self._map: RowMap | None = None
        self._problem = ""

    def ask_map(self) -> dict[str, Any]:
        """The map as `MapData`; only `busy` while it is computed, which the first request starts."""
        samples = self._view.graded.report.samples
        if samples is not self._samples:
            self._samples, self._map, self._problem = samples, None, ""
            work = background.submit(asyncio.to_thread(row_map, samples))
            background.then(work, lambda future: self._made(samples, future))
        made = self._map
        if made is None:
            return {"busy": not self._problem, "problem": self._problem}
        places = np.rint(made.places * SIDE).astype(int)
        kind = f"by column {one_line(made.source, 60)}" if made.source else "by words"
        shown = (
            "" if len(made.rows) == len(samples) else f", {counted(len(made.rows), 'row')} drawn at random"
        )
        return {
            "busy": False, "problem": "", "side": SIDE, "note": f"{kind}{shown}",
            "rows": made.rows.tolist(), "x": places[:, 0].tolist(), "y": places[:, 1].tolist(),
            "clusters": made.clusters.tolist(), "names": [one_line(name, 80) for name in made.names],
        }  # fmt: skip

    def _made(self, samples: Any, future: Future[RowMap]) -> None:
        with self._view.session.guard.lock:
            if samples is not self._samples:
                return  # other rows were drawn meanwhile
            made = attempt(future.result)
            if isinstance(made, Exception):  # shown instead of the map
                self._problem = one_line(f"{type(made).__name__}: {made}", 300)
            else:
                self._map = made

    def ask_map_state(self) -> dict[str, str]:
        """Of each row on the map one character: its part of the chosen grader's bar, its score, whether it is selected."""
        graded, name, made = self._view.graded, self._view.chosen, self._map
        if made is None:
            return {"parts": "", "scores": "", "picked": ""}
        rows, table = made.rows, self._view.rows.table
        parts = graded.parts(name)[rows] if name in graded else np.full(len(rows), -1)
        scores = scaled_scores(graded.report, name)[rows] if name in graded else np.full(len(rows), np.nan)
        depths = np.where(np.isnan(scores), -1, np.clip(np.floor(scores * _DEPTHS), 0, _DEPTHS - 1))
        is_picked = np.zeros(len(graded.report), bool)
        is_picked[table.rows] = True
        narrowed = bool(table.where or table.search)
        return {
            "parts": _characters(parts), "scores": _characters(depths),
            "picked": _characters(is_picked[rows].astype(int)) if narrowed else "",
        }  # fmt: skip


def _characters(values: Any) -> str:
    """Values from -1 to 9 as one character each, "-" for -1."""
    return "".join(np.array(list("0123456789-"))[np.asarray(values, int)].tolist())
