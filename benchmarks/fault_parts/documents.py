"""Mutated documents of every format: the result is a suite, or a workbench error with a message; never half a file."""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import workbench as wb
from benchmarks.fault_parts.common import Line
from benchmarks.fault_parts.mutating import json_text, mutated_json, mutated_text
from tests.formats.documents import DOCUMENTS, companions, text_of
from tests.graders.examples import EXAMPLES, SUITES
from workbench.formats import FORMATS

__all__ = ["documents", "spoil", "whole_documents"]

_EXPORTS = 10
"""Every n-th document that could be read is written to another format, too."""


def documents(*, seed: int, count: int = 10_000) -> list[Line]:
    """Read mutated documents of every format.

    Args:
        seed: Decides the mutations.
        count: Documents of each format.
    """
    lines = []
    for name in FORMATS:
        found: Counter[str] = Counter()
        with tempfile.TemporaryDirectory() as folder:
            spoil(name, count, random.Random(f"{seed} {name}"), Path(folder), found)
        lines.append(_line(name, count, found))
    return lines


def _line(name: str, count: int, found: Counter[str]) -> Line:
    others = {
        what: n for what, n in found.items() if what not in {"read", "refused", "written", "not written"}
    }
    told = ", ".join(f"{n:,} {what}" for what, n in sorted(found.items()))
    return Line(f"{count:,} mutated documents of {name}", told, "read or refused", not others)


def spoil(name: str, count: int, chance: random.Random, folder: Path, found: Counter[str]) -> None:
    """Read a number of mutated documents of a format, and count the outcomes."""
    companions(folder)
    originals = whole_documents(name)
    suffix = FORMATS[name].suffix
    for number in range(count):
        data = _mutated(originals, chance)
        outcome, suite = _read(data, name, folder / f"document{suffix}", by_file=number % 4 == 0)
        found[outcome] += 1
        if suite is not None and found["read"] % _EXPORTS == 0:
            found[_written(suite, chance.choice(list(FORMATS)), folder)] += 1


def _mutated(originals: list[Any], chance: random.Random) -> str:
    original, other = chance.choice(originals), chance.choice(originals)
    if not isinstance(original, str):
        if chance.random() < 0.5:
            return json_text(mutated_json(original, chance))
        original = json_text(original)
    return mutated_text(original, chance, other if isinstance(other, str) else json_text(other))


def _read(data: str, name: str, path: Path, *, by_file: bool) -> tuple[str, wb.Suite | None]:
    """The outcome of a document, and the suite."""
    try:
        if by_file:
            path.write_bytes(data.encode("utf-8", "surrogatepass"))
            return "read", wb.load(path, name)
        return "read", wb.loads(data, name)
    except wb.errors.WorkbenchError as error:
        return ("refused" if str(error).strip() else "refused without a message"), None
    except Exception as error:  # noqa: BLE001 (what this looks for)
        return f"raised {type(error).__name__}: {str(error)[:100]!r} by {data[:3000]!r}", None


def _written(suite: wb.Suite, name: str, folder: Path) -> str:
    """The outcome of writing a suite to another format: a whole file, or none."""
    out = folder / "out"
    out.mkdir()
    target = out / f"written{FORMATS[name].suffix}"
    try:
        wb.export(suite, target, name, allow_unvalidated=True, on_loss="report")
        return "written" if target.stat().st_size else "wrote an empty file"
    except wb.errors.WorkbenchError:
        return "left half a file" if any(out.iterdir()) else "not written"
    except Exception as error:  # noqa: BLE001 (what this looks for)
        return f"raised {type(error).__name__} in writing {name}: {str(error)[:100]!r} of {suite!r:.3000}"
    finally:
        for path in out.iterdir():
            path.unlink()
        out.rmdir()


def whole_documents(name: str) -> list[Any]:
    """Documents of a format that can be read: those of the tests, its example, and its export of every grader."""
    kept: list[Any] = [document for platform, document in DOCUMENTS.values() if platform == name]
    kept += [text_of(name, document) for platform, document in DOCUMENTS.values() if platform == name]
    if FORMATS[name].example:
        kept.append(FORMATS[name].example)
    kept += _exports(name)
    assert kept, f"{name} has no document to begin with"
    return kept


def _exports(name: str) -> Iterator[str]:
    for make in (*EXAMPLES.values(), *SUITES.values()):
        made: Any = make()
        suite = made if isinstance(made, wb.Suite) else wb.Suite([made])
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"document{FORMATS[name].suffix}"
            try:
                wb.export(suite, path, name, allow_unvalidated=True, on_loss="report")
            except wb.errors.FormatError:
                continue  # this format does not support it
            yield path.read_text("utf-8")
