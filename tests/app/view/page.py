"""A page without a browser: it takes the state as it is published, and sends what a person would do."""

from __future__ import annotations

import base64
import json
import threading
import time
from typing import Any

import workbench as wb
from workbench.app.session.session import Session
from workbench.app.view.app import AppView

ROWS = [
    {
        "id": f"row-{n}", "prompt": f"question {n}", "completion": "yes" if n % 2 else f"no, {n}",
        "expected": "yes" if n % 3 else "no", "good": bool(n % 2), "group": f"g{n % 12}",
        "writer": "one" if n % 5 else "two", "size": n / 2,
    }
    for n in range(60)
]  # fmt: skip

RULES = (wb.Contains(expected="yes", name="has yes"), wb.ExactMatch(name="exact"))

HALF = "async def grade(thread):\n    return 0.5\n"
YES = 'async def grade(thread):\n    return 1.0 if "yes" in (thread.completion() or "") else 0.0\n'
NO = YES.replace('"yes" in', '"no" in')
TWO = "async def grade(thread, reference):\n    return 0.5\n"

TAGS = ("<script>", "<img src=x onerror=", "<svg/onload")
NASTY = "<script>alert(1)</script><img src=x onerror=alert(1)>\"'><svg/onload=alert(1)>\u202egnp.exe"


def coded(text=YES, name="coded"):
    """A grader of a text."""
    return wb.FunctionGrader.from_source(text, name=name)


class Page:
    """One page on a session.

    Attributes:
        session: The session.
        state: The last state of the page, by name.
        news: Every message, as it came: a dict of what changed.
    """

    def __init__(self, samples: Any = ROWS, graders: Any = RULES, **settings: Any) -> None:
        self._begin({})
        given = list(graders) if isinstance(graders, tuple) else graders
        self.session = Session(samples, given, **{"store": None, **settings})
        self.view = AppView(self.session, self._take)

    def _begin(self, state: dict[str, Any]) -> None:
        self.state, self.news = state, []
        self._changed = threading.Condition()
        self._count = 0

    def _take(self, changed: dict[str, Any]) -> None:
        plain = json.loads(json.dumps(changed, allow_nan=False))  # only JSON is sent to a page
        with self._changed:
            self.state |= plain
            self.news.append(plain)
            self._changed.notify_all()

    def __getattr__(self, name: str) -> Any:
        if name in self.__dict__.get("state", ()):
            return self.state[name]
        raise AttributeError(name)

    def _hear(self, message: dict[str, Any]) -> Any:
        return self.view.on_message(message)

    def tell(self, do: str, **message: Any) -> None:
        """Do something; it has been heard when this returns."""
        self._count += 1
        reply = self._hear({"do": do, "id": self._count, "page": "p", **message})
        assert reply == {"page": "p", "heard": self._count}
        self.until(lambda _: self.view.actions.idle)

    def send_files(self, files: dict[str, str | bytes], *, piece: int = 1_000) -> None:
        """Send files in pieces and have them opened, as a drop on the page does; the kernel has read them when this returns."""
        self._count += 1
        upload, told = f"u{self._count}", []
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            for start in range(0, len(data), piece):
                text = base64.b64encode(data[start : start + piece]).decode()
                self.ask("file_piece", upload=upload, name=name, start=start, data=text)
            told.append({"name": name, "size": len(data)})
        self.tell("open_files", upload=upload, files=told)

    def ask(self, ask: str, **message: Any) -> Any:
        """Send a request.

        Raises:
            LookupError: The reply is a problem.
        """
        self._count += 1
        reply = self._hear({"ask": ask, "id": self._count, "page": "p", **message})
        assert reply is not None
        if "problem" in reply:
            raise LookupError(reply["problem"])
        return json.loads(json.dumps(reply["value"], allow_nan=False))

    def until(self, holds: Any, what: str = "") -> None:
        """Wait until a condition on this page is met."""
        end = time.monotonic() + 60
        with self._changed:
            while not (self.state and holds(self)):
                assert time.monotonic() < end, what or self.state.get("head")
                self._changed.wait(0.02)  # some conditions change without a message to the page

    def opened(self) -> Page:
        """This page shown, and everything graded that needs no Run."""
        self.tell("open")
        return self.settled()

    def settled(self) -> Page:
        """This page once nothing is in progress: all requested work is done."""
        self.until(
            lambda page: (
                self.session.live.idle and self.view.actions.idle and page.head["state"]["shape"] != "busy"
            ),
            "nothing under way",
        )
        return self

    def line(self, name: str) -> dict[str, Any]:
        """A grader's line in the rail."""
        return next(line for line in [*self.rail["lines"], *self.rail["drafts"]] if line["name"] == name)

    @property
    def problem(self) -> Any:
        """The last error as text."""
        return self.head["problem"] and self.head["problem"]["what"]

    def typed(self, name: str, text: str) -> Page:
        """A text typed for a grader, and the reply to it."""
        self._count += 1
        seq = self._count
        self.tell("edit", name=name, text=text, seq=seq)
        self.until(lambda page: page.chosen["seq"] == seq, "the answer to what was typed")
        return self.settled()

    def rows(self) -> list[str]:
        """Ids of all rows of the table, in order."""
        rows = self.ask("rows", start=0, stop=400, revision=self.table["revision"])
        return [row["id"] for row in rows]

    def close(self) -> None:
        """End it all."""
        self.view.close()
        self.session.close()
