"""Graders by key, with versions and locks, as in Adaptive's `list`, `get`, `delete` and `lock`, and their records.

A record contains `grader.spec()` and the validation of its source, as in the native file format. What the reader has to
decide (whether it is imported, whom to trust) is omitted: a grader from a store counts as *imported*, as one from a file
does, because everyone who can write the database can write any source into it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError

from workbench.core.errors import FormatError, StoreError
from workbench.graders import Grader, SandboxedGrader
from workbench.graders.serialization import from_record, parts, record_of, spec_of
from workbench.store.database import Database
from workbench.store.runs import Listing
from workbench.store.schema import from_json, graders, history, now, read, storable, to_json


@dataclass(frozen=True)
class GraderEntry:
    """A key and its newest grader.

    Attributes:
        key: Its key.
        version: Counts from 1, also over deletions.
        kind: The grader's kind.
        name: The grader's name.
        locked: Whether edits and deletion are rejected.
        created: When the key was last created, in UTC.
        updated: When it was last changed, in UTC.
    """

    key: str
    version: int
    kind: str
    name: str
    locked: bool
    created: datetime
    updated: datetime


@dataclass(frozen=True)
class GraderEvent:
    """A change of a key.

    Attributes:
        key: The key.
        version: Its version after the change.
        action: "create", "edit", "delete", "lock" or "unlock".
        at: When, in UTC.
    """

    key: str
    version: int
    action: str
    at: datetime


class StoredGraders:
    """The graders of a store. Deleted and replaced ones stay in the history."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def create(self, grader_key: str, grader: Grader) -> GraderEntry:
        """Store a grader under a new key. Its sources pass the five checks first, or nothing is stored.

        Args:
            grader_key: 1 to 200 printable characters.
            grader: Any kind that has a spec. A judge is stored without its client.

        Raises:
            ValidationError: A `ValueError` that names the check and its message.
            CaptureError: A grader that cannot be stored, such as a custom one without an import path.
            StoreError: The key is in use.
        """
        # Before the transaction: validation runs the sandbox, and on SQLite no other process could write meanwhile.
        record = self._record(grader_key, grader)
        with self._database.writing() as connection:
            head = _head(connection, grader_key)
            if head is not None and not head.deleted:
                raise _in_use(head)
            version = 1 if head is None else head.version + 1
            at = now()
            values = _values(grader, version, at) | {"created": at, "locked": False, "deleted": False}
            if head is None:
                _insert(connection, grader_key, values)
            else:
                _update(connection, grader_key, **values)
            _note(connection, grader_key, version, "create", record)
            return _entry(_head(connection, grader_key))

    def edit(self, grader_key: str, grader: Grader) -> GraderEntry:
        """Store a new version under a key, checked as in `create`; older ones stay, `get(key, version=...)`.

        Raises:
            ValidationError: As `create`.
            StoreError: There is no such key, or it is locked.
        """
        record = self._record(grader_key, grader)
        with self._database.writing() as connection:
            head = _unlocked(_present(_head(connection, grader_key), grader_key))
            version = head.version + 1
            _update(connection, grader_key, **_values(grader, version, now()))
            _note(connection, grader_key, version, "edit", record)
            return _entry(_head(connection, grader_key))

    def list(self) -> Listing[GraderEntry]:
        """All graders by key, the newest version of each, without deleted ones."""
        query = sa.select(graders).where(~graders.c.deleted).order_by(graders.c.key)
        with self._database.reading() as connection:
            return Listing(map(_entry, connection.execute(query)))

    def entry(self, grader_key: str) -> GraderEntry:
        """The line of `list` for one key.

        Raises:
            StoreError: There is no such key.
        """
        with self._database.reading() as connection:
            return _entry(_present(_head(connection, grader_key, lock=False), grader_key))

    def get(self, grader_key: str, version: int | None = None, *, trust: bool = False) -> Grader:
        """A grader. None of it runs.

        It counts as *imported*, as one read from a file: its source runs only under kernel confinement, unless it is
        trusted.

        Args:
            grader_key: Its key.
            version: The version; the newest by default. Older ones are available for a deleted grader, too.
            trust: Run its source even if the machine cannot confine it. Read it first.

        Raises:
            StoreError: There is no such key or version.
            FormatError: Of a kind that is not registered here, or modified outside the workbench.
        """
        query = sa.select(history.c.record, history.c.version)
        query = query.where(history.c.key == grader_key, history.c.record.is_not(None))
        with self._database.reading() as connection:
            head = _existing(_head(connection, grader_key, lock=False), grader_key)
            if version is None:
                version = _present(head, grader_key).version
            row = connection.execute(query.where(history.c.version == version)).first()
        if row is None:
            raise StoreError(
                f"grader {grader_key!r} has no version {version!r}", where=self._database.address.shown,
                expected=f"1 to {head.version}",
            )  # fmt: skip
        place = f"grader {grader_key!r}, version {version}, in {self._database.address.shown}"
        return read_record(row.record, where=place, trust=trust)

    def history(self, grader_key: str) -> Listing[GraderEvent]:
        """All changes of a key, oldest first, deletions included.

        Raises:
            StoreError: There never was such a key.
        """
        c = history.c
        query = sa.select(c.key, c.version, c.action, c.at).where(c.key == grader_key).order_by(c.id)
        with self._database.reading() as connection:
            _existing(_head(connection, grader_key, lock=False), grader_key)
            rows = connection.execute(query).all()
        return Listing(GraderEvent(key, version, action, _time(at)) for key, version, action, at in rows)

    def delete(self, grader_key: str) -> bool:
        """Delete a grader; its history stays and its key can be created again. Always True, as Adaptive's.

        Raises:
            StoreError: There is no such key, or it is locked.
        """
        with self._database.writing() as connection:
            head = _unlocked(_present(_head(connection, grader_key), grader_key))
            _update(connection, grader_key, deleted=True, updated=now())
            _note(connection, grader_key, head.version, "delete")
        return True

    def lock(self, grader_key: str, locked: bool = True) -> GraderEntry:
        """Reject edits and deletion from now on, or allow them again.

        Raises:
            StoreError: There is no such key.
        """
        with self._database.writing() as connection:
            head = _present(_head(connection, grader_key), grader_key)
            if head.locked != bool(locked):
                _update(connection, grader_key, locked=bool(locked), updated=now())
                _note(connection, grader_key, head.version, "lock" if locked else "unlock")
            return _entry(_head(connection, grader_key))

    def __repr__(self) -> str:
        return f"Graders in {self._database.address.shown}"

    def _record(self, grader_key: str, grader: Grader) -> str:
        check_name("a grader's key", grader_key)
        if not isinstance(grader, Grader):
            raise TypeError(
                f"a store contains graders, not {type(grader).__name__}; @wb.grader turns a function into one"
            )
        prove(grader)
        return write_record(grader)


def check_name(subject: str, name: Any, *, empty: bool = False) -> None:
    """Reject a text that cannot be a name in a store.

    Raises:
        StoreError: Not a text, empty (unless `empty`), longer than 200 characters, with hidden characters or
            blanks around it.
    """
    valid = isinstance(name, str) and name.isprintable() and name == name.strip() and len(name) <= 200
    if not valid or not (name or empty):
        raise StoreError(
            f"{subject} must be a short printable text", found=repr(name)[:80],
            expected="1 to 200 characters without blanks around them",
        )  # fmt: skip


def _head(connection: Connection, key: str, *, lock: bool = True) -> Any:
    """A key's row; locked until the end of the transaction if the database locks rows."""
    query = sa.select(graders).where(graders.c.key == key)
    return connection.execute(query.with_for_update() if lock else query).first()


def _existing(head: Any, key: Any) -> Any:
    if head is None:
        raise StoreError(f"there is no grader {key!r}"[:300], hint="graders.list() shows the keys")
    return head


def _present(head: Any, key: Any) -> Any:
    if _existing(head, key).deleted:
        raise StoreError(
            f"grader {key!r} was deleted",
            hint=f"get({key!r}, version={head.version}) still has its last version",
        )
    return head


def _unlocked(head: Any) -> Any:
    if head.locked:
        raise StoreError(f"grader {head.key!r} is locked", hint=f"lock({head.key!r}, locked=False) first")
    return head


def _in_use(head: Any) -> StoreError:
    return StoreError(
        f"grader {head.key!r} already exists",
        found=f"version {head.version}{', locked' if head.locked else ''}",
        hint=f"edit({head.key!r}, grader) makes a new version of it",
    )


def _values(grader: Grader, version: int, at: str) -> dict[str, Any]:
    return {"version": version, "kind": storable(grader.kind), "name": storable(grader.name), "updated": at}


def _insert(connection: Connection, key: str, values: dict[str, Any]) -> None:
    try:
        connection.execute(graders.insert().values(key=key, **values))
    except IntegrityError:
        # There was no row that could have been locked, so two may get here simultaneously.
        raise StoreError(
            f"grader {key!r} already exists", found="another session created it at the same moment",
            hint=f"edit({key!r}, grader) makes a new version of it",
        ) from None  # fmt: skip


def _update(connection: Connection, key: str, **values: Any) -> None:
    connection.execute(graders.update().where(graders.c.key == key).values(**values))


def _note(connection: Connection, key: str, version: int, action: str, record: str | None = None) -> None:
    values = {"key": key, "version": version, "action": action, "record": record, "at": now()}
    connection.execute(history.insert().values(**values))


def _entry(row: Any) -> GraderEntry:
    return GraderEntry(
        row.key,
        row.version,
        read(row.kind),
        read(row.name),
        row.locked,
        _time(row.created),
        _time(row.updated),
    )


def _time(text: str) -> datetime:
    return datetime.fromisoformat(text)


def prove(grader: Grader) -> None:
    """Reject a grader whose source does not pass the five checks; one not yet checked is checked now.

    Raises:
        ValidationError: A `ValueError` that names the check and its message.
        IsolationError: Imported source on a machine that cannot confine it.
    """
    for part in parts(grader):
        if isinstance(part, SandboxedGrader):
            validation = part.validation
            (part.validate() if validation is None or validation.claimed else validation).raise_for_failure()


def write_record(grader: Grader) -> str:
    """The record of a grader, verified to restore the same grader.

    Raises:
        CaptureError: It cannot be serialised, such as a function of a notebook without source.
        StoreError: It contains values that JSON does not support.
    """
    text = to_json(record_of(grader))
    reread = read_record(text, where=f"grader {grader.name!r}", own=True)
    if to_json(spec_of(reread)) != to_json(spec_of(grader)):
        raise StoreError(
            f"grader {grader.name!r} cannot be restored unchanged", found=f"a {grader.kind} grader with fields JSON changes",
            hint="give its fields plain values: texts, numbers, lists and dicts with text keys",
        )  # fmt: skip
    return text


def read_record(text: str, *, where: str, trust: bool = False, own: bool = False) -> Grader:
    """The grader of a record, marked as imported. None of it runs.

    Args:
        text: The record.
        where: Its location, for errors.
        trust: Its sources may run even if the machine cannot confine them.
        own: Whether this process has just written it.

    Raises:
        FormatError: Of a kind that is not registered here, or changed after it was stored.
        StoreError: Not a record.
    """
    try:
        record = from_json(text)
    except ValueError as error:
        record = str(error)
    if not isinstance(record, dict):
        raise StoreError("a stored grader cannot be read", where=where, found=str(record)[:200])
    try:
        return from_record(record, trust=trust, own=own)
    except FormatError as error:
        raise FormatError(
            error.what, where=where, found=error.found, expected=error.expected, hint=error.hint
        ) from None
