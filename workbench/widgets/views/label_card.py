"""One row at a time to be judged by a human, by keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import traitlets

from workbench.widgets.views.assets import static
from workbench.widgets.views.view import View

__all__ = ["ACTIONS", "LabelCard"]

ACTIONS = ("good", "bad", "skip", "undo", "note")
"""What a human can do with a card."""

KEYS = {"good": "1", "bad": "0", "skip": "s", "undo": "u", "note": "n"}
RECENT = 5

Decided = Callable[[str, str, int], bool | None]


class LabelCard(View):
    """A card with a thread and two verdicts; it says what was decided, Python decides what comes next.

    A decision shows `upcoming` at once. When its callbacks have returned, the card shows `card` again: so a
    callback sets `card` and `upcoming` before it returns, and ignores decisions on an old `seq`.

    Args:
        traits: Any of the attributes.

    Attributes:
        card: What `row_reader.read_row` gives, with `seq` (int, of this showing) and `note`; {} when all is done.
        upcoming: The card after it, shown at once when this one is decided; {} for none.
        done: Cards decided.
        total: Cards in all.
        status: Live numbers as (name, text) pairs.
        message: What the human should know: an error, or what to do.
        bindings: Action to key, one character each.
        recent: The last decisions, oldest first: seq, id, action.
    """

    _esm = static("dom.js", "reader.js", "card.js")
    _css = static("theme.css", "reader.css", "card.css")

    card = traitlets.Dict().tag(sync=True)
    upcoming = traitlets.Dict().tag(sync=True)
    done = traitlets.Int(0).tag(sync=True)
    total = traitlets.Int(0).tag(sync=True)
    status: traitlets.List[Any] = traitlets.List().tag(sync=True)
    message = traitlets.Unicode().tag(sync=True)
    bindings = traitlets.Dict(KEYS).tag(sync=True)
    recent: traitlets.List[Any] = traitlets.List().tag(sync=True)
    label = traitlets.Unicode("Label rows").tag(sync=True)
    heard = traitlets.Unicode().tag(sync=True)

    def __init__(self, **traits: Any) -> None:
        self._callbacks: list[Decided] = []
        self._more: Callable[[int, str], str] | None = None
        super().__init__(**traits)

    def on_decide(self, callback: Decided) -> None:
        """Call `callback` with the action, the note's text and the card's `seq`.

        It returns False for what it did not do, which is then not among the last decisions.
        """
        self._callbacks.append(callback)

    def on_more(self, find: Callable[[int, str], str]) -> None:
        """Ask `find` with a card's `seq` and a part for the whole text of a part that was cut."""
        self._more = find

    def decide(self, action: str, note: str = "") -> None:
        """Do to the current card what a key would do.

        Raises:
            ValueError: No such action.
        """
        if action not in ACTIONS:
            raise ValueError(f"action must be one of {', '.join(ACTIONS)}, not {action!r}")
        self._decided(action, note, self.card.get("seq", -1))

    def hear(self, message: Mapping[str, Any]) -> None:
        """Act on a message of a page; one that makes no sense is ignored, but heard."""
        if message.get("ask") == "more":
            self._send_more(message.get("seq"), message.get("part"))
        if message.get("do") != "decide":
            return
        action, note, seq = (message.get(key) for key in ("action", "note", "seq"))
        try:
            if action in ACTIONS and isinstance(note, str) and isinstance(seq, int):
                self._decided(action, note, seq)
        finally:
            # Until then the page shows what it expects; from here on it shows what is.
            self.heard = str(message.get("turn", ""))

    def _decided(self, action: str, note: str, seq: int) -> None:
        sample_id = self.card.get("id", "") if self.card.get("seq") == seq else self._upcoming_id(seq)
        if False in [callback(action, note, seq) for callback in tuple(self._callbacks)]:
            return
        if action == "undo":
            self.recent = self.recent[:-1]
        elif action != "note":
            others = [decision for decision in self.recent if decision["seq"] != seq]
            self.recent = [*others, {"seq": seq, "id": sample_id, "action": action}][-RECENT:]

    def _upcoming_id(self, seq: int) -> str:
        return str(self.upcoming.get("id", "")) if self.upcoming.get("seq") == seq else ""

    def _send_more(self, seq: Any, part: Any) -> None:
        if not isinstance(seq, int) or not isinstance(part, str):
            return
        reply, find = {"tell": "more", "seq": seq, "part": part}, self._more
        if find is None:
            self.send({**reply, "problem": "the whole text is not here"})
        else:
            self.answer(reply, lambda: find(seq, part))

    def __repr__(self) -> str:
        return f"LabelCard({self.done:,} of {self.total:,})"
