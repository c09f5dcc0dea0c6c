"""The lowest versions that CI installs are those that the package promises."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
PINNED = dict(
    line.strip().split("==")
    for line in (ROOT / ".ci" / "lowest.txt").read_text("utf-8").splitlines()
    if "==" in line
)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REQUIRED = [
    Requirement(text)
    for text in PROJECT["dependencies"]
    + PROJECT["optional-dependencies"]["postgres"]
    + PROJECT["optional-dependencies"]["excel"]
    + PROJECT["optional-dependencies"]["math"]
    + PROJECT["optional-dependencies"]["duckdb"]
    + PROJECT["optional-dependencies"]["serve"]
    + PROJECT["optional-dependencies"]["scale"]
]


@pytest.mark.parametrize("required", REQUIRED, ids=lambda one: one.name)
def test_each_lower_bound_is_tried(required):
    """What is pinned begins with the bound's own numbers, so that no promise is older than what was tried."""
    (bound,) = [one.version for one in required.specifier if one.operator == ">="]
    pinned = PINNED[required.name]
    parts = Version(bound).release
    assert Version(pinned).release[: len(parts)] == parts
    assert required.specifier.contains(pinned)


def test_nothing_else_is_pinned():
    """A name that is no requirement would pin what nobody promised."""
    assert set(PINNED) == {required.name for required in REQUIRED}
