"""Signed findings: each error finding of a probe, read once, with its witness and what is true of it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MAX_LETTERS = 240
"""Characters of a signed text: longer ones are cut, so that no documentation of a package is copied into the file."""
CUT = "[...]"
"""The end of a text that was cut."""
SIGNED = Path(__file__).with_name("signed.json")


@dataclass(frozen=True, kw_only=True)
class Signature:
    """One error finding, read and called.

    Attributes:
        package: Its name.
        version: The exact version.
        function: Its name in the manifest.
        kind: The finding's kind.
        reference: The reference of the witness's row.
        text: The witness: the shortest text of the finding; None for a row without a completion.
        score: The function's score of it.
        verdict: Whether the finding is wrong under every reading of the rows; None if it has not been read.
        reason: Why, in one sentence.
        fix: How to repair the function; "" if the finding is false.
    """

    package: str
    version: str
    function: str
    kind: str
    reference: str | None
    text: str | None
    score: float | None
    verdict: bool | None = None
    reason: str = ""
    fix: str = ""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a finding of a new run is compared by, in addition to its text."""
        return (self.package, self.version, self.function, self.kind)


def read_signatures(path: Path = SIGNED) -> list[Signature]:
    """All signatures, in the file's order."""
    return [Signature(**one) for one in json.loads(path.read_text("utf-8"))] if path.exists() else []


def write_signatures(signatures: Iterable[Signature], path: Path = SIGNED) -> None:
    """Write them sorted by package, version, function and kind."""
    lines = [asdict(one) for one in sorted(signatures, key=lambda one: one.key)]
    path.write_text(json.dumps(lines, indent=1, ensure_ascii=False) + "\n", "utf-8")


def signature_of(result: Mapping[str, Any], function: str, finding: Mapping[str, Any]) -> Signature:
    """An error finding of a run as a signature that has not been read."""
    witness = finding["texts"][0] if finding["texts"] else {"reference": None, "text": None, "score": None}
    parts = {name: _short(witness[name]) for name in ("reference", "text", "score")}
    return Signature(
        package=result["package"], version=result["version"], function=function, kind=finding["kind"], **parts
    )  # fmt: skip


def _short(value: Any) -> Any:
    if isinstance(value, str) and len(value) > MAX_LETTERS:
        return f"{value[: MAX_LETTERS // 4]}{CUT}"
    return value


@dataclass(frozen=True)
class Comparison:
    """Error findings of a run, compared with the signatures.

    Attributes:
        signed: Findings with the witness that was read.
        moved: Findings whose kind was read with another witness: the signature, and the finding of the run.
        unsigned: Findings that have not been read.
        gone: Signatures without a finding in the run.
    """

    signed: tuple[Signature, ...]
    moved: tuple[tuple[Signature, Signature], ...]
    unsigned: tuple[Signature, ...]
    gone: tuple[Signature, ...]

    @property
    def n_true(self) -> int:
        """True findings among those with a signature."""
        return sum(bool(one.verdict) for one in self._read)

    @property
    def precision(self) -> float:
        """Share of true findings among those with a signature; 1.0 without any."""
        return self.n_true / len(self._read) if self._read else 1.0

    @property
    def n_read(self) -> int:
        """Findings with a signature."""
        return len(self._read)

    @property
    def _read(self) -> Sequence[Signature]:
        return [*self.signed, *(old for old, _ in self.moved)]


def compared(
    found: Iterable[Signature], signatures: Sequence[Signature], probed: set[tuple[str, str, str]]
) -> Comparison:
    """Compare the findings of a run with the signatures.

    Args:
        found: The error findings.
        signatures: Those of the file.
        probed: Package, version and function of each probe, so that only their signatures can be gone.
    """
    read = {one.key: one for one in signatures if one.verdict is not None}
    signed, moved, unsigned, keys = [], [], [], set()
    for one in found:
        keys.add(one.key)
        old = read.get(one.key)
        if old is None:
            unsigned.append(one)
        elif (old.text, old.reference) == (one.text, one.reference):
            signed.append(old)
        else:
            moved.append((old, one))
    gone = [one for key, one in read.items() if key not in keys and key[:3] in probed]
    return Comparison(tuple(signed), tuple(moved), tuple(unsigned), tuple(gone))
