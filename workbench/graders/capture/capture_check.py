"""Check of a capture: the built module, loaded in a separate process, has the same values as the notebook.

A registry filled later, a changed default, a class patched after its definition: all of them
load without an error and score differently. So the captured values are described on both sides and
compared, part by part; the first difference is an error that names it.
"""

from __future__ import annotations

import contextlib
import json
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from workbench.core.display_text import clean
from workbench.core.errors import CaptureError, SandboxError
from workbench.graders.capture import refusals
from workbench.graders.capture.refusals import MISSING
from workbench.graders.capture.source import MAX_BYTES
from workbench.sandbox.child.fingerprint import Walker, global_reads

_CAPTURED = "__captured_grade__"
_LIBRARY = "__captured_library_{}__"

Fingerprint = Callable[[str, list[str]], Mapping[str, Any] | None]
"""Loads a module's text in the sandbox and describes the values of some of its names (see `fingerprint.describe`); None if
that is impossible on this machine."""


def prove(
    text: str,
    live: Mapping[str, Any],
    fingerprint: Fingerprint,
    *,
    reads: Mapping[str, Any],
    library: Mapping[str, Any] | None = None,
) -> None:
    """Compare live values with those of the built module.

    Args:
        text: The built module.
        live: Values by the name they have in the module.
        fingerprint: Loads the module in the sandbox.
        reads: Every value the module gives to a name, including imports: functions may read these.
        library: Plain values of standard modules, by `module.attribute`, that must be the same there.

    Raises:
        CaptureError: A live object that cannot be copied, or the first difference found.
    """
    walker = Walker()
    live_values = {name: walker.value(value) for name, value in live.items()}
    _refuse_opaque(live_values, walker.nodes)
    for function in walker.functions:
        _refuse_other_globals(function, reads)
    module_values = _loaded(text, live, library or {}, fingerprint)
    if module_values is None:
        return
    _compare_library(library or {}, module_values["names"])
    difference = _Comparison(walker.nodes, module_values["nodes"])
    for name, value in live_values.items():
        for path, live_part, module_part in difference.between(
            value, module_values["names"].get(name, ["missing"]), ()
        ):
            raise _changed(name, path, live_part, module_part)


def _compare_library(library: Mapping[str, Any], module_values: Mapping[str, Any]) -> None:
    for number, (name, value) in enumerate(library.items()):
        live_part = Walker().value(value)
        module_part = module_values.get(_LIBRARY.format(number), _NOTHING)
        if module_part not in (live_part, _NOTHING):
            raise refusals.library_changed(name, _words(live_part), _words(module_part))


def _library_lines(library: Mapping[str, Any]) -> str:
    lines = []
    for number, name in enumerate(library):
        module, _, attribute = name.rpartition(".")
        expression = f"getattr(__import__({module!r}, None, None, ['_']), {attribute!r}, None)"
        # If graders cannot import a module, the function that imports it handles that.
        lines.append(f"\ntry:\n    {_LIBRARY.format(number)} = {expression}\nexcept ImportError:\n    pass")
    return "".join(lines)


def _loaded(
    text: str, live: Mapping[str, Any], library: Mapping[str, Any], fingerprint: Fingerprint
) -> Mapping[str, Any] | None:
    """Describe the built module's names; None without a sandbox to load it in.

    The sandbox loads only graders, but the text may have none (helpers of a cell) or one that its
    checks will refuse with a better message (a sync def). So a grader is appended to the text, and the
    captured function, if there is one, is described under another name.
    """
    alias = f"\n\n\n{_CAPTURED} = grade" if "grade" in live else ""
    probe = f"{text}{alias}{_library_lines(library)}\n\n\nasync def grade(thread):\n    return 0.0\n"
    probe_fits = len(probe.encode()) <= MAX_BYTES
    names = [_CAPTURED if probe_fits and name == "grade" else name for name in live]
    names += [_LIBRARY.format(number) for number in range(len(library))] if probe_fits else []
    try:
        result = fingerprint(probe if probe_fits else text, names)
    except SandboxError as error:
        if error.where not in {"syntax", "execution"}:
            raise
        raise _does_not_load(error) from error
    if result is None:
        return None
    described = dict(result["names"])
    described["grade"] = described.pop(_CAPTURED, described.get("grade", ["missing"]))
    return {"names": described, "nodes": result["nodes"]}


def _does_not_load(error: SandboxError) -> CaptureError:
    return CaptureError(
        "the captured module does not load by itself",
        where=error.where,
        found=error.found,
        expected="a module that needs nothing of this notebook",
        hint="a statement that runs while the module loads needs something that is undefined or not "
        "allowed; move it into the function",
    )


_Difference = tuple[tuple[str, ...], Any, Any]
_NOTHING = ["missing"]


class _Comparison:
    """Traverses two descriptions in parallel; nodes must pair one to one, so that shared objects count."""

    def __init__(self, live_nodes: Sequence[Any], module_nodes: Sequence[Any]) -> None:
        self._live_nodes, self._module_nodes = live_nodes, module_nodes
        self._forth: dict[int, int] = {}
        self._back: dict[int, int] = {}

    def between(self, live_part: Any, module_part: Any, path: tuple[str, ...]) -> Iterator[_Difference]:
        """Each difference: where, what is live, what was built."""
        if _is_ref(live_part) and _is_ref(module_part):
            yield from self._nodes(live_part[1], module_part[1], path)
        elif isinstance(live_part, dict) and isinstance(module_part, dict):
            for key in [*live_part, *(key for key in module_part if key not in live_part)]:
                yield from self.between(
                    live_part.get(key, _NOTHING), module_part.get(key, _NOTHING), (*path, key)
                )
        elif _is_list(live_part) and _is_list(module_part) and len(live_part) == len(module_part):
            for index, (first, second) in enumerate(zip(live_part, module_part, strict=True)):
                yield from self.between(first, second, (*path, *_part(live_part, index)))
        elif live_part != module_part:
            yield path, live_part, module_part

    def _nodes(self, live_part: int, module_part: int, path: tuple[str, ...]) -> Iterator[_Difference]:
        if live_part in self._forth or module_part in self._back:
            if self._forth.get(live_part) != module_part:
                yield (*path, "object identity"), "one object in two places", "two objects"
            return
        self._forth[live_part], self._back[module_part] = module_part, live_part
        yield from self.between(self._live_nodes[live_part], self._module_nodes[module_part], path)


def _is_list(value: Any) -> bool:
    """Whether a description has parts; a number or text is compared as a whole."""
    return isinstance(value, list) and not (
        len(value) == 2 and isinstance(value[0], str) and value[0] in _READ
    )


def _is_ref(value: Any) -> bool:
    return isinstance(value, list) and len(value) == 2 and value[0] == "ref"


_PARTS = {
    "function": ("", "code", "defaults", "keyword defaults", "closure", ""),
    "class": ("", "name", "metaclass", "bases", ""),
    "instance": ("", "class", "", "", "content"),
}


def _part(parent: Sequence[Any], index: int) -> tuple[str, ...]:
    """The name of one part, for a message; () for members, whose names are already in the path."""
    labels = _PARTS.get(parent[0]) if isinstance(parent[0], str) else None
    return (labels[index],) if labels is not None and len(parent) == len(labels) and labels[index] else ()


def _refuse_opaque(live_values: Mapping[str, Any], nodes: Sequence[Any]) -> None:
    for name, value in live_values.items():
        description = _opaque(value, nodes, set())
        if description is not None:
            raise CaptureError(
                f"{name} contains a live object that cannot be written as source",
                found=description,
                expected="values that can be created again: numbers, text, containers, functions, classes",
                hint=f"create the object inside the function, or store a plain value in {name}",
            )


def _opaque(value: Any, nodes: Sequence[Any], visited: set[int]) -> str | None:
    pending = [value]
    while pending:
        part = pending.pop()
        if isinstance(part, dict):
            pending.extend(part.values())
        elif not isinstance(part, list):
            continue
        elif _is_ref(part):
            if part[1] not in visited:
                visited.add(part[1])
                pending.append(nodes[part[1]])
        elif part[:1] == ["opaque"]:
            return str(part[1])
        else:
            pending.extend(part)
    return None


def _refuse_other_globals(function: types.FunctionType, reads: Mapping[str, Any]) -> None:
    """Refuse a function inside an object that reads a name with another meaning in the module."""
    for name in sorted(global_reads(function.__code__)):
        value = function.__globals__.get(name, MISSING)
        carried = reads.get(name, MISSING)
        if value is MISSING or carried is MISSING or value is carried:
            continue
        if Walker().value(value) != Walker().value(carried):
            raise CaptureError(
                f"two different things are called {name}",
                where=function.__qualname__,
                found="a function from another file or version reads a different value under that name",
                expected="one meaning for each name, because a grader is one module",
                hint=f"rename one of the two, or run the cell that defines {name} and its users again",
            )


def _changed(name: str, path: tuple[str, ...], live_part: Any, module_part: Any) -> CaptureError:
    place = clean(".".join(path))  # names of members are from the module, which is untrusted
    return CaptureError(
        f"{name} changed after it was defined" + (f": {place}" if place else ""),
        where=name,
        found=f"now {_words(live_part)}, but its source gives {_words(module_part)}",
        expected="source that gives the values of the notebook",
        hint="run the cells that define it again, or write the final value in one statement",
    )


_READ: dict[str, Callable[[Any], str]] = {
    "int": lambda text: str(int(text, 16)),
    "float": lambda text: repr(float.fromhex(text)),
    "str": repr,
    "bool": str,
    "constant": str,
}


def _words(described: Any) -> str:
    """A described value for users: small ones literally, others by their kind. It may be forged."""
    if isinstance(described, str):
        return _short(described)
    kind = described[0] if isinstance(described, list) and described and isinstance(described[0], str) else ""
    if kind in _READ and len(described) == 2:
        # Forged, or an int of more digits than Python formats: then only the kind is shown.
        with contextlib.suppress(TypeError, ValueError, OverflowError, RecursionError):
            return _short(_READ[kind](described[1]))
    if kind in {"missing", "ref"}:
        return "nothing" if kind == "missing" else "another object"
    if kind:
        return _short(f"a {kind}")
    return f"{len(described)} parts" if isinstance(described, list | dict) else _short(json.dumps(described))


def _short(text: str) -> str:
    return clean(text if len(text) <= 80 else text[:79] + "…")
