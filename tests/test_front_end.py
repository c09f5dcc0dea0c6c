"""The front end as it is committed: small, with its licences, and asking no other host for anything."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "workbench" / "app" / "widgets" / "static"
MARKED = {"http://", "https://github.com/markedjs/marked."}
"""What marked's tokens of addresses begin with, and where its errors are reported: both are text, and nothing is fetched."""

NAMESPACES = {
    "http://www.w3.org/1998/Math/MathML",
    "http://www.w3.org/1999/xhtml",
    "http://www.w3.org/2000/svg",
}
"""Names of markup languages, which nobody fetches."""
ADDRESS = re.compile(r"(?:https?|wss?)://[\w./%~:?#-]*")
PROTOCOL_RELATIVE = re.compile(r"""(?:url\(|from|import\(?|src=|href=)\s*["'(]?//[\w.-]+""")
ASKING = re.compile(
    r"\b(?:fetch|importScripts|sendBeacon|EventSource|WebSocket|XMLHttpRequest)\b|@import|\bimport\("
)
FILES = ["app.js", "app.css"]


@pytest.mark.parametrize("name", FILES)
def test_no_address_but_namespaces(name):
    """No text in it is the address of another host."""
    text = (STATIC / name).read_text("utf-8")
    assert set(ADDRESS.findall(text)) <= NAMESPACES | MARKED
    assert PROTOCOL_RELATIVE.findall(text) == []


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_fetched(name):
    """Nothing in it can load a further module, stylesheet or answer: all it shows comes from the kernel."""
    assert ASKING.findall((STATIC / name).read_text("utf-8")) == []


@pytest.mark.parametrize("name", [*FILES, "LICENSES.txt"])
def test_small(name):
    """Below a megabyte: it goes to the page with every view."""
    assert 0 < (STATIC / name).stat().st_size < 1_000_000


def test_licences_of_all_that_is_inside():
    """Each package that the source names is there with its version and the text of its licence."""
    text = (STATIC / "LICENSES.txt").read_text("utf-8")
    parts = re.split(r"^-{80}\n", text, flags=re.MULTILINE)[1:]
    known = {re.match(r"(\S+) \S+ \(.+\)\n", part)[1]: part for part in parts}  # type: ignore[index]
    assert {"preact", "@preact/signals", "@codemirror/state", "@codemirror/view"} <= known.keys()
    assert all(re.search(r"copyright|licen[cs]e", part, re.IGNORECASE) and len(part) > 500 for part in parts)


def test_versions_are_those_of_the_lock_file():
    """What LICENSES.txt names was installed as package-lock.json says."""
    lock = json.loads((ROOT / "frontend" / "package-lock.json").read_text("utf-8"))
    named = re.findall(r"^-{80}\n(\S+) (\S+) \(", (STATIC / "LICENSES.txt").read_text("utf-8"), re.MULTILINE)
    assert named
    assert {name: lock["packages"][f"node_modules/{name}"]["version"] for name, _ in named} == dict(named)


def test_the_lock_file_names_no_registry():
    """Whoever installs takes the packages from their own registry, and their hashes decide."""
    lock = json.loads((ROOT / "frontend" / "package-lock.json").read_text("utf-8"))
    packages = lock["packages"]
    assert all("resolved" not in package for package in packages.values())
    assert all("integrity" in package for name, package in packages.items() if name)
    for package in packages.values():
        package.pop("funding", None)  # where its authors ask for donations
    assert ADDRESS.findall(json.dumps(lock)) == []


def test_the_package_carries_it():
    """What the view reads is inside the package, and all of it is text."""
    assert {path.name for path in STATIC.iterdir()} == {"app.js", "app.css", "LICENSES.txt"}
    for path in STATIC.iterdir():
        path.read_text("utf-8")
