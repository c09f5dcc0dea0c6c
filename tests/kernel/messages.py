"""What a front end and a kernel tell each other about widgets: binary parts, displayed text.

The wire format is ipywidgets' own (packages/schema/messages.md, protocol 2.1): bytes travel beside the JSON, and
`buffer_paths` says where each belongs.
"""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

VIEW = "application/vnd.jupyter.widget-view+json"
TAG = re.compile(r"<(style|script)\b.*?</\1>|<[^>]*>", re.DOTALL | re.IGNORECASE)


def put_buffers(state: Any, paths: Sequence[Sequence[str | int]], buffers: Sequence[Any]) -> None:
    """Put bytes back where they belong in a state, in place."""
    for path, buffer in zip(paths, buffers, strict=True):
        at = state
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = bytes(buffer)


def take_buffers(
    value: Any, path: tuple[str | int, ...] = ()
) -> tuple[Any, list[list[str | int]], list[bytes]]:
    """A value without its bytes, where they were, and the bytes."""
    if isinstance(value, bytes | bytearray | memoryview):
        return None, [list(path)], [bytes(value)]
    if not isinstance(value, dict | list | tuple):
        return value, [], []
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    taken = {key: take_buffers(item, (*path, key)) for key, item in pairs}
    paths = [place for _, places, _ in taken.values() for place in places]
    buffers = [buffer for _, _, found in taken.values() for buffer in found]
    if isinstance(value, dict):  # an absent key; in a list its place is kept
        return {k: v for k, (v, _, _) in taken.items() if list((*path, k)) not in paths}, paths, buffers
    return [v for v, _, _ in taken.values()], paths, buffers


def size(message: dict[str, Any]) -> int:
    """Bytes of a message's content and buffers."""
    content = json.dumps(message["content"], default=str, separators=(",", ":"))
    return len(content.encode()) + sum(len(buffer) for buffer in message.get("buffers") or [])


def plain(markup: str) -> str:
    """What a reader sees of a piece of HTML, on one line."""
    return " ".join(html.unescape(TAG.sub(" ", markup)).split())


def references(value: Any) -> Iterator[str]:
    """Ids of the models a state refers to, in order."""
    if isinstance(value, str) and value.startswith("IPY_MODEL_"):
        yield value.removeprefix("IPY_MODEL_")
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from references(item)


@dataclass
class Output:
    """One thing the kernel put out.

    Attributes:
        kind: `stream`, `error`, `display_data` or `execute_result`.
        name: `stdout` or `stderr` of a stream; the exception's name of an error.
        text: What it says: the stream's text, the error's traceback, else text/plain.
        data: The MIME bundle of what is shown, else empty.
        cell: The number of the cell in whose output it lands; None where it lands in none.
        late: Whether that cell had ended before.
    """

    kind: str
    name: str
    text: str
    data: dict[str, Any] = field(default_factory=dict, repr=False)
    cell: int | None = None
    late: bool = False

    @classmethod
    def read(cls, kind: str, content: dict[str, Any]) -> Output:
        """From a message; colours of tracebacks are taken away."""
        if kind == "stream":
            return cls(kind, content["name"], content["text"])
        if kind == "error":
            lines = [re.sub(r"\x1b\[[\d;]*m", "", line) for line in content["traceback"]]
            return cls(kind, content["ename"], "\n".join(lines) or f"{content['ename']}: {content['evalue']}")
        return cls(kind, "", str(content["data"].get("text/plain", "")), content["data"])


class Cell:
    """A cell that was sent to the kernel.

    Attributes:
        number: Counted from 1 in this harness.
        outputs: Everything it showed; grows as long as something goes on in the background.
        done: Whether the kernel has finished it.
    """

    def __init__(self, number: int, code: str) -> None:
        self.number, self.code = number, code
        self.outputs: list[Output] = []
        self.done = False

    @property
    def errors(self) -> list[Output]:
        """Its error outputs."""
        return [output for output in self.outputs if output.kind == "error"]

    @property
    def text(self) -> str:
        """All text it shows: streams, results, errors."""
        return "".join(output.text for output in self.outputs)

    @property
    def shown(self) -> list[str]:
        """Ids of the widgets it displays."""
        return [output.data[VIEW]["model_id"] for output in self.outputs if VIEW in output.data]

    def __repr__(self) -> str:
        return f"Cell({self.number}, {self.code.strip().splitlines()[0][:60]!r}, {len(self.outputs)} outputs)"
