"""The summary of each run (when, which graders, their numbers, findings and cost; not the rows), and how a list of records is shown."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeVar

import sqlalchemy as sa

from workbench.analysis.finding import Finding, RowNumbers, Severity
from workbench.analysis.statistics import Interval
from workbench.core.display import DisplayBlock, Displayed, Paragraph, TableBlock
from workbench.core.display_text import one_line
from workbench.core.errors import StoreError
from workbench.graders.capture.source import Source
from workbench.report import Report
from workbench.store.database import Database
from workbench.store.schema import count_or_none, from_json, now, read, runs, storable, to_json

if TYPE_CHECKING:
    import pandas as pd

Entry = TypeVar("Entry", covariant=True)  # noqa: PLC0105 (the word a reader knows)


class Listing(Displayed, tuple[Entry, ...]):
    """Records in order: a tuple that prints as a table."""

    _label = "Listing"
    _kind = ""

    __slots__ = ()

    @property
    def frame(self) -> pd.DataFrame:
        """One row per record."""
        from workbench.core.safe_frame import SafeFrame

        return SafeFrame(
            [{f: getattr(record, f) for f in _names(self)} for record in self], columns=_names(self)
        )

    __repr__ = Displayed.__str__

    def _blocks(self) -> list[DisplayBlock]:
        if not self:
            return [Paragraph("(none)")]
        return [TableBlock(_names(self), _cells(self), numbers=_numbers(self), indent=0)]

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:  # noqa: ARG002 (IPython's protocol)
        printer.text(repr(self))


def _names(records: Sequence[Any]) -> list[str]:
    return [f.name for f in fields(records[0]) if f.repr] if records else []


def _numbers(records: Sequence[Any]) -> set[int]:
    """Indices of the numeric columns."""
    first = [getattr(records[0], name) for name in _names(records)]
    return {at for at, value in enumerate(first) if isinstance(value, int) and not isinstance(value, bool)}


def _cells(records: Sequence[Any]) -> list[list[str]]:
    return [[_cell(getattr(record, name)) for name in _names(records)] for record in records]


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M:%S} UTC"
    if isinstance(value, tuple):
        return one_line(", ".join(map(str, value)), 60)
    return one_line(f"{value:,}" if isinstance(value, int) else value, 60)


@dataclass(frozen=True)
class StoredRun:
    """The summary of a run.

    Attributes:
        id: Its number in the store.
        at: When it was stored, in UTC.
        name: Its name, given by the user.
        dataset: The dataset's name, given by the user.
        rows: Number of rows.
        graders: Names of the graders, in order.
        tokens: Tokens of all its judges, None if unknown.
        cost: US dollars of all its judges, as far as known; None if nothing is known.
        sources: Hash of each grader's source, by name.
        findings: The findings.
    """

    id: int
    at: datetime
    name: str
    dataset: str
    rows: int
    graders: tuple[str, ...]
    tokens: int | None
    cost: float | None
    sources: Mapping[str, str] = field(repr=False)
    findings: tuple[Finding, ...] = field(repr=False)
    _table: Mapping[str, Any] = field(repr=False)

    @property
    def summary(self) -> pd.DataFrame:
        """One row per grader, as in `report.summary`."""
        import pandas as pd

        from workbench.core.safe_frame import SafeFrame

        columns = {name: _filled(cells) for name, cells in self._table["columns"].items()}
        names = pd.Index(self._table["index"], name=self._table["name"], dtype=object)
        return SafeFrame(columns, index=names)


class Runs:
    """The runs of a store."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, report: Report, name: str = "", *, dataset: str = "") -> StoredRun:
        """Store a report's summary.

        Args:
            report: The result of a run.
            name: A name for it, such as "prompt 2".
            dataset: A name for the data.

        Raises:
            TypeError: Not a report.
        """
        if not isinstance(report, Report):
            raise TypeError(f"a run is stored by its report, not by {type(report).__name__}")
        values = _values(report) | {"name": storable(name), "dataset": storable(dataset), "at": now()}
        with self._database.writing() as connection:
            key = connection.execute(runs.insert().values(**values)).inserted_primary_key
        assert key is not None
        return self.get(int(key[0]))

    def list(self, *, dataset: str | None = None, limit: int | None = None) -> Listing[StoredRun]:
        """Runs, the newest first.

        Args:
            dataset: The dataset's name; all by default.
            limit: Maximum number of runs to read; all by default.
        """
        query = sa.select(runs).order_by(runs.c.id.desc()).limit(limit)
        if dataset is not None:
            query = query.where(runs.c.dataset == storable(dataset))
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return Listing(map(_run, rows))

    def get(self, id: int) -> StoredRun:  # noqa: A002 (the field's name)
        """One run.

        Raises:
            StoreError: There is no such run.
        """
        with self._database.reading() as connection:
            row = connection.execute(sa.select(runs).where(runs.c.id == id)).first()
        if row is None:
            raise StoreError(f"there is no run {id!r}"[:300], hint="runs.list() shows them")
        return _run(row)

    def __repr__(self) -> str:
        return f"Runs in {self._database.address.shown}"


def _values(report: Report) -> dict[str, Any]:
    summary = report.summary
    tokens, cost = _total(summary["tokens"]), _total(summary["cost"])
    hashes = {name: Source(text).sha256 for name, text in report.sources.items()}
    return {
        "rows": len(report),
        "tokens": None if tokens is None else count_or_none(round(tokens)),
        "cost": cost,
        "graders": to_json({"names": report.graders, "sources": hashes}),
        "summary": to_json(_table(summary)),
        "findings": to_json([_finding_record(finding) for finding in report.findings]),
    }


def _finding_record(finding: Finding) -> dict[str, Any]:
    record: dict[str, Any] = _plain(asdict(finding))
    return record | {"rows": RowNumbers(finding.rows).packed()}


def _total(column: Iterable[Any]) -> float | None:
    finite = [float(value) for value in column if math.isfinite(value)]
    return sum(finite) if finite else None


def _table(frame: pd.DataFrame) -> dict[str, Any]:
    """A frame as JSON: a cell without a number is null."""
    columns = {str(name): [_plain(cell) for cell in frame[name].tolist()] for name in frame.columns}
    return {"index": [str(name) for name in frame.index], "name": frame.index.name, "columns": columns}


def _plain(value: Any) -> Any:
    """A value as strict JSON has it: NaN is null."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value


def _filled(cells: list[Any]) -> list[Any]:
    """A column with NaN for null if it is numeric."""
    return (
        cells
        if any(isinstance(cell, str) for cell in cells)
        else [math.nan if c is None else c for c in cells]
    )


def _run(row: Any) -> StoredRun:
    graders = from_json(row.graders)
    return StoredRun(
        row.id,
        datetime.fromisoformat(row.at),
        read(row.name),
        read(row.dataset),
        row.rows,
        tuple(graders["names"]),
        row.tokens,
        row.cost,
        graders["sources"],
        tuple(_finding(record, row.rows) for record in from_json(row.findings)),
        from_json(row.summary),
    )


def _finding(record: dict[str, Any], n: int) -> Finding:
    bounds, value, rows = record["interval"], record["value"], record["rows"]
    changed = {
        "severity": Severity(record["severity"]),
        "interval": None if bounds is None else Interval(*_filled(bounds)),
        # Runs of older versions list at most 1,000 of their rows.
        "rows": RowNumbers.unpacked(rows, n) if isinstance(rows, str) else RowNumbers(rows),
        "value": math.nan if value is None else value,
    }
    # Runs of older versions have fields that are no more.
    known = {one.name for one in fields(Finding)}
    return Finding(**{name: value for name, value in (record | changed).items() if name in known})
