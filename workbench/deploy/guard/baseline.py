"""`Baseline`: scores of an earlier check with the fingerprints of its graders, as one JSON file."""

from __future__ import annotations

import hashlib
import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.display_text import one_line
from workbench.core.errors import FormatError
from workbench.core.files import read_bytes, write_atomically
from workbench.core.grade import Grade
from workbench.core.grades import Grades
from workbench.report.digests import short_digest

VERSION = 1
_KEY = "workbench_baseline"
_MAX_BYTES = 512 * 2**20
"""Maximum size of a baseline file: 512 MiB, about ten million rows."""


@dataclass(frozen=True)
class StoredScores:
    """The scores of one grader.

    Attributes:
        fingerprint: A digest of each of its settings; empty if it could not be written as data.
        scores: One per row, NaN without.
        passed: The grader's verdict for each row, None without.
    """

    fingerprint: Mapping[str, str]
    scores: tuple[float, ...]
    passed: tuple[bool | None, ...]


@dataclass(frozen=True)
class Baseline:
    """The scores of an earlier check.

    Attributes:
        made: Date and time in UTC.
        rows: A key for each row: its id, or a digest of its prompt and reference.
        completions: A digest of each row's completion.
        graders: Scores by the grader's name.
        sources: What was given, by name: the graders' file and the rows' files.
    """

    made: str
    rows: tuple[str, ...]
    completions: tuple[str, ...]
    graders: Mapping[str, StoredScores]
    sources: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, report: Any, *, sources: Mapping[str, Any] | None = None) -> Baseline:
        """The baseline of a report."""
        rows, completions = row_keys(report.samples)
        stored = {
            name: StoredScores(
                dict(report.fingerprints.get(name, {})),
                tuple(grades.scores.tolist()),
                tuple({1: True, 0: False}.get(code) for code in grades.passed.tolist()),
            )
            for name, grades in report.grades.items()
        }
        made = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        return cls(made, tuple(rows), tuple(completions), stored, dict(sources or {}))

    def save(self, path: str | Path) -> Path:
        """Write the file; an old one remains until the new one is complete.

        Raises:
            FormatError: It cannot be written.
        """
        document = {
            _KEY: VERSION, "made": self.made, "sources": dict(self.sources),
            "rows": list(self.rows), "completions": list(self.completions),
            "graders": {
                name: {
                    "fingerprint": dict(one.fingerprint),
                    "scores": [None if math.isnan(score) else score for score in one.scores],
                    "passed": list(one.passed),
                }
                for name, one in self.graders.items()
            },
        }  # fmt: skip
        return write_atomically(path, json.dumps(document, separators=(",", ":"), allow_nan=False) + "\n")

    @classmethod
    def load(cls, path: str | Path) -> Baseline:
        """Read a file that `save` wrote.

        Raises:
            FormatError: It is missing, is another file, or is damaged.
        """
        document = _document(Path(path))
        try:
            return cls._read(document)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise _damaged(path, f"{type(error).__name__}: {error}") from error

    @classmethod
    def _read(cls, document: Mapping[str, Any]) -> Baseline:
        rows, completions = map(str, document["rows"]), map(str, document["completions"])
        graders = {
            str(name): StoredScores(
                {str(key): str(value) for key, value in one["fingerprint"].items()},
                tuple(math.nan if score is None else float(score) for score in one["scores"]),
                tuple(None if verdict is None else bool(verdict) for verdict in one["passed"]),
            )
            for name, one in document["graders"].items()
        }
        found = cls(
            str(document["made"]), tuple(rows), tuple(completions), graders,
            dict(document.get("sources", {})),
        )  # fmt: skip
        n = len(found.rows)
        if any({len(one.scores), len(one.passed), len(found.completions)} != {n} for one in graders.values()):
            raise ValueError("its lists have different lengths")
        return found

    def grades(self, name: str, keys: Sequence[str]) -> Grades:
        """The stored grades of a grader for rows with these keys; a row that was not stored is skipped."""
        stored, places = self.graders[name], self._places
        grades = Grades.empty(len(keys))
        for row, key in enumerate(keys):
            at = places.get(key)
            score = math.nan if at is None else stored.scores[at]
            has_score = at is not None and not math.isnan(score)
            grades.put(
                row, Grade(score, passed=stored.passed[at]) if has_score and at is not None else Grade()
            )
        return grades

    @property
    def _places(self) -> dict[str, int]:
        return {key: at for at, key in enumerate(self.rows)}

    def matched(self, keys: Sequence[str], completions: Sequence[str]) -> tuple[int, int]:
        """How many of these rows were stored, and how many of them have another completion now."""
        places = self._places
        common = [(places[key], now) for key, now in zip(keys, completions, strict=True) if key in places]
        return len(common), sum(self.completions[at] != now for at, now in common)


def _document(path: Path) -> Mapping[str, Any]:
    try:
        data = read_bytes(path, FormatError, _MAX_BYTES + 1)
    except OSError as error:
        raise FormatError(
            "the baseline cannot be read", where=str(path), found=error.strerror or str(error),
            hint=f"make it first: workbench check GRADERS ROWS --save {path}",
        ) from error  # fmt: skip
    if len(data) > _MAX_BYTES:
        raise FormatError("the baseline is too large", where=str(path), expected="at most 512 MiB")
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise _damaged(path, str(error)) from error
    if not isinstance(document, Mapping) or _KEY not in document:
        raise FormatError(
            "the file is not a baseline", where=str(path), found=one_line(", ".join(map(str, document))[:100]) if isinstance(document, Mapping) else type(document).__name__,
            expected="a file that workbench check --save wrote",
        )  # fmt: skip
    if document[_KEY] != VERSION:
        raise FormatError(
            "the baseline is of another release", where=str(path), found=f"version {document[_KEY]}",
            expected=f"version {VERSION}", hint="make it again with --save",
        )  # fmt: skip
    return document


def _damaged(path: str | Path, found: str) -> FormatError:
    return FormatError(
        "the baseline is damaged", where=str(path), found=found[:200], hint="make it again: workbench check GRADERS ROWS --save FILE"
    )  # fmt: skip


def is_baseline(path: Path) -> bool:
    """Whether a file starts as one that `Baseline.save` wrote."""
    try:
        return read_bytes(path, FormatError, 64).lstrip().startswith(f'{{"{_KEY}"'.encode())
    except (OSError, FormatError):
        return False


def row_keys(samples: Any) -> tuple[list[str], list[str]]:
    """A key and a digest of the completion for each row.

    The key is the row's id if there is a column of ids, else a digest of everything before the completion and of the reference.
    The second row with the same one gets "#2".
    """
    completions = [digest_of_text(text) for text in samples.completions()]
    if "id" in samples.columns:
        return [str(name) for name in samples.ids.tolist()], completions
    references = samples.references_at(np.arange(len(samples), dtype=np.intp))
    texts = [
        digest_of_text(_before_completion(thread, reference))
        for thread, reference in zip(samples.threads, references, strict=True)
    ]
    count: Counter[str] = Counter()
    keys = []
    for text in texts:
        count[text] += 1
        keys.append(text if count[text] == 1 else f"{text}#{count[text]}")
    return keys, completions


def _before_completion(thread: Any, reference: Any) -> str:
    turns = [(turn.role, turn.content) for turn in thread.get_turns()]
    prompt = turns[:-1] if turns and turns[-1][0] == "assistant" else turns
    return json.dumps([prompt, reference], default=str, sort_keys=True)


def digest_of_text(text: str | None) -> str:
    """The first 16 hexadecimal digits of a text's SHA-256; "" without a text."""
    return "" if text is None else hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]


def version_of(fingerprint: Mapping[str, str]) -> str:
    """A short name of a grader's version: a digest over its settings; "" if they are unknown."""
    return short_digest(dict(fingerprint))[:8] if fingerprint else ""


def changed_settings(before: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """The names of the settings that differ, without those that change no score."""
    names = {name for name in {*before, *now} if before.get(name) != now.get(name)}
    return sorted(names - _WITHOUT_EFFECT)


_WITHOUT_EFFECT = frozenset({"description", "name", "validation"})


def scored(grades: Grades) -> NDArray[np.bool_]:
    """Which rows have a score."""
    found: NDArray[np.bool_] = ~np.isnan(grades.scores)
    return found
