"""The databases the store is tested on: a SQLite file, SQLite in memory, and a real PostgreSQL server."""

from __future__ import annotations

import importlib.util
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest
import sqlalchemy as sa

from tests.store import postgres
from workbench.store import Store, open_store


def _missing(what: str) -> NoReturn:
    """Skip with the reason; on a build server the same is a failure."""
    if os.environ.get("CI", "").lower() == "true":
        pytest.fail(f"the store's PostgreSQL tests need {what}, and CI=true", pytrace=False)
    pytest.skip(f"the store's PostgreSQL tests need {what}")


def _programs() -> Path:
    programs = postgres.folder()
    if programs is None:
        _missing(
            "a PostgreSQL server (apt-get install postgresql), or the URL of one in WORKBENCH_TEST_POSTGRES"
        )
    return programs


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """A server of the caller's (WORKBENCH_TEST_POSTGRES), else one of our own for the session."""
    if importlib.util.find_spec("psycopg") is None:
        _missing("psycopg (pip install 'grader-workbench[test]')")
    if given := os.environ.get("WORKBENCH_TEST_POSTGRES"):
        yield given
        return
    with postgres.serve(_programs()) as server:
        yield server.url


@pytest.fixture(scope="module")
def server() -> Iterator[postgres.Server]:
    """A server to stop, to start and to make users on."""
    with postgres.serve(_programs()) as made:
        yield made


@pytest.fixture
def postgres_database(postgres_url: str) -> Iterator[str]:
    """The URL of an empty database on the server, with the scheme as users type it."""
    url = sa.make_url(postgres_url)
    name = f"workbench_test_{uuid.uuid4().hex[:12]}"
    server = sa.create_engine(url.set(drivername="postgresql+psycopg"), isolation_level="AUTOCOMMIT")
    with server.connect() as connection:
        connection.exec_driver_sql(f"CREATE DATABASE {name} ENCODING 'UTF8' TEMPLATE template0")
    yield url.set(database=name, drivername="postgresql").render_as_string(hide_password=False)
    with server.connect() as connection:
        connection.exec_driver_sql(f"DROP DATABASE {name} WITH (FORCE)")
    server.dispose()


@pytest.fixture(params=["file", "postgres"])
def shared_url(request, tmp_path) -> str:
    """A database that several processes can open."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_database"))
    return f"sqlite:///{tmp_path / 'workbench.db'}"


@pytest.fixture(params=["file", "memory", "postgres"])
def url(request, tmp_path) -> str:
    """Any database."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_database"))
    return "sqlite://" if request.param == "memory" else f"sqlite:///{tmp_path / 'workbench.db'}"


@pytest.fixture
def store(url: str) -> Iterator[Store]:
    with open_store(url) as made:
        yield made
