r"""The store's tables, how those of an older store are brought up to date, and the form in which columns store texts.

A new database gets the tables below. One of an older version is upgraded by the steps from its version to the current one,
all in one transaction: it ends unchanged or up to date. To change a table, raise `VERSION` by one and add the step to
`STEPS`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.engine import Connection

from workbench.core.errors import StoreError

_MARK = "\x1bescaped:"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(text: str) -> str:
    r"""The text in the form in which any database can store it.

    PostgreSQL has no NUL in a text, and no encoding supports a lone surrogate. A text with either is stored as a
    mark and its escapes (`\x00`, `\ud800`); any other unchanged.
    """
    # A text that starts like the mark is escaped as well, or it would be read back as another.
    if _UNSTORABLE.search(text) is None and not text.startswith(_MARK):
        return text
    return _MARK + text.encode("unicode_escape").decode("ascii")


def read(column: str) -> str:
    """The text that `storable` was given."""
    if not column.startswith(_MARK):
        return column
    return column[len(_MARK) :].encode("ascii").decode("unicode_escape")


def to_json(value: Any) -> str:
    """A value as JSON that a column can store.

    Raises:
        StoreError: JSON does not support it.
    """
    try:
        return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":")))
    except (TypeError, ValueError, RecursionError) as error:
        raise StoreError("this cannot be stored: JSON does not support it", found=str(error)[:200]) from None


def from_json(column: str) -> Any:
    """The value that a column contains as JSON."""
    return json.loads(read(column))


VERSION = 9

_ADVISORY_LOCK = 0x67726164
"""PostgreSQL: two processes that prepare one database do it one after the other. The number is "grad" in ASCII."""
_LABELS_LOCK = _ADVISORY_LOCK + 1
"""PostgreSQL: the same for two that write labels, as each reads the last one first."""

metadata = sa.MetaData()
_KEY = sa.String(255)
_TIME = sa.String(32)
_NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")  # SQLite counts up INTEGER keys only

meta = sa.Table(
    "workbench_meta",
    metadata,
    sa.Column("name", _KEY, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)
graders = sa.Table(
    "workbench_graders",
    metadata,
    sa.Column("key", _KEY, primary_key=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("locked", sa.Boolean, nullable=False),
    sa.Column("deleted", sa.Boolean, nullable=False),
    sa.Column("created", _TIME, nullable=False),
    sa.Column("updated", _TIME, nullable=False),
)
"""Current state of each key."""
history = sa.Table(
    "workbench_grader_history",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("key", _KEY, sa.ForeignKey("workbench_graders.key"), nullable=False, index=True),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("action", _KEY, nullable=False),
    sa.Column("record", sa.Text),
    sa.Column("at", _TIME, nullable=False),
)
"""All changes of a key; `record` is the grader if one was stored. Rows are added, never changed."""
replies = sa.Table(
    "workbench_replies",
    metadata,
    sa.Column("key", _KEY, primary_key=True),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("text", sa.Text, nullable=False),
    sa.Column("rest", sa.Text, nullable=False),
    sa.Column("tokens", sa.BigInteger),
    sa.Column("cost", sa.Double),
    sa.Column("at", _TIME, nullable=False),
)
"""`rest` is JSON [raw, usage]; tokens and cost repeat the usage for sums."""
leases = sa.Table(
    "workbench_leases",
    metadata,
    sa.Column("key", _KEY, primary_key=True),
    sa.Column("owner", _KEY, nullable=False),
    sa.Column("number", sa.BigInteger, nullable=False),
    sa.Column("expires", sa.Double, nullable=False),
)
"""Requests in flight, by the key of their reply; `number` counts the owner's calls, `expires` is in seconds since 1970 by the
database's clock."""
labels = sa.Table(
    "workbench_labels",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("dataset", _KEY, nullable=False),
    sa.Column("sample_key", sa.String(64), nullable=False),
    sa.Column("sample", sa.Text, nullable=False),
    sa.Column("labeller", _KEY, nullable=False),
    sa.Column("value", sa.String(8), nullable=False),
    sa.Column("note", sa.Text, nullable=False),
    sa.Column("before", _NUMBER),
    sa.Column("at", _TIME, nullable=False),
    sa.Column("drawn", _KEY, nullable=False, server_default=""),
    sa.Column("digest", sa.String(64), nullable=False, server_default=""),
    sa.Column("tags", sa.Text, nullable=False, server_default=""),
    sa.Index("workbench_labels_by_text", "dataset", "labeller", "sample_key", "digest", "id"),
)
"""Rows are added, never changed: the last of a sample, text and labeller counts. `before` is the row that an undo restores,
`drawn` how the row was chosen for labelling, `digest` the text of the sample ("" if unknown), `tags` a JSON list ("" for none)."""
runs = sa.Table(
    "workbench_runs",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("at", _TIME, nullable=False),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("dataset", sa.Text, nullable=False),
    sa.Column("rows", sa.BigInteger, nullable=False),
    sa.Column("tokens", sa.BigInteger),
    sa.Column("cost", sa.Double),
    sa.Column("graders", sa.Text, nullable=False),
    sa.Column("summary", sa.Text, nullable=False),
    sa.Column("findings", sa.Text, nullable=False),
)
views = sa.Table(
    "workbench_views",
    metadata,
    sa.Column("dataset", _KEY, primary_key=True),
    sa.Column("name", _KEY, primary_key=True),
    sa.Column("state", sa.Text, nullable=False),
    sa.Column("at", _TIME, nullable=False),
)
looks = sa.Table(
    "workbench_looks",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("at", _TIME, nullable=False),
    sa.Column("judge", sa.Text, nullable=False),
    sa.Column("fingerprint", sa.String(64), nullable=False),
    sa.Column("rows", sa.Text, nullable=False),
    sa.Column("outcome", sa.String(64), nullable=False),
    sa.Column("verdict", sa.String(40), nullable=False),
)
"""Certifications: each used the test rows whose digests are in `rows`, a JSON list, and `outcome` is a digest of their labels and
the judge's verdicts. Rows are added, never changed."""


batches = sa.Table(
    "workbench_batches",
    metadata,
    sa.Column("id", _NUMBER, primary_key=True),
    sa.Column("batch", _KEY, nullable=False),
    sa.Column("address", sa.Text, nullable=False),
    sa.Column("model", sa.Text, nullable=False),
    sa.Column("status", sa.String(20), nullable=False),
    sa.Column("requests", sa.BigInteger, nullable=False),
    sa.Column("collected", sa.BigInteger, nullable=False),
    sa.Column("cost", sa.Double, nullable=False),
    sa.Column("at", _TIME, nullable=False),
)
batch_requests = sa.Table(
    "workbench_batch_requests",
    metadata,
    sa.Column("key", _KEY, primary_key=True),
    sa.Column("batch", _NUMBER, nullable=False, index=True),
)
"""Requests in a batch whose replies are not collected, by the key of their reply."""


def _add_drawn(connection: Connection) -> None:
    """Version 2: how a label's row was drawn; unknown for older labels."""
    kind = _KEY.compile(connection.dialect)
    connection.exec_driver_sql(f"ALTER TABLE {labels.name} ADD COLUMN drawn {kind} NOT NULL DEFAULT ''")


def _add_digest(connection: Connection) -> None:
    """Version 3: a digest of a label's text; unknown for older labels."""
    kind = sa.String(64).compile(connection.dialect)
    for statement in (
        f"ALTER TABLE {labels.name} ADD COLUMN digest {kind} NOT NULL DEFAULT ''",
        "DROP INDEX IF EXISTS workbench_labels_by_sample",
        f"CREATE INDEX workbench_labels_by_text ON {labels.name} (dataset, labeller, sample_key, digest, id)",
    ):
        connection.exec_driver_sql(statement)


def _add_views(connection: Connection) -> None:
    """Version 4: saved views of the app."""
    views.create(connection)


def _add_leases(connection: Connection) -> None:
    """Version 6: leases on requests, instead of the claims and claimants of version 5."""
    for table in ("workbench_claims", "workbench_claimants"):
        connection.exec_driver_sql(f"DROP TABLE IF EXISTS {table}")
    leases.create(connection)


def _add_tags(connection: Connection) -> None:
    """Version 7: the tags of a label."""
    connection.exec_driver_sql(f"ALTER TABLE {labels.name} ADD COLUMN tags TEXT NOT NULL DEFAULT ''")


def _add_looks(connection: Connection) -> None:
    """Version 8: the test rows that certifications used."""
    looks.create(connection, checkfirst=True)


def _add_batches(connection: Connection) -> None:
    """Version 9: batches, and the requests in them."""
    batches.create(connection, checkfirst=True)
    batch_requests.create(connection, checkfirst=True)


STEPS: dict[int, Callable[[Connection], None]] = {
    2: _add_drawn,
    3: _add_digest,
    4: _add_views,
    5: lambda _: None,  # its tables are replaced by version 6
    6: _add_leases,
    7: _add_tags,
    8: _add_looks,
    9: _add_batches,
}
"""Version, to the step that upgrades to it from the one before."""

_MAX_INTEGER = 10**15  # sums of thousands of these still fit a column


def now() -> str:
    """The time in UTC, as in all tables: it sorts as text."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def count_or_none(value: int | None) -> int | None:
    """A count as a column stores it; None for one that is too large."""
    return value if value is not None and abs(value) <= _MAX_INTEGER else None


def lock_labels(connection: Connection) -> None:
    """Wait for others that write labels, until the end of this transaction. SQLite has one writer at a time anyway."""
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LABELS_LOCK)))


def version_of(connection: Connection) -> int:
    """The version of a database's tables, 0 if there are none.

    Raises:
        StoreError: The version cannot be read.
    """
    if not sa.inspect(connection).has_table(meta.name):
        return 0
    version = connection.execute(sa.select(meta.c.value).where(meta.c.name == "version")).scalar()
    if not isinstance(version, str) or not version.isdecimal():
        raise StoreError(
            "the store has no readable version", found=repr(version)[:80], expected=f"1 to {VERSION}"
        )
    return int(version)


def prepare(connection: Connection) -> None:
    """Create the tables, or upgrade older ones. Runs inside one write transaction.

    Raises:
        StoreError: The tables are newer than this release supports.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ADVISORY_LOCK)))
    # Read again under the lock: another process may have upgraded the tables meanwhile.
    version = version_of(connection)
    refuse_newer(version)
    if version == 0:
        metadata.create_all(connection)
        connection.execute(meta.insert().values(name="version", value=str(VERSION)))
        return
    for step in range(version + 1, VERSION + 1):
        STEPS[step](connection)
    if version < VERSION:
        connection.execute(meta.update().where(meta.c.name == "version").values(value=str(VERSION)))


def refuse_newer(version: int) -> None:
    """Reject tables of a later release; nothing was changed."""
    if version > VERSION:
        raise StoreError(
            "the store was made by a newer workbench",
            found=f"version {version} of its tables",
            expected=f"at most version {VERSION}",
            hint="upgrade grader-workbench, or open another store; this one was not changed",
        )
