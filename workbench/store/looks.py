"""The looks at test rows: which certification of which judge used which rows, in a store or in a file of JSON lines."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from workbench.core.errors import StoreError
from workbench.core.files import read_bytes
from workbench.store.database import Database
from workbench.store.schema import from_json, looks, now, read, storable, to_json

_MAX_BYTES = 256 * 2**20
"""Maximum size of a file of looks. Workbench limit."""


@dataclass(frozen=True)
class Look:
    """One use of test rows.

    Attributes:
        at: When, in UTC.
        judge: Name of the judge.
        fingerprint: Its digest.
        rows: Digests of the test rows.
        outcome: Digest of their labels and of the judge's verdicts.
        verdict: The result.
    """

    at: str
    judge: str
    fingerprint: str
    rows: tuple[str, ...]
    outcome: str
    verdict: str

    def used(self, rows: Iterable[str]) -> bool:
        """Whether it used any of these rows."""
        return not set(self.rows).isdisjoint(rows)


class Looks:
    """The looks of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, judge: str, fingerprint: str, rows: Sequence[str], outcome: str, verdict: str) -> None:
        """Record that a judge was certified, or not, with these test rows.

        Args:
            judge: Its name.
            fingerprint: Its digest.
            rows: Digests of the test rows.
            outcome: Digest of their labels and of the judge's verdicts.
            verdict: The result.
        """
        values = {
            "at": now(), "judge": storable(judge), "fingerprint": fingerprint, "rows": to_json(list(rows)),
            "outcome": outcome, "verdict": verdict,
        }  # fmt: skip
        with self._database.writing() as connection:
            connection.execute(looks.insert().values(**values))

    def list(self) -> list[Look]:
        """All looks, the oldest first."""
        with self._database.reading() as connection:
            found = connection.execute(sa.select(looks).order_by(looks.c.id)).all()
        return [Look(row.at, read(row.judge), row.fingerprint, tuple(from_json(row.rows)), row.outcome, row.verdict) for row in found]  # fmt: skip


class LookFile:
    """Looks in a file, one JSON object per line, for certifications without a store.

    Args:
        path: The file; it is created at the first look.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def add(self, judge: str, fingerprint: str, rows: Sequence[str], outcome: str, verdict: str) -> None:
        """See `Looks.add`.

        Raises:
            StoreError: The file cannot be written.
        """
        look = Look(now(), judge, fingerprint, tuple(rows), outcome, verdict)
        try:
            with self.path.open("a", encoding="ascii") as file:
                file.write(f"{json.dumps(asdict(look))}\n")
        except OSError as error:
            raise StoreError(
                "the record of looks cannot be written", where=str(self.path), found=error.strerror or ""
            ) from None

    def list(self) -> list[Look]:
        """See `Looks.list`.

        Raises:
            StoreError: The file contains something else.
        """
        if not self.path.exists():
            return []
        lines = read_bytes(self.path, StoreError, _MAX_BYTES).decode("utf-8", "replace").splitlines()
        return list(self._looks(lines))

    def _looks(self, lines: Sequence[str]) -> Iterator[Look]:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                values: dict[str, Any] = json.loads(line)
                yield Look(**{**values, "rows": tuple(map(str, values["rows"]))})
            except (ValueError, TypeError, KeyError):
                raise StoreError(
                    "the record of looks contains a line that is not a look", where=f"{self.path}, line {number}",
                    found=line[:80], hint="name a file that only wb.certify writes",
                ) from None  # fmt: skip
